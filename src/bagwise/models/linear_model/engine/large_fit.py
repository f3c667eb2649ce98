"""Fits for many bags in any location: on a sample first, then on all bags.

A fit on a sample locates the optima and selects the best of several rules, up to sampling error. A few steps
of Newton's method, each with one pass over all bags, then lead to an optimum on all bags. This optimum is
exact: the sample only provides the start. Runs from several solutions on the sample share passes. A sample is
only used if it has many more bags than features. `make_fit` makes this decision.
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

# A sample has 2**21 values, but at most 1/24 of the bags and at least ten bags per feature. With fewer bags,
# the optimum of the sample is too far from that of all bags.
_SAMPLE_VALUES, _SHARE, _BAGS_PER_FEATURE = 2**21, 24, 10
# Up to this number of features, the curvature of the sample is computed for all features.
_ALL_COLUMNS = 256
# Solutions on the sample with smaller relative differences of values and parameters are the same optimum.
_SAME_VALUE, _SAME_PARAMETERS = 1e-5, 1e-2
# Rules are compared on all bags if their log-likelihood on the sample is within this distance of the best.
_CLOSE = 10.0

Result = TypeVar("Result", bound=SolverResult)


class BagSample(NamedTuple):
    """A sample of bags in memory, without transformations.

    `indices` are the indices of the sampled bags. `weight` contains the weights of all bags when the sample
    was drawn.
    """

    blocks: MemoryBlocks
    indices: np.ndarray
    weight: np.ndarray


def worth_sampling(blocks: Blocks) -> bool:
    """Return whether there are enough bags for a sample with many more bags than features."""
    return len(blocks.weight) >= _SHARE * _BAGS_PER_FEATURE * max(1, blocks.n_features)


def draw_sample(blocks: Blocks, rng: np.random.RandomState) -> BagSample:
    """Draw a sample of bags that are `worth_sampling`, in one pass."""
    share = min(1.0 / _SHARE, _SAMPLE_VALUES / max(1, blocks.n_values))
    share = max(share, _BAGS_PER_FEATURE * blocks.n_features / blocks.n_bags)
    return BagSample(*sample_bags(blocks, int(np.ceil(share * blocks.n_instances)), rng), blocks.weight)


def on_sample(problem: LinearBagProblem, sample: BagSample) -> InMemoryProblem:
    """Return the same problem on a sample of the bags, without copying instances.

    The weights of the problem can differ from those that were used to draw the sample, because all folds
    share one sample.
    """
    scaling, drawn = problem.scaling, sample.blocks
    options = {"factor": scaling.factor, "shift": scaling.shift, "fit_intercept": scaling.fit_intercept}
    design = Design(problem.blocks.as_seen(drawn.X), drawn.offsets, **options)
    share = problem.blocks.weight[sample.indices] / sample.weight[sample.indices]
    weight = drawn.weight * share
    weight *= problem.total / weight.sum()
    return InMemoryProblem(design, drawn.y, weight, problem.rule, ridge=problem.ridge)


def warm_model(sample: LinearBagProblem, x: np.ndarray, l1: float) -> WarmModel:
    """Return the curvature of a sample at `x`, in the relevant columns, as the start of a run on all bags.

    It saves a pass that costs as much as many evaluations. It affects the length of the steps, but not the
    solution.
    """
    point = sample.point(x)
    columns = np.arange(sample.n_features)
    if sample.n_features > _ALL_COLUMNS:
        columns = with_likely(point, np.flatnonzero(x[:-1]), 0.5 * l1)
    model = QuadraticModel.of(sample.curvature(point, columns), columns, sample.n_features)
    return WarmModel(np.arange(sample.n_features), model, sample.n_features)


def finish_on_all(
    problem: LinearBagProblem,
    results: Sequence[Result],
    job: Callable[[Result, int], Callable[[Blocks], Result]],
) -> list[Result]:
    """Continue from solutions on a sample with runs on all bags that share passes.

    Identical solutions are continued only once. The result contains a solution for each solution on the
    sample. `job` returns a run over the blocks for a start and the index of the run.
    """
    kinds: list[Result] = []
    kind_of = []
    for result in results:
        same = [k for k, other in enumerate(kinds) if _is_same(result, other)]
        kind_of.append(same[0] if same else len(kinds))
        if not same:
            kinds.append(result)
    ends = run_together(problem.blocks, [job(result, index) for index, result in enumerate(kinds)])
    return [ends[kind] for kind in kind_of]


def _is_same(result: SolverResult, other: SolverResult) -> bool:
    if abs(result.value - other.value) > _SAME_VALUE * abs(other.value):
        return False
    if isinstance(result, LearnedResult) and isinstance(other, LearnedResult):
        # A steeper rule with smaller coefficients can be nearly the same model.
        return type(result.rule) is type(other.rule)
    return bool(np.abs(result.x - other.x).max() <= _SAME_PARAMETERS * np.abs(other.x).max())


def make_fit(
    problem: LinearBagProblem,
    penalty: ElasticNet,
    control: Control,
    n_init: int,
    rng: np.random.RandomState,
    *,
    by_em: bool = False,
) -> Fit | LargeFit:
    """Set up fits of a problem; they begin on a sample of the bags if there are enough bags for it.

    L-BFGS for one fixed rule needs so few passes that a sample would save nothing.
    """
    is_short = not (penalty.l1 or problem.has_few_features or problem.rule.learns)
    if by_em or is_short or not worth_sampling(problem.blocks):
        return Fit.of(problem, penalty, control, n_init, rng, by_em=by_em)
    sample = on_sample(problem, draw_sample(problem.blocks.untransformed, rng))
    return LargeFit(problem, Fit.of(sample, penalty, control, n_init, rng))


@dataclass(frozen=True)
class LargeFit:
    """Fits of a problem on many bags, which begin on a sample.

    Attributes
    ----------
    problem : LinearBagProblem
        The problem on all bags.
    sample_fit : Fit
        Fits of the same problem on a sample, an `InMemoryProblem`.
    """

    problem: LinearBagProblem
    sample_fit: Fit

    def solve(self, start: np.ndarray) -> SolverResult:
        """Minimize from one start."""
        return self._run(start, self.problem.rule, 0)(self.problem.blocks)

    def search(self, around: np.ndarray | None = None) -> list[SolverResult]:
        """Minimize from all starts."""
        results = self._search_on_sample(around)
        return finish_on_all(
            self.problem, results, lambda end, index: self._run(end.x, self.problem.rule, index)
        )

    def _search_on_sample(self, around: np.ndarray | None) -> Sequence[SolverResult]:
        name, control = "search on the sample", self.sample_fit.control
        fit = replace(self.sample_fit, control=control.within(name))

        def search() -> list[dict[str, Any]]:
            return [plain_of(end) for end in fit.search(around)]

        return [result_of(end) for end in control.checkpoint.cell(name, search)]

    def learn_rule(
        self, rules: Sequence[Rule], warm_starts: Sequence[np.ndarray] = ()
    ) -> list[LearnedResult]:
        """Minimize over coefficients and rule."""
        results = self.sample_fit.learn_rule(rules, warm_starts)
        if len(rules) == 1:
            return finish_on_all(self.problem, results, self._run_jointly)
        best = min(result.value for result in results)
        close = _CLOSE / self.sample_fit.problem.blocks.n_bags
        rivals = [result for result in results if result.value - best < close]
        ends = finish_on_all(self.problem, rivals, self._run_with_its_rule)
        tried = tuple((end.rule, end.value) for end in ends)
        return [replace(end, tried=tried) for end in ends]

    def _on_all(self, blocks: Blocks, index: int) -> Fit:
        """Return fits on all bags, from one start and without a copy, for the run with this index."""
        control = self.sample_fit.control.within(f"run {index + 1} on all bags")
        return replace(self.sample_fit, problem=self.problem.over(blocks), control=control, copy=None)

    def _run(self, start: np.ndarray, rule: Rule, index: int) -> Callable[[Blocks], SolverResult]:
        """Return a run over all bags from one start with a rule and with the curvature of the sample."""
        sample = self.sample_fit.under(rule).problem.without_ridge()
        warm = [warm_model(sample, start, self.sample_fit.penalty.l1)]
        return lambda blocks: self._on_all(blocks, index).under(rule).solve(start, warm)

    def _run_jointly(self, end: LearnedResult, index: int) -> Callable[[Blocks], LearnedResult]:
        """Return a run over all bags that continues coefficients and rule from a solution on the sample."""
        return lambda blocks: go_on(self._on_all(blocks, index), end, self.sample_fit.problem)

    def _run_with_its_rule(self, end: LearnedResult, index: int) -> Callable[[Blocks], LearnedResult]:
        """Return a run over all bags that starts at a solution on the sample and keeps its rule."""
        run = self._run(end.x, end.rule, index)
        return lambda blocks: learned_result(run(blocks), end.rule)
