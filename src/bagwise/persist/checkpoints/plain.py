"""Plain values, which a checkpoint can store.

Plain values are scalars, strings, numeric arrays, and tuples, lists or dicts of these. Checkpoints contain no
other types, so that they are safe to load: loading never executes code. Objects are converted to plain
values, and restored using an existing object of the same structure.
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
    """A value that a checkpoint cannot store."""


# ---------------------------------------------------------------------- conversion to bytes and back


class Packer:
    """Converts plain values to JSON values; the content of all arrays is collected in one bytes object."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def content(self) -> bytes:
        """The values of all arrays, as bytes."""
        return b"".join(self._parts)

    def pack(self, value: Any) -> Any:
        """Return the JSON value for a plain value."""
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
        raise NotPlainError(f"a checkpoint cannot store the type {type(value).__name__}.")

    def _add(self, array: np.ndarray, *, is_scalar: bool) -> list[Any]:
        if array.dtype.kind not in _KINDS:
            raise NotPlainError(f"a checkpoint cannot store an array with dtype {array.dtype}.")
        start, data = self._size, np.ascontiguousarray(array).tobytes()
        self._parts.append(data)
        self._size += len(data)
        return [array.dtype.str, None if is_scalar else list(array.shape), start]


def unpack(terms: Any, content: bytes) -> Any:
    """Return the plain value from the JSON value and the bytes of a `Packer`; arrays are writable."""
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
        raise ValueError(f"it contains the unknown type {kind!r}")
    form, shape, start = inside
    dtype = np.dtype(str(form))
    if dtype.kind not in _KINDS:
        raise ValueError(f"it contains an array with dtype {dtype}")
    n = math.prod(shape or ())
    array = np.frombuffer(content, dtype, count=n, offset=start).reshape(shape or ()).copy()
    return array[()] if shape is None else array


# ---------------------------------------------------------------------- values in memory


def copied(value: Any) -> Any:
    """Return a copy of a plain value in which all arrays are copied."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (tuple, list)):
        return type(value)(copied(part) for part in value)
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    return value


# Larger arrays are subsampled to at most this many values. Arrays that depend on the parameters of a fit are
# smaller.
_MOST_DIGESTED = 2**16


def digest_of(*values: Any) -> str:
    """Return a digest of scalars, strings and arrays, including those inside tuples and lists.

    Functions are represented by their names, and other objects by their types.
    """
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


# ---------------------------------------------------------------------- objects


def taken_apart(value: Any) -> Any:
    """Convert an object to plain values: items of tuples, fields of data classes, estimator parameters."""
    if isinstance(value, (tuple, list)):
        return (tuple if type(value) is tuple else list)(taken_apart(part) for part in value)
    if isinstance(value, dict):
        return {name: taken_apart(part) for name, part in value.items()}
    parts = _parts_of(value)
    return value if parts is None else {name: taken_apart(part) for name, part in parts.items()}


def put_together(parts: Any, like: Any) -> Any:
    """Restore an object from the values that `taken_apart` returned; `like` has the same form."""
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
