"""Minimising over the coefficients of a linear model under a given rule, with whatever penalty there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bagwise.models.linear_model.engine.in_memory import InMemoryProblem
from bagwise.models.linear_model.engine.lasso.columns import ColumnCopy
from bagwise.models.linear_model.engine.lasso.problem import LassoProblem
from bagwise.models.linear_model.engine.lasso.search import search_l1
from bagwise.models.linear_model.engine.null import fit_null
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import WarmModel, finish, minimize_l1
from bagwise.solvers.result import SolverResult
from bagwise.solvers.smooth import minimize_smooth
from bagwise.solvers.working_set import ElasticNet


@dataclass(frozen=True)
class CoefficientFit:
    """Minimises a `LinearBagProblem` plus a penalty over the coefficients and the intercept.

    With an L1 norm, or on bags that are many, the steps are proximal Newton ones (`_lasso`). Otherwise rules
    with latent labels are fitted by a trust-region Newton method and links by L-BFGS.

    Attributes
    ----------
    penalty : ElasticNet
        The penalty per unit of bag weight. Its squared norm is also the `ridge` of the problems.
    control : Control
        As the solvers read it.
    n_init : int
        Number of starts.
    rng : RandomState
        Source of the random ones.
    copy : ColumnCopy or None
        A copy of the instances, which steps with an L1 norm read.
    """

    penalty: ElasticNet
    control: Control
    n_init: int
    rng: np.random.RandomState
    copy: ColumnCopy | None

    @classmethod
    def of(
        cls,
        problem: LinearBagProblem,
        penalty: ElasticNet,
        control: Control,
        *,
        n_init: int,
        rng: np.random.RandomState,
    ) -> CoefficientFit:
        """Set up fits of a problem under this and other rules."""
        copy = None
        if penalty.l1 and isinstance(problem, InMemoryProblem):
            copy = ColumnCopy.of(problem.design)
        return cls(penalty, control, n_init, rng, copy)

    @property
    def has_l1(self) -> bool:
        """Whether there is an L1 norm."""
        return self.penalty.l1 > 0

    def _lasso(self, problem: LinearBagProblem) -> LassoProblem:
        return LassoProblem(problem.without_ridge(), self.copy, tol=self.control.tol)

    def solve(
        self, problem: LinearBagProblem, start: np.ndarray, warm_models: Sequence[WarmModel] = ()
    ) -> SolverResult:
        """Minimise from one start.

        Where every look at the bags is a pass over all of them, a step is computed from their curvature, as
        with an L1 norm, and not from many products of it with vectors; `warm_models` are as in `minimize_l1`.
        """
        is_large = not isinstance(problem, InMemoryProblem)
        if self.has_l1 or (is_large and not problem.has_kinks):
            lasso = self._lasso(problem)
            result = minimize_l1(lasso, start, self.penalty, self.control, warm_models=warm_models)
            return finish(lasso, [result], self.control)[0]
        return minimize_smooth(
            problem.value_and_gradient,
            start,
            self.control,
            hessian_product=problem.hessian_product if problem.rule.has_latent_labels else None,
            has_kinks=problem.has_kinks,
        )

    def search(self, problem: LinearBagProblem, known: np.ndarray | None = None) -> Sequence[SolverResult]:
        """Minimise from all starts, and give every end; with an L1 norm around a `known` one, if given."""
        if self.has_l1:
            return search_l1(
                self._lasso(problem),
                self.penalty,
                self.control,
                null=fit_null(problem, self.control),
                n_init=self.n_init,
                rng=self.rng,
                known=known,
            )
        results: list[SolverResult] = []
        for start in self.starts(problem):
            results.append(self.solve(problem, start))
            if self.control.is_stopped:
                break
        return results

    def starts(self, problem: LinearBagProblem) -> list[np.ndarray]:
        """Choose starts without an L1 norm: the model without features, then random ones around it."""
        # Log-odds of standardised instances then vary by about one.
        spread = 1.0 / np.sqrt(max(1, problem.n_features))
        random = self.rng.normal(scale=spread, size=(self.n_init - 1, problem.n_features))
        starts = np.tile(fit_null(problem, self.control), (self.n_init, 1))
        starts[1:, :-1] = random
        return list(starts[:1] if problem.is_convex else starts)
