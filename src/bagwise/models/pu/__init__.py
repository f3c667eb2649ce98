"""Learning from positive and unlabeled bags: the class prior, classifiers, and what they are chosen by."""

from bagwise.models.pu.bound import pu_risk_bound
from bagwise.models.pu.cv import PUSetKernelClassifierCV
from bagwise.models.pu.difference_cv import DSDDClassifierCV, LSDDClassifierCV
from bagwise.models.pu.dsdd import DSDDClassifier
from bagwise.models.pu.lsdd import LSDDClassifier
from bagwise.models.pu.plots import plot_prior_sensitivity
from bagwise.models.pu.prior import ClassPriorEstimator
from bagwise.models.pu.pumil import PUMILClassifier
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
