"""Files that lie elsewhere: addresses such as s3://bucket/bags.parquet, through fsspec."""

from __future__ import annotations

import hashlib
from glob import has_magic
from pathlib import PurePosixPath
from typing import Any, NamedTuple

# What systems say of a file's content or age, by the names that they have for it.
_MARKS = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime")


def is_address(path: Any) -> bool:
    """Whether this is an address of a file that lies elsewhere, and no path."""
    return isinstance(path, RemoteFile) or "://" in str(path)


class _About(NamedTuple):
    """What `Path.stat` gives, as far as it is used."""

    st_size: int
    st_mtime_ns: int


class RemoteFile:
    """A file by its address, with those methods of `pathlib.Path` that scans use.

    How it is reached (endpoint, credentials) is a matter of fsspec and of the environment, on the workers of
    a cluster as well.
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
        """How its name ends."""
        return PurePosixPath(self._address).suffix

    def is_file(self) -> bool:
        """Whether there is such a file."""
        system, path = _system_of(self._address)
        return bool(system.isfile(path))

    def open(self) -> Any:
        """Open it for reading bytes."""
        system, path = _system_of(self._address)
        return system.open(path, "rb")

    def stat(self) -> _About:
        """Give its size, and a number that changes with its content: from its tag or its time."""
        system, path = _system_of(self._address)
        system.invalidate_cache()
        about = system.info(path)
        noted = [about.get(name) for name in _MARKS]
        mark = hashlib.sha256(repr([str(one) for one in noted]).encode()).digest()[:7]
        return _About(int(about["size"]), int.from_bytes(mark, "big"))


def find_remote(address: str) -> list[RemoteFile]:
    """Find the Parquet files that an address means: a file, a pattern, or all of a folder; by name."""
    system, path = _system_of(address)
    system.invalidate_cache()
    if has_magic(path):
        found = system.glob(path)
    elif system.isdir(path):
        found = system.glob(f"{path.rstrip('/')}/*.parquet")
    else:
        found = [path] if system.exists(path) else []
    if not found:
        raise FileNotFoundError(f"there is no file {address!r}.")
    return [RemoteFile(system.unstrip_protocol(one)) for one in sorted(found)]


def _system_of(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(
            f"{address!r} is read through fsspec, which is not installed: pip install fsspec, and what its "
            "protocol needs, such as s3fs."
        ) from None
    return url_to_fs(address)
