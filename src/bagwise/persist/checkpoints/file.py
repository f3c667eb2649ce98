"""Checkpoint files, which contain the identity of a fit and the stored entries."""

from __future__ import annotations

import contextlib
from typing import Any

from bagwise._core.files.damage import reading
from bagwise._core.files.sealed import Seal, read_sealed, write_sealed
from bagwise.persist.checkpoints.plain import NotPlainError, Packer, unpack

SEAL = Seal("checkpoint", 1, "a fit")

Entries = dict[str, dict[str, Any]]


def write_file(path: Any, identity: dict[str, Any], entries: Entries) -> None:
    """Write all entries atomically; values that are not plain are omitted."""
    packer = Packer()
    packed = {location: _packed(packer, entry) for location, entry in entries.items()}
    write_sealed(path, SEAL, {"identity": identity, "entries": packed}, packer.content)


def _packed(packer: Packer, entry: dict[str, Any]) -> dict[str, Any]:
    packed = {}
    for name, value in entry.items():
        with contextlib.suppress(NotPlainError):
            packed[name] = packer.pack(value)
    return packed


def read_file(path: Any) -> tuple[dict[str, Any], Entries]:
    """Read the identity and the entries; raise a ValueError if the file is damaged."""
    _, head, content = read_sealed(path, SEAL)
    with reading(path, "checkpoint"):
        entries = {
            str(location): {str(name): unpack(terms, content) for name, terms in entry.items()}
            for location, entry in head["entries"].items()
        }
        return dict(head["identity"]), entries
