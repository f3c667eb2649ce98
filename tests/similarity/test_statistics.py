"""Statistics of bags, compared with numpy bag by bag."""

import itertools

import numpy as np
import pytest

from bagwise.similarity.statistics import describe

ORACLES = {"min": np.min, "max": np.max, "mean": np.mean, "std": np.std, "median": np.median}
LISTS = [
    ["min", "max"],
    ["mean"],
    ["std"],
    ["std", "min"],
    ["max", "size", "mean"],
    [*ORACLES],
    ["mean", "mean"],
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("statistics", LISTS, ids=str)
def test_values_are_those_of_numpy(statistics, dtype):
    rng = np.random.default_rng(0)
    offsets = np.append(0, np.cumsum(rng.integers(1, 30, 40)))
    X = (rng.standard_normal((offsets[-1], 7)) * [1, 1e-3, 1e3, 1, 1, 1, 1e37] + 5).astype(dtype)
    X[:, 3] = dtype(0.1)  # the mean of equal values is the value, and the deviation 0
    actual = describe(X, offsets, statistics)
    expected = []
    for begin, end in itertools.pairwise(offsets):
        bag = X[begin:end].astype(np.float64)
        columns = [np.full(1, end - begin) if s == "size" else ORACLES[s](bag, axis=0) for s in statistics]
        expected.append(np.concatenate(columns))
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-6 if dtype == np.float32 else 1e-13, atol=1e-15)
    if statistics == ["mean"]:
        assert (actual[:, 3] == dtype(0.1)).all()
    if statistics == ["std"]:
        assert (actual[:, 3] == 0).all()


def test_nan_makes_the_statistics_of_its_feature_nan():
    X = np.arange(12.0).reshape(6, 2)
    X[1, 0] = X[3, 1] = np.nan
    for X_in_order in (X, X[::-1]):
        values = describe(X_in_order, np.array([0, 6]), ["min", "max", "mean", "std"])
        assert np.isnan(values).all()
    values = describe(X, np.array([0, 3, 6]), ["min", "max", "mean", "std"]).reshape(2, 4, 2)
    np.testing.assert_array_equal(np.isnan(values).all(axis=1), [[True, False], [False, True]])
    np.testing.assert_array_equal(np.isnan(values).any(axis=1), [[True, False], [False, True]])
