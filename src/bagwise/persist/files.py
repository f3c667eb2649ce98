"""The file of a model: the format, a checksum, a card, and an archive."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bagwise.io._atomic import replacing

_FORMAT = b"bagwise model 1"
_ANY_FORMAT = b"bagwise model "


def write_model(path, card: dict[str, Any], archive: bytes) -> Path:
    """Write a file; one that stands there is replaced in one moment, or not at all."""
    path = Path(path)
    # One line of ASCII: whoever opens the file in an editor, or looks at its head, can read it.
    content = json.dumps(card, allow_nan=False).encode("ascii") + b"\n" + archive
    with replacing(path) as part, open(part, "wb") as file:
        file.write(_FORMAT + b"\n" + _checksum(content) + b"\n")
        file.write(content)
    return path


def read_model(path) -> tuple[dict[str, Any], bytes]:
    """Read the card and the archive; a file that is not as it was written is refused."""
    data = Path(path).read_bytes()
    name = str(path)
    head, _, rest = data.partition(b"\n")
    if head != _FORMAT:
        if head.startswith(_ANY_FORMAT):
            raise ValueError(
                f"{name!r} begins with {head[:40].decode('ascii', 'backslashreplace')!r}, and this version "
                f"of bagwise reads {_FORMAT.decode()!r}: the file is damaged, or needs another version."
            )
        raise ValueError(f"{name!r} is no model that bagwise.save wrote, or its beginning is damaged.")
    checksum, _, content = rest.partition(b"\n")
    if checksum != _checksum(content):
        raise ValueError(
            f"{name!r} is damaged: its checksum is not that of its {len(data):,} bytes; copy it again from "
            "where it was saved."
        )
    card, _, archive = content.partition(b"\n")
    try:
        return json.loads(card), archive
    except ValueError as error:  # the checksum is right, so someone wrote it like this
        raise ValueError(f"{name!r} has a card that cannot be read: {error}.") from error


def read_card(path) -> dict[str, Any]:
    """Read what a file says of its model, without restoring anything; skops is not needed.

    Parameters
    ----------
    path : path
        A file that `save` wrote.

    Returns
    -------
    dict
        "class", "parameters", "features", "classes", "training", "versions", "saved", "trusted", "about":
        what ``bagwise show`` shows.
    """
    return read_model(path)[0]


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode("ascii")
