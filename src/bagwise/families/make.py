"""Conversion of the `family` parameter of estimators to family objects."""

from __future__ import annotations

from bagwise._core.named_parts import make_part
from bagwise.families.base import Family
from bagwise.families.bernoulli import Bernoulli
from bagwise.families.categorical import Categorical
from bagwise.families.gaussian import Gaussian, GaussianTied
from bagwise.families.gaussian_diag import GaussianDiag, GaussianSpherical
from bagwise.families.markov import Markov

# All family names. Parameter constraints, error messages and tests use this dictionary.
FAMILIES: dict[str, type[Family]] = {
    "gaussian": Gaussian,
    "gaussian_diag": GaussianDiag,
    "gaussian_spherical": GaussianSpherical,
    "gaussian_tied": GaussianTied,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "markov": Markov,
}


def make_family(spec: str | Family) -> Family:
    """Return the family for `spec`; a name is converted to a family with default parameters.

    Parameters
    ----------
    spec : str or Family
        A name in `FAMILIES`, or a Family object, which is returned without cloning.

    Returns
    -------
    Family

    Examples
    --------
    >>> from bagwise.families import make_family
    >>> make_family("gaussian_diag")
    GaussianDiag()
    """
    return make_part(spec, "family", FAMILIES, Family)
