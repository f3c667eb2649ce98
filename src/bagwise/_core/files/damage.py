"""Detection of damaged files, with uniform error messages that contain the file name."""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

# Deflate expands one byte to at most 1032 bytes.
_MOST_OF_A_BYTE = 1032
# Size of a zip file's end record with the longest possible comment, and the number of members that the record
# contains if the true number does not fit.
_LONGEST_END = 22 + 2**16
_TOO_MANY_TO_SAY = 2**16 - 1


@contextmanager
def reading(path: Any, kind: str) -> Iterator[None]:
    """Convert errors inside the block to a ValueError whose message contains the file name.

    All exceptions are caught: the exceptions that parsers raise for damaged bytes are undocumented and differ
    between versions (zlib.error, TokenError, KeyError, NotImplementedError, RecursionError, ...).
    """
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}.") from None
    except (ImportError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise  # a bagwise message, which already names the file
        message = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{str(path)!r} is not a readable {kind}: {message}") from error


def refuse_false_sizes(file: Any) -> None:
    """Raise an error if the sizes declared in an npz file differ from its content, before allocating memory.

    The function also raises an error for booleans other than 0 and 1, and for items of size 0, because a file
    could declare any number of them.

    The list of arrays has no checksum, so an array that zipfile skips, or whose name was changed, would be
    missing without an error.
    """
    with zipfile.ZipFile(file) as archive:
        claimed = _number_of_members(file)
        if claimed not in (len(archive.infolist()), _TOO_MANY_TO_SAY):
            raise ValueError(f"the file declares {claimed} arrays, but lists {len(archive.infolist())}.")
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                archive.open(member).close()  # this checks that the two copies of its name are equal
                continue
            if member.file_size > _MOST_OF_A_BYTE * (member.compress_size + 1):
                raise ValueError(
                    f"the array {member.filename[:-4]!r} declares {member.file_size:,} bytes, but only "
                    f"{member.compress_size:,} bytes are stored."
                )
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(stream)
                claimed = stream.tell() + math.prod(map(int, shape)) * dtype.itemsize
                booleans = stream.read() if dtype == np.bool_ and claimed == member.file_size else b""
            if claimed != member.file_size and not dtype.hasobject:
                raise ValueError(
                    f"the array {member.filename[:-4]!r} has shape {shape}, which takes {claimed:,} bytes, "
                    f"but {member.file_size:,} bytes are stored."
                )
            if dtype.itemsize == 0 and 0 not in shape:
                raise ValueError(f"the array {member.filename[:-4]!r} has shape {shape}, but no content.")
            if booleans.strip(b"\x00\x01"):
                raise ValueError(f"the array {member.filename[:-4]!r} contains booleans other than 0 and 1.")
    file.seek(0)


def _number_of_members(file: Any) -> int:
    """Return the number of members according to the record at the end of a zip file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST_END))
    end = file.read()
    begin = end.rfind(b"PK\x05\x06")  # it exists: zipfile has already read it
    return struct.unpack_from("<H", end, begin + 10)[0]
