"""The 1-norm support vector machine, as a linear program."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


def minimize_l1_svm(M: np.ndarray, sign: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Minimise ``sum_k |w_k| + sum_i cost_i max(0, 1 - sign_i (M w + b)_i)``.

    Parameters
    ----------
    M : array of shape (n, n_features)
        A row for every example.
    sign : array of shape (n,)
        1 or -1, both there.
    cost : array of shape (n,)
        What an error of each costs, positive.

    Returns
    -------
    coef, intercept, value : array of shape (n_features,), float, float
        Of all intercepts that are as good with these coefficients, the middle one.

    Notes
    -----
    With w = u - v, both not negative, this is a linear program in 2 n_features + n + 1 variables and n rows,
    for HiGHS. Equal rows go together, and rows are sorted, so that neither copies nor their order choose
    between solutions that are equally good.
    """
    if not np.isfinite(M).all():
        raise ValueError("the vectors of bags must be finite; divide the features, which are too large.")
    rows, which = np.unique(np.column_stack([sign, M]), axis=0, return_inverse=True)
    sign, M, cost = rows[:, 0], rows[:, 1:], np.bincount(which.ravel(), weights=cost)
    n, p = M.shape
    signed = sign[:, None] * M
    # Columns u, v, the intercept, and the errors.
    A = sp.hstack([signed, -signed, sign[:, None], sp.eye_array(n)], format="csc")
    c = np.concatenate([np.ones(2 * p), [0.0], cost])
    bounds = np.column_stack([np.zeros(2 * p + 1 + n), np.full(2 * p + 1 + n, np.inf)])
    bounds[2 * p, 0] = -np.inf
    found = linprog(c, A_ub=-A, b_ub=-np.ones(n), bounds=bounds, method="highs")
    if found.x is None:
        raise ValueError(
            f"the linear program with costs from {cost.min():g} to {cost.max():g} (C times weights) was not "
            f"solved; bring them nearer to 1. HiGHS says: {found.message}"
        )
    coef = found.x[:p] - found.x[p : 2 * p]
    scores = M @ coef
    intercept = best_intercept(scores, sign, cost)
    errors = np.maximum(0.0, 1.0 - sign * (scores + intercept))
    return coef, intercept, float(np.abs(coef).sum() + cost @ errors)


def best_intercept(scores: np.ndarray, sign: np.ndarray, cost: np.ndarray) -> float:
    """Give the b that minimises ``sum_i cost_i max(0, 1 - sign_i (scores_i + b))``, or the middle of them."""
    # The sum is convex and bends at these places, by the cost; left of all of them its slope is that of the
    # positive examples.
    place = sign - scores
    order = np.argsort(place, kind="stable")
    slope = np.cumsum(np.append(-cost[sign > 0].sum(), cost[order]))
    level = 1e-9 * cost.sum()
    first = int(np.argmax(slope >= -level))
    last = int(np.argmax(slope > level))
    return 0.5 * float(place[order[first - 1]] + place[order[last - 1]])
