"""Atomic writing: files and folders are written under a temporary name and then renamed.

The content is flushed to the disk before the rename, and the folder after it. A power cut therefore leaves
either the old or the new file; otherwise, some file systems would leave an empty file.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import platform
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bagwise._core.types import FilePath

# Errors caused by a full disk; only writing raises them.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Errors from file systems that cannot flush a file or a folder.
_CANNOT_FLUSH = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EBADF)
# Threads that flush the files of a folder. The disk writes the files of concurrent calls together: on ext4,
# 16 threads flush 2,000 files in 0.2 seconds, and one thread takes 5 seconds.
_FLUSHING_THREADS = 16


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """Yield a temporary path; its file is renamed to `path` if the block succeeds, and removed otherwise.

    An existing file at `path` is replaced atomically, so a reader opens either the old or the new file. Its
    permissions are kept. If `path` is a symbolic link, the file that it points to is replaced. Folders,
    devices and FIFOs are rejected.
    """
    refuse_other_than_file(path)
    path = Path(os.path.realpath(path))
    part = _temporary_path(path)
    try:
        with _naming(path, part):
            yield part
            _flush(part)
            if path.exists():
                part.chmod(stat.S_IMODE(path.stat().st_mode))
            os.replace(part, path)
            _flush_folders([path.parent])
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def refuse_other_than_file(path: FilePath) -> None:
    """Raise an error if `path` exists and is a folder, a device, a FIFO or a socket.

    Renaming a file to the path of a device, such as /dev/null, would replace it for all programs.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(f"{str(path)!r} is a folder; pass the path of a file.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileExistsError(
            f"{str(path)!r} is a device, a FIFO or a socket and cannot be replaced; pass the path of a file."
        )


def refuse_unwritable_folder(path: FilePath) -> None:
    """Raise an error if the folder of `path` does not exist or is read-only.

    Programs call this function before a long computation whose result is written to a file.
    """
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r} to write to.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {str(folder)!r} is read-only; pass a path in another folder.")


@contextmanager
def holding(folder: FilePath, *, alone: bool) -> Iterator[None]:
    """Lock a folder while two related files in it are renamed (`alone=True`) or read.

    A reader then always reads two files from the same writer. No lock file is created. On systems without
    such locks (Windows, some network file systems) nothing is locked.
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
        raise FileExistsError(f"{str(path)!r} already exists; pass the path of a new folder.")
    part = _temporary_path(path)
    try:
        with _naming(path, part):
            part.mkdir()
            yield part
            _flush_content(part)
            if path.exists():
                path.rmdir()  # the folder is empty; on some systems the target of a rename must not exist
            os.replace(part, path)
            _flush_folders([path.absolute().parent])
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@contextmanager
def _naming(path: Path, part: Path) -> Iterator[None]:
    """Replace the file name in errors by `path`; the operating system reports the temporary file or none."""
    try:
        yield
    except UnicodeEncodeError as error:
        text = error.object[max(0, error.start - 20) : error.end + 20]
        raise ValueError(
            f"{str(path)!r} cannot be written: {text.strip()!a} is not valid text, because it contains half "
            "of a surrogate pair; replace that character."
        ) from error
    except ValueError as error:  # the error refers to a file in the temporary folder
        if str(part) not in str(error):
            raise
        raise ValueError(str(error).replace(str(part), str(path))) from error
    except OSError as error:
        # pyarrow's errors have no attribute with the file name, but mention the file.
        is_of_part = str(part) in str(error if error.filename is None else error.filename)
        if error.errno is None or not (is_of_part or (error.filename is None and error.errno in NO_SPACE)):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def _flush(file: FilePath) -> None:
    """Wait until the content of a file is on the disk."""
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT_FLUSH:
            raise
    finally:
        os.close(handle)


def _flush_folders(folders: Iterable[FilePath]) -> None:
    """Wait until the names of the files in these folders are on the disk."""
    if os.name != "posix":
        return  # on this system, a folder cannot be opened
    for folder in folders:
        with suppress(OSError):  # the rename has succeeded
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _flush_content(folder: Path) -> None:
    """Wait until all files in a folder are on the disk."""
    contents = list(os.walk(folder))
    files = [os.path.join(inside, name) for inside, _, names in contents for name in names]

    def flush_share(first: int) -> None:
        for file in files[first::_FLUSHING_THREADS]:
            _flush(file)

    with ThreadPoolExecutor(_FLUSHING_THREADS) as threads:
        list(threads.map(flush_share, range(_FLUSHING_THREADS)))  # one task per file would double the time
    _flush_folders(inside for inside, _, _ in contents)


def _temporary_path(path: Path) -> Path:
    """Return a temporary name next to `path`, and remove temporary files left by killed processes."""
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
