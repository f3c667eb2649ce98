"""Penalty paths in both directions: decreasing from the model without features, and then increasing.

`PathSolver` solves the problem for one penalty after the other in memory. `LargePath` computes the path of
large data on a sample, and then continues all penalties on all bags in shared passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bagwise._core.interrupt import raise_if_stopped
from bagwise.data.blocks import Blocks, run_together
from bagwise.models.linear_model.engine.large_fit import BagSample, draw_sample, on_sample, warm_model
from bagwise.models.linear_model.engine.lasso import ColumnCopy, LassoProblem
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import L1Result, WarmModel, minimize_l1
from bagwise.solvers.working_set import ElasticNet

# Maximum number of grid steps of the upward path beyond the largest alpha.
_MAX_STEPS_BEYOND = 100
# On the upward path, a violation of the optimality conditions up to this, relative to alpha, identifies an
# optimum. Solutions are the same optimum if their parameters differ by less, relative to the largest
# parameter.
_ROUGHLY, _CLOSE = 1e-3, 1e-2
# Warm models from another path are tried for this many alphas, beginning with the current one.
_WARM_MODELS = 3
# Relative improvement over the model without features that exceeds rounding errors.
_CLEARLY = 1e-8

Run = Callable[[Blocks], L1Result]


class PathSolver:
    """Solver for a sequence of alphas, each from the last solution; `null` is the model without features.

    `control` applies to every alpha. If its stop flag is set, KeyboardInterrupt is raised, because a partial
    path is useless.

    Attributes
    ----------
    alpha_max : float
        The smallest alpha at which the model without features is still stationary.
    warm_models : dict
        The curvature models of the downward path for every alpha.
    """

    def __init__(self, problem: LassoProblem, null: np.ndarray, l1_ratio: float, control: Control):
        self.problem = problem
        self.l1_ratio = l1_ratio
        self.control = control
        self.total = problem.bags.total
        self.null = problem.point(null)
        self.alpha_max = self.null.largest_slope * self.total / l1_ratio
        self.warm_models: dict[float, WarmModel] = {}

    def penalty(self, alpha: float) -> ElasticNet:
        """Return the penalty per unit of weight."""
        alpha = alpha / self.total
        return ElasticNet(alpha * self.l1_ratio, alpha * (1 - self.l1_ratio))

    def descend(
        self, alphas: np.ndarray, warm_models: dict[float, WarmModel]
    ) -> tuple[list[L1Result], L1Result]:
        """Solve for decreasing alphas from the model without features.

        Return all solutions without data-sized arrays, and the last solution complete.
        """
        solutions, last = [], None
        for i, alpha in enumerate(alphas):
            # The warm model of a smaller alpha contains more columns.
            following = alphas[i : i + _WARM_MODELS]
            warm = [warm_models[other] for other in following if other in warm_models]
            last = self._solve(alpha, last, warm_models=warm)
            solutions.append(_essence(last))
            if last.warm_model is not None:
                self.warm_models[alpha] = last.warm_model
        assert last is not None
        return solutions, last

    def ascend(
        self, alphas: np.ndarray, downward: list[L1Result], last: L1Result
    ) -> tuple[list[L1Result], L1Result]:
        """Solve for increasing alphas; return the better solution for every alpha, and the last solution.

        A solution that is close to the one in `downward`, or has a larger objective, is not computed to full
        precision.
        """
        kept = []
        for alpha, other in zip(alphas[::-1], downward[::-1], strict=True):
            last = self._solve(alpha, last, roughly=True)
            if not _is_close(last, other) and last.value < other.value * (1 + _ROUGHLY):
                last = self._solve(alpha, last)
            is_better = last.kkt <= self.control.tol and last.value < other.value
            kept.append(_essence(last) if is_better else other)
        return kept[::-1], last

    def extend(self, alphas: np.ndarray, last: L1Result) -> tuple[list[float], list[L1Result]]:
        """Continue upward from the largest alpha until no feature is left.

        Return the alphas and solutions that are better than the model without features, strongest penalty
        first. The ratio of successive alphas is that of the grid.
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
    """Return a solution without arrays of the size of the data."""
    return replace(result, point=result.point.without_instances(), restriction=None, model=None)


def _is_close(result: L1Result, other: L1Result) -> bool:
    """Return whether a rough solution is converging to a different solution."""
    return bool(np.abs(result.x - other.x).max() <= _CLOSE * np.abs(other.x).max())


class Grid(NamedTuple):
    """Solutions for all alphas, and whether each is better than that of the downward path."""

    alphas: np.ndarray
    solutions: list[L1Result]
    from_below: list[bool]


def both_ways_on(
    solver: PathSolver, grid: np.ndarray, warm_models: dict[Any, Any], *, both_ways: bool, beyond: bool
) -> Grid:
    """Compute the path down the grid, back up, and beyond the largest alpha."""
    down, last = solver.descend(grid, warm_models)
    if not both_ways or solver.problem.bags.is_convex:
        return Grid(grid, down, [False] * len(grid))
    solutions, last = solver.ascend(grid, down, last)
    from_below = [up is not other for up, other in zip(solutions, down, strict=True)]
    if not beyond:
        return Grid(grid, solutions, from_below)
    stronger, better = solver.extend(grid, last)
    return Grid(np.append(stronger, grid), better + solutions, [True] * len(better) + from_below)


# ---------------------------------------------------------------------- many bags


@dataclass(frozen=True)
class LargePath:
    """A path on large data.

    Attributes
    ----------
    problem : LinearBagProblem
        The problem on all bags, without ridge.
    null : array
        The model without features.
    l1_ratio, control
        As in `PathSolver`. A checkpoint stores the runs on all bags.
    alpha_max : float
        The smallest alpha at which the model without features is still stationary on all bags.
    """

    problem: LinearBagProblem
    null: np.ndarray
    l1_ratio: float
    control: Control
    alpha_max: float

    def solve(
        self, sample: BagSample | None, grid: np.ndarray, warm_models: dict[Any, Any], **options: bool
    ) -> tuple[Grid, dict[float, WarmModel]]:
        """Solve for all alphas, after a path on a sample of the bags.

        If `sample` is not passed, it is drawn here. The second result contains the curvature models of the
        downward path on the sample.
        """
        if sample is None:
            sample = draw_sample(self.problem.blocks.untransformed, np.random.RandomState(0))
        # Folds that share passes take turns here, because each temporarily copies the sample.
        search = partial(self._on_sample, sample, grid, warm_models, **options)
        result, runs, learned = self.problem.blocks.exclusive(search)
        # Free the sample before the passes, if it was drawn here.
        del sample, search
        ends = run_together(self.problem.blocks, runs)
        raise_if_stopped()
        return self._better_than_null(result, ends), learned

    def _on_sample(
        self, sample: BagSample, grid: np.ndarray, warm_models: dict[Any, Any], **options: bool
    ) -> tuple[Grid, list[Run], dict[float, WarmModel]]:
        """Solve on the sample and set up runs over all bags from there; the last run starts at `null`."""
        problem = on_sample(self.problem, sample)
        lasso = LassoProblem(problem, ColumnCopy.of(problem.design), tol=self.control.tol)
        solver = PathSolver(lasso, self.null, self.l1_ratio, self.control.without_checkpoint())
        result = both_ways_on(solver, grid, warm_models, **options)

        def run_from(index: int, alpha: float, start: np.ndarray) -> Run:
            penalty = solver.penalty(alpha)
            warm = warm_model(problem, start, penalty.l1)
            control = self.control.within(f"run {index + 1} on all bags")
            return lambda blocks: self._run(blocks, start, penalty, warm, control)

        alphas = [*result.alphas, self.alpha_max * (1 + 1e-9)]
        starts = [*(solution.x for solution in result.solutions), self.null]
        runs = [run_from(index, *run) for index, run in enumerate(zip(alphas, starts, strict=True))]
        return result, runs, solver.warm_models

    def _run(
        self, blocks: Blocks, start: np.ndarray, penalty: ElasticNet, warm: WarmModel, control: Control
    ) -> L1Result:
        lasso = LassoProblem(self.problem.over(blocks), None, tol=control.tol)
        return minimize_l1(lasso, start, penalty, control, warm_models=[warm])

    def _better_than_null(self, result: Grid, ends: list[L1Result]) -> Grid:
        """Use the model without features where it is stationary and not worse."""
        *ends, without = ends
        kept = []
        for alpha, end, is_new in zip(result.alphas, ends, result.from_below, strict=True):
            is_worse = alpha >= self.alpha_max and end.value >= without.value
            if not (is_worse and is_new and alpha > self.alpha_max * (1 + 1e-8)):
                per_weight = alpha / self.problem.total
                penalty = ElasticNet(per_weight * self.l1_ratio, per_weight * (1 - self.l1_ratio))
                best = replace(without, penalty=penalty) if is_worse else end
                kept.append((alpha, best, is_new and not is_worse))
        alphas, solutions, from_below = zip(*kept, strict=True)
        return Grid(np.array(alphas), list(solutions), list(from_below))
