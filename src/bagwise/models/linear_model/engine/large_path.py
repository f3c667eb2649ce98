"""A path of penalties on many bags: found on a sample, finished in passes that all penalties share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bagwise._core.interrupt import raise_if_stopped
from bagwise.data.blocks import Blocks, run_together
from bagwise.models.linear_model.engine.fits import Sample, draw_sample, on_sample, warm_model
from bagwise.models.linear_model.engine.lasso.columns import ColumnCopy
from bagwise.models.linear_model.engine.lasso.path import PathSolver
from bagwise.models.linear_model.engine.lasso.problem import LassoProblem
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import L1Result, WarmModel, minimize_l1
from bagwise.solvers.working_set import ElasticNet

Run = Callable[[Blocks], L1Result]


class Grid(NamedTuple):
    """Solutions at all alphas, and whether each is better than what the way down had found."""

    alphas: np.ndarray
    solutions: list[L1Result]
    from_below: list[bool]


def both_ways_on(
    solver: PathSolver, grid: np.ndarray, warm_models: dict[Any, Any], *, both_ways: bool, beyond: bool
) -> Grid:
    """Go down the grid, back up, and beyond its largest alpha."""
    down, last = solver.descend(grid, warm_models)
    if not both_ways or solver.problem.bags.is_convex:
        return Grid(grid, down, [False] * len(grid))
    solutions, last = solver.ascend(grid, down, last)
    from_below = [up is not there for up, there in zip(solutions, down, strict=True)]
    if not beyond:
        return Grid(grid, solutions, from_below)
    stronger, better = solver.extend(grid, last)
    return Grid(np.append(stronger, grid), better + solutions, [True] * len(better) + from_below)


@dataclass(frozen=True)
class LargePath:
    """A path on many bags.

    Attributes
    ----------
    problem : LinearBagProblem
        On all bags, without ridge.
    null : array
        The model without features.
    l1_ratio, control
        As in `PathSolver`. A checkpoint stores the runs on all bags.
    alpha_max : float
        The alpha at which the model without features stops being stationary, on all bags.
    """

    problem: LinearBagProblem
    null: np.ndarray
    l1_ratio: float
    control: Control
    alpha_max: float

    def solve(
        self, sample: Sample | None, grid: np.ndarray, warm_models: dict[Any, Any], **how: bool
    ) -> tuple[Grid, dict[float, WarmModel]]:
        """Solve at all alphas, the way being found on a sample, which is drawn here unless one is given.

        Gives also what the way down on the sample has learned of the curvature.
        """
        if sample is None:
            sample = draw_sample(self.problem.blocks.untransformed, np.random.RandomState(0))
        # Folds that share passes take turns here: each has a copy of the sample for a moment.
        search = partial(self._on_sample, sample, grid, warm_models, **how)
        found, runs, learned = self.problem.blocks.alone(search)
        # One that was drawn here is forgotten before the passes.
        del sample, search
        ends = run_together(self.problem.blocks, runs)
        raise_if_stopped()
        return self._better_than_null(found, ends), learned

    def _on_sample(
        self, sample: Sample, grid: np.ndarray, warm_models: dict[Any, Any], **how: bool
    ) -> tuple[Grid, list[Run], dict[float, WarmModel]]:
        """Solve on the sample, and set up runs over all bags from there; the last from the null model."""
        problem = on_sample(self.problem, sample)
        lasso = LassoProblem(problem, ColumnCopy.of(problem.design), tol=self.control.tol)
        solver = PathSolver(lasso, self.null, self.l1_ratio, self.control.without_checkpoint())
        found = both_ways_on(solver, grid, warm_models, **how)

        def run_from(number: int, alpha: float, start: np.ndarray) -> Run:
            penalty = solver.penalty(alpha)
            warm = warm_model(problem, start, penalty.l1)
            control = self.control.within(f"run {number + 1} on all bags")
            return lambda blocks: self._run(blocks, start, penalty, warm, control)

        alphas = [*found.alphas, self.alpha_max * (1 + 1e-9)]
        starts = [*(solution.x for solution in found.solutions), self.null]
        runs = [run_from(number, *run) for number, run in enumerate(zip(alphas, starts, strict=True))]
        return found, runs, solver.warm_models

    def _run(
        self, blocks: Blocks, start: np.ndarray, penalty: ElasticNet, warm: WarmModel, control: Control
    ) -> L1Result:
        lasso = LassoProblem(self.problem.over(blocks), None, tol=control.tol)
        return minimize_l1(lasso, start, penalty, control, warm_models=[warm])

    def _better_than_null(self, found: Grid, ends: list[L1Result]) -> Grid:
        """Take the model without features where it is stationary and no worse."""
        *ends, without = ends
        kept = []
        for alpha, end, is_new in zip(found.alphas, ends, found.from_below, strict=True):
            is_worse = alpha >= self.alpha_max and end.value >= without.value
            if not (is_worse and is_new and alpha > self.alpha_max * (1 + 1e-8)):
                per_weight = alpha / self.problem.total
                penalty = ElasticNet(per_weight * self.l1_ratio, per_weight * (1 - self.l1_ratio))
                best = replace(without, penalty=penalty) if is_worse else end
                kept.append((alpha, best, is_new and not is_worse))
        alphas, solutions, from_below = zip(*kept, strict=True)
        return Grid(np.array(alphas), list(solutions), list(from_below))
