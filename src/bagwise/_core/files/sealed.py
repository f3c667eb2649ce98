"""Files that know whether they are whole: a line that names the format, a checksum, a line of JSON, bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from bagwise._core.files.atomic import replacing
from bagwise._core.types import FilePath


class Seal(NamedTuple):
    """A kind of file: its name, its newest format number, what writes it, and a remedy for damage.

    The newest format is written; all formats from 1 on are read.
    """

    kind: str
    format: int
    writer: str
    remedy: str = ""

    def first_line(self, format: int) -> bytes:
        """Return the line that a file of this format begins with."""
        return f"bagwise {self.kind} {format}".encode("ascii")


class Sealed(NamedTuple):
    """What a sealed file contains."""

    format: int
    head: Any
    content: bytes


def write_sealed(path: FilePath, seal: Seal, head: Any, content: bytes) -> None:
    """Write a file; one that stands there is replaced in one moment, or not at all."""
    # One line of ASCII: whoever opens the file in an editor, or looks at its head, can read it.
    content = json.dumps(head, allow_nan=False).encode("ascii") + b"\n" + content
    with replacing(path) as part, open(part, "wb") as file:
        file.write(seal.first_line(seal.format) + b"\n" + _checksum(content) + b"\n")
        file.write(content)


def read_sealed(path: FilePath, seal: Seal) -> Sealed:
    """Read what `write_sealed` wrote; a file that is not as it was written is refused."""
    data, name, kind = Path(path).read_bytes(), str(path), seal.kind
    first, _, rest = data.partition(b"\n")
    formats = {seal.first_line(format): format for format in range(1, seal.format + 1)}
    if first not in formats:
        if first.startswith(f"bagwise {kind} ".encode("ascii")):
            raise ValueError(
                f"{name!r} begins with {first[:40].decode('ascii', 'backslashreplace')!r}, and this version "
                f"of bagwise reads {' and '.join(repr(line.decode()) for line in formats)}: the file is "
                "damaged, or was written by a newer version."
            )
        raise ValueError(f"{name!r} is no {kind} that {seal.writer} wrote, or its beginning is damaged.")
    checksum, _, content = rest.partition(b"\n")
    if checksum != _checksum(content):
        raise ValueError(
            f"{name!r} is damaged: its checksum is not that of its {len(data):,} bytes{seal.remedy}."
        )
    head, _, content = content.partition(b"\n")
    try:
        return Sealed(formats[first], json.loads(head), content)
    except ValueError as error:  # the checksum is right, so someone wrote it like this
        raise ValueError(f"{name!r} has a head that cannot be read: {error}.") from error


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode("ascii")
