"""What a fit may do with its checkpoint, and the checkpoint of a fit that has none.

`bagwise.persist.checkpoints.Checkpoint` stores values in a file. A fit without a checkpoint has
`NO_CHECKPOINT`, which stores nothing and costs nothing, so no code has to ask whether there is a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class CheckpointLocation:
    """A location in a checkpoint; `within` and `next_run` return locations inside it.

    This one is that of a fit without a checkpoint: all values are computed and none is stored.

    Examples
    --------
    >>> from bagwise._core.checkpoint import NO_CHECKPOINT
    >>> [NO_CHECKPOINT.cell(f"square {n}", pow, n, 2) for n in range(3)]
    [0, 1, 4]
    """

    # Whether values are stored at all; locations that store are not sent to other processes.
    is_stored = False

    def within(self, name: str) -> CheckpointLocation:
        """Return the location with this name; runs at the same time must use different ones."""
        return self

    def next_run(self, *inputs: Any) -> CheckpointLocation:
        """Return the location of the next of several runs, one after the other; `inputs` identify it."""
        return self

    def cell(self, name: str, compute: Callable[..., Any], *args: Any) -> Any:
        """Return the value stored under a name, or compute and store ``compute(*args)``."""
        return compute(*args)

    @property
    def has_ended(self) -> bool:
        """Whether the final value is stored."""
        return False

    def end(self, like: Any = None) -> Any:
        """Return the final value; `like` is an example of its form if it is an object."""
        raise NotImplementedError

    def finish(self, value: Any) -> None:
        """Store the final value and delete the state."""

    def keep(self, state: Any) -> None:
        """Store the current state of a run; its arrays must not be modified afterwards."""

    def state(self, like: Any = None) -> Any:
        """Return the stored state, in the form of `like`; None if there is none."""

    def seed(self, random_state: Any) -> Any:
        """Return the random state to use: if it is not an integer, a seed that is drawn once and stored."""
        return random_state

    def agree_on_folds(self, splits: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Raise an error if the stored folds differ from these."""


NO_CHECKPOINT = CheckpointLocation()
