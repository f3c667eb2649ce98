"""The division of bags and rows into blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagwise.data.blocks import block_rows, cut, cut_rows, share_out


@given(st.lists(st.integers(0, 20), max_size=40), st.integers(1, 30))
def test_runs_are_as_long_as_allowed_and_hold_every_item_once(sizes, most):
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    runs = cut(offsets, most)
    assert [i for run in runs for i in range(run.start, run.stop)] == list(range(len(sizes)))
    for run in runs:
        size = offsets[run.stop] - offsets[run.start]
        assert size <= most or run.stop == run.start + 1
        if run.stop < len(sizes) and run.stop > run.start + 1:
            assert offsets[run.stop + 1] - offsets[run.start] > most  # the next bag did not fit


@pytest.mark.parametrize(("n", "most"), [(0, 3), (1, 3), (3, 3), (7, 3)])
def test_rows_are_cut_into_runs_of_one_length(n, most):
    runs = cut_rows(n, most)
    assert [i for run in runs for i in range(run.start, run.stop)] == list(range(n))
    assert all(run.stop - run.start == most for run in runs[:-1])


def test_a_block_has_a_row_however_long_that_is():
    assert block_rows(10**9) == 1
    assert block_rows(0) == block_rows(1) > 1000 * block_rows(5000) / 2


def test_shared_work_comes_back_in_order_and_fails_as_it_would_alone():
    assert share_out(lambda item: item**2, range(20)) == [item**2 for item in range(20)]
    with pytest.raises(ZeroDivisionError):
        share_out(lambda item: 1 / item, [1, 0, 2])
