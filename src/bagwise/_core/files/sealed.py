"""Files with a checksum: one line each for the format, the checksum and a JSON header, then bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from bagwise._core.files.atomic import replacing
from bagwise._core.types import FilePath


class Seal(NamedTuple):
    """A file type: its name, newest format number, the function that writes it, and a remedy for damage.

    Files are written in the newest format. Files in older formats can be read.
    """

    kind: str
    format: int
    writer: str
    remedy: str = ""

    def first_line(self, format: int) -> bytes:
        """Return the first line of a file of this format."""
        return f"bagwise {self.kind} {format}".encode("ascii")


class Sealed(NamedTuple):
    """The content of a sealed file."""

    format: int
    head: Any
    content: bytes


def write_sealed(path: FilePath, seal: Seal, head: Any, content: bytes) -> None:
    """Write a file; an existing file is replaced atomically."""
    # The header is one line of ASCII, so that it is readable in an editor.
    content = json.dumps(head, allow_nan=False).encode("ascii") + b"\n" + content
    with replacing(path) as part, open(part, "wb") as file:
        file.write(seal.first_line(seal.format) + b"\n" + _checksum(content) + b"\n")
        file.write(content)


def read_sealed(path: FilePath, seal: Seal) -> Sealed:
    """Read a file written by `write_sealed`; raise a ValueError if it was modified."""
    data, name, kind = Path(path).read_bytes(), str(path), seal.kind
    first, _, rest = data.partition(b"\n")
    formats = {seal.first_line(format): format for format in range(1, seal.format + 1)}
    if first not in formats:
        if first.startswith(f"bagwise {kind} ".encode("ascii")):
            raise ValueError(
                f"{name!r} begins with {first[:40].decode('ascii', 'backslashreplace')!r}, but this version "
                f"of bagwise reads {' and '.join(repr(line.decode()) for line in formats)}: the file is "
                "damaged, or was written by a newer version."
            )
        raise ValueError(f"{name!r} is not a {kind} written by {seal.writer}, or its beginning is damaged.")
    checksum, _, content = rest.partition(b"\n")
    if checksum != _checksum(content):
        raise ValueError(
            f"{name!r} is damaged: the stored checksum does not match its {len(data):,} bytes{seal.remedy}."
        )
    head, _, content = content.partition(b"\n")
    try:
        return Sealed(formats[first], json.loads(head), content)
    except ValueError as error:  # the checksum is correct, so the file was written with this header
        raise ValueError(f"the header of {name!r} cannot be read: {error}.") from error


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode("ascii")
