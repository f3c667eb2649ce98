"""Plain values, which a checkpoint holds: numbers, text, arrays of numbers; tuples, lists, dicts of these.

Nothing else is ever written or read, so that a file can do no harm: objects are taken apart to what is plain
in them, and put together again after the example of an object that is there already.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

# Booleans, integers and floats.
_KINDS = "biuf"


class NotPlainError(TypeError):
    """A value that a checkpoint cannot hold."""


# ---------------------------------------------------------------------- to bytes, and back


class Packer:
    """Turns plain values into terms of JSON; the numbers of arrays come into one string of bytes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def content(self) -> bytes:
        """The numbers of all arrays."""
        return b"".join(self._parts)

    def pack(self, value: Any) -> Any:
        """Give the terms of JSON for a value."""
        if isinstance(value, (np.ndarray, np.generic)):
            return {"array": self._add(np.asarray(value), is_scalar=isinstance(value, np.generic))}
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}  # JSON has no infinity and no NaN
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if type(value) is tuple:
            return {"tuple": [self.pack(part) for part in value]}
        if type(value) is list:
            return [self.pack(part) for part in value]
        if type(value) is dict:
            return {"dict": {str(name): self.pack(part) for name, part in value.items()}}
        raise NotPlainError(f"a checkpoint cannot hold a {type(value).__name__}.")

    def _add(self, array: np.ndarray, *, is_scalar: bool) -> list[Any]:
        if array.dtype.kind not in _KINDS:
            raise NotPlainError(f"a checkpoint cannot hold an array of {array.dtype}.")
        place, data = self._size, np.ascontiguousarray(array).tobytes()
        self._parts.append(data)
        self._size += len(data)
        return [array.dtype.str, None if is_scalar else list(array.shape), place]


def unpack(terms: Any, content: bytes) -> Any:
    """Give the value that `Packer` made terms and bytes of; arrays may be written to."""
    if isinstance(terms, list):
        return [unpack(part, content) for part in terms]
    if not isinstance(terms, dict):
        return terms
    ((kind, inside),) = terms.items()
    if kind == "tuple":
        return tuple(unpack(part, content) for part in inside)
    if kind == "dict":
        return {name: unpack(part, content) for name, part in inside.items()}
    if kind == "float":
        return float(inside)
    if kind != "array":
        raise ValueError(f"it holds a {kind!r}")
    form, shape, place = inside
    dtype = np.dtype(str(form))
    if dtype.kind not in _KINDS:
        raise ValueError(f"it holds an array of {dtype}")
    n = math.prod(shape or ())
    array = np.frombuffer(content, dtype, count=n, offset=place).reshape(shape or ()).copy()
    return array[()] if shape is None else array


# ---------------------------------------------------------------------- of values in memory


def copied(value: Any) -> Any:
    """Give a plain value whose arrays are others."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (tuple, list)):
        return type(value)(copied(part) for part in value)
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    return value


# Of larger arrays so many numbers are digested: those that follow the parameters of a fit are small.
_MOST_DIGESTED = 2**16


def digest_of(*values: Any) -> str:
    """Digest numbers, text and arrays, also in tuples and lists; functions by name, and others by type."""
    state = hashlib.blake2b(digest_size=8)
    _digest(state, values)
    return state.hexdigest()


def _digest(state: Any, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        state.update(f"{value.dtype.str}{value.shape}".encode())
        step = -(-value.size // _MOST_DIGESTED) or 1
        state.update(np.ascontiguousarray(value.ravel()[::step]).tobytes())
    elif isinstance(value, (tuple, list)):
        state.update(f"({len(value)}".encode())
        for part in value:
            _digest(state, part)
    elif value is None or isinstance(value, (bool, int, float, str, np.generic)):
        state.update(f"{value!r};".encode())
    else:
        state.update(f"{getattr(value, '__qualname__', type(value).__qualname__)};".encode())


# ---------------------------------------------------------------------- of objects


def taken_apart(value: Any) -> Any:
    """Give what is plain in an object: fields of tuples and data classes, parameters of estimators."""
    if isinstance(value, (tuple, list)):
        return (tuple if type(value) is tuple else list)(taken_apart(part) for part in value)
    if isinstance(value, dict):
        return {name: taken_apart(part) for name, part in value.items()}
    parts = _parts_of(value)
    return value if parts is None else {name: taken_apart(part) for name, part in parts.items()}


def put_together(parts: Any, like: Any) -> Any:
    """Give the object that `taken_apart` took apart, `like` being another of its form."""
    if isinstance(like, (tuple, list)):
        inside = [put_together(part, other) for part, other in zip(parts, like, strict=True)]
        return type(like)(*inside) if hasattr(like, "_fields") else type(like)(inside)
    if isinstance(like, dict):
        return {name: put_together(parts[name], other) for name, other in like.items()}
    named = _parts_of(like)
    if named is None:
        return parts
    return type(like)(**{name: put_together(parts[name], other) for name, other in named.items()})


def _parts_of(value: Any) -> dict[str, Any] | None:
    if hasattr(value, "get_params") and not isinstance(value, type):
        return value.get_params(deep=False)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return None
