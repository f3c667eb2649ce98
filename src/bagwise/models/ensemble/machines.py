"""Support vector machines on one matrix of kernels: for every fold and for all bags, at several penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from bagwise.models.base.folds import Split
from bagwise.models.ensemble.members import mean_held_out
from bagwise.models.ensemble.views import Gram
from bagwise.solvers.control import Control
from bagwise.solvers.dual import solve_dual

# Weights of the loss, for kernels whose bags have a variance of one in their space.
PENALTIES = (10.0, 100.0)
# Relative duality gap, and the most steps of pairs: some matrices of nearly no rank have no end.
_TOL, _STEPS_OF_EACH = 1e-8, 200


class Machines(NamedTuple):
    """Machines of one matrix, a row for every penalty.

    Attributes
    ----------
    held : array of shape (n_penalties, n_bags)
        Scores of bags by machines that have not seen them, the mean over the folds that held a bag out; NaN
        for bags that none did.
    coef : array of shape (n_penalties, n_bags)
        Of the machines of all bags.
    intercept : array of shape (n_penalties,)
    """

    held: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


def variance(K: np.ndarray, weight: np.ndarray) -> float:
    """Give the mean squared distance of bags from their mean in the space of a kernel; 1 if there is none."""
    share = weight / weight.sum()
    found = float(share @ K.diagonal() - share @ K @ share)
    return found if found > 1e-12 * float(np.abs(K.diagonal()).max(initial=0.0)) else 1.0


def fit_machines(
    gram: Gram, y: np.ndarray, weight: np.ndarray, splits: list[Split], n_jobs: int | None = None
) -> Machines:
    """Fit a machine for every penalty, on all bags and on all but those of each fold.

    Parameters
    ----------
    gram : Gram
        Kernels of the bags, and those of folds.
    y, weight : arrays of shape (n_bags,)
        Labels 0 and 1, and weights.
    splits : list of (train, test)
        Folds.
    n_jobs : int, optional
        Folds at the same time, by threads.
    """

    def of_fold(number: int) -> np.ndarray:
        square, cross = gram.cut(number)
        train, _ = splits[number]
        coef, intercept = _machines(square, y[train], weight[train])
        return coef @ cross + intercept[:, None]

    coef, intercept = _machines(gram.K, y, weight)
    scores = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(of_fold)(k) for k in range(len(splits)))
    return Machines(mean_held_out(len(y), splits, scores), coef, intercept)


def _machines(K: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give coefficients and intercepts, for every penalty."""
    unit = variance(K, weight)
    sign = 2.0 * y - 1.0
    control = Control(_TOL, max(10_000, _STEPS_OF_EACH * len(y)))
    coef, intercept, start = np.zeros((len(PENALTIES), len(y))), np.empty(len(PENALTIES)), None
    for number, penalty in enumerate(PENALTIES):
        bound = penalty / unit * weight * sign
        # What the machine before ended with is near: its bounds were narrower.
        dual = solve_dual(
            K, -sign, control, lower=np.minimum(bound, 0.0), upper=np.maximum(bound, 0.0), start=start
        )
        coef[number], intercept[number], start = dual.x, -dual.multiplier, dual.x
    return coef, intercept
