"""From the problem of a linear model to its optimum: `Fit` minimises from one start, or from many.

`fit_null` fits the model without features, where every fit and every path begins. `search_l1` looks for the
best of many optima of an L1 problem: a warm path of several candidates at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.em import minimize_by_em
from bagwise.models.linear_model.engine.lasso import ColumnCopy, LassoProblem
from bagwise.models.linear_model.engine.learned_rule import LearnedResult, learn_rule
from bagwise.models.linear_model.engine.problem import InMemoryProblem, LinearBagProblem
from bagwise.rules import Rule
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import L1Result, WarmModel, finish, minimize_l1
from bagwise.solvers.result import SolverResult, Status
from bagwise.solvers.smooth import minimize_smooth
from bagwise.solvers.working_set import ElasticNet

# Steps of the warm path, candidates carried from one to the next, and features of a random start. On noisy-or
# problems of 100 bags x 3 x 100 features this reaches the best of 100 random starts within 0.1 %.
_STEPS, _CARRIED, _SCREENED = 8, 10, 100
# Ends whose objectives differ by less than this part are the same.
_ALIKE = 1e-5
# So many random starts in a row that end where others did are enough.
_IDLE = 2


def fit_null(problem: LinearBagProblem, control: Control) -> np.ndarray:
    """Fit the intercept alone, and give all parameters, the coefficients being zero.

    All instances then have the same log-odds: bags of one size and label are alike, and one stands for all of
    them. So this costs next to nothing, however many instances there are.
    """
    sizes = np.diff(problem.offsets)
    labels, label = np.unique(problem.y, return_inverse=True)
    _, first, kind = np.unique(sizes * len(labels) + label, return_index=True, return_inverse=True)
    offsets = np.append(0, np.cumsum(sizes[first]))
    alike = Design(np.empty((offsets[-1], 0)), offsets, fit_intercept=problem.scaling.fit_intercept)
    weight = np.bincount(kind, problem.blocks.weight)
    alone = InMemoryProblem(alike, problem.y[first], weight, problem.rule)
    result = _minimise_smoothly(alone, np.zeros(1), control.without_checkpoint())
    return np.append(np.zeros(problem.n_features), result.x)


def _minimise_smoothly(problem: LinearBagProblem, start: np.ndarray, control: Control) -> SolverResult:
    """Minimise by a trust-region Newton method under rules with latent labels, by L-BFGS under links."""
    return minimize_smooth(
        problem.value_and_gradient,
        start,
        control,
        hessian_product=problem.hessian_product if problem.rule.has_latent_labels else None,
        has_kinks=problem.has_kinks,
    )


@dataclass(frozen=True)
class Fit:
    """Minimises a `LinearBagProblem` plus a penalty over the coefficients and the intercept.

    Attributes
    ----------
    problem : LinearBagProblem
        What is minimised beside the penalty; its `ridge` is the squared norm of the penalty.
    penalty : ElasticNet
        The penalty per unit of bag weight.
    control : Control
        As the solvers read it.
    n_init : int
        Number of starts.
    rng : RandomState
        Source of the random ones.
    copy : ColumnCopy or None
        A copy of the instances, which steps with an L1 norm read.
    by_em : bool
        Whether solutions come from `minimize_by_em`, and a search from the starts of `starts` alone.
    """

    problem: LinearBagProblem
    penalty: ElasticNet
    control: Control
    n_init: int
    rng: np.random.RandomState
    copy: ColumnCopy | None = None
    by_em: bool = False

    @classmethod
    def of(
        cls,
        problem: InMemoryProblem,
        penalty: ElasticNet,
        control: Control,
        n_init: int,
        rng: np.random.RandomState,
        *,
        by_em: bool = False,
    ) -> Fit:
        """Set up fits of a problem in memory, with a copy of the instances where it is of use."""
        copy = ColumnCopy.of(problem.design) if penalty.l1 and not by_em else None
        return cls(problem, penalty, control, n_init, rng, copy, by_em)

    def under(self, rule: Rule) -> Fit:
        """Return the same fit under another rule."""
        return replace(self, problem=self.problem.with_rule(rule))

    def solve(self, start: np.ndarray, warm_models: Sequence[WarmModel] = ()) -> SolverResult:
        """Minimise from one start.

        With an L1 norm the steps are proximal Newton ones. So they are on large data, where every look at the
        bags is a pass over all of them: a step is then computed from their curvature, and not from many
        products of it with vectors. `warm_models` are as in `minimize_l1`.
        """
        problem, penalty, control = self.problem, self.penalty, self.control
        is_large = not isinstance(problem, InMemoryProblem)
        if self.by_em and isinstance(problem, InMemoryProblem):
            return minimize_by_em(problem.without_ridge(), start, penalty, control)
        if penalty.l1 or (is_large and not problem.has_kinks):
            lasso = LassoProblem(problem.without_ridge(), self.copy, tol=control.tol)
            result = minimize_l1(lasso, start, penalty, control, warm_models=warm_models)
            return finish(lasso, [result], control)[0]
        return _minimise_smoothly(problem, start, control)

    def search(self, around: np.ndarray | None = None) -> Sequence[SolverResult]:
        """Minimise from all starts, and return every solution; with an L1 norm, `around` one if given."""
        if self.penalty.l1 and not self.by_em:
            control = self.control
            lasso = LassoProblem(self.problem.without_ridge(), self.copy, tol=control.tol)
            null = fit_null(self.problem, control)
            return search_l1(
                lasso, self.penalty, control, null=null, n_init=self.n_init, rng=self.rng, around=around
            )
        results: list[SolverResult] = []
        for start in self.starts():
            results.append(self.solve(start))
            if self.control.is_stopped:
                break
        return results

    def learn_rule(self, rules: Sequence[Rule], given: Sequence[np.ndarray] = ()) -> list[LearnedResult]:
        """Minimise over coefficients and rule from all starts, or from those that are `given`."""
        return learn_rule(self, rules, given)

    def starts(self) -> list[np.ndarray]:
        """Choose starts without an L1 norm: the model without features, then random ones around it."""
        problem = self.problem
        # Log-odds of standardised instances then vary by about one.
        spread = 1.0 / np.sqrt(max(1, problem.n_features))
        random = self.rng.normal(scale=spread, size=(self.n_init - 1, problem.n_features))
        starts = np.tile(fit_null(problem, self.control), (self.n_init, 1))
        starts[1:, :-1] = random
        return list(starts[:1] if problem.is_convex else starts)


def search_l1(
    problem: LassoProblem,
    penalty: ElasticNet,
    control: Control,
    *,
    null: np.ndarray,
    n_init: int,
    rng: np.random.RandomState,
    around: np.ndarray | None = None,
) -> list[L1Result]:
    """Look for the best optimum at one penalty; give the candidates at the end, best first.

    A path of a few penalties leads from that at which features come in to the one asked for. At each, the
    candidates of the last (at first `null`, the model without features) are warm starts, up to `n_init`
    random ones on the features with the largest gradients come in, until two in a row bring nothing new, and
    the best that differ are carried on. Basins that are good at one penalty are good at the next, so random
    starts at all steps work together; where there is one optimum, one is carried. Where the end of such a
    path is known, the search is `around` it.
    """
    start = problem.point(null if around is None else around)
    # One start is enough where there is one optimum, and where kinks make every step expensive.
    if problem.bags.is_convex or problem.has_kinks:
        return finish(problem, [minimize_l1(problem, start, penalty, control)], control)
    gradient = np.abs((problem.point(null) if around is not None else start).gradient[:-1])
    screened = np.argsort(-gradient, kind="stable")[:_SCREENED]
    top = float(gradient.max(initial=0.0))
    is_path = around is None and penalty.l1 < top
    candidates: list[Any] = [start]
    results: list[L1Result] = []
    for l1 in np.geomspace(top, penalty.l1, _STEPS) if is_path else [penalty.l1]:
        randoms = np.tile(null, (n_init, 1))
        randoms[:, screened] = rng.normal(scale=0.3, size=(n_init, len(screened)))
        results = _step(problem, candidates, randoms, penalty._replace(l1=float(l1)), control)
        if control.is_stopped:
            # What was reached is looked at with the penalty that was asked for.
            here = minimize_l1(problem, results[0], penalty, replace(control, max_iter=0))
            return finish(problem, [replace(here, status=Status.INTERRUPTED)], control)
        candidates = results[:_CARRIED]
    return finish(problem, results, control)


def _step(
    problem: LassoProblem, candidates: list[Any], randoms: np.ndarray, penalty: ElasticNet, control: Control
) -> list[L1Result]:
    """Go on from all candidates, and from random starts until these bring nothing new; best first."""
    results: list[L1Result] = []
    for candidate in candidates:
        results = _distinct([*results, minimize_l1(problem, candidate, penalty, control)])
        if control.is_stopped:
            return results
    n_idle = 0
    for x in randoms:
        n_known = len(results)
        results = _distinct([*results, minimize_l1(problem, x, penalty, control)])
        n_idle = n_idle + 1 if len(results) == n_known else 0
        if n_idle == _IDLE or control.is_stopped:
            break
    return results


def _distinct(results: list[L1Result]) -> list[L1Result]:
    """Sort by value, best first, and leave out those that end at the same one."""
    kept: list[L1Result] = []
    for result in sorted(results, key=attrgetter("value")):
        if not kept or result.value - kept[-1].value > _ALIKE * abs(kept[-1].value):
            kept.append(result)
    return kept
