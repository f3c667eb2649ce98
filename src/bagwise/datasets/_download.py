"""Find the original files of a data set: beside the user's data, in the cache, or on the network."""

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
    """Give the bytes of the original files of a data set, checked, in the order of `SOURCES`.

    A file is looked for in ``$BAGWISE_DATA/raw/<dataset>/`` (as it is, or compressed by gzip), then in the
    cache, and then downloaded into the cache.
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
                    "remove it, and it will be downloaded."
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
    """Fetch a file; it is complete and checked, or absent."""
    # Only here: pooch and requests are slow to import, and most calls find the file on disk.
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
            f"folder that you can write to."
        ) from None
    bar = _Bar(source.name, source.size) if sys.stderr.isatty() else False
    get = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16)
    try:
        pooch.retrieve(source.url, f"sha256:{source.sha256}", path.name, folder, downloader=get)
    except RequestException as error:
        raise ConnectionError(
            f"cannot download {source.url} ({_reason(error)}); try again, or put the file at {str(path)!r}."
        ) from error
    except ValueError as error:  # pooch's word for a wrong checksum
        raise ValueError(
            f"what {source.url} served is not the original file (its SHA-256 is not {source.sha256}), and "
            "was thrown away; try again, or look for a proxy that changes downloads."
        ) from error


def _reason(error: Exception) -> str:
    """Say in a few words why a request failed."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    names = {"ConnectionError": "no connection", "ConnectTimeout": "no answer", "ReadTimeout": "no answer"}
    return names.get(type(error).__name__, "the connection broke off")


class _Bar:
    """A progress bar on standard error, as pooch drives one: `total`, `update`, `reset`, `close`."""

    def __init__(self, name: str, size: int):
        self.name = name
        self.size = size
        self.total = size  # pooch sets what the server says, which is less for a compressed transfer
        self.done = 0

    def update(self, n: int) -> None:
        """Count `n` more bytes."""
        self.done += n
        share = min(1.0, self.done / max(self.total, self.size, 1))
        full = round(30 * share)
        sys.stderr.write(f"\r{self.name}  {'#' * full}{'.' * (30 - full)} {share:4.0%}")
        sys.stderr.flush()

    def reset(self) -> None:
        """Begin anew."""
        self.done = 0

    def close(self) -> None:
        """Show that all is there, and end the line."""
        self.update(max(self.total, self.size))
        sys.stderr.write("\n")
