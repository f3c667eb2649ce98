"""Learning from positive and unlabeled bags: class-prior estimates, classifiers, and their risk.

Features are centered by their mean over the unlabeled bags, and the intercept of the score absorbs this mean.
Kernels with nearly constant values therefore keep their precision. The same ridge problem yields the
classifier with squared loss and the class prior.

- `set_kernel`, `cv`: PU-SKC. `pumil`, `lsdd`, `dsdd`, `difference_cv`, `instances`: methods with which the
  paper compares PU-SKC.
- `prior`, `tail`, `ratio`, `sample`: two class-prior estimates from the same sample; `estimates`: their
  results. `pearson`: the estimate of the paper.
- `losses`, `risk`: loss functions, risk minimization, and a risk bound. `features`: basis functions.
- `base`: shared code of the estimators. `plots`: risk as a function of the class prior.
"""

from bagwise.models.pu.cv import PUSetKernelClassifierCV
from bagwise.models.pu.difference_cv import DSDDClassifierCV, LSDDClassifierCV
from bagwise.models.pu.dsdd import DSDDClassifier
from bagwise.models.pu.lsdd import LSDDClassifier
from bagwise.models.pu.pearson import pearson_class_prior
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
    "pearson_class_prior",
    "plot_prior_sensitivity",
    "pu_risk_bound",
]
