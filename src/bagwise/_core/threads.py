"""Limit BLAS to one thread where more threads would only wait for each other."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

# Below this many values in the instance matrix, matrix products are too short to benefit from threads. On a
# busy machine with two cores, threads that spin while waiting made a fit on a 300 x 100 matrix a hundred
# times slower.
_WORTH_SHARING = 2_000_000


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def blas_threads_for(size: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread if `size`, the number of values in the instance matrix, is small.

    The setting applies to the whole process and must not change while another thread computes a product.
    Therefore only the main thread changes the setting, before it starts other threads and after they have
    finished.
    """
    return nullcontext() if size >= _WORTH_SHARING else one_blas_thread()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread if called from the main thread; see `blas_threads_for`."""
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")
