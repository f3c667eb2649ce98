"""Minimization of the objective of a linear model from one or several starts (`Fit`).

`fit_null` fits the model without features, which is the first start of every fit and every path. `search_l1`
searches for the best of many optima of an L1 problem along a warm-started path with several candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

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

# Number of steps of the warm-started path, of candidates kept after each step, and of features in a random
# start. On noisy-or problems of 100 bags x 3 x 100 features, the result is within 0.1 % of the best of 100
# random starts.
_STEPS, _CARRIED, _SCREENED = 8, 10, 100
# Tolerance of a fit from a random start, relative to the L1 strength.
_ROUGHLY = 0.01
# Solutions whose objectives differ by less than this relative amount are the same.
_ALIKE = 1e-5
# The search stops after this many consecutive random starts without a new solution.
_IDLE = 2


def fit_null(problem: LinearBagProblem, control: Control) -> np.ndarray:
    """Fit the intercept alone, and return all parameters, with coefficients of zero.

    All instances then have the same log-odds, so all bags of the same size and label are equivalent and are
    represented by a single weighted bag. The cost therefore depends on the number of different sizes, not on
    the number of instances.
    """
    labels, label = np.unique(problem.y, return_inverse=True)
    kind = len(labels) * np.diff(problem.offsets) + label
    kinds = np.flatnonzero(np.bincount(kind))
    offsets = np.append(0, np.cumsum(kinds // len(labels)))
    alike = Design(np.empty((offsets[-1], 0)), offsets, fit_intercept=problem.scaling.fit_intercept)
    weight = np.bincount(kind, problem.blocks.weight)[kinds]
    alone = InMemoryProblem(alike, labels[kinds % len(labels)], weight, problem.rule)
    result = _minimise_smoothly(alone, np.zeros(1), control.without_checkpoint())
    return np.append(np.zeros(problem.n_features), result.x)


def _minimise_smoothly(problem: LinearBagProblem, start: np.ndarray, control: Control) -> SolverResult:
    """Minimize without an L1 norm: by L-BFGS, and by Newton's method if this stalls with few features."""
    result = minimize_smooth(problem.value_and_gradient, start, control, has_kinks=problem.has_kinks)
    if result.status is not Status.STALLED or not problem.has_few_features:
        return result
    more = _by_newton(problem, result.x, control)
    if more.value >= result.value and not more.converged:
        return result
    # The objective can only increase by rounding.
    history = (*result.history, *(min(value, result.value) for value in more.history[1:]))
    return replace(more, value=history[-1], n_iter=len(history) - 1, history=history)


def _by_newton(problem: LinearBagProblem, start: np.ndarray, control: Control) -> L1Result:
    lasso = LassoProblem(problem.without_ridge(), None, tol=control.tol)
    return minimize_l1(lasso, start, ElasticNet(0.0, problem.ridge), control)


@dataclass(frozen=True)
class Fit:
    """Minimization of a `LinearBagProblem` plus a penalty over the coefficients and the intercept.

    Attributes
    ----------
    problem : LinearBagProblem
        The objective without the L1 norm. Its `ridge` is the squared norm of the penalty.
    penalty : ElasticNet
        The penalty per unit of bag weight.
    control : Control
        Settings of the solvers.
    n_init : int
        Number of starts.
    rng : RandomState
        Source of the random starts.
    copy : ColumnCopy or None
        A copy of the instances for steps with an L1 norm.
    by_em : bool
        Whether to use `minimize_by_em`. A search then uses only the starts that `starts` returns.
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
        problem: LinearBagProblem,
        penalty: ElasticNet,
        control: Control,
        n_init: int,
        rng: np.random.RandomState,
        *,
        by_em: bool = False,
    ) -> Fit:
        """Set up fits, with a copy of the instances if they are in memory and the solver uses it."""
        copy = None
        if isinstance(problem, InMemoryProblem) and penalty.l1 and not by_em:
            copy = ColumnCopy.of(problem.design)
        return cls(problem, penalty, control, n_init, rng, copy, by_em)

    def under(self, rule: Rule) -> Fit:
        """Return the same fit with another rule."""
        return replace(self, problem=self.problem.with_rule(rule))

    def solve(self, start: np.ndarray, warm_models: Sequence[WarmModel] = ()) -> SolverResult:
        """Minimize from one start.

        Problems with an L1 norm, or with `warm_models` as in `minimize_l1`, are solved by proximal Newton
        steps.
        """
        problem, penalty, control = self.problem, self.penalty, self.control
        if self.by_em and isinstance(problem, InMemoryProblem):
            return minimize_by_em(problem.without_ridge(), start, penalty, control)
        if penalty.l1 or (warm_models and not problem.has_kinks):
            lasso = LassoProblem(problem.without_ridge(), self.copy, tol=control.tol)
            result = minimize_l1(lasso, start, penalty, control, warm_models=warm_models)
            return finish(lasso, [result], control)[0]
        return _minimise_smoothly(problem, start, control)

    def search(self, around: np.ndarray | None = None) -> Sequence[SolverResult]:
        """Minimize from all starts and return every solution; `around` is as in `search_l1`."""
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

    def learn_rule(
        self, rules: Sequence[Rule], warm_starts: Sequence[np.ndarray] = ()
    ) -> list[LearnedResult]:
        """Minimize over coefficients and rule from all starts, or from `warm_starts`."""
        return learn_rule(self, rules, warm_starts)

    def starts(self) -> list[np.ndarray]:
        """Return starts for fits without an L1 norm: the model without features, then random ones near it."""
        problem = self.problem
        # With this scale, the log-odds of standardized instances have a standard deviation of about one.
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
    """Search for the best optimum at one penalty, and return the final candidates, best first.

    The search follows a path of a few penalties from the largest useful one to that of the problem. At each
    penalty, the starts are the candidates of the previous one (initially `null`, the model without features)
    and random starts on the features with the largest gradients. There are up to `n_init` random starts (none
    if `n_init` is 1), until two consecutive ones reach no new solution. The best distinct solutions are the
    next candidates. Good basins at one penalty remain good at the next one, so the random starts of all steps
    are useful. If there is a single optimum, there is a single candidate. If `around`, the solution of such a
    path, is passed, the search uses only the final penalty.
    """
    start = problem.point(null if around is None else around)
    # Use one start if there is a single optimum, or if kinks make every step expensive.
    if problem.bags.is_convex or problem.has_kinks:
        return finish(problem, [minimize_l1(problem, start, penalty, control)], control)
    n_random = n_init if n_init > 1 else 0
    gradient = np.abs((problem.point(null) if around is not None else start).gradient[:-1])
    screened = np.sort(np.argsort(-gradient, kind="stable")[:_SCREENED])
    few = problem.bags.select(screened) if 2 * len(screened) <= problem.n_features else None
    screen = None if few is None else ScreenedProblem(LassoProblem(few, None, tol=control.tol), screened)
    top = float(gradient.max(initial=0.0))
    is_path = around is None and penalty.l1 < top
    candidates: list[Any] = [start]
    results: list[L1Result] = []
    for l1 in np.geomspace(top, penalty.l1, _STEPS) if is_path else [penalty.l1]:
        randoms = np.tile(null, (n_random, 1))
        randoms[:, screened] = rng.normal(scale=0.3, size=(n_random, len(screened)))
        at_l1 = penalty._replace(l1=float(l1))
        results = _step(problem, screen, candidates, randoms, at_l1, control)
        if not isinstance(problem.bags, InMemoryProblem):
            # Only the best candidate keeps a copy of the features of large data.
            results[1:] = [replace(result, restriction=None, model=None) for result in results[1:]]
        if control.is_stopped:
            # Evaluate the current solution with the final penalty.
            current = minimize_l1(problem, results[0], penalty, replace(control, max_iter=0))
            return finish(problem, [replace(current, status=Status.INTERRUPTED)], control)
        candidates = results[:_CARRIED]
    return finish(problem, results, control)


class ScreenedProblem(NamedTuple):
    """A problem restricted to the features that differ between random starts, and their columns."""

    problem: LassoProblem
    columns: np.ndarray


def _step(
    problem: LassoProblem,
    screen: ScreenedProblem | None,
    candidates: list[Any],
    randoms: np.ndarray,
    penalty: ElasticNet,
    control: Control,
) -> list[L1Result]:
    """Minimize from all candidates and random starts; return the distinct solutions, best first.

    Random starts first fit the features of `screen` alone, roughly, because this costs little.
    """
    results: list[L1Result] = []
    for candidate in candidates:
        results = _distinct([*results, minimize_l1(problem, candidate, penalty, control)])
        if control.is_stopped:
            return results
    n_idle = 0
    for x in randoms:
        n_known = len(results)
        if screen is not None:
            entries = np.append(screen.columns, -1)
            roughly = replace(control, tol=max(control.tol, _ROUGHLY * penalty.l1))
            x[entries] = minimize_l1(screen.problem, x[entries], penalty, roughly).x
        results = _distinct([*results, minimize_l1(problem, x, penalty, control)])
        n_idle = n_idle + 1 if len(results) == n_known else 0
        if n_idle == _IDLE or control.is_stopped:
            break
    return results


def _distinct(results: list[L1Result]) -> list[L1Result]:
    """Sort solutions by value, best first, and leave out duplicates."""
    kept: list[L1Result] = []
    for result in sorted(results, key=attrgetter("value")):
        if not kept or result.value - kept[-1].value > _ALIKE * abs(kept[-1].value):
            kept.append(result)
    return kept
