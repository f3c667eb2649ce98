"""Positive and unlabeled bags: class priors, classifiers, and the risk by which they are chosen.

The intercept of a score absorbs the mean of the unlabeled features, so kernels with nearly equal values
keep their precision, and one ridge problem gives both the squared loss and the class prior.

- `set_kernel`, `cv`: PU-SKC. `pumil`, `lsdd`, `dsdd`, `difference_cv`, `instances`: the paper's rivals.
- `prior`, with `tail` and `ratio`: two estimates of the class prior from a `sample`; `estimates`: the
  results.
- `losses`, `risk`: the losses, their minimisation, a bound. `features`: basis functions.
- `base`: what the estimators share. `plots`: plots of risks and priors.
"""

from bagwise.models.pu.cv import PUSetKernelClassifierCV
from bagwise.models.pu.difference_cv import DSDDClassifierCV, LSDDClassifierCV
from bagwise.models.pu.dsdd import DSDDClassifier
from bagwise.models.pu.lsdd import LSDDClassifier
from bagwise.models.pu.plots import plot_prior_sensitivity
from bagwise.models.pu.prior import ClassPriorEstimator
from bagwise.models.pu.pumil import PUMILClassifier
from bagwise.models.pu.risk import pu_risk_bound
from bagwise.models.pu.set_kernel import PUSetKernelClassifier

__all__ = [
    "ClassPriorEstimator",
    "DSDDClassifier",
    "DSDDClassifierCV",
    "LSDDClassifier",
    "LSDDClassifierCV",
    "PUMILClassifier",
    "PUSetKernelClassifier",
    "PUSetKernelClassifierCV",
    "plot_prior_sensitivity",
    "pu_risk_bound",
]
