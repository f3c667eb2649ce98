"""Expectation-maximization (EM): the main loop for models with an E step and an M step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed

from bagwise.data.blocks import Block, Blocks, run_together
from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status

# Relative increases of the objective below this value are treated as rounding errors.
_ROUNDING = 1e-9
_MOST_HALVINGS = 30
# Limit on the extrapolation of slow runs, in steps.
_LONGEST = 100.0


@dataclass(frozen=True)
class EMResult(SolverResult):
    """Result of one EM run.

    Attributes
    ----------
    watched : tuple of float
        Values of `EMModel.watch` at the start and after every iteration; empty if it returned None.
    """

    watched: tuple[float, ...] = ()


class EMModel(Protocol):
    """Interface of models for `run_em`. ``params`` can be any object that the model uses as parameters."""

    def init(self, blocks: Blocks, rng: np.random.RandomState) -> Any:
        """Draw the initial parameters of a start."""

    def estep(self, block: Block, params: Any) -> Any:
        """Return the statistics of one block of bags; statistics are summed with ``+``."""

    def complete(self, statistics: Any, params: Any) -> Any:
        """Add the statistics that need no pass over the data; the result includes the log-likelihood."""

    def mstep(self, statistics: Any, params: Any) -> Any:
        """Return parameters that improve or maximize the objective for these statistics."""

    def objective(self, statistics: Any, params: Any) -> float:
        """Return the minimized objective: the negative sum of the log-likelihood and the log prior."""

    def pack(self, params: Any) -> np.ndarray:
        """Convert parameters to an unconstrained vector."""

    def unpack(self, vector: np.ndarray, params: Any) -> Any:
        """Convert a vector to parameters; `params` is a template for their structure."""

    def watch(self, statistics: Any) -> float | None:
        """Return a value that is recorded in every iteration in addition to the objective, or None."""


def run_em(
    model: EMModel,
    blocks: Blocks,
    control: Control,
    *,
    n_init: int,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
    on_start: Callable[[int, int, SolverResult], None] | None = None,
    extrapolate: bool = False,
) -> list[EMResult]:
    """Run EM from several starts and return the result of each start.

    An iteration is an M step and an E step::

        params = mstep(statistics, params)
        statistics = complete(sum of estep(block, params) over the blocks, params)

    If the blocks are large, all starts run concurrently and share their passes. An additional start then
    costs computing time but no additional reads.

    If an M step increases the objective, the step is halved until the objective decreases. The objective
    therefore never increases, even if the M step does not maximize.

    With `extrapolate`, every second M step is extended by a step of SQUAREM (Varadhan and Roland, 2008),
    which continues the path of the packed parameters. The E step is then computed for the extended step
    only. If that increases the objective, it is discarded, and the M step needs an additional E step.

    Parameters
    ----------
    model : EMModel
        The model with its steps.
    blocks : Blocks
        The data; each iteration passes over them once.
    control : Control
        A start has converged if the relative decrease in the objective in an iteration is at most
        `control.tol`. The iteration limit applies to every start.
    n_init : int
        Number of starts.
    rng : RandomState
        Random state of the starts. The seeds of all starts are drawn before the first start.
    n_jobs : int, optional
        Number of joblib threads that run the starts. Large blocks do not use it: their passes are
        parallelized over blocks instead. The result does not depend on it.
    on_start : callable, optional
        Called with (index of the start, number of starts, result).
    extrapolate : bool
        Whether steps are extrapolated. This helps if EM converges slowly because a large part of the
        information is missing.

    Returns
    -------
    list of EMResult
        Results in the order of the starts; ``x`` contains the parameters of the model. If the run is stopped,
        starts that had not begun are omitted, except the first one, so the list is never empty.
    """
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_init)

    def run(index: int, blocks: Blocks) -> EMResult | None:
        if index and control.is_stopped:
            return None
        start = model.init(blocks, np.random.RandomState(seeds[index]))
        result = _run_start(model, blocks, start, control.within(f"start {index + 1}"), extrapolate)
        if on_start is not None:
            on_start(index, n_init, result)
        return result

    if blocks.are_large:
        results = run_together(blocks, [functools.partial(run, index) for index in range(n_init)])
    else:
        results = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(run)(index, blocks) for index in range(n_init)
        )
    return [result for result in results if result is not None]


def _run_start(model: EMModel, blocks: Blocks, params: Any, control: Control, extrapolate: bool) -> EMResult:
    checkpoint = control.checkpoint
    form = {"params": params, "history": None, "watched": None}
    if checkpoint.has_ended:
        return _result(**checkpoint.end({**form, "status": None}))
    previous = checkpoint.state({**form, "path": None})
    if previous is not None:
        params = previous["params"]
    statistics = _estep(model, blocks, params)
    value = float(model.objective(statistics, params))
    history, watched = [value], [model.watch(statistics)]
    path = [model.pack(params)] if extrapolate else []  # one or two consecutive iterations
    if previous is not None:
        history, watched, path = previous["history"], previous["watched"], previous["path"]
        value = history[-1]
    status = Status.MAX_ITER if np.isfinite(value) else Status.NOT_FINITE
    while status is Status.MAX_ITER and len(history) <= control.max_iter:
        if control.is_stopped:
            status = Status.INTERRUPTED
            break
        new = model.mstep(statistics, params)
        moved = _extrapolated(model, blocks, [*path, model.pack(new)], new, value) if len(path) == 2 else None
        is_extrapolated = moved is not None
        if moved is None:
            moved = _step(model, blocks, params, new, value)
        if moved is None:
            status = Status.STALLED
            break
        params, statistics, value = moved
        if extrapolate:
            path = [*path[: len(path) % 2], model.pack(params)]
        history.append(value)
        watched.append(model.watch(statistics))
        control.report(len(history) - 1, value)
        if history[-2] - value <= control.tol * max(1.0, abs(value)) and not is_extrapolated:
            status = Status.CONVERGED
        else:
            # A resumed run recomputes the statistics with an E step.
            checkpoint.keep({"params": params, "history": history, "watched": watched, "path": path})
    end = {"params": params, "history": history, "watched": watched, "status": status.name}
    if status is not Status.INTERRUPTED:
        checkpoint.finish(end)
    return _result(**end)


def _result(params: Any, history: list[float], watched: list[float | None], status: str) -> EMResult:
    monitored = tuple(value for value in watched if value is not None)
    return EMResult(params, history[-1], Status[status], len(history) - 1, tuple(history), monitored)


def _step(
    model: EMModel, blocks: Blocks, params: Any, new: Any, value: float
) -> tuple[Any, Any, float] | None:
    """Move to the result of the M step without increasing the objective; return None if all halvings fail."""
    for halving in range(_MOST_HALVINGS):
        if halving:
            old_packed, new_packed = model.pack(params), model.pack(new)
            new = model.unpack(0.5 * (old_packed + new_packed), new)
        new_statistics = _estep(model, blocks, new)
        new_value = float(model.objective(new_statistics, new))
        if new_value <= value + _ROUNDING * max(1.0, abs(value)):
            return new, new_statistics, new_value
    return None


def _extrapolated(
    model: EMModel, blocks: Blocks, path: list[np.ndarray], params: Any, value: float
) -> tuple[Any, Any, float] | None:
    """Continue the path of two iterations and an M step; return None if the objective increases.

    The M step needs no E step if the extrapolation is accepted.
    """
    step = path[1] - path[0]
    bend = path[2] - path[1] - step
    length, size = float(np.linalg.norm(step)), float(np.linalg.norm(bend))
    if not 0 < size < length:  # the three iterations go further
        return None
    ratio = min(length / size, _LONGEST)
    try:
        with np.errstate(all="ignore"):
            new = model.unpack(path[0] + 2 * ratio * step + ratio**2 * bend, params)
            model.pack(new)  # raises an error before the pass if a covariance is not finite or singular
        statistics = _estep(model, blocks, new)
        new_value = float(model.objective(statistics, new))
    except np.linalg.LinAlgError:
        return None
    return (new, statistics, new_value) if new_value <= value else None


def _estep(model: EMModel, blocks: Blocks, params: Any) -> Any:
    return model.complete(blocks.total(model.estep, params), params)
