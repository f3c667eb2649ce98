"""Widths of kernels and statistics of bags with constant features."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.similarity import resolve_gamma
from bagwise.similarity.statistics import describe

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("gamma", ["scale", "auto", "median"])
def test_the_width_ignores_constant_features(gamma):
    X = RNG.normal(size=(40, 3))
    wide = np.column_stack([np.full(40, 1.7e18), X, np.full(40, -0.1)])
    assert resolve_gamma(gamma, wide) == pytest.approx(resolve_gamma(gamma, X), rel=1e-12)
    X[X < 0.5] = 0.0
    wide = sp.csr_array(np.column_stack([np.zeros(40), X, np.full(40, 3.0)]))
    assert resolve_gamma(gamma, wide) == pytest.approx(resolve_gamma(gamma, sp.csr_array(X)), rel=1e-12)
    assert np.isfinite(resolve_gamma(gamma, np.full((5, 2), 3.0)))


@pytest.mark.parametrize("value", [0.1, 1.7e18, -1.23456789e15])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_statistics_of_equal_values_are_exact(value, dtype):
    offsets = np.array([0, 1, 4, 11, 30])
    X = np.full((30, 1), value, dtype=dtype)
    names = ("min", "mean", "median", "max")
    vectors = describe(X, offsets, (*names, "std"), (0.3,))
    assert (vectors[:, [0, 1, 2, 3, 5]] == X[0]).all()
    assert (vectors[:, 4] == 0).all()
