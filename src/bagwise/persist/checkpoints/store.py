"""The entries of a checkpoint in memory, and when they are written to the file."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Any

from bagwise._core.files.atomic import NO_SPACE
from bagwise._core.interrupt import stop_flag
from bagwise.exceptions import warn_user

# Minimum time between two writes: in seconds, and as a multiple of the duration of a write.
_EVERY, _SHARE = 2.0, 20.0
REMEDY = "pass another path, or delete the file to start again"


class Store:
    """Entries by location, in memory; they are written to a file every few seconds.

    An entry contains the values of one run: "end" if the run has finished, otherwise "state". After
    Ctrl-C has set the stop flag of the fit, no more values are stored, because an interrupted solver returns
    different results.

    Parameters
    ----------
    path : path
        The path of the file. If it is a symbolic link, the target of the link is written.
    identity : dict
        The identity of the fit; see `identity_of`.
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
        """Whether Ctrl-C has stopped the fit."""
        return self._stop.is_set()

    def read(self) -> dict[str, Any]:
        """Read the file, and return the identity of the fit that wrote the file."""
        from bagwise.persist.checkpoints.file import read_file

        try:
            identity, self.entries = read_file(self.path)
        except ValueError as error:
            raise ValueError(f"checkpoint {str(error).rstrip('.')}; {REMEDY}.") from error
        return identity

    # ------------------------------------------------------------ entries

    def get(self, location: str) -> dict[str, Any]:
        """Return the entry of a location."""
        return self.entries.get(location, {})

    def put(self, location: str, *, alone: bool = False, **values: Any) -> None:
        """Update the entry of a location, and write the file if a write is due.

        If `alone` is true, all other values of the location and the locations inside it are deleted.
        """
        with self.lock:
            if not self.is_stopped:
                if alone:
                    self.forget_inside(location)
                self.entries.setdefault(location, {}).update(values)
                self.write_if_due()

    def forget_inside(self, location: str) -> None:
        """Delete the entries of a location and of all locations inside it."""
        with self.lock:
            if not self.is_stopped:
                inside = f"{location}/"
                for name in [n for n in self.entries if n == location or n.startswith(inside)]:
                    del self.entries[name]

    # ------------------------------------------------------------ the file

    def write_if_due(self) -> None:
        """Write the file unless the last write is recent; if writing fails, warn and continue the fit."""
        with self.lock:
            if time.monotonic() - self._written < max(_EVERY, _SHARE * self._took):
                return
            self.write_or_warn()

    def write_or_warn(self, *, is_first: bool = False) -> None:
        """Write the file; if this fails, warn and continue the fit.

        The first write raises an error for an invalid path, but not for a full disk.
        """
        try:
            self.write()
        except OSError as error:
            if is_first and error.errno not in NO_SPACE:
                raise
            self._written = time.monotonic()
            why = error.strerror or error
            warn_user(f"checkpoint {str(self.path)!r} could not be written ({why}); the fit continues.")

    def write(self) -> None:
        """Write all entries to the file."""
        from bagwise.persist.checkpoints.file import write_file  # imported on first use, to keep imports fast

        with self.lock:
            begin = time.monotonic()
            write_file(self.path, self.identity, self.entries)
            self._written = time.monotonic()
            self._took = self._written - begin

    def remove(self) -> None:
        """Remove the file; a missing file is not an error."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.realpath(self.path))
