"""Scalers of constant features, and the features that they ignore."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, QuantileTransformer, StandardScaler

from bagwise import Bags, RankScaler
from bagwise.models.base import fit_scaler, varying_features
from bagwise.models.base.scaling import Scaled

RNG = np.random.default_rng(0)
X = np.column_stack([np.full(30, 1.7e18), RNG.normal(size=30), np.full(30, 0.1), RNG.normal(size=30) + 5.0])
SCALES = ("standard", "minmax", "rank", None, StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RankScaler())


def blocks_of(X):
    return Bags(X, np.arange(0, len(X) + 1, 3) if X.shape[0] % 3 == 0 else [0, len(X)]).blocks()


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_all_values_of_a_constant_become_zero(scale):
    scaler = fit_scaler(scale, blocks_of(X))
    other = X.copy()
    other[:, [0, 2]] = [[-3.0, 1e6]]
    for values in (X, other, X.astype(np.float32)):
        scaled = scaler.transform(values)
        assert (scaled[:, [0, 2]] == 0).all() and np.isfinite(scaled).all()
    alone = fit_scaler(scale, blocks_of(np.ascontiguousarray(X[:, [1, 3]])))
    expected = X[:, [1, 3]] if alone is None else alone.transform(X[:, [1, 3]])
    np.testing.assert_array_equal(scaler.transform(X)[:, [1, 3]], expected)
    np.testing.assert_array_equal(varying_features(scaler), [False, True, False, True])


@pytest.mark.parametrize("scale", ["standard", "minmax", "rank", None])
def test_a_sparse_constant_becomes_zero(scale):
    values = np.column_stack([np.zeros(30), np.full(30, 3.0), np.arange(30.0) % 4])
    bags = Bags(sp.csr_array(values), np.arange(0, 31, 3))
    scaler = fit_scaler(scale, bags.blocks())
    values[:, 1] += 1.0
    scaled = scaler.transform(sp.csr_array(values)).toarray()
    assert (scaled[:, :2] == 0).all() and len(np.unique(scaled[:, 2])) == 4
    np.testing.assert_array_equal(varying_features(scaler), [False, False, True])


def test_a_transformer_sees_the_constant_of_the_training_instances():
    scaler = fit_scaler(QuantileTransformer(n_quantiles=5), blocks_of(X))
    other = X.copy()
    other[:, 0] = 1.0
    np.testing.assert_array_equal(scaler.transform(other), scaler.transform(X))


def test_rounding_errors_are_no_feature_but_small_differences_are():
    noise = np.where(np.arange(30) % 2, 0.3, 0.1 + 0.2)
    large = 1e15 + np.arange(30) % 2
    scaler = fit_scaler("standard", blocks_of(np.column_stack([noise, large])))
    np.testing.assert_array_equal(varying_features(scaler), [False, True])
    assert 1.0 < np.ptp(scaler.transform(np.column_stack([noise, large]))[:, 1]) <= 2.0


def test_bags_of_weight_zero_do_not_count():
    values = X.copy()
    values[:3, 0] = 5.0
    bags = Bags(values, np.arange(0, 31, 3))
    for scale in ("standard", "minmax", "rank", None):
        scaler = fit_scaler(scale, bags.blocks(weight=np.array([0.0, *np.ones(9)])))
        np.testing.assert_array_equal(varying_features(scaler), [False, True, False, True])


def test_without_varying_features_all_are_zero():
    for scale in ("standard", "minmax", "rank", None):
        scaler = fit_scaler(scale, blocks_of(np.full((30, 2), 7.0)))
        assert (scaler.transform(np.full((30, 2), 8.0)) == 0).all()
        assert varying_features(scaler) is None


def test_the_number_of_varying_features_does_not_count_constants():
    model = type("Model", (Scaled,), {})()
    bags = Bags(X, [0, 30])
    for scale, expected in ((None, 2), ("rank", 2), ("standard", 2)):
        model.scaler_ = fit_scaler(scale, bags.blocks())
        assert model._n_varying(bags) == expected
    model.scaler_ = None
    assert model._n_varying(bags) == 4
