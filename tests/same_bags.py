"""Check that bags that were read from a file equal the bags that were written."""

import numpy as np
import scipy.sparse as sp


def assert_same_array(a, b, *, as_text=False):
    """Check that dtype, shape and bits are equal; for text, the values. `as_text` ignores the bits of NaN."""
    assert a.shape == b.shape and sp.issparse(a) == sp.issparse(b)
    if sp.issparse(a):
        for part in ("data", "indices", "indptr"):
            assert_same_array(getattr(a, part), getattr(b, part), as_text=as_text)
        return
    if a.dtype.kind == "U":  # the itemsize may differ: it depends on the longest string
        assert b.dtype.kind == "U" and np.array_equal(a, b)
        return
    assert a.dtype == b.dtype
    if as_text and a.dtype.kind == "f":  # text has only one NaN
        a, b = (np.where(x != x, np.array(np.nan, x.dtype), x) for x in (a, b))
    assert a.tobytes() == b.tobytes()


def assert_same(bags, y, other, z, *, format_name="npz"):
    """Check that bags, names, side columns and labels are equal, as far as the format stores them."""
    assert np.array_equal(bags.offsets, other.offsets)
    assert_same_array(bags.instances, other.instances, as_text=format_name == "csv")
    assert (bags._ids is None) == (other._ids is None)
    assert_same_array(bags.ids, other.ids)
    assert (bags.feature_names is None) == (other.feature_names is None)
    if bags.feature_names is not None:
        assert bags.feature_names.tolist() == other.feature_names.tolist()
    in_table = format_name in ("csv", "h5", "npy")  # these formats store labels as a table
    for kind, as_text in (("instance_columns", format_name == "csv"), ("bag_columns", in_table)):
        mine, theirs = getattr(bags, kind), getattr(other, kind)
        assert list(mine) == list(theirs)
        for name in mine:
            assert_same_array(mine[name], theirs[name], as_text=as_text)
    assert (y is None) == (z is None)
    if y is not None:
        assert_same_array(y, z, as_text=in_table)
