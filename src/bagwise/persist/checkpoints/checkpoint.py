"""What a solver, a fold or a member of an ensemble sees of a checkpoint: a place with a name in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bagwise._core.checkpoint import CheckpointLocation
from bagwise.persist.checkpoints.plain import (
    copied,
    digest_of,
    put_together,
    taken_apart,
)
from bagwise.persist.checkpoints.store import REMEDY, Store


class Checkpoint(CheckpointLocation):
    """A place in an open checkpoint; there are others inside it.

    Whatever is kept here is found again when the same call is made after a crash. There are two ways:

    - `cell`, of something that is of use only when it has finished, such as a fold: its value;
    - `keep` and `state`, of a run in progress: from what it goes on.

    Values are plain (numbers, text, arrays, tuples, lists, dicts), or are taken apart into such.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise.persist.checkpoints import opened
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with opened(pathlib.Path(folder) / "run", lambda: {"model": "squares"}) as checkpoint:
    ...         [checkpoint.cell(f"square {n}", pow, n, 2) for n in range(3)]
    [0, 1, 4]
    """

    is_stored = True

    def __init__(self, store: Store, place: str = ""):
        self._store = store
        self._place = place
        self._n_runs = 0

    @property
    def store(self) -> Store:
        """The file that this is a part of."""
        return self._store

    @property
    def _entry(self) -> dict[str, Any]:
        return self._store.get(self._place)

    def within(self, name: str) -> Checkpoint:
        """Give the place of this name; runs at the same time must have different ones."""
        return Checkpoint(self._store, f"{self._place}/{name}")

    def next_run(self, *inputs: Any) -> Checkpoint:
        """Give the place of the next of several runs, one after the other.

        `inputs` are what the run is about, such as its start and its penalty: what is known there of another
        run, and of all that followed it, is forgotten.
        """
        self._n_runs += 1
        run, key = self.within(f"run {self._n_runs}"), digest_of(*inputs)
        if run._entry.get("key", key) != key:
            number = self._n_runs
            while self.within(f"run {number}")._entry:
                self._store.forget_inside(f"{self._place}/run {number}")
                number += 1
        if not run._entry:
            self._store.put(run._place, key=key)
        return run

    # ------------------------------------------------------------ what has finished

    @property
    def has_ended(self) -> bool:
        """Whether the end is known."""
        return "end" in self._entry

    def end(self, like: Any = None) -> Any:
        """Give the value at the end, `like` another if it was taken apart."""
        return put_together(copied(self._entry["end"]), like)

    def finish(self, value: Any) -> None:
        """Keep the value at the end, and forget how it came about."""
        key = {name: kept for name, kept in self._entry.items() if name == "key"}
        self._store.put(self._place, alone=True, **key, end=copied(taken_apart(value)))

    def cell(self, name: str, compute: Callable[..., Any], *args: Any) -> Any:
        """Return the value stored under a name, or compute and store ``compute(*args)``."""
        here = self.within(name)
        if here.has_ended:
            return here.end()
        value = compute(*args)
        here.finish(value)
        return value

    # ------------------------------------------------------------ a run in progress

    def keep(self, state: Any) -> None:
        """Keep the state of a run; its arrays must not be written to afterwards."""
        self._store.put(self._place, state=taken_apart(state))

    def state(self, like: Any = None) -> Any:
        """Return the last state, in the form of `like`; None if there is none, or it has another form."""
        if "state" not in self._entry:
            return None
        try:
            return put_together(copied(self._entry["state"]), like)
        except (KeyError, TypeError, ValueError):
            return None

    # ------------------------------------------------------------ what must stay the same

    def agree_on_folds(self, splits: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Refuse other folds than those that the checkpoint was begun with: a splitter may draw new ones."""
        known, key = self._store.get(f"{self._place}/folds"), digest_of(splits)
        if known.get("digest", key) != key:
            raise ValueError(
                f"checkpoint {str(self._store.path)!r} is of a fit with other folds: give cv a splitter that "
                f"always draws the same, by its random_state; {REMEDY}."
            )
        self._store.put(f"{self._place}/folds", digest=key)

    def seed(self, random_state: Any) -> Any:
        """Give an integer as it is; of None or a RandomState, a seed that is drawn once and kept."""
        if isinstance(random_state, (int, np.integer)):
            return random_state
        known = self._store.get(f"{self._place}/seed")
        if "seed" not in known:
            drawn = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
            self._store.put(f"{self._place}/seed", seed=drawn)
            self._store.write()
            return drawn
        return int(known["seed"])
