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

# The flag of the outermost run of the main thread, which alone meets interrupts; None outside of runs.
_current: threading.Event | None = None


def stop_flag() -> threading.Event:
    """Give the flag that a run in any thread watches: that of the main thread's run, if there is one."""
    if _current is None and _watched:
        return _watched[-1]
    return threading.Event() if _current is None else _current


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn Ctrl-C into a flag inside the block, and into KeyboardInterrupt at its end; also a decorator.

    An exception that strikes inside a compiled function comes out as a SystemError: this is why the handler
    sets a flag. A second Ctrl-C ends the block at once by the usual exception. Blocks inside another one, and
    blocks in other threads, watch the flag of the outermost block of the main thread. A program that has its
    own handler of SIGINT keeps it.
    """
    global _current
    usual = signal.default_int_handler
    is_outermost = (
        _current is None
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is usual
    )
    stop = stop_flag()

    def stop_first(number, frame):
        if stop.is_set():
            usual(number, frame)
        stop.set()

    if is_outermost:
        signal.signal(signal.SIGINT, stop_first)
        _current = stop
    try:
        yield stop
    except SystemError as error:
        if not stop.is_set():
            raise
        raise KeyboardInterrupt from error
    finally:
        if is_outermost:
            _current = None
            signal.signal(signal.SIGINT, usual)
    if stop.is_set():
        raise KeyboardInterrupt


# The event of the outermost run of the main thread, which alone meets interrupts.
_watched: list[threading.Event] = []


@contextmanager
def stopping(stop: threading.Event | None = None) -> Iterator[threading.Event]:
    """Turn an interrupt by the keyboard into an event that a run, and all runs inside it, watch.

    An exception that strikes inside a compiled function comes out as a SystemError; so the handler that
    would raise it is replaced for the time of the run, and a second interrupt is the usual exception, which
    ends the block with the event set.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if stop is None and _current is not None:
        stop = _current
    if in_main and _watched and stop is None:
        stop = _watched[-1]
    stop = threading.Event() if stop is None else stop
    usual = signal.default_int_handler
    is_ours = in_main and signal.getsignal(signal.SIGINT) is usual

    def stop_first(number, frame):
        if stop.is_set():
            usual(number, frame)
        stop.set()

    if is_ours:
        signal.signal(signal.SIGINT, stop_first)
        _watched.append(stop)
    try:
        yield stop
    except KeyboardInterrupt:
        if stop is _current:
            raise
        stop.set()
    finally:
        if is_ours:
            _watched.pop()
            signal.signal(signal.SIGINT, usual)
