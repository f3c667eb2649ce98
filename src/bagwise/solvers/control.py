"""Run control for solvers: tolerance, iteration limit, callback, stop flag, checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.interrupt import stop_flag


@dataclass(frozen=True)
class Control:
    """Tolerance, iteration limit, callback, stop flag and checkpoint of a solver run.

    Use `dataclasses.replace` to change a setting.

    Attributes
    ----------
    tol : float
        Tolerance of the convergence criterion, which each solver defines.
    max_iter : int
        Maximum number of iterations.
    on_iteration : callable, optional
        Called with the iteration number and the objective.
    stop : threading.Event
        Stop flag, set by Ctrl-C (`solvers.interrupt`). A run then ends after the current step. It returns the
        status INTERRUPTED and the best parameters so far.
    checkpoint : CheckpointLocation, optional
        Location where successive runs store their state. Concurrent runs need separate locations (`within`).
    """

    tol: float
    max_iter: int
    on_iteration: Callable[[int, float], None] | None = None
    stop: threading.Event = field(default_factory=stop_flag)
    checkpoint: CheckpointLocation = NO_CHECKPOINT

    @property
    def is_stopped(self) -> bool:
        """Whether the stop flag is set."""
        return self.stop.is_set()

    def report(self, iteration: int, value: float) -> None:
        """Call `on_iteration`, if it is set."""
        if self.on_iteration is not None:
            self.on_iteration(iteration, value)

    def within(self, name: str) -> Control:
        """Return the control for a part of the run, with a separate location in the checkpoint."""
        return replace(self, checkpoint=self.checkpoint.within(name))

    def without_checkpoint(self) -> Control:
        """Return the control for a run without a checkpoint, which restarts after a crash."""
        return replace(self, checkpoint=NO_CHECKPOINT)
