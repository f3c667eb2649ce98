"""The interface of a checkpoint, and the null checkpoint for fits without one.

`bagwise.persist.checkpoints.Checkpoint` stores values in a file. A fit without a checkpoint uses
`NO_CHECKPOINT`, which stores nothing and costs nothing, so no code has to test whether there is a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class CheckpointLocation:
    """A location in a checkpoint; `within` and `next_run` return nested locations.

    This class is used for fits without a checkpoint: all values are computed, and none is stored.

    Examples
    --------
    >>> from bagwise._core.checkpoint import NO_CHECKPOINT
    >>> [NO_CHECKPOINT.cell(f"square {n}", pow, n, 2) for n in range(3)]
    [0, 1, 4]
    """

    # Whether values are stored. Locations that store values are not sent to other processes.
    is_stored = False

    def within(self, name: str) -> CheckpointLocation:
        """Return the location with this name; concurrent runs must use different names."""
        return self

    def next_run(self, *inputs: Any) -> CheckpointLocation:
        """Return the location of the next run in a sequence of runs; `inputs` identify the run."""
        return self

    def cell(self, name: str, compute: Callable[..., Any], *args: Any) -> Any:
        """Return the value stored under a name, or compute and store ``compute(*args)``."""
        return compute(*args)

    @property
    def has_ended(self) -> bool:
        """Whether the final value is stored."""
        return False

    def end(self, like: Any = None) -> Any:
        """Return the final value; if it is an object, `like` is an object of the same form."""
        raise NotImplementedError

    def finish(self, value: Any) -> None:
        """Store the final value and delete the state."""

    def keep(self, state: Any) -> None:
        """Store the current state of a run; its arrays must not be modified afterwards."""

    def state(self, like: Any = None) -> Any:
        """Return the stored state, in the form of `like`, or None if no state is stored."""

    def seed(self, random_state: Any) -> Any:
        """Return the random state to use: an integer unchanged, anything else replaced by a stored seed."""
        return random_state

    def agree_on_folds(self, splits: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Raise an error if the stored folds differ from these."""


NO_CHECKPOINT = CheckpointLocation()
