"""One BLAS thread where more would only wait for each other."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

# Below this many numbers in the instance matrix, products are too short to be shared out. On a busy machine
# with two cores, threads that spin for each other made a fit on 300 x 100 numbers a hundred times slower.
_WORTH_SHARING = 2_000_000


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def blas_threads_for(size: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread while working on `size` numbers, if they are few.

    The setting is the whole process's, and must not change while another thread is inside a product. So only
    the main thread changes it, around whatever it shares out to others.
    """
    return nullcontext() if size >= _WORTH_SHARING else one_blas_thread()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread, unless another thread than the main one asks: see `blas_threads_for`."""
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")
