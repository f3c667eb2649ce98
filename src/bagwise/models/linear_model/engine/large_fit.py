"""Fits of many bags in any location: on a sample first, then on all.

A sample of two million numbers says where the optima are and which of several rules is best, to within what
sampling leaves open. From there a few steps of Newton's method, each one pass over all bags, lead to the
optimum of all of them, exactly as if every step had been taken on all. Several ends on the sample share their
passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bagwise.data.blocks import Blocks, MemoryBlocks, run_together, sample_bags
from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.fit import Fit
from bagwise.models.linear_model.engine.learned_rule import LearnedResult, go_on, learned_result
from bagwise.models.linear_model.engine.problem import InMemoryProblem, LinearBagProblem
from bagwise.rules import Rule
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import WarmModel
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.result import SolverResult, plain_of, result_of
from bagwise.solvers.working_set import ElasticNet, with_likely

# So many numbers make a sample, but no more than this part of all, lest it be large beside them; with many
# features at least so many instances for each of them, but no more than these numbers.
_NUMBERS, _SHARE, _PER_FEATURE, _MOST_NUMBERS = 2**21, 24, 50, 2**23
# With no more features than this the curvature of all is taken from the sample.
_ALL_COLUMNS = 256
# Ends on the sample are the same optimum if values and parameters agree to these parts.
_SAME_VALUE, _SAME_PLACE = 1e-5, 1e-2
# Rules whose log-likelihood on the sample is within so many units of the best one's are compared on all bags.
_CLOSE = 10.0

Result = TypeVar("Result", bound=SolverResult)


class Sample(NamedTuple):
    """Some of the bags, in memory, as they lie: `numbers` among all, whose weights were `weight`."""

    blocks: MemoryBlocks
    numbers: np.ndarray
    weight: np.ndarray


def draw_sample(blocks: Blocks, rng: np.random.RandomState) -> Sample:
    """Draw a sample that is large enough to search on: one pass."""
    enough = min(_NUMBERS, blocks.n_values // _SHARE)
    values = min(_MOST_NUMBERS, max(enough, _PER_FEATURE * blocks.n_features**2))
    n_instances = int(np.ceil(values * blocks.n_instances / max(1, blocks.n_values)))
    return Sample(*sample_bags(blocks, n_instances, rng), blocks.weight)


def on_sample(problem: LinearBagProblem, sample: Sample) -> InMemoryProblem:
    """Give the same problem on a sample of the bags; instances are not copied.

    Its weights may differ from those with which the sample was drawn: folds share one.
    """
    scaling, drawn = problem.scaling, sample.blocks
    how = {"factor": scaling.factor, "shift": scaling.shift, "fit_intercept": scaling.fit_intercept}
    design = Design(problem.blocks.as_seen(drawn.X), drawn.offsets, **how)
    share = problem.blocks.weight[sample.numbers] / sample.weight[sample.numbers]
    weight = drawn.weight * share
    weight *= problem.total / weight.sum()
    return InMemoryProblem(design, drawn.y, weight, problem.rule, ridge=problem.ridge)


def warm_model(sample: LinearBagProblem, x: np.ndarray, l1: float) -> WarmModel:
    """What a run on all bags begins with: the curvature of a sample at `x`, in the columns that matter there.

    It says how far to step, not where to end, and saves a pass that costs as much as many points.
    """
    point = sample.point(x)
    columns = np.arange(sample.n_features)
    if sample.n_features > _ALL_COLUMNS:
        columns = with_likely(point, np.flatnonzero(x[:-1]), 0.5 * l1)
    model = QuadraticModel.of(sample.curvature(point, columns), columns, sample.n_features)
    return WarmModel(np.arange(sample.n_features), model)


def finish_on_all(
    problem: LinearBagProblem,
    found: Sequence[Result],
    job: Callable[[Result, int], Callable[[Blocks], Result]],
) -> list[Result]:
    """Go on from the ends on a sample, those at one place once, sharing passes; give an end for each.

    `job` makes, of an end to start from and the index of the run, a run over the blocks.
    """
    kinds: list[Result] = []
    kind_of = []
    for result in found:
        same = [k for k, other in enumerate(kinds) if _is_same(result, other)]
        kind_of.append(same[0] if same else len(kinds))
        if not same:
            kinds.append(result)
    ends = run_together(problem.blocks, [job(result, number) for number, result in enumerate(kinds)])
    return [ends[kind] for kind in kind_of]


def _is_same(one: SolverResult, other: SolverResult) -> bool:
    if abs(one.value - other.value) > _SAME_VALUE * abs(other.value):
        return False
    if isinstance(one, LearnedResult) and isinstance(other, LearnedResult):
        # A learned rule may be steeper and the coefficients smaller, and mean nearly the same.
        return type(one.rule) is type(other.rule)
    return bool(np.abs(one.x - other.x).max() <= _SAME_PLACE * np.abs(other.x).max())


@dataclass(frozen=True)
class LargeFit:
    """Fits of a problem on all bags.

    Attributes
    ----------
    problem : LinearBagProblem
        On all bags.
    sample_fit : Fit
        Fits of the same problem on a sample, an `InMemoryProblem`.
    """

    problem: LinearBagProblem
    sample_fit: Fit

    @classmethod
    def of(
        cls,
        problem: LinearBagProblem,
        penalty: ElasticNet,
        control: Control,
        n_init: int,
        rng: np.random.RandomState,
    ) -> LargeFit:
        """Draw a sample, and set up fits of a problem."""
        sample = on_sample(problem, draw_sample(problem.blocks.untransformed, rng))
        return cls(problem, Fit.of(sample, penalty, control, n_init, rng))

    def solve(self, start: np.ndarray) -> SolverResult:
        """Minimise from one start."""
        return self._run(start, self.problem.rule, 0)(self.problem.blocks)

    def search(self, around: np.ndarray | None = None) -> list[SolverResult]:
        """Minimise from all starts."""
        found = self._search_on_sample(around)
        return finish_on_all(
            self.problem, found, lambda end, number: self._run(end.x, self.problem.rule, number)
        )

    def _search_on_sample(self, around: np.ndarray | None) -> Sequence[SolverResult]:
        name, control = "search on the sample", self.sample_fit.control
        fit = replace(self.sample_fit, control=control.within(name))

        def search() -> list[dict[str, Any]]:
            return [plain_of(end) for end in fit.search(around)]

        return [result_of(end) for end in control.checkpoint.cell(name, search)]

    def learn_rule(self, rules: Sequence[Rule], given: Sequence[np.ndarray] = ()) -> list[LearnedResult]:
        """Minimise over coefficients and rule."""
        found = self.sample_fit.learn_rule(rules, given)
        if len(rules) == 1:
            return finish_on_all(self.problem, found, self._run_jointly)
        best = min(result.value for result in found)
        close = _CLOSE / self.sample_fit.problem.blocks.n_bags
        rivals = [result for result in found if result.value - best < close]
        ends = finish_on_all(self.problem, rivals, self._run_with_its_rule)
        tried = tuple((end.rule, end.value) for end in ends)
        return [replace(end, tried=tried) for end in ends]

    def _on_all(self, blocks: Blocks, number: int) -> Fit:
        """Return fits on all bags, from one start and without a copy, for the run with this index."""
        control = self.sample_fit.control.within(f"run {number + 1} on all bags")
        return replace(self.sample_fit, problem=self.problem.over(blocks), control=control, copy=None)

    def _run(self, start: np.ndarray, rule: Rule, number: int) -> Callable[[Blocks], SolverResult]:
        """Over all bags, from one start under a rule, with the curvature of the sample there."""
        sample = self.sample_fit.under(rule).problem.without_ridge()
        warm = [warm_model(sample, start, self.sample_fit.penalty.l1)]
        return lambda blocks: self._on_all(blocks, number).under(rule).solve(start, warm)

    def _run_jointly(self, end: LearnedResult, number: int) -> Callable[[Blocks], LearnedResult]:
        """Over all bags, coefficients and rule from an end on the sample."""
        return lambda blocks: go_on(self._on_all(blocks, number), end, self.sample_fit.problem)

    def _run_with_its_rule(self, end: LearnedResult, number: int) -> Callable[[Blocks], LearnedResult]:
        """Over all bags, from an end on the sample, with its rule as it is."""
        run = self._run(end.x, end.rule, number)
        return lambda blocks: learned_result(run(blocks), end.rule)
