"""Generative models of bags: mixtures whose components belong to classes.

The M step sees only sums over blocks. Statistics of negative bags are summed once; those of the heavier
class are the total minus those of the lighter one; in an exponential family the likelihood is linear in
them. Starts are sampled by content: one pass keeps the instances with the smallest hash, so a start does
not depend on the order of bags. All starts run together and share every pass.

- `mimixture`: `MIMixture`. `discriminative`: its discriminative partner. `bound`: `bayes_error_bound`.
- `model`: what EM sees: parameters, statistics of blocks, steps. `build`: what comes before EM: starts, and
  sums that need not be repeated. `plots`: plots of components.
"""

from bagwise.models.mixture.bound import bayes_error_bound
from bagwise.models.mixture.discriminative import DiscriminativeMixture
from bagwise.models.mixture.mimixture import MIMixture

__all__ = ["DiscriminativeMixture", "MIMixture", "bayes_error_bound"]
