"""Adam on whole gradients, stopped by a number that is watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status

# As the paper has them: how fast the means of gradients and of their squares forget, and what keeps a step
# finite where gradients vanish.
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8

# Gives the value, the number that is watched, and the gradient, at a point.
Ask = Callable[[np.ndarray], tuple[float, float, np.ndarray]]


@dataclass(frozen=True)
class AdamResult(SolverResult):
    """The end of a run: `x` and `value` are of the epoch at which the watched number was least.

    Attributes
    ----------
    watched : tuple of float
        What was watched, at the start and after every step.
    best : int
        The epoch of the least of them.
    """

    watched: tuple[float, ...] = ()
    best: int = 0


def adam(ask: Ask, start: np.ndarray, control: Control, *, learning_rate: float, patience: int) -> AdamResult:
    """Follow the gradient by Adam until what is watched has had no new least value for `patience` steps.

    A step is ``learning_rate * m / (sqrt(v) + 1e-8)``, m and v being running means of gradients and of their
    squares, corrected for their start at zero. Nothing is drawn at random. The value may rise on the way.

    Parameters
    ----------
    ask : callable
        From a point to (value, what is watched, gradient). Without bags to be held out these watch the
        value itself.
    start : array
        The first point.
    control : Control
        The most steps, the report, the stop flag, and a checkpoint; its tolerance is not used.
    learning_rate : float
        About the length of a step in every coordinate.
    patience : int
        How many steps a new least value is waited for.

    Notes
    -----
    D. Kingma and J. Ba (2015), Adam: a method for stochastic optimization, ICLR, arXiv:1412.6980.
    """
    place = control.checkpoint
    if place.has_ended:
        return _result(**place.end())
    known = place.state()
    if known is None:
        x, best_x, history, watched = start, start, [], []
        first, second = np.zeros_like(start), np.zeros_like(start)
    else:
        names = ("x", "first", "second", "best_x", "history", "watched")
        x, first, second, best_x, history, watched = (known[name] for name in names)
    best = int(np.argmin(watched)) if watched else 0
    status = Status.CONVERGED
    while True:
        value, number, gradient = ask(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            status = Status.NOT_FINITE
            break
        history.append(value)
        watched.append(number)
        step = len(history)
        if number < watched[best]:
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
        place.keep({**state, "history": history, "watched": watched})
    end: dict[str, Any] = {"x": best_x, "status": status.name, "best": best}
    end |= {"history": history, "watched": watched}
    if status is not Status.INTERRUPTED:
        place.finish(end)
    return _result(**end)


def _result(x: np.ndarray, status: str, best: int, history: list[float], watched: list[float]) -> AdamResult:
    value = history[best] if history else float("nan")
    n_iter = max(0, len(history) - 1)
    return AdamResult(x, value, Status[status], n_iter, tuple(history), tuple(watched), best)
