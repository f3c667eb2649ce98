"""A word to whoever waits for the compiler: it says once that it compiles, and that this is once only."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import threading
import time
from typing import Any

from numba.core import event

_PATIENCE = 2.0  # seconds of compiling before anything is said
_NOTICE = "bagwise: compiling, once; the machine code is kept, and the next start is quick."


class CompilingNotice(event.Listener):
    """Says that kernels are compiled as soon as that has taken two seconds, all kernels together.

    It is said on a terminal or in a notebook, while the compiler runs, and logged elsewhere (logger
    "bagwise", level INFO). Workers of a pool say nothing. numba tells of every function that it compiles and
    does not find in its cache; a function may compile others meanwhile.

    Parameters
    ----------
    patience : float
        Seconds of compiling before anything is said.
    """

    def __init__(self, patience: float = _PATIENCE):
        self.patience = patience
        self._depth = 0
        self._began = self._spent = 0.0
        self._timer: threading.Timer | None = None
        self._is_said = False

    def on_start(self, told: Any) -> None:
        """Begin to wait, unless another function of ours is being compiled."""
        if not _is_ours(told) or self._is_said:
            return
        self._depth += 1
        if self._depth > 1:
            return
        self._began = time.monotonic()
        self._timer = threading.Timer(max(0.0, self.patience - self._spent), self._say)
        self._timer.daemon = True
        self._timer.start()

    def on_end(self, told: Any) -> None:
        """Stop waiting, and remember how long it took."""
        if not _is_ours(told) or self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._spent += time.monotonic() - self._began

    def _say(self) -> None:
        if self._is_said or multiprocessing.current_process().name != "MainProcess":
            return
        self._is_said = True
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            sys.stderr.write(f"\r{_NOTICE}\n")
            sys.stderr.flush()
        else:
            logging.getLogger("bagwise").info(_NOTICE)


def _is_ours(told: Any) -> bool:
    function = getattr((told.data or {}).get("dispatcher"), "py_func", None)
    return str(getattr(function, "__module__", "")).startswith("bagwise.")


def watch_compiling() -> None:
    """Have numba tell of what it compiles."""
    event.register("numba:compile", CompilingNotice())
