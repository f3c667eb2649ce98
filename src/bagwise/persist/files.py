"""Model files: the format number, a checksum, a card, and an archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bagwise._core.files.sealed import Seal, Sealed, read_sealed, write_sealed

# Format 1, of 0.2.0, names our types by their modules; format 2 by identifiers (`known_types.py`). A new
# format comes with upgrades from the one before (`upgrades.py`).
FORMAT = 2
_SEAL = Seal("model", FORMAT, "bagwise.save", "; copy it again from where it was saved")


def write_model(path: Any, card: dict[str, Any], archive: bytes) -> Path:
    """Write a file; one that stands there is replaced in one moment, or not at all."""
    write_sealed(path, _SEAL, card, archive)
    return Path(path)


def read_model(path: Any) -> Sealed:
    """Read the format, the card and the archive; a file that is not as it was written is refused."""
    return read_sealed(path, _SEAL)
