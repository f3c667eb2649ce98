"""What scores and models of positive and unlabeled bags share: the meaning of labels, losses, and the risk.

For a loss with ``l(z) - l(-z) = -z`` the risk of a score g, prior E_P[l(g)] + (1 - prior) E_N[l(-g)], equals
``-prior E_P[g] + E_U[l(-g)]``: no negative bag is in it, and it is convex in g where l is. The three losses
here are of that kind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bagwise.models.base import is_positive
from bagwise.models.base.log_loss import loss_of_margin


def double_hinge(z: np.ndarray) -> np.ndarray:
    """``max(-z, (1 - z) / 2, 0)``, half the sum of two hinges with corners at -1 and 1."""
    return np.maximum(-z, np.maximum(0.0, 0.5 * (1.0 - z)))


def squared(z: np.ndarray) -> np.ndarray:
    """``(z - 1)^2 / 4``."""
    return 0.25 * (z - 1.0) ** 2


def zero_one(z: np.ndarray) -> np.ndarray:
    """1 where a positive bag is not called positive, as a score of zero is; not of that kind."""
    return 1.0 - is_positive(z)


LOSSES = {"double_hinge": double_hinge, "squared": squared, "logistic": loss_of_margin}
ALL_LOSSES = {"zero_one": zero_one, **LOSSES}


def split_scores(y: np.ndarray, score: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, ...]:
    """Scores of positive bags (y is 1) and of unlabeled ones (0), and weights that add up to one in each."""
    positive, unlabeled = (weight[y == label] for label in (1, 0))
    if not (positive.sum() > 0 and unlabeled.sum() > 0):
        raise ValueError("sample_weight leaves no positive or no unlabeled bag; expected some of both.")
    return score[y == 1], score[y == 0], positive / positive.sum(), unlabeled / unlabeled.sum()


def risk_of_scores(y: np.ndarray, score: np.ndarray, weight: np.ndarray, prior: float, loss: str) -> float:
    """``prior mean_P[l(g) - l(-g)] + mean_U[l(-g)]``, for labels 1 and 0: see `bagwise.pu_risk`."""
    positive, unlabeled, share_p, share_u = split_scores(y, score, weight)
    of = ALL_LOSSES[loss]
    # A score of zero is called positive, so l(-g) at zero is an error, though l(g) is none.
    wrong_if_negative = (lambda g: 1.0 * is_positive(g)) if loss == "zero_one" else (lambda g: of(-g))
    gain = of(positive) - wrong_if_negative(positive)
    return float(prior * (share_p @ gain) + share_u @ wrong_if_negative(unlabeled))


def check_pu_labels(y: ArrayLike, name: str) -> None:
    """Refuse labels without a positive or without an unlabeled bag, and two marks for unlabeled ones."""
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind == "O":
        return  # what is wrong with it, or right, is said elsewhere
    labels = np.unique(y).tolist()
    if labels == [-1, 0]:
        raise ValueError(
            f"y holds -1 and 0, which both mean unlabeled: there is one class only. {name} needs positive "
            "bags as well, marked 1 or True."
        )
    if labels == [-1, 0, 1]:
        raise ValueError(
            "y holds -1, 0 and 1, but 0 and -1 both mean unlabeled; pass y == 1, which marks positive bags."
        )
    if len(labels) == 1:
        unlabeled = labels[0] in (0, -1)
        there, absent = ("unlabeled", "positive") if unlabeled else ("positive", "unlabeled")
        raise ValueError(
            f"y has one class only, {labels[0]!r}: all bags are {there}. {name} needs {absent} bags as well; "
            "1 or True marks positive bags, 0, -1 or False unlabeled ones."
        )
