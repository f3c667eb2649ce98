"""Families of distributions: how a class generates instances, for the components of mixtures.

A family knows nothing of bags, classes or EM. It returns log densities, additive statistics, parameters
from their sums, and a prior: Gaussian, Bernoulli, categorical, Markov. `parts` hands out blocks as they
are stored, or small parts in double precision. `make` has the names that users pass.
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
