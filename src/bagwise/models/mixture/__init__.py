"""Generative bag models: mixtures whose components belong to classes.

The M step only uses sums over blocks. Statistics of negative bags are summed once. The statistics of the
class with the larger weight are the total minus the statistics of the other class. In an exponential family,
the likelihood is linear in these statistics. Starts are sampled by content: one pass keeps the instances with
the smallest hash, so a start does not depend on the order of the bags. All starts run together and share
every pass.

- `mimixture`: `MIMixture`. `discriminative`: its discriminative counterpart. `bound`: `bayes_error_bound`
  and `negative_bag_rate`.
- `model`: the model for EM: parameters, statistics of blocks, steps. `build`: preparation of EM: starts, and
  sums that are computed once. `plots`: plots of components.
"""

from bagwise.models.mixture.bound import bayes_error_bound, negative_bag_rate
from bagwise.models.mixture.discriminative import DiscriminativeMixture
from bagwise.models.mixture.mimixture import MIMixture

__all__ = ["DiscriminativeMixture", "MIMixture", "bayes_error_bound", "negative_bag_rate"]
