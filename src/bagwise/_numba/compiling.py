"""The one decorator that every compiled function of bagwise wears."""

from __future__ import annotations

import numba


def kernel(function):
    """Compile `function` on its first call: serial, without the GIL, IEEE-exact, cached on disk.

    There is no `fastmath`: log-space code lives on infinities, which it may optimise away. Division
    by zero follows IEEE (`error_model="numpy"`), so that no loop carries an exception path.

    numba refuses to decorate when it finds no writable place for its cache (a read-only container
    without a home directory); the kernel is then compiled once per process instead.
    """
    try:
        return numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        return numba.njit(nogil=True, error_model="numpy")(function)
