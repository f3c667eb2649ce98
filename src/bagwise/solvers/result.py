"""Results of solvers, and how estimators report them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from bagwise._core.interrupt import stop_flag
from bagwise.exceptions import ConvergenceWarning, warn_user


class Status(Enum):
    """How a solver run ended. The value is the text of the warning."""

    CONVERGED = "converged"
    MAX_ITER = "reached max_iter={max_iter} before tol={tol}; increase max_iter or tol, or scale the features"
    STALLED = (
        "could not lower the objective any further although tol={tol} was not reached; increase tol, scale "
        "the features, or increase the penalty"
    )
    NOT_FINITE = "computed a value that is not finite; scale the features or increase the penalty"
    INTERRUPTED = "was interrupted; the best parameters so far are kept"


@dataclass(frozen=True)
class SolverResult:
    """Result of one solver run.

    Attributes
    ----------
    x : array, or a parameter object of the model
        The parameters.
    value : float
        Objective at these parameters.
    status : Status
        How the run ended.
    n_iter : int
        Number of iterations.
    history : tuple of float
        Objective at the start and after every iteration.
    """

    x: Any
    value: float
    status: Status
    n_iter: int
    history: tuple[float, ...]

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED


Result = TypeVar("Result", bound=SolverResult)


def plain_of(result: SolverResult) -> dict[str, Any]:
    """Convert a result with array parameters to plain values that a checkpoint can store."""
    return {
        "x": result.x,
        "value": float(result.value),
        "status": result.status.name,
        "n_iter": int(result.n_iter),
        "history": result.history,
    }


def result_of(plain: dict[str, Any]) -> SolverResult:
    """Convert the plain values of `plain_of` back to a result."""
    return SolverResult(
        plain["x"], plain["value"], Status[plain["status"]], plain["n_iter"], plain["history"]
    )


def rounding_tol(value: float) -> float:
    """Return the gradient norm below which a step changes the objective by less than its rounding error."""
    return 10 * float(np.sqrt(np.finfo(float).eps)) * max(1.0, abs(value))


def best_of(results: Sequence[Result]) -> Result:
    """Return the first run with the lowest objective; non-finite objectives rank last."""
    return min(results, key=lambda r: r.value if np.isfinite(r.value) else np.inf)


def as_totals(result: Result, total: float) -> Result:
    """Convert objectives per unit of weight to totals, which estimators report."""
    history = tuple(value * total for value in result.history)
    return replace(result, value=result.value * total, history=history)


class Recorded:
    """Declares, for type checkers, the attributes that `record_result` sets on an estimator."""

    n_iter_: int
    converged_: bool
    objective_: float
    objective_history_: np.ndarray
    objectives_: np.ndarray


def record_result(estimator: Any, results: Sequence[SolverResult]) -> SolverResult:
    """Set the fitted attributes of iterative models, and warn if the best run did not converge.

    Sets ``n_iter_``, ``converged_``, ``objective_``, ``objective_history_`` (of the best run) and
    ``objectives_`` (of every start), and returns the best run. A stopped fit counts as not converged, even if
    one of its starts converged. It raises KeyboardInterrupt at the end, so there is no warning.
    """
    best = best_of(results)
    stopped = stop_flag().is_set() or Status.INTERRUPTED in map(attrgetter("status"), results)
    estimator.n_iter_ = max(1, best.n_iter)
    estimator.converged_ = best.converged and not stopped
    estimator.objective_ = best.value
    estimator.objective_history_ = np.asarray(best.history)
    estimator.objectives_ = np.array(list(map(attrgetter("value"), results)))
    if not best.converged and not stopped:
        reason = best.status.value.format(max_iter=getattr(estimator, "max_iter", None), tol=estimator.tol)
        warn_user(f"{type(estimator).__name__} {reason}.", ConvergenceWarning)
    return best
