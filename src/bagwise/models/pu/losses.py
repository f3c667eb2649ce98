"""Labels, loss functions and risk of positive and unlabeled bags.

For a loss with ``l(z) - l(-z) = -z``, the risk of a score g, prior E_P[l(g)] + (1 - prior) E_N[l(-g)], equals
``-prior E_P[g] + E_U[l(-g)]``. This expression needs no negative bags, and it is convex in g if l is convex.
The functions in `LOSSES` are convex and satisfy this equation; `zero_one` does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bagwise.models.base import is_positive
from bagwise.models.base.log_loss import loss_of_margin


def double_hinge(z: np.ndarray) -> np.ndarray:
    """Return ``max(-z, (1 - z) / 2, 0)``, half the sum of two hinges with corners at -1 and 1."""
    return np.maximum(-z, np.maximum(0.0, 0.5 * (1.0 - z)))


def squared(z: np.ndarray) -> np.ndarray:
    """Return ``(z - 1)^2 / 4``."""
    return 0.25 * (z - 1.0) ** 2


def zero_one(z: np.ndarray) -> np.ndarray:
    """Return 1 if a margin is negative, otherwise 0. Bags with a score of zero are classified as positive."""
    return 1.0 - is_positive(z)


LOSSES = {"double_hinge": double_hinge, "squared": squared, "logistic": loss_of_margin}
ALL_LOSSES = {"zero_one": zero_one, **LOSSES}


def split_scores(y: np.ndarray, score: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return scores of positive (y is 1) and unlabeled bags (0), and weights that sum to one for each."""
    positive, unlabeled = (weight[y == label] for label in (1, 0))
    if not (positive.sum() > 0 and unlabeled.sum() > 0):
        raise ValueError(
            "sample_weight is zero for all positive or for all unlabeled bags; at least one bag of each kind "
            "needs a weight > 0."
        )
    return score[y == 1], score[y == 0], positive / positive.sum(), unlabeled / unlabeled.sum()


def risk_of_scores(y: np.ndarray, score: np.ndarray, weight: np.ndarray, prior: float, loss: str) -> float:
    """Return ``prior mean_P[l(g) - l(-g)] + mean_U[l(-g)]`` for labels 1 and 0; see `bagwise.pu_risk`."""
    positive, unlabeled, share_p, share_u = split_scores(y, score, weight)
    of = ALL_LOSSES[loss]
    # A score of zero means positive. It is therefore an error at a negative bag, but not at a positive one.
    wrong_if_negative = (lambda g: 1.0 * is_positive(g)) if loss == "zero_one" else (lambda g: of(-g))
    gain = of(positive) - wrong_if_negative(positive)
    return float(prior * (share_p @ gain) + share_u @ wrong_if_negative(unlabeled))


def check_pu_labels(y: ArrayLike, name: str) -> None:
    """Raise an error if y lacks positive or unlabeled bags, or marks unlabeled bags by both 0 and -1."""
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind == "O":
        return  # input validation reports errors in these cases
    labels = np.unique(y).tolist()
    if labels == [-1, 0]:
        raise ValueError(
            f"y contains -1 and 0, which both mean unlabeled; {name} also needs positive bags, marked 1 or "
            "True."
        )
    if labels == [-1, 0, 1]:
        raise ValueError(
            "y contains -1, 0 and 1, but 0 and -1 both mean unlabeled; pass y == 1 to mark positive bags."
        )
    if len(labels) == 1:
        unlabeled = labels[0] in (0, -1)
        present, absent = ("unlabeled", "positive") if unlabeled else ("positive", "unlabeled")
        raise ValueError(
            f"y has only one class, {labels[0]!r}: all bags are {present}. {name} also needs {absent} bags; "
            "mark positive bags with 1 or True, and unlabeled bags with 0, -1 or False."
        )
