"""Ctrl-C ends a fit after its present step.

`interruptible` stands around every public run: a fit, a path, a cross-validation. While it is active, Ctrl-C
only sets a flag. Solvers look at the flag between steps (`Control.is_stopped`) and end with the status
INTERRUPTED; the estimator stores what was reached; and the end of the block raises KeyboardInterrupt,
so that a search around the fit ends too.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Run:
    """The outermost block of the main thread, which alone meets signals.

    `waits` says whether Ctrl-C leaves the end to whoever looks at the flag.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.waits = True
        self.n_interrupts = 0

    # Ctrl-C may come between any two lines. While the handler is ours it only sets the flag; so `_current` is
    # changed only then, and never names a run whose handler is gone.
    def begin(self) -> None:
        global _current
        signal.signal(signal.SIGINT, self._handle)
        _current = self

    def end(self) -> None:
        global _current
        _current = None
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.n_interrupts += 1
        if self.n_interrupts == 1:
            self.stop.set()
            if self.waits:
                return
        else:
            # The exception may strike while the block ends and keep it from restoring the usual handler.
            self.end()
        signal.default_int_handler(number, frame)


# The run of the main thread; None outside of runs.
_current: _Run | None = None


def stop_flag() -> threading.Event:
    """Give the flag that a run in any thread watches: that of the main thread's run, if there is one."""
    return threading.Event() if _current is None else _current.stop


def raise_if_stopped() -> None:
    """End a loop of which a part is of no use, such as the folds of a cross-validation."""
    if stop_flag().is_set():
        raise KeyboardInterrupt


@contextmanager
def interruptible(*, at_once: bool = False) -> Iterator[threading.Event]:
    """Turn Ctrl-C into a flag inside the block, and into KeyboardInterrupt at its end; also a decorator.

    An exception that strikes inside a compiled function comes out as a SystemError: this is why the handler
    sets a flag. A second Ctrl-C ends the block at once by the usual exception. Blocks inside another one, and
    blocks in other threads, watch the flag of the outermost block of the main thread. Whatever else goes
    wrong once the flag is set is a consequence of it. A program that has its own handler of SIGINT keeps it.

    Parameters
    ----------
    at_once : bool
        Whether the first Ctrl-C raises the exception too: around code of others, which watches no flag. A
        block inside this one that waits still ends after its present step, and so do those of other threads.

    Yields
    ------
    threading.Event
        The flag.
    """
    run = None
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and _current is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        run = _Run()
        run.begin()
    stop = stop_flag()
    outermost = _current if in_main else None
    waited = outermost is None or outermost.waits
    try:
        if outermost is not None:
            outermost.waits = not at_once
        yield stop
    except Exception as error:
        if not stop.is_set():
            raise
        raise KeyboardInterrupt from error
    finally:
        if outermost is not None:
            outermost.waits = waited
        if run is not None:
            run.end()
    if stop.is_set():
        raise KeyboardInterrupt
