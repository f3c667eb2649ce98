"""Runs whose ends a checkpoint may know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bagwise.solvers.control import Control
from bagwise.solvers.result import Result, SolverResult, Status


def resumable(
    control: Control,
    question: tuple[Any, ...],
    solve: Callable[[Control], Result],
    write: Callable[[Result], dict[str, Any]],
    read: Callable[[dict[str, Any]], Result],
) -> Result:
    """Run a solver; where the checkpoint of the control knows the end of the same run, give that.

    With a checkpoint the result is always one that was written and read: so what follows does not depend on
    whether the end was known.

    Parameters
    ----------
    control : Control
        As the solver reads it.
    question : tuple
        Start, penalty, ...: what tells the run from others.
    solve : callable
        From a control to the result. The checkpoint of that control is a place for this run alone.
    write, read : callable
        From a result to plain values, and back.
    """
    if not control.checkpoint.is_stored:
        return solve(control)
    run = control.checkpoint.next_run(*question, control.tol, control.max_iter)
    if run.has_ended:
        return read(run.end())
    result = solve(replace(control, checkpoint=run))
    if result.status is Status.INTERRUPTED:
        return result
    end = write(result)
    run.finish(end)
    return read(end)


def plain_of(result: SolverResult) -> dict[str, Any]:
    """Write a result whose parameters are an array as plain values."""
    return {
        "x": result.x,
        "value": float(result.value),
        "status": result.status.name,
        "n_iter": int(result.n_iter),
        "history": np.array(result.history, dtype=np.float64),
    }


def result_of(plain: dict[str, Any]) -> SolverResult:
    """Read what `plain_of` wrote."""
    history = tuple(plain["history"].tolist())
    return SolverResult(plain["x"], plain["value"], Status[plain["status"]], plain["n_iter"], history)
