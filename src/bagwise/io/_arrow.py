"""Between numpy and Arrow: columns with one value, or several, a row."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError("Parquet files need pyarrow: pip install 'bagwise[arrow]'") from error


def to_arrow(name: str, array: np.ndarray) -> Any:
    """Make an Arrow array; further dimensions become lists of fixed size."""
    flat = np.ascontiguousarray(array).reshape(-1)
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    try:
        values = pa.array(flat)
    except pa.ArrowNotImplementedError:
        raise ValueError(f"{name} is of the type {array.dtype}, which Parquet cannot keep.") from None
    # Days are 32 bits in Arrow, which wraps others around without a word.
    if pa.types.is_date(values.type) and not np.array_equal(from_arrow(values), flat, equal_nan=True):
        raise ValueError(f"{name} has a date that Parquet cannot keep: it is millions of years away.")
    if array.ndim == 1:
        return values
    return pa.FixedSizeListArray.from_arrays(values, int(np.prod(array.shape[1:])))


def from_arrow(array: Any) -> np.ndarray:
    """Make a numpy array: (n,), or (n, k) of lists of fixed size k; text where it is text throughout."""
    if pa.types.is_fixed_size_list(array.type):
        if array.null_count:
            raise ValueError("has no value in some row")
        # `flatten` respects slices, where `values` would not.
        return from_arrow(array.flatten()).reshape(len(array), array.type.list_size)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype == object and not array.null_count and is_text(array.type):
        return values.astype(np.str_)
    return values


def is_text(arrow_type: Any) -> bool:
    """Whether values of the type are text."""
    return (
        pa.types.is_string(arrow_type)
        or pa.types.is_large_string(arrow_type)
        or (hasattr(pa.types, "is_string_view") and pa.types.is_string_view(arrow_type))
    )


def is_list(arrow_type: Any) -> bool:
    """Whether values of the type are lists, of any or of one size."""
    return (
        pa.types.is_list(arrow_type)
        or pa.types.is_large_list(arrow_type)
        or pa.types.is_fixed_size_list(arrow_type)
    )


def is_number(arrow_type: Any) -> bool:
    """Whether values of the type can be features."""
    return (
        pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_boolean(arrow_type)
    )
