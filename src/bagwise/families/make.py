"""From the value of an estimator's `family` parameter to a family."""

from __future__ import annotations

from bagwise._core.named_parts import make_part
from bagwise.families.base import Family
from bagwise.families.bernoulli import Bernoulli
from bagwise.families.categorical import Categorical
from bagwise.families.gaussian import Gaussian, GaussianTied
from bagwise.families.gaussian_diag import GaussianDiag, GaussianSpherical
from bagwise.families.markov import Markov

# The one list of names: constraints, errors and tests derive from it.
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
    """Return the family that `spec` means: a name gives the family with its defaults.

    Parameters
    ----------
    spec : str or Family
        A name in `FAMILIES`. A Family object is returned as it is, not cloned.

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
