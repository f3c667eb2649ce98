"""Complete or absent: files and folders are written under a temporary name, then renamed."""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bagwise._core.types import FilePath


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """Give a temporary path for a file; it becomes `path` if the block ends well, and else is removed.

    A file that stands at `path` is replaced in that one moment, so a reader sees the old or the new one. Its
    mode stays, and a link stays a link: the file that it leads to is replaced.
    """
    path = Path(os.path.realpath(path))
    part = _beside(path)
    try:
        yield part
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def holding(folder: FilePath, *, alone: bool) -> Iterator[None]:
    """Hold a folder while two files in it that belong together are renamed (`alone`) or read.

    So a reader sees both of one writer. Nothing is left behind; where a system has no such locks (Windows,
    some file systems of networks) nothing is held.
    """
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@contextmanager
def replacing_folder(path: FilePath) -> Iterator[Path]:
    """Give a temporary folder that becomes `path` if the block ends well; nothing is ever overwritten."""
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{str(path)!r} exists already; name a new folder.")
    part = _beside(path)
    part.mkdir()
    try:
        yield part
        if path.exists():
            path.rmdir()  # it is empty; some systems rename only to a free name
        os.replace(part, path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _beside(path: Path) -> Path:
    """Give a temporary name beside `path`, and clear what saves of it have left that were killed."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write to.")
    host = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
    for left in path.parent.glob(f".{glob.escape(path.name)}.{host}-*.part"):
        writer = left.name.removesuffix(".part").rpartition(f".{host}-")[2].partition("-")[0]
        if writer.isdigit() and not _is_running(int(writer)):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{host}-{os.getpid()}-{secrets.token_hex(4)}.part")


def _is_running(process: int) -> bool:
    """Whether a process of this machine is there; where that cannot be asked without harm, it is."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
