"""Complete or absent: files and folders are written under a temporary name, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path) -> Iterator[Path]:
    """Give a temporary path for a file; it becomes `path` if the block ends well, and else is removed.

    A file that stands at `path` is replaced in that one moment, so a reader sees the old or the new one.
    """
    path = Path(path)
    part = _beside(path)
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_folder(path) -> Iterator[Path]:
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
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write to.")
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
