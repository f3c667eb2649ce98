"""1-norm support vector machine, solved as a linear program."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


def minimize_l1_svm(M: np.ndarray, sign: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Minimize ``sum_k |w_k| + sum_i cost_i max(0, 1 - sign_i (M w + b)_i)``.

    Parameters
    ----------
    M : array of shape (n, n_features)
        One row per example.
    sign : array of shape (n,)
        Labels, 1 or -1. Both values must occur.
    cost : array of shape (n,)
        Positive cost of an error for each example.

    Returns
    -------
    coef, intercept, value : array of shape (n_features,), float, float
        If several intercepts are optimal for these coefficients, the middle one is returned.

    Notes
    -----
    With w = u - v and nonnegative u and v, the problem is a linear program in 2 n_features + n + 1 variables
    and n rows, solved by HiGHS. Equal rows are merged, and rows are sorted. If several solutions are optimal,
    the result therefore does not depend on duplicates or on the order of the rows.
    """
    if not np.isfinite(M).all():
        raise ValueError(
            "the feature vectors of the bags contain infinite or NaN values; scale the features to smaller "
            "values."
        )
    rows, inverse = np.unique(np.column_stack([sign, M]), axis=0, return_inverse=True)
    sign, M, cost = rows[:, 0], rows[:, 1:], np.bincount(inverse.ravel(), weights=cost)
    n, p = M.shape
    signed = sign[:, None] * M
    # Columns: u, v, the intercept, and the slack variables.
    A = sp.hstack([signed, -signed, sign[:, None], sp.eye_array(n)], format="csc")
    c = np.concatenate([np.ones(2 * p), [0.0], cost])
    bounds = np.column_stack([np.zeros(2 * p + 1 + n), np.full(2 * p + 1 + n, np.inf)])
    bounds[2 * p, 0] = -np.inf
    solution = linprog(c, A_ub=-A, b_ub=-np.ones(n), bounds=bounds, method="highs")
    if solution.x is None:
        raise ValueError(
            f"HiGHS could not solve the linear program with costs (C times weights) from {cost.min():g} to "
            f"{cost.max():g}; choose costs closer to 1. Message of HiGHS: {solution.message}"
        )
    coef = solution.x[:p] - solution.x[p : 2 * p]
    scores = M @ coef
    intercept = best_intercept(scores, sign, cost)
    errors = np.maximum(0.0, 1.0 - sign * (scores + intercept))
    return coef, intercept, float(np.abs(coef).sum() + cost @ errors)


def best_intercept(scores: np.ndarray, sign: np.ndarray, cost: np.ndarray) -> float:
    """Return the intercept b that minimizes ``sum_i cost_i max(0, 1 - sign_i (scores_i + b))``.

    If an interval of intercepts is optimal, return its midpoint.
    """
    # The sum is convex and piecewise linear in b. At each of these values, its slope increases by the cost of
    # the example. Only the positive examples contribute to the slope to the left of all values.
    breakpoints = sign - scores
    order = np.argsort(breakpoints, kind="stable")
    slope = np.cumsum(np.append(-cost[sign > 0].sum(), cost[order]))
    level = 1e-9 * cost.sum()
    first = int(np.argmax(slope >= -level))
    last = int(np.argmax(slope > level))
    return 0.5 * float(breakpoints[order[first - 1]] + breakpoints[order[last - 1]])
