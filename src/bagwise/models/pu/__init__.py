"""Learning from positive and unlabeled bags: the class prior, classifiers, and what they are chosen by."""

from bagwise.pu.bound import pu_risk_bound
from bagwise.pu.cv import PUSetKernelClassifierCV
from bagwise.pu.difference_cv import DSDDClassifierCV, LSDDClassifierCV
from bagwise.pu.dsdd import DSDDClassifier
from bagwise.pu.lsdd import LSDDClassifier
from bagwise.pu.plots import plot_prior_sensitivity
from bagwise.pu.prior import ClassPriorEstimator
from bagwise.pu.pumil import PUMILClassifier
from bagwise.pu.set_kernel import PUSetKernelClassifier

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
