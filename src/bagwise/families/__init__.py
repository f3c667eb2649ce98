"""How classes make instances: families of distributions, for the components of mixtures.

A family knows nothing of bags, classes or EM: it gives log densities, and parameters from weighted sums.
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
