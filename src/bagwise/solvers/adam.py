"""Adam with full gradients and early stopping on a monitored value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status

# Defaults of the paper: the decay rates of both moment estimates, and the epsilon that avoids a division by
# zero.
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8

# Returns the value, the monitored value and the gradient at a point.
Ask = Callable[[np.ndarray], tuple[float, float, np.ndarray]]


@dataclass(frozen=True)
class AdamResult(SolverResult):
    """Result of an Adam run: `x` and `value` belong to the epoch with the lowest monitored value.

    Attributes
    ----------
    watched : tuple of float
        Monitored value at the start and after every step.
    best : int
        Epoch with the lowest monitored value.
    """

    watched: tuple[float, ...] = ()
    best: int = 0


def adam(ask: Ask, start: np.ndarray, control: Control, *, learning_rate: float, patience: int) -> AdamResult:
    """Minimize a function with Adam until the monitored value has not improved for `patience` steps.

    A step is ``learning_rate * m / (sqrt(v) + 1e-8)``. Here m and v are running means of the gradients and
    of their squares, corrected for their initial value of zero. The solver is deterministic. The value can
    increase between steps.

    Parameters
    ----------
    ask : callable
        Function that takes a point and returns (value, monitored value, gradient). Without held-out bags,
        the monitored value is the value itself.
    start : array
        Starting point.
    control : Control
        Maximum number of steps, callback, stop flag and checkpoint. The tolerance is not used.
    learning_rate : float
        Approximate size of a step in every coordinate.
    patience : int
        The run stops after this many consecutive steps without a new lowest monitored value.

    Notes
    -----
    D. Kingma and J. Ba (2015), Adam: a method for stochastic optimization, ICLR, arXiv:1412.6980.
    """
    checkpoint = control.checkpoint
    if checkpoint.has_ended:
        return _result(**checkpoint.end())
    previous = checkpoint.state()
    if previous is None:
        x, best_x, history, watched = start, start, [], []
        first, second = np.zeros_like(start), np.zeros_like(start)
    else:
        names = ("x", "first", "second", "best_x", "history", "watched")
        x, first, second, best_x, history, watched = (previous[name] for name in names)
    best = int(np.argmin(watched)) if watched else 0
    status = Status.CONVERGED
    while True:
        value, monitored, gradient = ask(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            status = Status.NOT_FINITE
            break
        history.append(value)
        watched.append(monitored)
        step = len(history)
        if monitored < watched[best]:
            best, best_x = step - 1, x
        control.report(step - 1, value)
        if step > control.max_iter or step - 1 - best >= patience:
            break
        if control.is_stopped:
            status = Status.INTERRUPTED
            break
        first = _FIRST * first + (1.0 - _FIRST) * gradient
        second = _SECOND * second + (1.0 - _SECOND) * gradient**2
        mean, square = first / (1.0 - _FIRST**step), second / (1.0 - _SECOND**step)
        x = x - learning_rate * mean / (np.sqrt(square) + _TINY)
        state = {"x": x, "first": first, "second": second, "best_x": best_x}
        checkpoint.keep({**state, "history": history, "watched": watched})
    end: dict[str, Any] = {"x": best_x, "status": status.name, "best": best}
    end |= {"history": history, "watched": watched}
    if status is not Status.INTERRUPTED:
        checkpoint.finish(end)
    return _result(**end)


def _result(x: np.ndarray, status: str, best: int, history: list[float], watched: list[float]) -> AdamResult:
    value = history[best] if history else float("nan")
    n_iter = max(0, len(history) - 1)
    return AdamResult(x, value, Status[status], n_iter, tuple(history), tuple(watched), best)
