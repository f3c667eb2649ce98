"""The folder in which bagwise caches downloads and indexes."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the cache folder: ``$BAGWISE_CACHE`` if set, otherwise the operating system's default."""
    if folder := os.environ.get("BAGWISE_CACHE"):
        return Path(folder)
    import pooch

    return Path(pooch.os_cache("bagwise"))
