"""`Checkpoint`: a location in a checkpoint file, for a solver, a fold or an ensemble member."""

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
    """A location in an open checkpoint; `within` and `next_run` return nested locations.

    When the same call is repeated after a crash, it uses the stored values. Values are stored in two ways:

    - `cell` stores the value of a finished step. Use it for steps whose partial results are useless, such as
      a fold.
    - `keep` stores the state of a run in progress, and `state` returns it, so that the run can continue.

    Values are scalars, strings, arrays, tuples, lists or dicts. Other objects are converted to these types.

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

    def __init__(self, store: Store, location: str = ""):
        self._store = store
        self._location = location
        self._n_runs = 0

    @property
    def store(self) -> Store:
        """The store of the checkpoint file."""
        return self._store

    @property
    def _entry(self) -> dict[str, Any]:
        return self._store.get(self._location)

    def within(self, name: str) -> Checkpoint:
        """Return the location with this name; concurrent runs must use different names."""
        return Checkpoint(self._store, f"{self._location}/{name}")

    def next_run(self, *inputs: Any) -> Checkpoint:
        """Return the location of the next run in a sequence of runs.

        `inputs` identify the run, for example its start and its penalty. If the stored run has different
        inputs, the values of this run and of all following runs are deleted.
        """
        self._n_runs += 1
        run, key = self.within(f"run {self._n_runs}"), digest_of(*inputs)
        if run._entry.get("key", key) != key:
            i = self._n_runs
            while self.within(f"run {i}")._entry:
                self._store.forget_inside(f"{self._location}/run {i}")
                i += 1
        if not run._entry:
            self._store.put(run._location, key=key)
        return run

    # ------------------------------------------------------------ finished results

    @property
    def has_ended(self) -> bool:
        """Whether the final value is stored."""
        return "end" in self._entry

    def end(self, like: Any = None) -> Any:
        """Return the final value; if it is an object, `like` is an object of the same form."""
        return put_together(copied(self._entry["end"]), like)

    def finish(self, value: Any) -> None:
        """Store the final value and delete the state."""
        key = {name: kept for name, kept in self._entry.items() if name == "key"}
        self._store.put(self._location, alone=True, **key, end=copied(taken_apart(value)))

    def cell(self, name: str, compute: Callable[..., Any], *args: Any) -> Any:
        """Return the value stored under a name, or compute and store ``compute(*args)``."""
        checkpoint = self.within(name)
        if checkpoint.has_ended:
            return checkpoint.end()
        value = compute(*args)
        checkpoint.finish(value)
        return value

    # ------------------------------------------------------------ states of unfinished runs

    def keep(self, state: Any) -> None:
        """Store the current state of a run; its arrays must not be modified afterwards."""
        self._store.put(self._location, state=taken_apart(state))

    def state(self, like: Any = None) -> Any:
        """Return the stored state in the form of `like`, or None if there is no state of this form."""
        if "state" not in self._entry:
            return None
        try:
            return put_together(copied(self._entry["state"]), like)
        except (KeyError, TypeError, ValueError):
            return None

    # ------------------------------------------------------------ folds and seeds

    def agree_on_folds(self, splits: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Raise an error if the stored folds differ from these folds, for example with a random splitter."""
        entry, key = self._store.get(f"{self._location}/folds"), digest_of(splits)
        if entry.get("digest", key) != key:
            raise ValueError(
                f"checkpoint {str(self._store.path)!r} belongs to a fit with different folds; set the "
                f"random_state of the cv splitter to make the folds reproducible; {REMEDY}."
            )
        self._store.put(f"{self._location}/folds", digest=key)

    def seed(self, random_state: Any) -> Any:
        """Return an integer unchanged; for None or a RandomState, draw a seed once and store it."""
        if isinstance(random_state, (int, np.integer)):
            return random_state
        entry = self._store.get(f"{self._location}/seed")
        if "seed" not in entry:
            drawn = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
            self._store.put(f"{self._location}/seed", seed=drawn)
            self._store.write_or_warn()
            return drawn
        return int(entry["seed"])
