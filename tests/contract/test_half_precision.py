"""16-bit floats: every estimator has the results of the same values in float32, in every container."""

import sys

import h5py
import ml_dtypes
import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from tests.studies import marked

from bagwise import (
    MILogisticRegression,
    load_bags,
    make_noisy_or_bags,
    save_csv,
    save_h5,
    save_npy,
    save_npz,
    save_parquet,
    scan_bags,
)
from bagwise._core.precision import to_compute
from bagwise.testing import all_estimators, example_of

DTYPES = [np.float16, ml_dtypes.bfloat16]
FAST_AND_SLOW = [np.float16, pytest.param(ml_dtypes.bfloat16, marks=pytest.mark.slow)]
pytestmark = [
    pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning"),
    pytest.mark.filterwarnings("ignore::bagwise.exceptions.PositiveClassWarning"),
]


def make_data(dtype):
    """Return bags of 16-bit floats, the same bags in float32, and labels."""
    data = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
    half = data.bags.with_instances(data.bags.instances.astype(dtype))
    return half, half.with_instances(half.instances.astype(np.float32)), data.y


def outputs(estimator, bags):
    """Return all predictions of an estimator."""
    methods = ("predict_proba", "decision_function", "transform", "predict", "predict_proba_instances")
    results = [getattr(estimator, method)(bags) for method in methods if hasattr(estimator, method)]
    assert results
    return [np.asarray(getattr(result, "instances", result)) for result in results]


def assert_equal_outputs(fitted, X, expected):
    for mine, theirs in zip(outputs(fitted, X), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("dtype", FAST_AND_SLOW)
@pytest.mark.parametrize("estimator", marked([example_of(cls) for cls in all_estimators()]))
def test_results_are_those_of_float32(estimator, dtype):
    half, single, y = make_data(dtype)
    if is_regressor(estimator):
        y = np.add.reduceat(single.instances[:, 0], single.offsets[:-1])
    expected = outputs(clone(estimator).fit(single, y), single)
    assert_equal_outputs(clone(estimator).fit(half, y), half, expected)
    arrays = [np.array(bag) for bag in half]
    assert arrays[0].dtype == dtype
    assert_equal_outputs(clone(estimator).fit(arrays, y), arrays, expected)
    rows, rows_in_single = (np.array([bag[0] for bag in bags]) for bags in (half, single))
    expected = outputs(clone(estimator).fit(rows_in_single, y), rows_in_single)
    assert_equal_outputs(clone(estimator).fit(rows, y), rows, expected)


@pytest.fixture
def everything_is_large(large_from):
    """Treat a few bags as large: blocks of 13 instances, and no scan kept in memory."""
    large_from(0, block_bytes=13 * 4 * 8)


STREAMING = [each for each in map(example_of, all_estimators()) if each._streams]


@pytest.mark.parametrize("dtype", FAST_AND_SLOW)
@pytest.mark.parametrize("estimator", marked(STREAMING))
def test_large_bags_are_converted_block_by_block(estimator, dtype, everything_is_large):
    half, single, y = make_data(dtype)
    expected = outputs(clone(estimator).fit(single, y), single)
    assert_equal_outputs(clone(estimator).fit(half, y), half, expected)


def save_plain_npz(path, bags, y):
    np.savez(path.with_suffix(".npz"), X=bags.instances, offsets=bags.offsets, y=y)
    return path.with_suffix(".npz")


def save_long(path, bags, y):
    return save_parquet(path.with_suffix(".parquet"), bags, y, layout="long")


def save_bag_rows(path, bags, y):
    return save_parquet(path.with_suffix(".parquet"), bags, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("save", [save_h5, save_npy, save_plain_npz, save_long, save_bag_rows])
def test_scans_keep_the_dtype_and_the_bits_of_a_fit(save, dtype, everything_is_large, tmp_path):
    half, single, y = make_data(dtype)
    path = save(tmp_path / "bags", half, y)
    scan = scan_bags(path)
    assert scan.nbytes == 2 * half.instances.size
    assert scan.dtype == np.float32
    loaded = load_bags(path)[0]
    for X in (loaded.instances, scan.load().instances, np.concatenate(list(scan)), scan[[3, 1]].load()[1]):
        assert X.dtype == dtype
    np.testing.assert_array_equal(scan.load().instances, half.instances)
    np.testing.assert_array_equal(loaded.instances, half.instances)
    model = MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0)
    expected = clone(model).fit(half, y)
    fitted = clone(model).fit(scan, y)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    np.testing.assert_array_equal(fitted.coef_, clone(model).fit(single, y).coef_)
    assert fitted.training_digest_ == expected.training_digest_
    np.testing.assert_array_equal(fitted.predict_proba(scan), expected.predict_proba(half))


@pytest.mark.parametrize("save", [save_npz, save_csv])
def test_files_that_cannot_be_scanned_keep_bfloat16(save, tmp_path):
    half, _, y = make_data(ml_dtypes.bfloat16)
    path = save(tmp_path / ("bags.csv" if save is save_csv else "bags.npz"), half, y)
    loaded = load_bags(path)[0]
    assert loaded.instances.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(loaded.instances, half.instances)


def test_a_folder_with_both_16_bit_floats_is_read_as_float32(tmp_path):
    for name, dtype in zip("ab", DTYPES, strict=True):
        np.save(tmp_path / f"{name}.npy", np.full((2, 3), 1.5, dtype))
    for bags in (load_bags(tmp_path)[0], scan_bags(tmp_path).load()):
        assert bags.instances.dtype == np.float32
        np.testing.assert_array_equal(bags.instances, 1.5)


def test_hdf5_stores_bfloat16_as_a_float_that_other_programs_read(tmp_path):
    half, single, y = make_data(ml_dtypes.bfloat16)
    save_h5(tmp_path / "bags", half, y)
    with h5py.File(tmp_path / "bags" / "0.h5") as file:
        assert file["features"].dtype == np.float32
        np.testing.assert_array_equal(file["features"][()], single[0])


@pytest.mark.parametrize("batch", [(), (1,)])
def test_hdf5_reads_bfloat16_as_h5py_writes_it(batch, tmp_path):
    X = np.arange(12).reshape(*batch, 4, 3).astype(ml_dtypes.bfloat16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["features"] = X
    for bags in (load_bags(tmp_path)[0], scan_bags(tmp_path).load()):
        assert bags.instances.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(bags.instances, X.reshape(4, 3))


def test_without_ml_dtypes_the_error_names_it(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.ones((2, 3), ml_dtypes.bfloat16))
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="bfloat16 needs ml_dtypes: pip install ml_dtypes"):
        load_bags(tmp_path)


def test_every_float16_becomes_the_same_float32():
    values = np.arange(2**16, dtype=np.uint16).view(np.float16)
    converted = to_compute(values)
    assert converted.dtype == np.float32
    np.testing.assert_array_equal(converted, values.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(converted), np.signbit(values))
    for view in (values[::-1], values.reshape(256, 256).T, values.astype(">f2")):
        np.testing.assert_array_equal(to_compute(view), view.astype(np.float32))
