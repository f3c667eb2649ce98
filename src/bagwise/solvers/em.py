"""Expectation-maximisation: the one loop, for every model that gives an E step and an M step."""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from bagwise.solvers.interrupt import stopping
from bagwise.solvers.result import SolverResult, Status

# A rise of the objective by less than this share of it is rounding.
_ROUNDING = 1e-9
_MOST_HALVINGS = 30


class EMModel(Protocol):
    """What the loop asks of a model. ``params`` is whatever the model calls its parameters."""

    def init(self, blocks: Sequence, rng: np.random.RandomState) -> Any:
        """Draw the parameters of a start."""

    def estep(self, block: Any, params: Any) -> Any:
        """Give the statistics of one block of bags, the log-likelihood among them; they add by ``+``."""

    def mstep(self, statistics: Any, params: Any) -> Any:
        """Give parameters that are better for these statistics, or best."""

    def objective(self, statistics: Any, params: Any) -> float:
        """Give what is minimised: minus the log-likelihood of these statistics, minus the log prior."""

    def pack(self, params: Any) -> np.ndarray:
        """Write parameters as a vector without constraints."""

    def unpack(self, vector: np.ndarray, params: Any) -> Any:
        """Read parameters from a vector; `params` shows their form."""


def run_em(
    model: EMModel,
    blocks: Sequence,
    *,
    n_init: int,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
    on_iteration: Callable[[int, float], None] | None = None,
    on_start: Callable[[int, int, SolverResult], None] | None = None,
) -> list[SolverResult]:
    """Run EM from several starts and give the result of each.

    An iteration is an M step and an E step::

        params = mstep(statistics, params)
        statistics = sum of estep(block, params) over the blocks, in their order

    If the M step is only meant to improve, and oversteps, it is halved towards the parameters before it
    until the objective falls: so the course never rises, whatever the model.

    Parameters
    ----------
    model : EMModel
        The steps.
    blocks : sequence
        The data in pieces, in whatever form the model reads.
    n_init, max_iter : int
        Number of starts, and the most iterations of each.
    tol : float
        Converged when an iteration lowers the objective by less than this share of it.
    rng : RandomState
        Source of the starts; a seed for each is drawn before the first begins.
    n_jobs : int, optional
        Threads that share the starts, as in joblib. The result does not depend on it.
    on_iteration, on_start : callable, optional
        Called with (iteration, value) and (start, of how many, result).

    Returns
    -------
    list of SolverResult
        In the order of the starts; ``x`` holds the parameters as the model knows them. An interrupt by
        the keyboard ends all starts after their present iteration, with the status INTERRUPTED; starts
        that had not begun are left out. An interrupt before any start has a value is passed on.
    """
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_init)
    stop = threading.Event()

    def run(number: int) -> SolverResult | None:
        if stop.is_set():
            return None
        start = model.init(blocks, np.random.RandomState(seeds[number]))
        result = _run_start(model, blocks, start, max_iter, tol, stop, on_iteration)
        if on_start is not None:
            on_start(number, n_init, result)
        return result

    jobs = min(effective_n_jobs(n_jobs), n_init)
    found: list[SolverResult | None] = []
    with stopping(stop):
        if jobs == 1:
            found.extend(map(run, range(n_init)))
        else:
            # Not joblib's own loop: on an interrupt it waits for its threads before anybody can stop them.
            with ThreadPoolExecutor(jobs) as pool:
                found.extend(pool.map(run, range(n_init)))
    results = [result for result in found if result is not None]
    if not results:
        raise KeyboardInterrupt
    return results


def _run_start(model, blocks, params, max_iter, tol, stop, on_iteration) -> SolverResult:
    statistics = _sum_of_esteps(model, blocks, params)
    value = float(model.objective(statistics, params))
    course = [(params, value)]
    status = Status.MAX_ITER if np.isfinite(value) else Status.NOT_FINITE
    try:
        while status is Status.MAX_ITER and len(course) <= max_iter:
            if stop.is_set():
                status = Status.INTERRUPTED
                break
            params, value = course[-1]
            moved = _step(model, blocks, params, statistics, value)
            if moved is None:
                status = Status.STALLED
                break
            new_params, statistics, new_value = moved
            # Parameters and value arrive together, whenever an interrupt comes; older ones are dropped.
            course[-1:] = [(None, value), (new_params, new_value)]
            if on_iteration is not None:
                on_iteration(len(course) - 1, new_value)
            if value - new_value <= tol * max(1.0, abs(new_value)):
                status = Status.CONVERGED
    except KeyboardInterrupt:
        stop.set()
        status = Status.INTERRUPTED
    params, value = course[-1]
    return SolverResult(params, value, status, len(course) - 1, tuple(v for _, v in course))


def _step(model, blocks, params, statistics, value):
    """Do an iteration that does not let the objective rise; None if there is none."""
    new = model.mstep(statistics, params)
    for halving in range(_MOST_HALVINGS):
        if halving:
            here, there = model.pack(params), model.pack(new)
            new = model.unpack(0.5 * (here + there), new)
        new_statistics = _sum_of_esteps(model, blocks, new)
        new_value = float(model.objective(new_statistics, new))
        if new_value <= value + _ROUNDING * max(1.0, abs(value)):
            return new, new_statistics, new_value
    return None


def _sum_of_esteps(model, blocks, params):
    return functools.reduce(operator.add, (model.estep(block, params) for block in blocks))
