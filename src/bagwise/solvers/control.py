"""When a run ends and who hears of it: what every solver is given beside its problem."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.interrupt import stop_flag


@dataclass(frozen=True)
class Control:
    """Tolerance, limit, report and stop flag of a run; `dataclasses.replace` changes one of them.

    Attributes
    ----------
    tol : float
        When a run has converged; each solver says of what this is the tolerance.
    max_iter : int
        The most iterations.
    on_iteration : callable, optional
        Called with the number of the iteration and the objective.
    stop : threading.Event
        Set by Ctrl-C (`solvers.interrupt`); a run that sees it ends after its present step with the status
        INTERRUPTED and the best parameters so far.
    checkpoint : CheckpointLocation, optional
        Where runs that follow each other keep what they find out; those at the same time have a place each
        (`within`).
    """

    tol: float
    max_iter: int
    on_iteration: Callable[[int, float], None] | None = None
    stop: threading.Event = field(default_factory=stop_flag)
    checkpoint: CheckpointLocation = NO_CHECKPOINT

    @property
    def is_stopped(self) -> bool:
        """Whether the run should end now."""
        return self.stop.is_set()

    def report(self, number: int, value: float) -> None:
        """Tell whoever listens of one iteration."""
        if self.on_iteration is not None:
            self.on_iteration(number, value)

    def within(self, name: str) -> Control:
        """Give the control of a part of the run, with a place of its own in the checkpoint."""
        return replace(self, checkpoint=self.checkpoint.within(name))

    def without_checkpoint(self) -> Control:
        """Give the control of a run that is done again after a crash."""
        return replace(self, checkpoint=NO_CHECKPOINT)
