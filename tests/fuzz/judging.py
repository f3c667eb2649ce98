"""What counts as an answer: a result, or an error that someone wrote for the user to read."""

from __future__ import annotations

import ast
import functools
import traceback
from pathlib import Path

import numpy as np


class Refused(Exception):  # noqa: N818
    """A case ended with a clear sentence; the campaign counts it, and goes on."""


# Whose sentences are meant for users. An error that came out of compiled code, such as numpy's, has its last
# line in one of these as well, but no `raise` stands on it.
_WRITERS = ("bagwise", "sklearn")
# Messages of a library's own checks that say nothing true about a user's finite values.
_FALSE = ("contains NaN", "contains infinity", "infs or NaNs")


def asked(call, *args, **how):
    """Give what a call answers; an error with a clear sentence becomes `Refused`, another one a failure."""
    try:
        return call(*args, **how)
    except Refused:
        raise
    except Exception as error:
        complaint = unclear(error)
        if complaint:
            raise AssertionError(f"{complaint}: {shown(error)}") from error
        raise Refused(shown(error)) from error


def unclear(error: BaseException, *, finite: bool = True) -> str | None:
    """Say why an error is no answer, or None if it is one: a ValueError or TypeError, raised on purpose."""
    told = str(error)
    if type(error) not in (ValueError, TypeError, MemoryError) and not _is_ours(type(error)):
        return "an error of a kind that no user should see"
    if len(told.split()) < 3:
        return "an error without a sentence"
    if finite and any(words in told for words in _FALSE) and "too large for dtype('float32')" not in told:
        return "an error that says of finite values what is not so"
    file, line = _origin(error)
    if not any(f"/{package}/" in file for package in _WRITERS) or not _is_raised_on(file, line):
        return "an error that comes from the depth of a library"
    return None


def shown(error: BaseException) -> str:
    """An error with its kind and its place, in one line."""
    file, line = _origin(error)
    place = f"{Path(file).parent.name}/{Path(file).name}:{line}"
    return f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:400]}"


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


def require(condition, what: str) -> None:
    """Fail with a sentence unless a condition holds."""
    if not condition:
        raise AssertionError(what)


def require_finite(values, what: str) -> None:
    """Fail unless all of an array's numbers are finite."""
    values = np.asarray(values)
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        bad = values[~np.isfinite(values)]
        raise AssertionError(f"{what} has {bad.size} of {values.size} values like {bad.flat[0]!r}")


def require_close(actual, expected, tolerance: float, what: str, *, size: float | None = None) -> None:
    """Fail unless two arrays agree up to a tolerance times `size`: the largest number, or 1."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    require(actual.shape == expected.shape, f"{what}: shapes {actual.shape} and {expected.shape}")
    if actual.dtype.kind not in "biuf" or expected.dtype.kind not in "biuf":
        require(bool((actual == expected).all()), f"{what}: {actual!r} and {expected!r}")
        return
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    if size is None:
        size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    apart = float(np.abs(actual / size - expected / size).max(initial=0.0))
    if not apart <= tolerance:
        raise AssertionError(f"{what}: they differ by {apart:.3g} of {size:.3g}")
