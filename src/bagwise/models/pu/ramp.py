"""A kernel machine with the ramp loss, which no instance can make larger than one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.solvers.control import Control
from bagwise.solvers.dual import enough_steps, solve_dual
from bagwise.solvers.rows import DenseRows


def ramp(z: np.ndarray) -> np.ndarray:
    """``max(0, min(1, (1 - z) / 2))``."""
    return np.clip(0.5 * (1.0 - z), 0.0, 1.0)


@dataclass(frozen=True)
class RampScore:
    """Scores ``K @ x + intercept`` of the training points, and the objective there."""

    x: np.ndarray
    product: np.ndarray
    intercept: float
    value: float


class _Flipped:
    """Which points lie so far on the wrong side that their loss is flat."""

    def __init__(self, flags: np.ndarray):
        self.flags = flags

    def __eq__(self, other: Any) -> bool:
        return np.array_equal(self.flags, other.flags)

    __hash__ = None  # type: ignore[assignment]


class RampProblem:
    """``alpha / 2 |f|^2 + sum_i weight_i ramp(y_i f(x_i))`` as a sum of a convex and a concave part.

    The ramp is half a hinge with its corner at 1 less half a hinge with its corner at -1. The second is
    replaced by its tangent: points beyond -1 then have bounds moved by their weight, and the rest is the
    dual of a support vector machine.

    Parameters
    ----------
    kernel : array of shape (n, n)
        The matrix K of the points.
    sign : array of shape (n,)
        Labels y, 1 or -1.
    weight : array of shape (n,)
        Weights of the points.
    alpha : float
        The penalty.
    fit_intercept : bool
        Whether scores have an intercept; if not, it is zero.
    """

    bound: np.ndarray
    rows: DenseRows

    def __init__(
        self,
        kernel: np.ndarray,
        sign: np.ndarray,
        weight: np.ndarray,
        alpha: float,
        fit_intercept: bool = True,
    ):
        # A point where all scores are zero, free to take up any sum: its gradient, the intercept, is zero.
        self.rows = DenseRows(kernel if fit_intercept else np.pad(kernel, (0, 1)))
        self.sign = sign
        self.weight = weight
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.bound = 0.5 * weight / alpha

    def zero(self) -> RampScore:
        """The score that is zero everywhere."""
        zeros = np.zeros(len(self.sign))
        return RampScore(zeros, zeros, 0.0, 0.5 * float(self.weight.sum()))

    def linearize(self, point: RampScore) -> _Flipped:
        """Points whose ramp is flat."""
        return _Flipped(self.sign * (point.product + point.intercept) < -1.0)

    def solve(self, piece: _Flipped, start: RampScore, control: Control) -> RampScore:
        """Minimise with the tangent of a piece."""
        moved = np.where(piece.flags, self.bound, 0.0)
        low, high = -moved, self.bound - moved
        positive = self.sign > 0
        linear, u, product = -self.sign, start.x, start.product
        lower, upper = np.where(positive, low, -high), np.where(positive, high, -low)
        if not self.fit_intercept:
            linear, product = np.append(linear, 0.0), np.append(product, 0.0)
            u = np.append(u, -u.sum())
            lower, upper = np.append(lower, -self.bound.sum()), np.append(upper, self.bound.sum())
        control = replace(control, max_iter=enough_steps(len(u)))
        dual = solve_dual(self.rows, linear, control, lower=lower, upper=upper, start=u, product=product)
        n = len(self.sign)
        x, product = dual.x[:n], dual.product[:n]
        intercept = -dual.multiplier if self.fit_intercept else 0.0
        loss = self.weight @ ramp(self.sign * (product + intercept))
        return RampScore(x, product, intercept, 0.5 * self.alpha * float(x @ product) + float(loss))
