"""Model files: the format number, a checksum, a card, and an archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bagwise._core.files.sealed import Seal, Sealed, read_sealed, write_sealed

# Format 1 (version 0.2.0) contains the modules of our types, format 2 identifiers (`known_types.py`). A new
# format needs upgrades from the previous one (`upgrades.py`).
FORMAT = 2
_SEAL = Seal("model", FORMAT, "bagwise.save", "; copy it again from where it was saved")


def write_model(path: Any, card: dict[str, Any], archive: bytes) -> Path:
    """Write a model file; an existing file is replaced atomically."""
    write_sealed(path, _SEAL, card, archive)
    return Path(path)


def read_model(path: Any) -> Sealed:
    """Read the format, the card and the archive; raise an error if the file was modified."""
    return read_sealed(path, _SEAL)
