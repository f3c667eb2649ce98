"""Linear models of instances joined to a bag rule."""

from bagwise.linear_model.cv import MILogisticRegressionCV
from bagwise.linear_model.inference import Inference, forward_selection, rate_change, refit_selected
from bagwise.linear_model.logistic import MILogisticRegression
from bagwise.linear_model.path import MILRPath, milr_path
from bagwise.linear_model.plots import plot_cv, plot_odds_ratios, plot_path

__all__ = [
    "Inference",
    "MILRPath",
    "MILogisticRegression",
    "MILogisticRegressionCV",
    "forward_selection",
    "milr_path",
    "plot_cv",
    "plot_odds_ratios",
    "plot_path",
    "rate_change",
    "refit_selected",
]
