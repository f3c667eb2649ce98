"""EM-DD: diverse density of one instance per bag, which is chosen again after every optimization."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bagwise._core.checkpoint import NO_CHECKPOINT
from bagwise._core.types import ClassWeight, PositiveLabel, Scale, Seed
from bagwise.models.prototypes.density_problem import DensityProblem, NearestProblem, distance, halves
from bagwise.models.prototypes.diverse_density import DiverseDensity
from bagwise.rules import Max, Rule
from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status, plain_of, result_of
from bagwise.solvers.smooth import minimize_smooth


class EMDD(DiverseDensity):
    """EM-DD: diverse density in which only the instance nearest to the target represents its bag.

    The fit minimizes, over the target t and the scales s, ::

        - sum_i w_i log P(y_i | max_j P(z_ij = 1)),    P(z = 1 | x) = exp(-sum_k s_k^2 (x_k - t_k)^2)

    in rounds. Each round chooses the most positive instance of every bag, then optimizes t and s as if the
    bags had no other instances. The run stops after a round that does not lower the objective.

    Use it instead of `DiverseDensity` when bags are large: each optimization then reads only one instance per
    bag. It is faster, but depends more on the starts.

    Parameters
    ----------
    scale, class_weight, positive, n_init, random_state, verbose
        As in `DiverseDensity`.
    tol : float, default=1e-4
        Tolerance of the optimizations. A run stops when a round lowers the objective by less than this share
        of its value.
    max_iter : int, default=200
        Maximum number of rounds per start, and of iterations of each optimization.

    Attributes
    ----------
    target_, feature_scales_, local_optima_, local_objectives_, rule_, scaler_, classes_, positive_label_,
    n_features_in_
        As in `DiverseDensity`. The rule is `Max`, which has no instance posterior.
    objective_, objective_history_, objectives_, log_likelihood_, n_iter_, converged_
        As in `DiverseDensity`; the history has one value per round.

    Notes
    -----
    A round costs one pass over the instances to choose the nearest ones, and an optimization that reads one
    instance per bag.

    In a negative bag, the chosen instance is the one with the largest loss. A round may therefore increase
    the objective, unlike a step of the EM algorithm. The original method and this implementation stop in this
    case.

    References
    ----------
    Q. Zhang and S. Goldman (2002), EM-DD: an improved multiple-instance learning technique, NIPS 14.

    Examples
    --------
    >>> from bagwise import EMDD, make_mixture_bags
    >>> data = make_mixture_bags(60, separation=5.0, random_state=0)
    >>> model = EMDD(random_state=0).fit(data.bags, data.y)
    >>> bool(model.score(data.bags, data.y) > 0.95)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        name: allowed for name, allowed in DiverseDensity._parameter_constraints.items() if name != "rule"
    }

    def __init__(
        self,
        *,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        n_init: int | None = 10,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        super().__init__(
            scale=scale,
            class_weight=class_weight,
            positive=positive,
            n_init=n_init,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            verbose=verbose,
        )

    def _make_rule(self) -> Rule:
        return Max()

    def _solve(self, problem: DensityProblem, start: np.ndarray, control: Control) -> SolverResult:
        checkpoint = control.checkpoint.next_run(start, control.tol, control.max_iter)
        if checkpoint.has_ended:
            return result_of(checkpoint.end())
        state = checkpoint.state()
        if state is None:
            theta, (value, _) = start, problem.value_and_gradient(start)
            history = [value]
        else:
            theta, value, history = state["x"], state["value"], state["history"]
        # An optimization over one instance per bag is fast, so its progress is not stored.
        turn_control = replace(control, on_iteration=None, checkpoint=NO_CHECKPOINT)
        status = Status.MAX_ITER
        for turn in range(len(history), control.max_iter + 1):
            if control.is_stopped:
                status = Status.INTERRUPTED
                break
            nearest = _nearest_problem(problem, theta)
            turned = minimize_smooth(nearest.value_and_gradient, theta, turn_control).x
            new_value, _ = problem.value_and_gradient(turned)
            gain = value - new_value
            if gain > 0:
                theta, value = turned, new_value
            history.append(value)
            control.report(turn, value)
            if gain <= control.tol * max(1.0, abs(value)) and not control.is_stopped:
                status = Status.CONVERGED
                break
            checkpoint.keep({"x": theta, "value": value, "history": history})
        result = SolverResult(theta, value, status, len(history) - 1, tuple(history))
        if status is not Status.INTERRUPTED:
            checkpoint.finish(plain_of(result))
        return result


def _nearest_problem(problem: DensityProblem, theta: np.ndarray) -> NearestProblem:
    """Return the problem of the nearest instance of every bag; the first one in case of ties."""
    q = distance(problem.X, *halves(theta))
    bag = np.repeat(np.arange(len(problem.y)), np.diff(problem.offsets))
    nearest = np.lexsort((q, bag))[problem.offsets[:-1]]
    return NearestProblem(problem.X[nearest], problem.y, problem.weight)
