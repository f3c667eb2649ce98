"""Read-only, contiguous arrays for compiled kernels."""

import re
from pathlib import Path

import numpy as np
import pytest

from bagwise._core.compiled.arrays import readonly

SOURCE = Path(__file__).parents[2] / "src/bagwise"


def test_contiguous_arrays_are_not_copied_and_stay_writable():
    array = np.arange(6.0).reshape(2, 3)
    (view,) = readonly(array)
    assert np.shares_memory(view, array)
    assert not view.flags.writeable and array.flags.writeable


@pytest.mark.parametrize(
    "values",
    [[[1, 2], [3, 4]], np.array([[1, 3], [2, 4]], dtype=np.int8).T, np.array([[1, 2], [3, 4]])[:, :]],
)
def test_other_arrays_become_contiguous_and_of_the_dtype(values):
    first, second = readonly(values, np.float32([1.5]), dtype=np.float64)
    assert first.flags.c_contiguous and not first.flags.writeable and first.dtype == np.float64
    np.testing.assert_array_equal(first, [[1, 2], [3, 4]])
    assert second.dtype == np.float64
    assert readonly(np.float32([1.5]))[0].dtype == np.float32, "without a dtype argument, the dtype is kept"


def test_no_other_module_makes_arrays_read_only():
    for path in SOURCE.rglob("*.py"):
        if path.name != "arrays.py":
            assert not re.search(r"flags\.writeable\s*=|setflags\(", path.read_text()), path
