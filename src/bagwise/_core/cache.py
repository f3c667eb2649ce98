"""Where bagwise keeps what it would otherwise fetch or find out again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Where downloads and indexes are: ``$BAGWISE_CACHE``, else the usual place of the operating system."""
    if folder := os.environ.get("BAGWISE_CACHE"):
        return Path(folder)
    import pooch

    return Path(pooch.os_cache("bagwise"))
