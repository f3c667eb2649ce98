"""Linear models of instances with a bag rule: `MILogisticRegression`, its path, selection and inference.

- `logistic`, `cv`, `soft_or`: the estimators. `path`: `milr_path`. `engine`: the fitting algorithms.
- `inference`: standard errors, intervals and tests. `selection`: refits with selected features.
- `diagnose`, `labeler`: learned rules and their comparison. `plots`: plots of all results.
"""

from bagwise.models.linear_model.cv import MILogisticRegressionCV
from bagwise.models.linear_model.diagnose import RuleDiagnosis, diagnose_rule
from bagwise.models.linear_model.inference import Inference, rate_change
from bagwise.models.linear_model.labeler import Labeler
from bagwise.models.linear_model.logistic import MILogisticRegression
from bagwise.models.linear_model.path import MILRPath, milr_path
from bagwise.models.linear_model.plots import plot_cv, plot_labeler, plot_odds_ratios, plot_path
from bagwise.models.linear_model.selection import forward_selection, naive_wald_selection, refit_selected
from bagwise.models.linear_model.soft_or import SoftORLogisticRegression

__all__ = [
    "Inference",
    "Labeler",
    "MILRPath",
    "MILogisticRegression",
    "MILogisticRegressionCV",
    "RuleDiagnosis",
    "SoftORLogisticRegression",
    "diagnose_rule",
    "forward_selection",
    "milr_path",
    "naive_wald_selection",
    "plot_cv",
    "plot_labeler",
    "plot_odds_ratios",
    "plot_path",
    "rate_change",
    "refit_selected",
]
