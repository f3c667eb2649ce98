"""Expectation-maximisation: the one loop, for every model that gives an E step and an M step."""

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

# A rise of the objective by less than this share of it is rounding.
_ROUNDING = 1e-9
_MOST_HALVINGS = 30


@dataclass(frozen=True)
class EMResult(SolverResult):
    """The end of one run of EM.

    Attributes
    ----------
    watched : tuple of float
        What `EMModel.watch` gave at the start and after every iteration; empty if it gave nothing.
    """

    watched: tuple[float, ...] = ()


class EMModel(Protocol):
    """What the loop asks of a model. ``params`` is whatever the model calls its parameters."""

    def init(self, blocks: Blocks, rng: np.random.RandomState) -> Any:
        """Draw the parameters of a start."""

    def estep(self, block: Block, params: Any) -> Any:
        """Give the statistics of one block of bags; they add by ``+``."""

    def complete(self, statistics: Any, params: Any) -> Any:
        """Add to the sum of all blocks what needs no pass; the log-likelihood is then among them."""

    def mstep(self, statistics: Any, params: Any) -> Any:
        """Give parameters that are better for these statistics, or best."""

    def objective(self, statistics: Any, params: Any) -> float:
        """Give what is minimised: minus the log-likelihood of these statistics, minus the log prior."""

    def pack(self, params: Any) -> np.ndarray:
        """Write parameters as a vector without constraints."""

    def unpack(self, vector: np.ndarray, params: Any) -> Any:
        """Read parameters from a vector; `params` shows their form."""

    def watch(self, statistics: Any) -> float | None:
        """Give a number to be kept for every iteration beside the objective, or None."""


def run_em(
    model: EMModel,
    blocks: Blocks,
    control: Control,
    *,
    n_init: int,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
    on_start: Callable[[int, int, SolverResult], None] | None = None,
) -> list[EMResult]:
    """Run EM from several starts and give the result of each.

    An iteration is an M step and an E step::

        params = mstep(statistics, params)
        statistics = complete(sum of estep(block, params) over the blocks, params)

    Where the blocks are large all starts go along together and share their passes: a start costs work, but no
    further read.

    If the M step is only meant to improve, and oversteps, it is halved towards the parameters before it
    until the objective falls: so the course never rises, whatever the model.

    Parameters
    ----------
    model : EMModel
        The steps.
    blocks : Blocks
        The data; an iteration passes over them once.
    control : Control
        Converged when an iteration lowers the objective by less than the share `control.tol` of it; the
        limit is that of every start.
    n_init : int
        Number of starts.
    rng : RandomState
        Source of the starts; a seed for each is drawn before the first begins.
    n_jobs : int, optional
        Threads that share the starts, as in joblib, where blocks are not large; those share out the blocks
        of a pass instead. The result does not depend on it.
    on_start : callable, optional
        Called with (start, of how many, result).

    Returns
    -------
    list of EMResult
        In the order of the starts; ``x`` holds the parameters as the model knows them. When the run is
        stopped, starts that had not begun are left out, but for the first: there is always a result.
    """
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_init)

    def run(number: int, blocks: Blocks) -> EMResult | None:
        if number and control.is_stopped:
            return None
        start = model.init(blocks, np.random.RandomState(seeds[number]))
        result = _run_start(model, blocks, start, control.within(f"start {number + 1}"))
        if on_start is not None:
            on_start(number, n_init, result)
        return result

    if blocks.are_large:
        results = run_together(blocks, [functools.partial(run, number) for number in range(n_init)])
    else:
        results = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(run)(number, blocks) for number in range(n_init)
        )
    return [result for result in results if result is not None]


def _run_start(model: EMModel, blocks: Blocks, params: Any, control: Control) -> EMResult:
    place = control.checkpoint
    form = {"params": params, "history": None, "watched": None}
    if place.has_ended:
        return _result(**place.end({**form, "status": None}))
    known = place.state(form)
    if known is not None:
        params = known["params"]
    statistics = _estep(model, blocks, params)
    value = float(model.objective(statistics, params))
    history, watched = [value], [model.watch(statistics)]
    if known is not None:
        history, watched = known["history"], known["watched"]
        value = history[-1]
    status = Status.MAX_ITER if np.isfinite(value) else Status.NOT_FINITE
    while status is Status.MAX_ITER and len(history) <= control.max_iter:
        if control.is_stopped:
            status = Status.INTERRUPTED
            break
        moved = _step(model, blocks, params, statistics, value)
        if moved is None:
            status = Status.STALLED
            break
        params, statistics, value = moved
        history.append(value)
        watched.append(model.watch(statistics))
        control.report(len(history) - 1, value)
        if history[-2] - value <= control.tol * max(1.0, abs(value)):
            status = Status.CONVERGED
        else:
            # An E step gives the rest.
            place.keep({"params": params, "history": history, "watched": watched})
    end = {"params": params, "history": history, "watched": watched, "status": status.name}
    if status is not Status.INTERRUPTED:
        place.finish(end)
    return _result(**end)


def _result(params: Any, history: list[float], watched: list[float | None], status: str) -> EMResult:
    numbers = tuple(number for number in watched if number is not None)
    return EMResult(params, history[-1], Status[status], len(history) - 1, tuple(history), numbers)


def _step(
    model: EMModel, blocks: Blocks, params: Any, statistics: Any, value: float
) -> tuple[Any, Any, float] | None:
    """Do an iteration that does not let the objective rise; None if there is none."""
    new = model.mstep(statistics, params)
    for halving in range(_MOST_HALVINGS):
        if halving:
            here, there = model.pack(params), model.pack(new)
            new = model.unpack(0.5 * (here + there), new)
        new_statistics = _estep(model, blocks, new)
        new_value = float(model.objective(new_statistics, new))
        if new_value <= value + _ROUNDING * max(1.0, abs(value)):
            return new, new_statistics, new_value
    return None


def _estep(model: EMModel, blocks: Blocks, params: Any) -> Any:
    return model.complete(blocks.total(model.estep, params), params)
