"""Generative models of bags: mixtures whose components belong to classes.

The M step sees only sums over blocks. Statistics of negative bags are summed once; those of the heavier
class are the total minus those of the lighter one; in an exponential family the likelihood is linear in
them. Starts are sampled by content: one pass keeps the instances with the smallest hash, so a start does
not depend on the order of bags. All starts run together and share every pass.

- `mimixture`, `fitted`: `MIMixture`. `discriminative`: its discriminative partner.
- `model`, `estep`, `params`: what EM sees. `build`: sums that EM need not repeat. `start`, `draw`,
  `search`: starts. `bound`: `bayes_error_bound`. `naming`, `plots`: names of components, plots.
"""

from bagwise.models.mixture.bound import bayes_error_bound
from bagwise.models.mixture.discriminative import DiscriminativeMixture
from bagwise.models.mixture.mimixture import MIMixture

__all__ = ["DiscriminativeMixture", "MIMixture", "bayes_error_bound"]
