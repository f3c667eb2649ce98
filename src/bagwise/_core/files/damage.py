"""Damaged files: whatever a parser makes of them, one sentence with the name of the file."""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

# Deflate makes at most 1032 bytes of one.
_MOST_OF_A_BYTE = 1032
# The end of a zip file, with the longest comment that it may have; and the number of members that means more.
_LONGEST_END = 22 + 2**16
_TOO_MANY_TO_SAY = 2**16 - 1


@contextmanager
def reading(path: Any, kind: str) -> Iterator[None]:
    """Turn what goes wrong with a file inside the block into a ValueError that names it.

    What parsers raise over damaged bytes is nowhere listed and differs between their versions (zlib.error,
    TokenError, KeyError, NotImplementedError, RecursionError, ...), so it is all of them.
    """
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}.") from None
    except (ImportError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise  # a sentence of ours
        what = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{str(path)!r} is not a readable {kind}: {what}") from error


def refuse_false_sizes(file: Any) -> None:
    """Compare what the arrays of an npz file claim to be with what it holds, before memory is taken.

    The list of its arrays has no checksum: one that zipfile passes over, or whose name has changed, would be
    missing without a word.
    """
    with zipfile.ZipFile(file) as archive:
        claimed = _number_of_members(file)
        if claimed not in (len(archive.infolist()), _TOO_MANY_TO_SAY):
            raise ValueError(f"it claims {claimed} arrays, but lists {len(archive.infolist())}.")
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                archive.open(member).close()  # which compares its two names
                continue
            if member.file_size > _MOST_OF_A_BYTE * (member.compress_size + 1):
                raise ValueError(
                    f"the array {member.filename[:-4]!r} claims {member.file_size:,} bytes but is stored in "
                    f"{member.compress_size:,}."
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
            if claimed != member.file_size and not dtype.hasobject:
                raise ValueError(
                    f"the array {member.filename[:-4]!r} has shape {shape}, which takes {claimed:,} bytes, "
                    f"but there are {member.file_size:,}."
                )
    file.seek(0)


def _number_of_members(file: Any) -> int:
    """Read from the end of a zip file how many members it says it has."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST_END))
    end = file.read()
    begin = end.rfind(b"PK\x05\x06")  # zipfile has found it, too
    return struct.unpack_from("<H", end, begin + 10)[0]
