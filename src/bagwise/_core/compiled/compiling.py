"""The one decorator that every compiled function of bagwise wears."""

from __future__ import annotations

import functools
import hashlib
import io
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba

from bagwise._core.compiled.notice import watch_compiling


def kernel(function=None, *, reorder=False):
    """Compile `function` on its first call: serial, without the GIL, IEEE-exact, cached on disk.

    With ``@kernel(reorder=True)`` sums may be added up in another order and products fused, which lets
    the processor's vector units take part; infinities and NaN keep their meaning.

    There is no `fastmath`: log-space code lives on infinities, which it may optimise away. Division
    by zero follows IEEE (`error_model="numpy"`), so that no loop carries an exception path.

    numba refuses to decorate when it finds no writable place for its cache (a read-only container
    without a home directory); the kernel is then compiled once per process instead.
    """
    if function is None:
        return functools.partial(kernel, reorder=reorder)
    options: dict[Any, Any] = {"nogil": True, "error_model": "numpy"}
    if reorder:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)
    _pass_over_damage(compiled)
    return compiled


def _pass_over_damage(compiled) -> None:
    """Let a cache that is not as it was written count as absent.

    numba fails over one that cannot be read, in every call, and runs whatever else stands in it: a bit that
    flipped is then a wrong number or a crash. So every file of a cache ends with a checksum.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is None:
        return
    load_index, load_data, open_for_write = file._load_index, file._load_data, file._open_for_write

    @contextmanager
    def checked(path):
        content = io.BytesIO()
        with open_for_write(path) as stream:
            yield content
            stream.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

    def index():
        try:
            return load_index() if _is_whole(file._index_path) else {}
        except Exception:  # whatever bytes of another version are to pickle
            return {}

    def data(name):
        if not _is_whole(file._data_path(name)):
            raise OSError(f"{name!r} is damaged.")  # which numba takes for a missing file
        return load_data(name)

    file._load_index, file._load_data, file._open_for_write = index, data, checked


def _is_whole(path) -> bool:
    content = Path(path).read_bytes()
    size = hashlib.sha256().digest_size
    return hashlib.sha256(content[:-size]).digest() == content[-size:]


def forget_stale_code(folder: Path) -> None:
    """Remove cached machine code if any source in `folder` has changed since it was compiled.

    numba looks at the file of a kernel alone, not at those of the functions it calls: after an upgrade or an
    edit of a shared helper it would go on running the old one.
    """
    stamp = hashlib.sha256()
    for source in sorted(folder.glob("*.py")):
        stamp.update(source.read_bytes())
    cache = folder / "__pycache__"
    seen = cache / "kernels.sha256"
    # Without a writable cache there is nothing to go stale.
    with suppress(OSError):
        if seen.exists() and seen.read_text() == stamp.hexdigest():
            return
        for code in (*cache.glob("*.nbi"), *cache.glob("*.nbc")):
            with suppress(OSError):
                code.unlink()
        cache.mkdir(exist_ok=True)
        seen.write_text(stamp.hexdigest())


forget_stale_code(Path(__file__).parent)
watch_compiling()
