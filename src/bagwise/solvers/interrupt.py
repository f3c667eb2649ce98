"""An interrupt by the keyboard that ends a run between two iterations."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
        stop.set()
    finally:
        if is_ours:
            _watched.pop()
            signal.signal(signal.SIGINT, usual)
