"""Atomic writing: files and folders are written under a temporary name and then renamed."""

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
    """Yield a temporary path; its file is renamed to `path` if the block succeeds, and removed otherwise.

    An existing file at `path` is replaced atomically, so a reader sees either the old or the new file. Its
    permissions are kept. If `path` is a symbolic link, the file that it points to is replaced.
    """
    path = Path(os.path.realpath(path))
    part = _temporary_path(path)
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
    """Lock a folder while two files in it that belong together are renamed (`alone=True`) or read.

    A reader then sees two files from the same writer. No lock file is created. On systems without such locks
    (Windows, some network file systems) nothing is locked.
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
    """Yield a temporary folder that is renamed to `path` if the block succeeds; never overwrite files."""
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{str(path)!r} exists already; name a new folder.")
    part = _temporary_path(path)
    part.mkdir()
    try:
        yield part
        if path.exists():
            path.rmdir()  # it is empty; on some systems the target of a rename must not exist
        os.replace(part, path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _temporary_path(path: Path) -> Path:
    """Return a temporary name next to `path`, and remove temporary files of saves that were killed."""
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
    """Return whether a process is running on this machine; True if that cannot be checked safely."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
