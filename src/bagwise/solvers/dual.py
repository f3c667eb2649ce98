"""Working-set solver for the dual problem of SVMs: box constraints and one equality constraint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from bagwise._core.compiled.arrays import readonly
from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status
from bagwise.solvers.rows import DenseRows, Rows

# Limits on the size of a working set. Problems with up to _SMALL variables are solved in one set. For larger
# problems, a set has at most a third of the variables: the copy of its submatrix then takes a ninth of the
# memory of the matrix.
_SMALL = 2048
_SHARE = 3

# Number of consecutive working sets without a decrease after which the run has stalled.
_PATIENCE = 8

# Each working set counts as at least this many steps, to account for its bookkeeping. Otherwise, a run of
# working sets with a single step each (caused by rounding errors) would take very long to reach the step
# limit.
_LEAST_STEPS = 25

# A Newton step in m free variables costs about as much as `_POLISH` m^2 pairwise steps, and is tried at this
# interval.
_POLISH = 0.01

# A variable is considered to be at a bound if its distance to the bound is below this fraction of the
# interval and of the largest variable.
_AT_BOUND = 1e-12


@dataclass(frozen=True)
class DualResult(SolverResult):
    """Result of a dual solver: `x` contains the variables, and `n_iter` counts pairwise steps.

    Attributes
    ----------
    product : array of shape (n_points,)
        K times the variables, summed by point: the scores of an SVM without its intercept.
    multiplier : float
        Lagrange multiplier of the equality constraint. It equals the gradient of every variable inside its
        bounds. The intercept of an SVM is its negative.
    gap : float
        Duality gap: an upper bound on the difference between `value` and the optimum.
    violation : float
        Largest slope over the pairs of variables that can still change. The gradients of variables inside
        their bounds differ by at most this value.
    """

    product: np.ndarray
    multiplier: float
    gap: float
    violation: float


def enough_steps(n_variables: int) -> int:
    """Return a limit on pairwise steps for `solve_dual`; problems that converge need fewer steps."""
    return max(10_000_000, 1000 * n_variables)


def solve_dual(
    kernel: np.ndarray | Rows,
    q: np.ndarray,
    control: Control,
    *,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float = 0.0,
    points: np.ndarray | None = None,
    start: np.ndarray | None = None,
    product: np.ndarray | None = None,
) -> DualResult:
    """Minimize a convex quadratic function under box constraints and a fixed sum of the variables.

    The problem is ::

        min  u'Qu / 2 + q'u    subject to    lower <= u <= upper,  sum(u) = total

    with ``Q_kl = K[points[k], points[l]]`` and K positive semi-definite. Variables are *signed*: they are in
    [0, c] for positive examples and in [-c, 0] for negative examples. K is the kernel matrix without labels.
    The substitution u = a * x converts a constraint a'x = total with a = +-1 and 0 <= x <= c to this form.

    Parameters
    ----------
    kernel : array of shape (n_points, n_points), DenseRows or RowCache
        The symmetric matrix K, or its rows on demand.
    q, lower, upper : arrays of shape (n,)
        Linear term and bounds. A variable with equal bounds is fixed.
    control : Control
        The run has converged if the duality gap is at most ``control.tol * (|u'Qu| / 2 + |q'u|)``. The
        iteration limit is a limit on pairwise steps (see `enough_steps`). The callback is called after every
        working set.
    total : float
        Sum of the variables.
    points : array of int, shape (n,), optional
        Index of the row of K for each variable. By default, there is one variable for each row.
    start : array of shape (n,), optional
        Starting point, such as the solution of a similar problem. It is clipped to the bounds, and its sum is
        corrected in the variables where this increases the objective least.
    product : array of shape (n_points,), optional
        K times `start`, summed by point, if available.

    Returns
    -------
    DualResult

    Notes
    -----
    The method is sequential minimal optimization with second-order pair selection on working sets. A working
    set excludes variables at a bound whose gradient points towards the bound. Its submatrix of K is copied,
    so that steps run in fast memory. The full gradient is updated when the violation of optimality in the
    set is ten times smaller. Compared with shrinking, no list of shrunk variables has to be repaired, because
    every set is selected with the exact gradient. Occasional Newton steps in the variables inside their
    bounds replace many pairwise steps. A step costs O(size of the set). The memory is a few ninths of K, or
    the size of the cache.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.solvers import Control, enough_steps, solve_dual
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> x = np.array([2.0, 1.0, -1.0, -3.0])
    >>> control = Control(1e-6, enough_steps(len(y)))
    >>> result = solve_dual(np.outer(x, x), -y, control, lower=np.minimum(y, 0), upper=np.maximum(y, 0))
    >>> float(result.x @ x), abs(result.multiplier)  # the largest margin: f(x) = x
    (1.0, 0.0)
    """
    from bagwise._core.compiled.dual import pair_steps

    matrix = kernel if isinstance(kernel, Rows) else DenseRows(kernel)
    n_points = len(matrix.diagonal)
    q, lower, upper = map(partial(np.ascontiguousarray, dtype=np.float64), (q, lower, upper))
    points = np.arange(n_points) if points is None else np.ascontiguousarray(points, dtype=np.int64)
    _check(q, lower, upper, total, points, n_points)
    u = np.zeros(len(q)) if start is None else np.array(start, dtype=np.float64)
    product = None if product is None else np.array(product, dtype=np.float64)
    u, product = _feasible(matrix, q, lower, upper, total, points, u, product)
    largest_set = min(matrix.capacity, max(_SMALL, len(q) // _SHARE))

    steps, polished, history = 0, 0, []
    while True:
        gradient = product[points] + q
        value = 0.5 * float(u @ (gradient + q))
        history.append(value)
        if steps:
            control.report(steps, value)
        multiplier, gap, violation = _optimality(u, gradient, lower, upper)
        linear = float(q @ u)
        size = abs(value - linear) + abs(linear)
        if gap <= control.tol * size:
            status = Status.CONVERGED
            break
        if len(history) > _PATIENCE and history[-1 - _PATIENCE] - value <= 1e-16 * size:
            status = Status.STALLED  # the remaining changes are rounding errors
            break
        if not np.isfinite(value):
            status = Status.NOT_FINITE
            break
        if control.is_stopped:
            status = Status.INTERRUPTED
            break
        if steps >= control.max_iter:
            status = Status.MAX_ITER
            break
        members = _working_set(u, gradient, lower, upper, largest_set)
        moved, slopes = u[members], gradient[members]
        bounds = readonly(lower[members], upper[members])
        # Reduce the violation tenfold before a new set is selected; more accuracy would be wasted on a set
        # that will change.
        end = min(control.max_iter, steps + max(1000, int(_POLISH * len(members) ** 2)))
        least = min(control.max_iter, steps + _LEAST_STEPS)
        for rows, local, diagonal, budget in matrix.parts(points[members]):
            budget = min(budget, end - steps)
            taken = pair_steps(rows, local, diagonal, *bounds, moved, slopes, 0.1 * violation, budget)
            steps += taken
            if taken < budget or control.is_stopped:
                break
        steps = max(steps, least)
        change = moved - u[members]
        changed = np.flatnonzero(change)
        if not len(changed):  # the violation is below the rounding error of a step
            status = Status.STALLED
            break
        u[members] = moved
        matrix.add(points[members[changed]], change[changed], product)
        free = np.flatnonzero((u > lower) & (u < upper))
        if 1 < len(free) <= largest_set and steps - polished > _POLISH * len(free) ** 2:
            _newton_step(matrix, points, free, lower, upper, q, u, product)
            polished = steps
    if status is Status.CONVERGED:
        multiplier, gap = _settled(u, gradient, lower, upper, multiplier, gap, control.tol * size)
    violation = max(0.0, violation)
    return DualResult(u, value, status, steps, tuple(history), product, multiplier, gap, violation)


def _check(
    q: np.ndarray, lower: np.ndarray, upper: np.ndarray, total: float, points: np.ndarray, n_points: int
) -> None:
    if not q.shape == lower.shape == upper.shape == (q.size,):
        raise ValueError(
            f"q, lower and upper must be 1-D arrays of the same length; got shapes {q.shape}, {lower.shape} "
            f"and {upper.shape}."
        )
    if points.shape != q.shape or (len(points) and not 0 <= points.min() <= points.max() < n_points):
        raise ValueError(
            f"points must contain, for each of the {len(q)} variables, the index of one of the {n_points} "
            "rows of kernel."
        )
    if (lower > upper).any():
        raise ValueError(f"lower must be <= upper; it is greater at index {int(np.argmax(lower > upper))}.")
    slack = 1e-9 * (abs(total) + np.abs(lower).sum() + np.abs(upper).sum())
    if not lower.sum() - slack <= total <= upper.sum() + slack:
        raise ValueError(
            f"total={total!r} is infeasible: the sum of the variables must be between {lower.sum():g} and "
            f"{upper.sum():g}, the sums of lower and upper."
        )


def _feasible(
    matrix: Rows,
    q: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float,
    points: np.ndarray,
    u: np.ndarray,
    product: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Clip a start to the bounds and correct its sum; return it together with its product with K."""
    clipped = np.clip(u, lower, upper)
    if product is None:
        product = np.zeros(len(matrix.diagonal))
        _add_change(matrix, points, clipped, product)
    else:
        _add_change(matrix, points, clipped - u, product)
    missing = total - clipped.sum()
    if missing == 0.0:
        return clipped, product
    # Change the variables with the largest decrease in the objective first, each up to its bound.
    room = upper - clipped if missing > 0 else clipped - lower
    order = np.argsort(np.copysign(1.0, missing) * (product[points] + q), kind="stable")
    before = np.cumsum(room[order]) - room[order]
    repaired = clipped.copy()
    repaired[order] += np.copysign(np.clip(abs(missing) - before, 0.0, room[order]), missing)
    repaired = np.clip(repaired, lower, upper)  # rounding
    _add_change(matrix, points, repaired - clipped, product)
    return repaired, product


def _add_change(matrix: Rows, points: np.ndarray, change: np.ndarray, product: np.ndarray) -> None:
    changed = np.flatnonzero(change)
    if len(changed):
        matrix.add(points[changed], change[changed], product)


def _optimality(
    u: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[float, float, float]:
    """Return the multiplier of the equality constraint, the duality gap, and the largest slope of a pair.

    With r = gradient - multiplier, the duality gap of the Lagrangian is
    ``sum_k max(r_k (u_k - lower_k), r_k (u_k - upper_k))``.
    """
    multiplier, least, most = _multiplier(gradient, u < upper, u > lower)
    return multiplier, _gap(gradient - multiplier, u, lower, upper), float(most - least)


def _multiplier(gradient: np.ndarray, up: np.ndarray, down: np.ndarray) -> tuple[float, float, float]:
    """Return the multiplier, the smallest gradient in `up`, and the largest gradient in `down`.

    `up` marks the variables that can increase, and `down` those that can decrease.
    """
    least = gradient[up].min(initial=np.inf)
    most = gradient[down].max(initial=-np.inf)
    inside = gradient[up & down]
    if len(inside):
        multiplier = float(inside.mean())
    elif np.isfinite(least) and np.isfinite(most):
        multiplier = 0.5 * float(least + most)
    else:
        multiplier = float(next((bound for bound in (least, most) if np.isfinite(bound)), 0.0))
    return multiplier, float(least), float(most)


def _gap(reduced: np.ndarray, u: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    return float(np.maximum(reduced * (u - lower), reduced * (u - upper)).sum())


def _settled(
    u: np.ndarray,
    gradient: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    multiplier: float,
    gap: float,
    largest_gap: float,
) -> tuple[float, float]:
    """Return the final multiplier and gap; use the midpoint of the interval if all variables are at bounds.

    Otherwise, a single variable that is inside its bounds only because of rounding would determine the
    multiplier: one of the two limits of a wide interval.
    """
    slack = _AT_BOUND * np.minimum(upper - lower, np.abs(u).max(initial=0.0))
    inside = (u > lower) & (u < upper)
    up, down = upper - u > slack, u - lower > slack
    if not inside.any() or (up & down).any():
        return multiplier, gap
    middle, _, _ = _multiplier(gradient, up, down)
    gap_there = _gap(gradient - middle, u, lower, upper)
    return (middle, gap_there) if gap_there <= largest_gap else (multiplier, gap)


def _newton_step(
    matrix: Rows,
    points: np.ndarray,
    free: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
    product: np.ndarray,
) -> None:
    """Move to the minimum over the free variables, or towards it up to the first bound.

    Pairwise steps identify the free variables quickly but determine their values slowly. Modifies `u` and
    `product` in place.
    """
    square = matrix.square(points[free])
    shifted = square.copy()
    # Identical points make the matrix singular. With a slightly larger diagonal, the step still descends.
    shifted.flat[:: len(free) + 1] += 1e-12 * square.diagonal().max()
    try:
        factor = cho_factor(shifted, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return
    gradient = product[points[free]] + q[free]
    constraint = np.ones(len(free))
    by_gradient, by_sum = cho_solve(factor, np.column_stack([gradient, constraint]), check_finite=False).T
    step = by_sum * (by_gradient.sum() / by_sum.sum()) - by_gradient
    step -= step.mean()
    slope, curvature = float(gradient @ step), float(step @ square @ step)
    if not slope < 0.0 < curvature:
        return
    room = np.where(step > 0, upper[free] - u[free], u[free] - lower[free])
    with np.errstate(divide="ignore", over="ignore"):
        length = min(-slope / curvature, float((room / np.abs(step)).min()))
    moved = np.clip(u[free] + length * step, lower[free], upper[free])
    matrix.add(points[free], moved - u[free], product)
    u[free] = moved


def _working_set(
    u: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray, largest: int
) -> np.ndarray:
    """Return the variables of violating pairs; if there are too many, the steepest in each direction."""
    up, down = u < upper, u > lower
    rising = np.where(up, gradient[down].max() - gradient, -np.inf)
    falling = np.where(down, gradient - gradient[up].min(), -np.inf)
    members = np.flatnonzero(np.maximum(rising, falling) > 0)
    if len(members) <= largest:
        return members
    half = largest // 2
    rise, fall = np.argpartition(-rising, half - 1)[:half], np.argpartition(-falling, half - 1)[:half]
    return np.union1d(rise, fall)
