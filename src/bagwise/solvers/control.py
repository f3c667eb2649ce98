"""When a run ends and who hears of it: what every solver is given beside its problem."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from bagwise._core.interrupt import stop_flag


class Place(Protocol):
    """What runs see of a checkpoint, if there is one: see `bagwise.persist.checkpoints.Checkpoint`."""

    def within(self, name: str) -> Self:
        """Give a place inside, for one of several runs at the same time."""

    def next_run(self, *question: Any) -> Self:
        """Give a place inside, for the next of several runs one after the other."""

    def cell(self, name: str, compute: Callable[[Any], Any]) -> Any:
        """Give the value known under a name, or compute it."""

    @property
    def has_ended(self) -> bool:
        """Whether the end is known."""

    def end(self, like: Any = None) -> Any:
        """Give the end."""

    def finish(self, value: Any) -> None:
        """Keep the end."""

    def state(self, like: Any) -> Any:
        """Give the last state of the run, or None."""

    def keep(self, state: Any) -> None:
        """Keep the state of the run."""

    def answers(self) -> Any:
        """Give what the run was told before: its method `ask` computes, or tells it again."""


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
    checkpoint : Place, optional
        Where runs that follow each other keep what they find out; those at the same time have a place each
        (`within`).
    """

    tol: float
    max_iter: int
    on_iteration: Callable[[int, float], None] | None = None
    stop: threading.Event = field(default_factory=stop_flag)
    checkpoint: Place | None = None

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
        return self if self.checkpoint is None else replace(self, checkpoint=self.checkpoint.within(name))

    def without_checkpoint(self) -> Control:
        """Give the control of a run that is done again after a crash."""
        return self if self.checkpoint is None else replace(self, checkpoint=None)
