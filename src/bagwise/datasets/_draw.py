"""Shared code of data set generators: parameter validation, bag sizes, rounded shares."""

from __future__ import annotations

from math import floor, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def check_count(name: str, value: Any, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int, or raise an error with `name` if it is not an integer in the range."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < minimum or (maximum is not None and value > maximum):
        allowed = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ValueError(f"{name} is {value!r}; expected an integer {allowed}.")
    return int(value)


def check_finite(
    name: str, value: Any, *, minimum: float | None = None, maximum: float | None = None
) -> float:
    """Return `value` as a float, or raise an error with `name` if it is not a finite number in the range."""
    fits = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    fits = fits and (minimum is None or value >= minimum) and (maximum is None or value <= maximum)
    if not fits:
        allowed = "" if minimum is None else f" >= {minimum}"
        allowed = allowed if maximum is None else f" from {minimum} to {maximum}"
        raise ValueError(f"{name} is {value!r}; expected a finite number{allowed}.")
    return float(value)


def check_array(name: str, value: Any, *shapes: tuple[int | None, ...], expected: str) -> np.ndarray:
    """Return `value` as a finite float64 array with one of `shapes`; None allows any length above 0."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a numeric array; expected {expected}.") from error
    if not any(_has_shape(array, shape) for shape in shapes):
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity; expected {expected}.")
    return array


def _has_shape(array: np.ndarray, shape: tuple[int | None, ...]) -> bool:
    return array.ndim == len(shape) and all(
        length > 0 if wanted is None else length == wanted
        for length, wanted in zip(array.shape, shape, strict=True)
    )


def check_agreement(name: str, array: np.ndarray, n_features: int | None) -> np.ndarray:
    """Return `array`; raise an error if `n_features` was also passed and contradicts it."""
    if n_features is not None and n_features != array.shape[-1]:
        raise ValueError(
            f"n_features is {n_features!r}, but {name} has {array.shape[-1]} features; "
            f"omit n_features if you pass {name}."
        )
    return array


def draw_sizes(
    n_bags: int, size: int | tuple[int, int] | ArrayLike, rng: np.random.RandomState
) -> np.ndarray:
    """Convert `size` to an array with the number of instances in every bag.

    A tuple of two integers is a range, and a list or array contains the size of every bag. Only the type is
    relevant. Therefore, a list with the sizes of two bags cannot be mistaken for a range.
    """
    if isinstance(size, tuple) and len(size) == 2:
        low = check_count("size[0]", size[0], minimum=1)
        high = check_count("size[1]", size[1], minimum=low)
        return rng.randint(low, high + 1, size=n_bags).astype(np.int64)
    if isinstance(size, list | tuple | np.ndarray):
        sizes = np.asarray(size)
        if sizes.shape != (n_bags,) or sizes.dtype.kind not in "iu":
            raise ValueError(
                f"size has shape {sizes.shape} and dtype {sizes.dtype}; expected one integer >= 1 "
                f"for each of the {n_bags} bags, or a range as a tuple (smallest, largest)."
            )
        smallest = int(np.argmin(sizes))
        check_count(f"size[{smallest}]", int(sizes[smallest]), minimum=1)
        return sizes.astype(np.int64)
    return np.full(n_bags, check_count("size", size, minimum=1), dtype=np.int64)


def offsets_of(sizes: np.ndarray) -> np.ndarray:
    """Return the int64 offsets (n_bags + 1) of consecutive bags with these sizes."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def nearest_count(share: float, total: int) -> int:
    """Return the integer nearest to share * total; halves are rounded up.

    Python's `round` rounds halves to even integers: 2.5 to 2, but 3.5 to 4.
    """
    return floor(share * total + 0.5)
