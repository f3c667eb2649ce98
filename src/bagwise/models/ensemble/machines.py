"""Support vector machines on one kernel matrix, for every fold and for all bags, at several penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from bagwise.models.base.folds import Split
from bagwise.models.ensemble.members import mean_held_out
from bagwise.models.ensemble.views import TrainingGram
from bagwise.solvers.control import Control
from bagwise.solvers.dual import solve_dual

# Values of C, for kernels scaled so that the bags have variance 1 in their feature space.
PENALTIES = (10.0, 100.0)
# Relative duality gap, and maximum number of steps per bag: for some matrices of very low rank, the solver
# does not converge.
_TOL, _STEPS_OF_EACH = 1e-8, 200


class Machines(NamedTuple):
    """SVMs on one matrix, with one row per penalty.

    Attributes
    ----------
    held : array of shape (n_penalties, n_bags)
        Held-out scores of the bags: the mean over the folds that hold a bag out, and NaN for bags that no
        fold holds out.
    coef : array of shape (n_penalties, n_bags)
        Dual coefficients of the SVMs fitted to all bags.
    intercept : array of shape (n_penalties,)
        Intercepts of these SVMs.
    """

    held: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


def variance(K: np.ndarray, weight: np.ndarray) -> float:
    """Return the variance of the bags in the feature space of a kernel, or 1 if it is zero."""
    share = weight / weight.sum()
    result = float(share @ K.diagonal() - share @ K @ share)
    return result if result > 1e-12 * float(np.abs(K.diagonal()).max(initial=0.0)) else 1.0


def fit_machines(
    gram: TrainingGram, y: np.ndarray, weight: np.ndarray, splits: list[Split], n_jobs: int | None = None
) -> Machines:
    """Fit an SVM for every penalty, on all bags and on the training bags of each fold.

    Parameters
    ----------
    gram : TrainingGram
        Kernel matrix of the bags, and the matrices of the folds.
    y, weight : arrays of shape (n_bags,)
        Labels (0 or 1) and weights.
    splits : list of (train, test)
        The folds.
    n_jobs : int, optional
        Number of folds fitted in parallel threads.
    """

    def of_fold(fold: int) -> np.ndarray:
        square, cross = gram.cut(fold)
        train, _ = splits[fold]
        coef, intercept = _machines(square, y[train], weight[train])
        return coef @ cross + intercept[:, None]

    coef, intercept = _machines(gram.K, y, weight)
    scores = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(of_fold)(k) for k in range(len(splits)))
    return Machines(mean_held_out(len(y), splits, scores), coef, intercept)


def _machines(K: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients and intercepts for every penalty."""
    unit = variance(K, weight)
    sign = 2.0 * y - 1.0
    control = Control(_TOL, max(10_000, _STEPS_OF_EACH * len(y)))
    coef, intercept, start = np.zeros((len(PENALTIES), len(y))), np.empty(len(PENALTIES)), None
    for row, penalty in enumerate(PENALTIES):
        bound = penalty / unit * weight * sign
        # Warm start: the solution for the smaller C is feasible and near the optimum.
        dual = solve_dual(
            K, -sign, control, lower=np.minimum(bound, 0.0), upper=np.maximum(bound, 0.0), start=start
        )
        coef[row], intercept[row], start = dual.x, -dual.multiplier, dual.x
    return coef, intercept
