"""Interior-point method for the problem of `solve_dual`, based on a factor of its matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from bagwise.solvers.control import Control
from bagwise.solvers.dual import DualResult, solve_dual
from bagwise.solvers.result import Status
from bagwise.solvers.rows import DenseRows, Rows

# Minimum number of pairwise steps before a matrix is factorized, and maximum number of interior-point steps.
_LEAST_PAIRS = 20_000
_STEPS = 100
# Pairwise steps after the factorization, relative to the steps before it. _LESS applies if rounding errors
# exceed _HOPELESS times the tolerated gap.
_MORE, _LESS = 10, 0.1
_HOPELESS = 1e3

LinearMap = Callable[[np.ndarray], np.ndarray]


def solve_dual_interior(
    factor: np.ndarray,
    q: np.ndarray,
    control: Control,
    *,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float,
    points: np.ndarray,
) -> DualResult:
    """Minimize ``u'Qu / 2 + q'u`` with ``lower < u < upper`` and ``sum(u) = total`` by interior points.

    The matrix Q must be small or of low rank: ``Q_kl = F[points[k]] @ F[points[l]]``. If many variables are
    free and the rank of F is small, pairwise steps (`solve_dual`) are inefficient along directions without
    curvature. The interior-point method needs about twenty steps, nearly independently of the data. Each
    step costs a factorization in the smaller dimension of F.

    Parameters
    ----------
    factor : array of shape (n_points, rank)
        The matrix F.
    q, lower, upper, total, points
        See `bagwise.solvers.dual.solve_dual`. Every upper bound must be greater than its lower bound.
    control : Control
        The run has converged if the duality gap is at most ``control.tol * (|u'Qu| / 2 + |q'u|)``.

    Returns
    -------
    DualResult

    Notes
    -----
    The method is Mehrotra's predictor-corrector method. Let K = F F', and let D be the diagonal matrix that
    the bounds add to Q. Let S be the diagonal matrix with the sums of 1 / D over the variables of each point.
    Then (Q + D)^-1 is computed from (K^-1 + S)^-1, which equals ``F (I + F'SF)^-1 F'`` and also
    ``S^-1 - S^-1 (K + S^-1)^-1 S^-1``.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.solvers import Control, solve_dual_interior
    >>> result = solve_dual_interior(
    ...     np.eye(3),
    ...     np.array([-1.0, 0.0, 0.0]),
    ...     Control(1e-9, 100),
    ...     lower=np.zeros(3),
    ...     upper=np.ones(3),
    ...     total=1.0,
    ...     points=np.arange(3),
    ... )
    >>> result.x.round(3)
    array([1., 0., 0.])
    """
    matrix = _Factored(factor, points)
    width = upper - lower
    # The starting point is the center of the box, shifted so that the variables have the required sum.
    u = lower + width * np.clip((total - lower.sum()) / width.sum(), 1e-3, 1.0 - 1e-3)
    gradient = matrix.times(u) + q
    y = float(np.median(gradient))
    scale = max(float(np.abs(gradient - y).mean()), 1e-300)
    z, w = np.maximum(gradient - y, 0.0) + scale, np.maximum(y - gradient, 0.0) + scale
    history, status, best = [], Status.MAX_ITER, None
    for step in range(control.max_iter + 1):
        s, t = u - lower, upper - u
        gradient = matrix.times(u) + q
        quadratic = 0.5 * float(u @ (gradient - q))
        linear = float(q @ u)
        missing = total - float(u.sum())
        residual = gradient - y - z + w
        # This duality gap at the multiplier y is a valid bound for all z and w.
        reduced = gradient - y
        gap = float(np.maximum(reduced * s, -reduced * t).sum())
        history.append(quadratic + linear)
        if step:
            control.report(step, history[-1])
        size = abs(quadratic) + abs(linear)
        if abs(missing) <= 1e-12 * float(np.abs(u).sum()) and (best is None or gap < best[1]):
            best = u, gap, y, step
        if best is not None and best[1] <= control.tol * size:
            status = Status.CONVERGED
            break
        if control.is_stopped:
            status = Status.INTERRUPTED
            break
        at_bound = not (s.min() > 0.0 and t.min() > 0.0)  # only because of rounding
        if at_bound or (best is not None and step - best[3] > 10):
            status = Status.STALLED
            break
        mu = float(s @ z + t @ w) / (2 * len(u))
        try:
            solve = matrix.solver(z / s + w / t)
        except LinAlgError:
            status = Status.STALLED
            break
        system = (solve, solve(np.ones(len(u))), s, t, z, w, residual, missing)
        du, _, dz, dw = _direction(*system, 0.0, 0.0)
        length = min(_longest(s, du), _longest(t, -du)), min(_longest(z, dz), _longest(w, dw))
        after = (s + length[0] * du) @ (z + length[1] * dz) + (t - length[0] * du) @ (w + length[1] * dw)
        centering = (float(after) / (2 * len(u)) / mu) ** 3 * mu
        du, dy, dz, dw = _direction(*system, centering - du * dz, centering + du * dw)
        primal = min(1.0, 0.995 * min(_longest(s, du), _longest(t, -du)))
        dual = min(1.0, 0.995 * min(_longest(z, dz), _longest(w, dw)))
        u, y, z, w = u + primal * du, y + dual * dy, z + dual * dz, w + dual * dw
    if best is not None:
        u, gap, y, _ = best
    product = factor @ (np.bincount(points, weights=u, minlength=len(factor)) @ factor)
    value = 0.5 * float(u @ product[points]) + float(q @ u)
    return DualResult(u, value, status, step, tuple(history), product, y, gap, gap)


def _direction(
    solve: LinearMap,
    by_sum: np.ndarray,
    s: np.ndarray,
    t: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    residual: np.ndarray,
    missing: float,
    target_s: np.ndarray | float,
    target_t: np.ndarray | float,
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Return the Newton step towards complementarity products s z and t w that equal the targets."""
    part = solve(-residual + (target_s - s * z) / s - (target_t - t * w) / t)
    dy = (missing - part.sum()) / by_sum.sum()
    du = part + dy * by_sum
    return du, dy, (target_s - s * z - z * du) / s, (target_t - t * w + w * du) / t


def _longest(positive: np.ndarray, change: np.ndarray) -> float:
    """Return the largest step, up to 1e10, that keeps all values positive."""
    falling = change < 0
    return float(np.min(-positive[falling] / change[falling], initial=1e10))


class _Factored:
    """The matrix Q, stored as a factor whose rows are shared by the variables of a point."""

    def __init__(self, factor: np.ndarray, points: np.ndarray):
        distinct, self.points = np.unique(points, return_inverse=True)
        self.factor = factor if len(distinct) == len(factor) else factor[distinct]
        self.gram = self.factor @ self.factor.T if len(distinct) <= factor.shape[1] else None

    def _by_point(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.points, weights=values)

    def times(self, u: np.ndarray) -> np.ndarray:
        """Return Q u."""
        gathered = self._by_point(u)
        product = self.factor @ (gathered @ self.factor) if self.gram is None else self.gram @ gathered
        return product[self.points]

    def solver(self, diagonal: np.ndarray) -> LinearMap:
        """Return a function that solves (Q + diag) x = r, with two steps of iterative refinement."""
        inverse = 1.0 / diagonal
        shares = self._by_point(inverse)
        if self.gram is None:
            small = (self.factor.T * shares) @ self.factor
            small.flat[:: len(small) + 1] += 1.0
            factor = cho_factor(small, overwrite_a=True, check_finite=False)

            def inner(a: np.ndarray) -> np.ndarray:
                return self.factor @ cho_solve(factor, a @ self.factor, check_finite=False)
        else:
            large = self.gram.copy()
            large.flat[:: len(large) + 1] += 1.0 / shares
            factor = cho_factor(large, overwrite_a=True, check_finite=False)

            def inner(a: np.ndarray) -> np.ndarray:
                part = a / shares
                return part - cho_solve(factor, part, check_finite=False) / shares

        def once(r: np.ndarray) -> np.ndarray:
            v = inverse * r
            return v - inverse * inner(self._by_point(v))[self.points]

        def solve(r: np.ndarray) -> np.ndarray:
            x = once(r)
            for _ in range(2):
                x = x + once(r - self.times(x) - diagonal * x)
            return x

        return solve


def solve_dual_either_way(
    kernel: np.ndarray | Rows,
    q: np.ndarray,
    control: Control,
    *,
    lower: np.ndarray,
    upper: np.ndarray,
    points: np.ndarray | None = None,
    start: np.ndarray | None = None,
    product: np.ndarray | None = None,
) -> DualResult:
    """Solve the problem of `solve_dual` for a zero sum by pairwise steps or the interior-point method.

    The parameters are those of `solve_dual`. The first pairwise steps take about the time of a factorization
    for the interior-point method. If they do not converge, the interior-point method finds the variables at
    a bound. Pairwise steps then start from this point and either converge or stall early because of rounding
    errors. If the full matrix is not available, pairwise steps continue up to the limit.
    """
    matrix = kernel if isinstance(kernel, Rows) else DenseRows(kernel)
    points = np.arange(len(matrix.diagonal)) if points is None else points
    solve = partial(solve_dual, matrix, q, lower=lower, upper=upper, points=points)
    free = np.flatnonzero(upper > lower)
    patience = min(control.max_iter, max(_LEAST_PAIRS, len(free) ** 2))
    first = solve(control=replace(control, max_iter=patience), start=start, product=product)
    may_end = first.status in (Status.CONVERGED, Status.INTERRUPTED, Status.NOT_FINITE)
    if may_end or patience == control.max_iter:
        return first
    near = None
    if isinstance(matrix, DenseRows) and len(free):
        near = _near_the_optimum(matrix, q, control, lower, upper, points, free)
    if near is None and first.status is Status.STALLED:
        return first
    if near is None:
        return solve(control=control, start=first.x, product=first.product)
    longer = _MORE if _leaves_digits(matrix, q, control.tol, lower, upper, near) else _LESS
    more = replace(control, max_iter=min(control.max_iter, int(longer * patience)))
    final = solve(control=more, start=near)
    if not final.converged and first.gap < final.gap:
        final = solve(control=more, start=first.x, product=first.product)
    # If this many steps do not suffice, convergence is prevented by rounding errors.
    status = Status.STALLED if final.status is Status.MAX_ITER else final.status
    return replace(final, status=status, n_iter=first.n_iter + final.n_iter)


def _leaves_digits(
    matrix: Rows, q: np.ndarray, tol: float, lower: np.ndarray, upper: np.ndarray, u: np.ndarray
) -> bool:
    """Whether the duality gap can reach the tolerance in spite of rounding errors.

    The gap is a sum of slopes times distances to bounds (see `solve_dual`). With bounds of 1e18, for example,
    it cannot reach the tolerance.
    """
    largest = float(matrix.diagonal.max(initial=0.0))  # no entry of K is larger
    of_slopes = np.finfo(float).eps * largest * float(np.abs(u).sum())
    return bool(of_slopes * (upper - lower).sum() <= _HOPELESS * tol * (np.abs(q) @ np.abs(u)))


def _near_the_optimum(
    matrix: DenseRows,
    q: np.ndarray,
    control: Control,
    lower: np.ndarray,
    upper: np.ndarray,
    points: np.ndarray,
    free: np.ndarray,
) -> np.ndarray | None:
    """Return variables near the optimum, rounded to their bounds; None if the interior-point method fails."""
    fixed = np.where(upper > lower, 0.0, lower)
    pull = np.zeros(len(matrix.diagonal))
    matrix.add(points[fixed != 0.0], fixed[fixed != 0.0], pull)
    distinct, local = np.unique(points[free], return_inverse=True)
    values, axes = eigh(matrix.square(distinct), check_finite=False)
    kept = values > np.finfo(float).eps * len(distinct) * max(values[-1], np.finfo(float).tiny)
    factor = axes[:, kept] * np.sqrt(values[kept])
    if not factor.size:
        return None
    low, high, linear = lower[free], upper[free], (pull[points] + q)[free]
    limited = replace(control, tol=max(1e-2 * control.tol, 1e-10), max_iter=_STEPS, on_iteration=None)
    solution = solve_dual_interior(
        factor, linear, limited, lower=low, upper=high, total=-float(fixed.sum()), points=local
    )
    if not np.isfinite(solution.x).all():
        return None
    slope = solution.product[local] + linear - solution.multiplier
    # Complementarity means that the distance to the bound or the slope is zero. The factor that vanishes at
    # the optimum is much smaller than the other one.
    steep = np.abs(slope) / max(float(np.abs(slope).max()), np.finfo(float).tiny)
    width, u = high - low, solution.x
    u = np.where((slope > 0) & ((u - low) / width < steep), low, u)
    u = np.where((slope < 0) & ((high - u) / width < steep), high, u)
    near = fixed.copy()
    near[free] = u
    return near
