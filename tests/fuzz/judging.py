"""Distinguish clear errors, which are written for users, from failures."""

from __future__ import annotations

import ast
import functools
import traceback
from pathlib import Path

import numpy as np


class Refused(Exception):  # noqa: N818
    """A case ended with a clear error; this is not a failure."""


# Packages whose error messages are written for users. The last Python line of an error from compiled code,
# such as numpy's, can also be in one of these packages, but it is not a `raise` statement.
_WRITERS = ("bagwise", "sklearn")
# Messages of other libraries that are wrong for finite values.
_FALSE = ("contains NaN", "contains infinity", "infs or NaNs")


def asked(call, *args, **kwargs):
    """Return the result of a call; a clear error becomes `Refused`, and any other error an AssertionError."""
    try:
        return call(*args, **kwargs)
    except Refused:
        raise
    except Exception as error:
        complaint = unclear(error)
        if complaint:
            raise AssertionError(f"{complaint}: {shown(error)}") from error
        raise Refused(shown(error)) from error


def unclear(error: BaseException, *, finite: bool = True) -> str | None:
    """Return why an error is not clear, or None for a deliberately raised ValueError or TypeError."""
    message = str(error)
    if type(error) not in (ValueError, TypeError, MemoryError) and not _is_ours(type(error)):
        return "an error of an unexpected type"
    if len(message.split()) < 3:
        return "an error without a message"
    if finite and any(text in message for text in _FALSE) and "too large for dtype('float32')" not in message:
        return "an error that wrongly reports NaN or infinity for finite values"
    file, line = _origin(error)
    if not any(f"/{package}/" in file for package in _WRITERS) or not _is_raised_on(file, line):
        return "an error from the internals of a library"
    return None


def shown(error: BaseException) -> str:
    """Return an error with its type and location, in one line."""
    file, line = _origin(error)
    location = f"{Path(file).parent.name}/{Path(file).name}:{line}"
    return f"{type(error).__name__} at {location}: {' '.join(str(error).split())[:400]}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "bagwise" and issubclass(kind, (ValueError, TypeError))


def _origin(error: BaseException) -> tuple[str, int]:
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else ("", 0)


@functools.cache
def _raising_lines(file: str) -> frozenset[int]:
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    raises = (node for node in ast.walk(tree) if isinstance(node, ast.Raise))
    return frozenset(line for node in raises for line in range(node.lineno, (node.end_lineno or 0) + 1))


def _is_raised_on(file: str, line: int) -> bool:
    return line in _raising_lines(file)


def require(condition, description: str) -> None:
    """Raise an AssertionError with this message unless the condition holds."""
    if not condition:
        raise AssertionError(description)


def require_finite(values, description: str) -> None:
    """Raise an AssertionError unless all values of an array are finite."""
    values = np.asarray(values)
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        bad = values[~np.isfinite(values)]
        raise AssertionError(f"{description} has {bad.size} of {values.size} values like {bad.flat[0]!r}")


def require_close(actual, expected, tolerance: float, description: str, *, size: float | None = None) -> None:
    """Raise an AssertionError unless two arrays agree up to `tolerance` times `size`.

    By default, `size` is the largest absolute value of `expected`, or 1 if that is larger.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    require(actual.shape == expected.shape, f"{description}: shapes {actual.shape} and {expected.shape}")
    if actual.dtype.kind not in "biuf" or expected.dtype.kind not in "biuf":
        require(bool((actual == expected).all()), f"{description}: {actual!r} and {expected!r}")
        return
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    if size is None:
        size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    apart = float(np.abs(actual / size - expected / size).max(initial=0.0))
    if not apart <= tolerance:
        raise AssertionError(f"{description}: they differ by {apart:.3g} of {size:.3g}")
