"""Precision of instances: 16-bit floats and integers are stored as they are, but converted to compute.

float16 (numpy) and bfloat16 (the package ml_dtypes) become float32, which represents their values exactly.
Integers and other floats become float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def is_half(dtype: Any) -> bool:
    """Return whether a dtype is float16 or bfloat16."""
    return dtype == np.float16 or is_bfloat16(dtype)


def is_bfloat16(dtype: Any) -> bool:
    """Return whether a dtype is bfloat16, without importing ml_dtypes."""
    return getattr(dtype, "name", None) == "bfloat16"


def is_numeric(dtype: np.dtype) -> bool:
    """Return whether a dtype is boolean, integer or floating point; bfloat16 is not a numpy dtype."""
    return dtype.kind in "biuf" or is_bfloat16(dtype)


def bfloat16() -> np.dtype:
    """Return the dtype bfloat16; raise an ImportError without ml_dtypes."""
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError("bfloat16 needs ml_dtypes: pip install ml_dtypes") from error
    return np.dtype(ml_dtypes.bfloat16)


def dtype_text(dtype: np.dtype) -> str:
    """Return the text that files store for a dtype; `dtype_of_text` converts it back."""
    return "bfloat16" if is_bfloat16(dtype) else dtype.str


def dtype_of_text(text: Any) -> np.dtype:
    """Return the dtype for a text from `dtype_text`."""
    return bfloat16() if text == "bfloat16" else np.dtype(text)


def with_dtype(array: np.ndarray) -> np.ndarray:
    """View 2-byte values without a dtype as bfloat16, because npy and HDF5 files do not store this dtype."""
    return array.view(bfloat16()) if array.dtype == np.dtype("V2") else array


def computing_dtype(dtype: Any) -> np.dtype:
    """Return the dtype in which models compute with values of a dtype: float32 or float64."""
    return np.dtype(np.float32 if dtype == np.float32 or is_half(dtype) else np.float64)


def common_dtype(*dtypes: np.dtype) -> np.dtype:
    """Return a dtype that represents the values of all dtypes; float32 for float16 and bfloat16."""
    if len(set(dtypes)) == 1:
        return dtypes[0]
    return np.result_type(*(computing_dtype(dtype) if is_half(dtype) else dtype for dtype in dtypes))


def convert_into(out: np.ndarray, values: Any) -> None:
    """Write values into an array of the same shape and any dtype; 16-bit floats are converted exactly.

    numpy converts float16 five to ten times slower than the kernel.
    """
    if (
        isinstance(values, np.ndarray)
        and values.dtype == np.float16
        and out.dtype == np.float32
        and values.flags.c_contiguous
        and out.flags.c_contiguous
    ):
        from bagwise._core.compiled.arrays import readonly
        from bagwise._core.compiled.half import half_to_single

        flat = out.reshape(-1)
        half_to_single(*readonly(values.reshape(-1).view(np.uint16)), flat.view(np.uint32), flat)
        return
    np.copyto(out, values, casting="unsafe")


def to_compute(X: np.ndarray) -> np.ndarray:
    """Return an array in the precision in which models compute, copied only if necessary."""
    dtype = computing_dtype(X.dtype)
    if X.dtype == dtype:
        return X
    out = np.empty(X.shape, dtype)
    convert_into(out, X)
    return out
