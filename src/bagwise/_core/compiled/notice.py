"""Message for users who wait for the compiler; it explains that compiling happens only once."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import threading
import time
from typing import Any

from numba.core import event

from bagwise._core.compiled.running import COMPILING, compiling

_PATIENCE = 2.0  # seconds of compiling before the message is shown
_NOTICE = f"bagwise: {COMPILING}."


class CompilingNotice(event.Listener):
    """Listener that shows a message once compiling has taken two seconds, summed over all kernels.

    The message appears on a terminal or in a notebook while the compiler runs, and is logged elsewhere
    (logger "bagwise", level INFO). Worker processes show no message. numba calls the listener for every
    function that it compiles instead of loading it from its cache; calls may be nested.

    Parameters
    ----------
    patience : float
        Seconds of compiling before the message is shown.
    """

    def __init__(self, patience: float = _PATIENCE):
        self.patience = patience
        self._depth = 0
        self._began = self._spent = 0.0
        self._timer: threading.Timer | None = None
        self._is_shown = False

    def on_start(self, compile_event: Any) -> None:
        """Start the timer, unless another function of bagwise is being compiled."""
        if not _is_ours(compile_event):
            return
        self._depth += 1
        if self._depth > 1:
            return
        compiling.set()
        if self._is_shown:
            return
        self._began = time.monotonic()
        self._timer = threading.Timer(max(0.0, self.patience - self._spent), self._show)
        self._timer.daemon = True
        self._timer.start()

    def on_end(self, compile_event: Any) -> None:
        """Stop the timer, and add the time that compiling took."""
        if not _is_ours(compile_event) or self._depth == 0:
            return
        self._depth -= 1
        if self._depth > 0:
            return
        compiling.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._spent += time.monotonic() - self._began

    def _show(self) -> None:
        if self._is_shown or multiprocessing.current_process().name != "MainProcess":
            return
        self._is_shown = True
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            sys.stderr.write(f"\r{_NOTICE}\n")
            sys.stderr.flush()
        else:
            logging.getLogger("bagwise").info(_NOTICE)


def _is_ours(compile_event: Any) -> bool:
    function = getattr((compile_event.data or {}).get("dispatcher"), "py_func", None)
    return str(getattr(function, "__module__", "")).startswith("bagwise.")


def watch_compiling() -> None:
    """Register a `CompilingNotice` with numba."""
    event.register("numba:compile", CompilingNotice())
