"""Read the original files of a data set from the user's data folder, the cache, or the network."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import tempfile
from pathlib import Path

from bagwise._core.cache import cache_folder
from bagwise.datasets._sources import SOURCES, Source


def original_files(dataset: str) -> list[bytes]:
    """Return the verified contents of the original files of a data set, in the order of `SOURCES`.

    Files are read from ``$BAGWISE_DATA/raw/<dataset>/`` (plain or compressed with gzip) or from the cache.
    Otherwise, they are downloaded into the cache.
    """
    return [_read(dataset, source) for source in SOURCES[dataset]]


def _read(dataset: str, source: Source) -> bytes:
    if folder := os.environ.get("BAGWISE_DATA"):
        local = Path(folder) / "raw" / dataset / source.name
        packed = local.with_name(local.name + ".gz")
        if local.exists() or packed.exists():
            path = local if local.exists() else packed
            content = _contents(path)
            if not _is_original(content, source):
                raise ValueError(
                    f"{str(path)!r} is not the original file (its SHA-256 is not {source.sha256}); "
                    "remove it to download the original file."
                )
            return content
    cached = cache_folder() / dataset / source.name
    if not cached.exists() or not _is_original(content := cached.read_bytes(), source):
        _download(source, cached)
        content = cached.read_bytes()
    return content


def _contents(path: Path) -> bytes:
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError) as error:
        raise ValueError(f"{str(path)!r} is not a readable gzip file: {error}") from error


def _is_original(content: bytes, source: Source) -> bool:
    return hashlib.sha256(content).hexdigest() == source.sha256


def _download(source: Source, path: Path) -> None:
    """Download and verify a file; an incomplete file is never stored."""
    # Imported here because pooch and requests are slow to import, and most files are already on disk.
    import pooch
    from requests.exceptions import RequestException

    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PermissionError(
            f"cannot write to the cache folder {str(folder)!r} ({error.strerror}); set BAGWISE_CACHE to a "
            f"writable folder."
        ) from None
    bar = _Bar(source.name, source.size) if sys.stderr.isatty() else False
    get = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16)
    try:
        pooch.retrieve(source.url, f"sha256:{source.sha256}", path.name, folder, downloader=get)
    except RequestException as error:
        raise ConnectionError(
            f"cannot download {source.url} ({_reason(error)}); try again, or save the file as {str(path)!r}."
        ) from error
    except ValueError as error:  # pooch raises this for a wrong checksum
        raise ValueError(
            f"the download from {source.url} is not the original file (its SHA-256 is not {source.sha256}) "
            "and was deleted; try again, or check whether a proxy modifies downloads."
        ) from error


def _reason(error: Exception) -> str:
    """Return a short description of why a request failed."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server returned {response.status_code} {response.reason}"
    names = {"ConnectionError": "no connection", "ConnectTimeout": "timeout", "ReadTimeout": "timeout"}
    return names.get(type(error).__name__, "the connection was lost")


class _Bar:
    """Progress bar on standard error, with pooch's interface: `total`, `update`, `reset`, `close`."""

    def __init__(self, name: str, size: int):
        self.name = name
        self.size = size
        self.total = size  # overwritten by pooch; smaller for compressed transfers
        self.done = 0

    def update(self, n: int) -> None:
        """Add `n` downloaded bytes."""
        self.done += n
        share = min(1.0, self.done / max(self.total, self.size, 1))
        full = round(30 * share)
        sys.stderr.write(f"\r{self.name}  {'#' * full}{'.' * (30 - full)} {share:4.0%}")
        sys.stderr.flush()

    def reset(self) -> None:
        """Reset the number of downloaded bytes."""
        self.done = 0

    def close(self) -> None:
        """Show the complete bar and end the line."""
        self.update(max(self.total, self.size))
        sys.stderr.write("\n")
