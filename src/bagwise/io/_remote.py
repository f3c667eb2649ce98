"""Remote files: URLs such as s3://bucket/bags.parquet, read through fsspec."""

from __future__ import annotations

import hashlib
from glob import has_magic
from pathlib import PurePosixPath
from typing import Any, NamedTuple

# Keys under which fsspec file systems report the content hash or the modification time of a file.
_MARKS = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime")


def is_address(path: Any) -> bool:
    """Return whether `path` is a URL or a `RemoteFile`, as opposed to a local path."""
    return isinstance(path, RemoteFile) or "://" in str(path)


class _About(NamedTuple):
    """Attributes of `os.stat_result` that bagwise uses."""

    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int = 0


class RemoteFile:
    """Remote file, with the methods of `pathlib.Path` that scans use.

    The endpoint and the credentials are configured through fsspec and environment variables, including on
    cluster workers.
    """

    def __init__(self, address: str):
        self._address = address

    def __str__(self) -> str:
        return self._address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFile) and self._address == other._address

    def __hash__(self) -> int:
        return hash(self._address)

    @property
    def suffix(self) -> str:
        """Suffix of the file name."""
        return PurePosixPath(self._address).suffix

    def is_file(self) -> bool:
        """Return whether the file exists."""
        system, path = _system_of(self._address)
        return bool(system.isfile(path))

    def open(self) -> Any:
        """Open the file for reading bytes."""
        system, path = _system_of(self._address)
        return system.open(path, "rb")

    def stat(self) -> _About:
        """Return the size, and an integer that changes with the content (a hash of the ETag or the time)."""
        system, path = _system_of(self._address)
        system.invalidate_cache()
        about = system.info(path)
        noted = [about.get(name) for name in _MARKS]
        mark = hashlib.sha256(repr([str(value) for value in noted]).encode()).digest()[:7]
        return _About(int(about["size"]), int.from_bytes(mark, "big"))


def find_remote(address: str) -> list[RemoteFile]:
    """Return the Parquet files that a URL refers to (file, pattern or folder), sorted by name."""
    system, path = _system_of(address)
    system.invalidate_cache()
    if has_magic(path):
        paths = system.glob(path)
    elif system.isdir(path):
        paths = system.glob(f"{path.rstrip('/')}/*.parquet")
    else:
        paths = [path] if system.exists(path) else []
    if not paths:
        raise FileNotFoundError(f"there is no file {address!r}.")
    return [RemoteFile(system.unstrip_protocol(remote_path)) for remote_path in sorted(paths)]


def _system_of(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(
            f"{address!r} is read through fsspec, which is not installed: pip install fsspec and the package "
            "for the protocol, such as s3fs."
        ) from None
    return url_to_fs(address)
