"""Stop a fit after the current step when the user presses Ctrl-C.

`interruptible` wraps every public run: a fit, a regularization path, or a cross-validation. While the context
is active, Ctrl-C only sets a flag. Solvers check the flag between steps (`Control.is_stopped`) and stop with
the status INTERRUPTED, and the estimator stores the current solution. KeyboardInterrupt is raised at the end
of the block, so that a search around the fit also stops.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _InterruptibleRun:
    """The outermost block of the main thread, the only thread that receives signals.

    If `waits` is true, the first Ctrl-C only sets the flag, and the code that checks the flag stops the run.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.waits = True
        self.n_interrupts = 0

    # Ctrl-C may arrive between any two lines. Our handler only sets the flag, so `_current` is changed only
    # while our handler is installed. Therefore `_current` never refers to a run whose handler has been
    # removed.
    def begin(self) -> None:
        global _current
        signal.signal(signal.SIGINT, self._handle)
        _current = self

    def end(self) -> None:
        global _current
        _current = None
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, signal_code: int, frame: FrameType | None) -> None:
        self.n_interrupts += 1
        if self.n_interrupts == 1:
            self.stop.set()
            if self.waits:
                return
        else:
            # The exception may be raised while the block exits, before the default handler is restored.
            self.end()
        signal.default_int_handler(signal_code, frame)


# The current run of the main thread; None outside runs.
_current: _InterruptibleRun | None = None


def stop_flag() -> threading.Event:
    """Return the stop flag for a run in any thread: the flag of the main thread's run, if one is active."""
    return threading.Event() if _current is None else _current.stop


def raise_if_stopped() -> None:
    """Raise KeyboardInterrupt if the flag is set.

    Use this in loops whose partial results are useless, such as the loop over cross-validation folds.
    """
    if stop_flag().is_set():
        raise KeyboardInterrupt


@contextmanager
def interruptible(*, at_once: bool = False) -> Iterator[threading.Event]:
    """Set a flag on Ctrl-C inside the block, and raise KeyboardInterrupt at its end; also a decorator.

    The handler sets a flag because an exception raised inside a compiled function would become a SystemError.
    A second Ctrl-C ends the block immediately with a KeyboardInterrupt. Nested blocks, and blocks in other
    threads, use the flag of the outermost block of the main thread. Any other exception after the flag is set
    is considered a consequence of the interrupt. If the program has installed a SIGINT handler, that handler
    is kept.

    Parameters
    ----------
    at_once : bool
        Whether the first Ctrl-C also raises the exception. Use it around third-party code, which does not
        check the flag. Nested blocks without `at_once`, and blocks in other threads, still end after the
        current step.

    Yields
    ------
    threading.Event
        The flag.
    """
    run = None
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and _current is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        run = _InterruptibleRun()
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
