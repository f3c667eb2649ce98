"""The dual of support vector machines and their relatives: a box and one equality, by working sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from bagwise._core.compiled.arrays import readonly
from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status
from bagwise.solvers.rows import DenseRows, Rows

# A working set holds at least this many variables, so that small problems are solved in one piece, and at
# most a third of a larger one: its part of the matrix is copied, which then takes a ninth of the memory.
_SMALL = 2048
_SHARE = 3

# Working sets without a decrease after which rounding is all that is left.
_PATIENCE = 8

# A working set counts as no fewer steps than this, which its bookkeeping costs: sets of a step each, one
# after the other where rounding is in the way, would otherwise take long to reach a limit on steps.
_LEAST_STEPS = 25

# A Newton step in m free variables costs about as much as this times m^2 pair steps, and is tried that often.
_POLISH = 0.01

# Nearer to a bound than this share of its room, and of the largest variable, one is there but for rounding.
_AT_BOUND = 1e-12


@dataclass(frozen=True)
class DualResult(SolverResult):
    """The end of a dual run: the variables are `x`, and `n_iter` counts steps of pairs.

    Attributes
    ----------
    product : array of shape (n_points,)
        K times the variables gathered by point: the scores of a machine, without its intercept.
    multiplier : float
        That of the equality: the gradient of every variable inside its bounds equals it. The intercept of
        a support vector machine is its negative.
    gap : float
        The duality gap: `value` is above the optimum by no more.
    violation : float
        The largest slope of a pair that could still move: gradients of variables inside their bounds agree
        to this.
    """

    product: np.ndarray
    multiplier: float
    gap: float
    violation: float


def enough_steps(n_variables: int) -> int:
    """More steps of pairs than a problem takes that converges at all, as a limit for `solve_dual`."""
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
    """Minimise a convex quadratic function in a box, given the sum of the variables.

    The problem is ::

        min  u'Qu / 2 + q'u    subject to    lower <= u <= upper,  sum(u) = total

    with ``Q_kl = K[points[k], points[l]]`` and K positive semi-definite. Variables are *signed*: that of a
    positive example lies in [0, c], that of a negative one in [-c, 0], and K is the bare kernel matrix.
    A constraint a'x = total with a = +-1 and 0 <= x <= c becomes this by u = a * x.

    Parameters
    ----------
    kernel : array of shape (n_points, n_points), DenseRows or RowCache
        The symmetric matrix K, or its rows on demand.
    q, lower, upper : arrays of shape (n,)
        Linear term and bounds. A variable with equal bounds is fixed.
    control : Control
        Converged when the duality gap is at most the share `control.tol` of ``|u'Qu| / 2 + |q'u|``. The limit
        is on steps of pairs (`enough_steps`); a report comes for every working set.
    total : float
        The sum of the variables.
    points : array of int, shape (n,), optional
        The row of K that belongs to each variable; by default there is one variable for each row.
    start : array of shape (n,), optional
        Where to begin, such as the end of a similar problem: it is clipped to the bounds, and its sum is
        repaired where that costs least.
    product : array of shape (n_points,), optional
        K times `start` gathered by point, if known.

    Returns
    -------
    DualResult

    Notes
    -----
    Sequential minimal optimisation with second-order pairs, on working sets: variables that lie at a bound
    and are pushed towards it are left out, the others' part of K is copied so that steps run in fast
    memory, and the gradient of all variables is brought up to date when the set's violation of optimality
    has fallen tenfold. This is shrinking without a list to repair: every set is chosen from the exact
    gradient. Once in a while a Newton step in the variables inside their bounds does what many pairs would.
    A step costs O(size of the set); memory is a few ninths of K, or the cache.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.solvers import Control, enough_steps, solve_dual
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> x = np.array([2.0, 1.0, -1.0, -3.0])
    >>> control = Control(1e-6, enough_steps(len(y)))
    >>> machine = solve_dual(np.outer(x, x), -y, control, lower=np.minimum(y, 0), upper=np.maximum(y, 0))
    >>> float(machine.x @ x), abs(machine.multiplier)  # the largest margin: f(x) = x
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
            status = Status.STALLED  # steps go to and fro within what rounding leaves open
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
        # A tenth of the violation: enough to be worth the next set, too little to polish a wrong one.
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
        if not len(changed):  # the violation is below what rounding lets a step see
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
            f"q, lower and upper must have one length; got shapes {q.shape}, {lower.shape} and {upper.shape}."
        )
    if points.shape != q.shape or (len(points) and not 0 <= points.min() <= points.max() < n_points):
        raise ValueError(
            f"points must name a row of the {n_points} of kernel for each of the {len(q)} variables."
        )
    if (lower > upper).any():
        raise ValueError(f"lower exceeds upper for variable {int(np.argmax(lower > upper))}.")
    slack = 1e-9 * (abs(total) + np.abs(lower).sum() + np.abs(upper).sum())
    if not lower.sum() - slack <= total <= upper.sum() + slack:
        raise ValueError(
            f"no variables within the bounds add up to total={total!r}: their sum lies between "
            f"{lower.sum():g} and {upper.sum():g}."
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
    """Clip a start to the bounds and repair its sum; give it with K times it."""
    clipped = np.clip(u, lower, upper)
    if product is None:
        product = np.zeros(len(matrix.diagonal))
        _add_change(matrix, points, clipped, product)
    else:
        _add_change(matrix, points, clipped - u, product)
    missing = total - clipped.sum()
    if missing == 0.0:
        return clipped, product
    # What is missing goes to the variables that gain most by it, each as far as its bound.
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
    """Multiplier of the equality, duality gap, and the largest slope of a pair.

    With r = gradient - multiplier, the gap is that of the Lagrangian:
    ``sum_k max(r_k (u_k - lower_k), r_k (u_k - upper_k))``.
    """
    multiplier, least, most = _multiplier(gradient, u < upper, u > lower)
    return multiplier, _gap(gradient - multiplier, u, lower, upper), float(most - least)


def _multiplier(gradient: np.ndarray, up: np.ndarray, down: np.ndarray) -> tuple[float, float, float]:
    """Multiplier of the equality, the least gradient of what may rise, and the largest of what may fall."""
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
    """Multiplier and gap at the end: the middle of what is possible where all variables are at bounds.

    A single one that rounding left inside would otherwise say what the multiplier is: either end of a wide
    interval, as rounding goes.
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
    """Go to the minimum over the free variables, or towards it as far as the bounds allow.

    Pairs find out quickly which variables are free, and slowly what their values are. Changes u, product.
    """
    square = matrix.square(points[free])
    shifted = square.copy()
    # Points that coincide make the matrix singular; a little more diagonal still gives a way down.
    shifted.flat[:: len(free) + 1] += 1e-12 * square.diagonal().max()
    try:
        factor = cho_factor(shifted, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return
    gradient = product[points[free]] + q[free]
    ones = np.ones(len(free))
    by_gradient, by_sum = cho_solve(factor, np.column_stack([gradient, ones]), check_finite=False).T
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
    """Variables that some pair would move; the steepest of either side if there are too many."""
    up, down = u < upper, u > lower
    rising = np.where(up, gradient[down].max() - gradient, -np.inf)
    falling = np.where(down, gradient - gradient[up].min(), -np.inf)
    members = np.flatnonzero(np.maximum(rising, falling) > 0)
    if len(members) <= largest:
        return members
    half = largest // 2
    rise, fall = np.argpartition(-rising, half - 1)[:half], np.argpartition(-falling, half - 1)[:half]
    return np.union1d(rise, fall)
