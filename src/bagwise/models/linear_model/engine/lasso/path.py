"""A path of penalties: down from the model without features, and back up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise.models.linear_model.engine.lasso.problem import LassoProblem
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import L1Result, WarmModel, minimize_l1
from bagwise.solvers.working_set import ElasticNet

if TYPE_CHECKING:
    from bagwise.models.linear_model.engine.problem import BagPoint


# How far the way back up may go on beyond the largest alpha, in steps of the grid.
_MAX_STEPS_BEYOND = 100
# On the way up optimality within this part of alpha is enough to see where it leads, and parameters that
# agree to this part of the largest lead to the same place.
_ROUGHLY, _CLOSE = 1e-3, 1e-2
# So many alphas of another path, from the present one on, have warm models to try.
_WARM_MODELS = 3
# What beats the model without features does so by more than rounding.
_CLEARLY = 1e-8


class PathSolver:
    """Solves at one alpha after the other, each from the last solution; `null` is the model without features.

    `control` is for every alpha. If its flag is set, KeyboardInterrupt is raised: a path of which a part is
    missing is of no use.

    Attributes
    ----------
    alpha_max : float
        The alpha at which the model without features stops being stationary.
    warm_models : dict
        What the way down has learned of the curvature at each alpha.
    """

    total: Any
    null: BagPoint
    alpha_max: Any

    def __init__(self, problem: LassoProblem, null: np.ndarray, l1_ratio: float, control: Control):
        self.problem = problem
        self.l1_ratio = l1_ratio
        self.control = control
        self.total = problem.bags.total
        self.null = problem.point(null)
        self.alpha_max = self.null.largest_slope * self.total / l1_ratio
        self.warm_models: dict[float, WarmModel] = {}

    def penalty(self, alpha: float) -> ElasticNet:
        """The penalty per unit of weight."""
        alpha = alpha / self.total
        return ElasticNet(alpha * self.l1_ratio, alpha * (1 - self.l1_ratio))

    def descend(
        self, alphas: np.ndarray, warm_models: dict[float, WarmModel]
    ) -> tuple[list[L1Result], L1Result]:
        """Solve at falling alphas from the model without features; give all solutions, and the last whole."""
        solutions, last = [], None
        for number, alpha in enumerate(alphas):
            # A warm model of a smaller alpha knows more columns.
            following = alphas[number : number + _WARM_MODELS]
            warm = [warm_models[other] for other in following if other in warm_models]
            last = self._solve(alpha, last, warm_models=warm)
            solutions.append(_essence(last))
            if last.warm_model is not None:
                self.warm_models[alpha] = last.warm_model
        assert last is not None
        return solutions, last

    def ascend(
        self, alphas: np.ndarray, known: list[L1Result], last: L1Result
    ) -> tuple[list[L1Result], L1Result]:
        """Come back from the last solution; give the better one at every alpha, and the end of the way.

        Where the way up comes close to what is known, or stays above it, it need not go to the end.
        """
        kept = []
        for alpha, there in zip(alphas[::-1], known[::-1], strict=True):
            last = self._solve(alpha, last, roughly=True)
            if not _is_close(last, there) and last.value < there.value * (1 + _ROUGHLY):
                last = self._solve(alpha, last)
            is_better = last.kkt <= self.control.tol and last.value < there.value
            kept.append(_essence(last) if is_better else there)
        return kept[::-1], last

    def extend(self, alphas: np.ndarray, last: L1Result) -> tuple[list[float], list[L1Result]]:
        """Go on upward from the largest alpha until no feature is left; give what beats that.

        The step is that of the grid; the strongest penalty comes first.
        """
        ratio = alphas[0] / alphas[1] if len(alphas) > 1 else 1.25
        alpha, beyond, better = alphas[0], list[float](), list[L1Result]()
        for _ in range(_MAX_STEPS_BEYOND):
            if not last.x[:-1].any():
                break
            alpha *= ratio
            last = self._solve(alpha, last)
            if last.value < self.null.value * (1 - _CLEARLY):
                beyond.append(alpha)
                better.append(_essence(last))
        return beyond[::-1], better[::-1]

    def _solve(
        self,
        alpha: float,
        last: L1Result | None,
        *,
        roughly: bool = False,
        warm_models: Sequence[WarmModel] = (),
    ) -> L1Result:
        penalty, control = self.penalty(alpha), self.control
        if roughly:
            control = replace(control, tol=max(control.tol, _ROUGHLY * penalty.l1))
        start = self.null if last is None else last
        result = minimize_l1(self.problem, start, penalty, control, warm_models=warm_models)
        if control.is_stopped:
            raise KeyboardInterrupt
        return result


def _essence(result: L1Result) -> L1Result:
    """A solution without what has the size of the data."""
    return replace(result, point=result.point.without_instances(), restriction=None, model=None)


def _is_close(result: L1Result, known: L1Result) -> bool:
    """Whether a rough solution is on its way to a known one."""
    return bool(np.abs(result.x - known.x).max() <= _CLOSE * np.abs(known.x).max())
