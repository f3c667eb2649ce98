"""The decorator for all compiled functions of bagwise, and the cache for their machine code."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from bagwise._core.compiled.notice import watch_compiling

_FOLDER = Path(__file__).parent


def kernel(function=None, *, reorder=False):
    """Compile `function` on its first call: serial, without the GIL, IEEE-exact, cached on disk.

    With ``@kernel(reorder=True)`` the compiler may reorder sums and fuse products, so that it can use vector
    instructions; infinities and NaN keep their meaning.

    Full `fastmath` is not used: it may optimize away infinities, which log-space code relies on. Division by
    zero follows IEEE (`error_model="numpy"`), so that loops contain no code for exceptions.

    If numba finds no writable folder for its cache (a read-only container without a home directory), or the
    disk is full, the kernel is compiled once per process instead.
    """
    if function is None:
        return functools.partial(kernel, reorder=reorder)
    options: dict[Any, Any] = {"nogil": True, "error_model": "numpy"}
    if reorder:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    compiled = numba.njit(**options)(function)
    is_ours = Path(inspect.getfile(function)).parent == _FOLDER
    with suppress(RuntimeError):  # no writable folder
        if is_ours and _KernelCache is not None and hasattr(compiled, "_cache"):
            compiled._cache = _KernelCache(function)
        else:
            compiled = numba.njit(cache=True, **options)(function)
    return compiled


@functools.cache
def code_stamp(file: Path) -> str:
    """Return a code hash of a kernel module and the kernel modules that it imports.

    Comments, docstrings and line numbers are ignored.
    """
    tree = ast.parse(file.read_bytes())
    stamp = hashlib.sha256()
    for node in (tree, *tree.body):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            del node.body[0]
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{__package__}."):
            stamp.update(code_stamp(file.with_name(f"{str(node.module).rpartition('.')[2]}.py")).encode())
    stamp.update(ast.dump(tree).encode())
    return stamp.hexdigest()


def _kernel_cache() -> Any:
    """Return a cache class that considers machine code stale as soon as its `code_stamp` changes.

    numba's own cache compares the bytes of the kernel's file, including comments, but ignores the files of
    the functions that the kernel calls. This class replaces the stamp of numba's locators, which decide where
    machine code is stored and when it is stale. The folders stay the same: NUMBA_CACHE_DIR, the folder next
    to the source, or a folder of the user.

    The class relies on undocumented classes of `numba.core.caching`. Returns None if this version of numba
    does not have them, or if there are no source files (a frozen program); numba's own cache is then used.
    """
    implementation: Any = getattr(caching, "CompileResultCacheImpl", None)
    if not hasattr(implementation, "_locator_classes") or not any(_FOLDER.glob("*.py")):
        return None

    class KernelLocator:
        def __init__(self, *arguments: Any):  # the function and its file
            super().__init__(*arguments)
            self._file = Path(arguments[1])

        def get_source_stamp(self) -> str:
            return code_stamp(self._file)

        def get_disambiguator(self) -> str:
            return "kernel"  # instead of numba's line number, which changes if comments change

    locators = [
        type(locator.__name__, (KernelLocator, locator), {}) for locator in implementation._locator_classes
    ]

    class Cache(caching.FunctionCache):
        _impl_class: Any = type("Implementation", (implementation,), {"_locator_classes": locators})

        def load_overload(self, *arguments: Any) -> Any:
            """Return the cached machine code, or None if it does not exist or cannot be read."""
            try:
                return super().load_overload(*arguments)
            except Exception:  # unpickling a damaged file can raise any exception
                with suppress(OSError):
                    self.flush()
                return None

        def save_overload(self, *arguments: Any) -> None:
            """Store machine code; a full disk, or a folder that was removed, is not an error."""
            with suppress(OSError):
                super().save_overload(*arguments)

    return Cache


_KernelCache = _kernel_cache()
watch_compiling()
