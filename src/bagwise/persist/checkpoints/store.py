"""What a checkpoint holds while a fit runs, and when it is written."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Any

from bagwise._core.interrupt import stop_flag
from bagwise.exceptions import warn_user

# So many seconds lie between two writes, and so many times what a write takes.
_EVERY, _SHARE = 2.0, 20.0
REMEDY = "give another path, or delete the file to begin anew"


class Store:
    """Entries by place, in memory and, every few seconds, in a file.

    An entry has what is known of one run: its "end", once it has finished, else its "state". Once Ctrl-C has
    set the flag of the fit, nothing more is taken: what a solver does then is not what it would have done.

    Parameters
    ----------
    path : path
        The file; a link stays one, and what it leads to is written.
    identity : dict
        What the fit is: see `identity_of`.
    """

    lock: Any

    def __init__(self, path: Path, identity: dict[str, Any]):
        self.path = path
        self.identity = identity
        self.entries: dict[str, dict[str, Any]] = {}
        self.lock = threading.RLock()
        self._stop = stop_flag()
        self._written, self._took = -float("inf"), 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether Ctrl-C has ended the fit."""
        return self._stop.is_set()

    def read(self) -> dict[str, Any]:
        """Read the file, and give the identity of the fit that wrote it."""
        from bagwise.persist.checkpoints.file import read_file

        try:
            identity, self.entries = read_file(self.path)
        except ValueError as error:
            raise ValueError(f"checkpoint {str(error).rstrip('.')}; {REMEDY}.") from error
        return identity

    # ------------------------------------------------------------ entries

    def get(self, place: str) -> dict[str, Any]:
        """Give what is known of a place."""
        return self.entries.get(place, {})

    def put(self, place: str, *, alone: bool = False, **what: Any) -> None:
        """Know something of a place, `alone` nothing else of it or inside it, and write if it is time."""
        with self.lock:
            if not self.is_stopped:
                if alone:
                    self.forget_inside(place)
                self.entries.setdefault(place, {}).update(what)
                self.write_if_due()

    def forget_inside(self, place: str) -> None:
        """Forget a place and all in it."""
        with self.lock:
            if not self.is_stopped:
                inside = f"{place}/"
                for name in [n for n in self.entries if n == place or n.startswith(inside)]:
                    del self.entries[name]

    # ------------------------------------------------------------ the file

    def write_if_due(self) -> None:
        """Write, unless it was done a moment ago; where that fails, say so and let the fit go on."""
        with self.lock:
            if time.monotonic() - self._written < max(_EVERY, _SHARE * self._took):
                return
            try:
                self.write()
            except OSError as error:
                self._written = time.monotonic()
                warn_user(f"checkpoint {str(self.path)!r} could not be written ({error}); the fit goes on.")

    def write(self) -> None:
        """Write all that is known."""
        from bagwise.persist.checkpoints.file import write_file  # imports all kinds of files

        with self.lock:
            begin = time.monotonic()
            write_file(self.path, self.identity, self.entries)
            self._written = time.monotonic()
            self._took = self._written - begin

    def remove(self) -> None:
        """Remove the file: the fit has ended."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.realpath(self.path))
