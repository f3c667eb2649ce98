"""What a cross-validated choice of the penalty is worth: the base rate beside it, and a text."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.models.base import Training
from bagwise.models.base.folds import Split

# A held-out deviance is above the base rate's if it is by more than this part, which solvers leave open.
_ABOVE = 1e-3
_NAMES = {"deviance": "cross-validated deviance", "bic": "BIC", "aic": "AIC"}


def base_rate_deviances(training: Training, splits: list[Split]) -> np.ndarray:
    """Deviance per held-out bag of the share of positive bags among those that learn, for every fold."""
    _, y, weight = training
    found = []
    for train, test in splits:
        # Logarithms before the ratio: a class of tiny weight still has a share.
        log_weights = np.log(np.bincount(y[train], weights=weight[train], minlength=2))
        log_p = (log_weights - np.logaddexp(*log_weights))[y[test]]
        found.append(-2.0 * float(weight[test] @ log_p) / float(weight[test].sum()))
    return np.array(found)


def describe_choice(model: Any) -> str:
    """Lay out what a fitted `MILogisticRegressionCV` has chosen, and what to know of it, as text."""
    at = int(np.argmin(np.abs(model.alphas_ - model.alpha_)))
    kept = int((model.coef_[0] != 0).sum())
    of_grid = f"number {at + 1} of {len(model.alphas_)}, {model.alphas_[-1]:.4g} to {model.alphas_[0]:.4g}"
    lines = [
        f"Multiple-instance logistic regression, penalty chosen by {_NAMES[model.criterion]}",
        f"{'Penalty:':<22}alpha = {model.alpha_:.4g} ({of_grid})",
        f"{'Features kept:':<22}{kept} of {model.coef_.shape[1]}",
    ]
    if model.criterion != "deviance":
        lines.append(
            f"{_NAMES[model.criterion] + ':':<22}{model.criterion_path_[at]:.4f}; no bag was held out"
        )
        return "\n".join(lines)
    here, base = model.criterion_path_[at], model.base_deviance_
    lines += [
        f"{'Held-out log loss:':<22}{here / 2:.4f} a bag, that of the base rate {base / 2:.4f}",
        f"{'Held-out curve:':<22}of paths down from the model without features; the final fit searches "
        "further, and at weak penalties may end elsewhere",
    ]
    if kept and here > base * (1 + _ABOVE):
        lines.append(
            "The model is overconfident: on held-out bags its log loss is above that of the base rate, which "
            "knows no feature. Do not trust its probabilities; let the grid begin at stronger penalties, or "
            "give it more bags."
        )
    return "\n".join(lines)
