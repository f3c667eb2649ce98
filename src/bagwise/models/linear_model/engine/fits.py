"""Whole fits, from one start, from all, or with the rule: of few bags in memory, and of many anywhere.

Where bags are many, in memory or not, a sample of two million numbers says where the optima are and which of
several rules is best, to within what sampling leaves open. From there a few steps of Newton's method, each
one pass over all bags, lead to the optimum of all of them, exactly as if every step had been taken on all.
Several ends on the sample share their passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from bagwise.data.blocks import Blocks, MemoryBlocks, run_together, sample_bags
from bagwise.models.linear_model.engine.coefficients import CoefficientFit
from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.em import EMFit
from bagwise.models.linear_model.engine.in_memory import InMemoryProblem
from bagwise.models.linear_model.engine.learned_rule import LearnedResult, RuleLearner, learned_result
from bagwise.models.linear_model.engine.problem import LinearBagProblem
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


class Fit(Protocol):
    """How a linear model is fitted, whatever the number of bags."""

    def solve(self, start: np.ndarray) -> SolverResult:
        """Minimise from one start."""

    def search(self, known: np.ndarray | None = None) -> Sequence[SolverResult]:
        """Minimise from all starts; with an L1 norm around a `known` end, if given."""

    def learn(self, rules: Sequence[Rule], given: Sequence[np.ndarray] = ()) -> list[LearnedResult]:
        """Minimise over coefficients and rule from all starts, or from those `given`."""


def make_fit(
    problem: LinearBagProblem,
    penalty: ElasticNet,
    control: Control,
    *,
    n_init: int,
    rng: np.random.RandomState,
    solver: str = "newton",
) -> Fit:
    """Choose the way to fit a problem; `solver` is "em" only where `refuse_em` has nothing against it."""
    if solver == "em" and isinstance(problem, InMemoryProblem):
        return EMFit(problem, CoefficientFit(penalty, control, n_init, rng, copy=None))
    if isinstance(problem, InMemoryProblem):
        return MemoryFit(problem, CoefficientFit.of(problem, penalty, control, n_init=n_init, rng=rng))
    sample = on_sample(problem, draw_sample(problem.blocks.untransformed, rng))
    return LargeFit(problem, sample, CoefficientFit.of(sample, penalty, control, n_init=n_init, rng=rng))


@dataclass(frozen=True)
class MemoryFit:
    """Fits of a problem in memory."""

    problem: InMemoryProblem
    fit: CoefficientFit

    def solve(self, start: np.ndarray) -> SolverResult:
        """Minimise from one start."""
        return self.fit.solve(self.problem, start)

    def search(self, known: np.ndarray | None = None) -> Sequence[SolverResult]:
        """Minimise from all starts."""
        return self.fit.search(self.problem, known)

    def learn(self, rules: Sequence[Rule], given: Sequence[np.ndarray] = ()) -> list[LearnedResult]:
        """Minimise over coefficients and rule."""
        return RuleLearner(self.fit).run(self.problem, rules, given)


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


def warm_model(sample: InMemoryProblem, x: np.ndarray, l1: float) -> WarmModel:
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
    """Fits of a problem on all bags, given the same problem on a sample.

    Attributes
    ----------
    problem : LinearBagProblem
        On all bags.
    sample : InMemoryProblem
        On the sample.
    fit : CoefficientFit
        Fits of the latter.
    """

    problem: LinearBagProblem
    sample: InMemoryProblem
    fit: CoefficientFit

    def on_all(self, number: int) -> CoefficientFit:
        """Return fits on all bags, from one start and without a copy, for the run with this index."""
        return replace(self.fit, copy=None, control=self.fit.control.within(f"run {number + 1} on all bags"))

    def solve(self, start: np.ndarray) -> SolverResult:
        """Minimise from one start."""
        return self._run(self.problem, self.sample, start, 0)(self.problem.blocks)

    def search(self, known: np.ndarray | None = None) -> list[SolverResult]:
        """Minimise from all starts."""
        found = self._search_on_sample(known)

        def job(end: SolverResult, number: int) -> Callable[[Blocks], SolverResult]:
            return self._run(self.problem, self.sample, end.x, number)

        return finish_on_all(self.problem, found, job)

    def _search_on_sample(self, known: np.ndarray | None) -> Sequence[SolverResult]:
        name = "search on the sample"
        fit = replace(self.fit, control=self.fit.control.within(name))

        def search() -> list[dict[str, Any]]:
            return [plain_of(end) for end in fit.search(self.sample, known)]

        return [result_of(end) for end in self.fit.control.checkpoint.cell(name, search)]

    def learn(self, rules: Sequence[Rule], given: Sequence[np.ndarray] = ()) -> list[LearnedResult]:
        """Minimise over coefficients and rule."""
        found = RuleLearner(self.fit).run(self.sample, rules, given)
        if len(rules) == 1:
            return finish_on_all(self.problem, found, self._run_jointly)
        best = min(result.value for result in found)
        rivals = [result for result in found if result.value - best < _CLOSE / self.sample.blocks.n_bags]
        ends = finish_on_all(self.problem, rivals, self._run_with_its_rule)
        tried = tuple((end.rule, end.value) for end in ends)
        return [replace(end, tried=tried) for end in ends]

    def _run(
        self, problem: LinearBagProblem, sample: InMemoryProblem, start: np.ndarray, number: int
    ) -> Callable[[Blocks], SolverResult]:
        """Over all bags, from one start, with the curvature of the sample there."""
        warm = [warm_model(sample.without_ridge(), start, self.fit.penalty.l1)]
        fit = self.on_all(number)
        return lambda blocks: fit.solve(problem.over(blocks), start, warm)

    def _run_jointly(self, end: LearnedResult, number: int) -> Callable[[Blocks], LearnedResult]:
        """Over all bags, coefficients and rule from an end on the sample."""
        learner = RuleLearner(self.on_all(number))
        return lambda blocks: learner.go_on(self.problem.over(blocks), end, self.sample)

    def _run_with_its_rule(self, end: LearnedResult, number: int) -> Callable[[Blocks], LearnedResult]:
        """Over all bags, from an end on the sample, with its rule as it is."""
        run = self._run(self.problem.with_rule(end.rule), self.sample.with_rule(end.rule), end.x, number)
        return lambda blocks: learned_result(run(blocks), end.rule)
