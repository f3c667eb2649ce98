"""Families of distributions for the components of mixtures.

A family does not depend on bags, classes or EM. It computes log densities, additive statistics, parameters
from sums of statistics, and a prior.

- `base`: the interface. `gaussian`, `gaussian_diag`, `bernoulli`, `categorical`, `markov`: the families.
- `prior`: priors of Gaussian parameters. `moments`: sums of products. `discrete`, `refusal`: validation of
  values.
- `parts`: blocks in their stored precision, or small parts in double precision. `make`: the names that
  users can pass.
"""

from bagwise.families.base import Family
from bagwise.families.bernoulli import Bernoulli
from bagwise.families.categorical import Categorical
from bagwise.families.gaussian import Gaussian, GaussianTied
from bagwise.families.gaussian_diag import GaussianDiag, GaussianSpherical
from bagwise.families.make import FAMILIES, make_family
from bagwise.families.markov import Markov
from bagwise.families.prior import FraleyRaftery

__all__ = [
    "Bernoulli",
    "Categorical",
    "FAMILIES",
    "Family",
    "FraleyRaftery",
    "Gaussian",
    "GaussianDiag",
    "GaussianSpherical",
    "GaussianTied",
    "Markov",
    "make_family",
]
