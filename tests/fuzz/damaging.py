"""Functions that damage a file like failing disks, incomplete copies or attackers."""

from __future__ import annotations

import re
import struct

import numpy as np

_INTEGERS = (0, 1, 2, 127, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, -1, -2, -(2**31), 10**12)
_TOKENS = (
    b"",
    b"null",
    b"-1",
    b"1e400",
    b"nan",
    b"99999999999999999999",
    b"[]",
    b"{}",
    b'"',
    b"\x00",
    b"\xff\xfe",
    b"x" * 300,
)


def damage(whole: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """Damage the bytes of a file in a random way; return the name of the way and the bytes."""
    ways = (
        flip,
        flip,
        overwrite,
        zero,
        cut_out,
        cut_off,
        cut_off,
        repeat,
        swap,
        insert,
        binary_integer,
        binary_integer,
        digits,
        word,
    )
    way = ways[rng.integers(len(ways))]
    data = bytearray(whole)
    if not data:
        return "nothing to damage", bytes(rng.bytes(5))
    way(data, rng)
    return way.__name__, bytes(data)


def _range(data: bytearray, rng, most: int = 200) -> tuple[int, int]:
    """Return a random range; in half of the cases near the start or the end, with headers and footers."""
    n = len(data)
    begin = int(rng.integers(n))
    if rng.random() < 0.5:
        begin = (
            int(min(n - 1, rng.integers(64)))
            if rng.random() < 0.5
            else int(max(0, n - 1 - rng.integers(400)))
        )
    return begin, min(n, begin + int(rng.integers(1, most)))


def flip(data: bytearray, rng) -> None:
    """Flip a few bits."""
    for _ in range(int(rng.integers(1, 4))):
        data[_range(data, rng)[0]] ^= 1 << int(rng.integers(8))


def overwrite(data: bytearray, rng) -> None:
    """Overwrite a range with random bytes."""
    begin, stop = _range(data, rng, 20)
    data[begin:stop] = rng.bytes(stop - begin)


def zero(data: bytearray, rng) -> None:
    """Overwrite a range with zeros."""
    begin, stop = _range(data, rng)
    data[begin:stop] = bytes(stop - begin)


def cut_out(data: bytearray, rng) -> None:
    """Delete a range."""
    begin, stop = _range(data, rng)
    del data[begin:stop]


def cut_off(data: bytearray, rng) -> None:
    """Delete everything after a random position."""
    del data[int(rng.integers(len(data))) :]


def repeat(data: bytearray, rng) -> None:
    """Repeat a range."""
    begin, stop = _range(data, rng)
    data[begin:begin] = data[begin:stop]


def swap(data: bytearray, rng) -> None:
    """Swap two ranges."""
    size = int(rng.integers(1, 64))
    a, b = sorted(int(rng.integers(max(1, len(data) - size))) for _ in range(2))
    data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


def insert(data: bytearray, rng) -> None:
    """Insert random bytes."""
    begin, _ = _range(data, rng)
    data[begin:begin] = rng.bytes(int(rng.integers(1, 30)))


def binary_integer(data: bytearray, rng) -> None:
    """Write an unusual binary integer at a random position."""
    value = _INTEGERS[rng.integers(len(_INTEGERS))]
    form = ("<q", "<i", "<h", ">q")[rng.integers(4)]
    size = struct.calcsize(form)
    begin, _ = _range(data, rng)
    mask = (1 << (8 * size)) - 1
    data[begin : begin + size] = (value & mask).to_bytes(size, "little" if form[0] == "<" else "big")


def digits(data: bytearray, rng) -> None:
    """Replace an integer that is written in decimal digits."""
    matches = list(re.finditer(rb"\d+", bytes(data[:200_000])))
    if not matches:
        return flip(data, rng)
    match = matches[rng.integers(len(matches))]
    data[match.start() : match.end()] = str(abs(_INTEGERS[rng.integers(len(_INTEGERS))])).encode()
    return None


def word(data: bytearray, rng) -> None:
    """Replace a word by another one."""
    matches = list(re.finditer(rb"[A-Za-z_0-9.\-]+|[\[\]{},:\"]", bytes(data[:200_000])))
    if not matches:
        return flip(data, rng)
    match = matches[rng.integers(len(matches))]
    data[match.start() : match.end()] = _TOKENS[rng.integers(len(_TOKENS))]
    return None
