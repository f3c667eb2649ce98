"""Fits on many bags: they start on a sample and finish on all bags, for any division into blocks."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import (
    Bags,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMLLogisticRegression,
    SoftORLogisticRegression,
    make_noisy_or_bags,
    milr_path,
)
from bagwise.data.blocks import MemoryBlocks, sample_bags


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(3000, size=4, coef=[2.0, -2.0, 1.0, 0.0, 0.0, 0.0], random_state=0)


@pytest.fixture(params=[700, 2**20], ids=["many blocks", "one block"])
def large(request, monkeypatch, large_from):
    """Treat small data as large, with a sample of a sixth of the bags and the given instances per block."""
    large_from(1000, block_bytes=6 * 8 * request.param)
    monkeypatch.setattr("bagwise.models.linear_model.engine.large_fit._SAMPLE_VALUES", 12_000)


RIDGE = {"l1_ratio": 0.0, "alpha": 3.0, "n_init": 2, "random_state": 0}


def in_memory(model, bags, y, large_from):
    large_from(2**40)
    model.fit(bags, y)
    large_from(1000)
    return model


@pytest.mark.parametrize("rule", ["or", "mean", "softmax"])
def test_ridge_ends_where_the_fit_in_memory_ends(rule, data, large, large_from):
    model = MILogisticRegression(rule, tol=1e-10, **RIDGE)
    expected = in_memory(MILogisticRegression(rule, tol=1e-10, **RIDGE), data.bags, data.y, large_from)
    model.fit(data.bags, data.y)
    assert model.converged_
    if rule == "or":
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-8 * np.abs(model.coef_).max())
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    assert model.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-9)
    assert len(model.objectives_) == 2
    assert model.n_passes_ <= 40


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", ["standard", "minmax", None])
def test_scaling_and_intercept(scale, fit_intercept, data, large, large_from):
    options = {"scale": scale, "fit_intercept": fit_intercept, "tol": 1e-9, **RIDGE}
    bags = Bags(data.bags.instances * [1.0, 2.0, 3.0, 1.0, 0.1, 1.0] + 0.5, data.bags.offsets)
    expected = in_memory(MILogisticRegression(**options), bags, data.y, large_from)
    model = MILogisticRegression(**options).fit(bags, data.y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_lasso_reaches_the_objective_in_memory(l1_ratio, data, large, large_from):
    options = {"alpha": 20.0, "l1_ratio": l1_ratio, "n_init": 2, "random_state": 0}
    expected = in_memory(MILogisticRegression(**options), data.bags, data.y, large_from)
    model = MILogisticRegression(**options).fit(data.bags, data.y)
    assert model.converged_
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_array_equal(model.coef_ != 0, expected.coef_ != 0)
    assert model.n_passes_ <= 40


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"l1_ratio": 1.0, "alpha": 5.0}, marks=pytest.mark.study),
        {"rule": "threshold"},
    ],
    ids=str,
)
def test_learned_rules_reach_the_objective_in_memory(options, data, large, large_from):
    options = {"n_init": 1, "random_state": 0, "tol": 1e-8, **options}
    expected = in_memory(SoftORLogisticRegression(**options), data.bags, data.y, large_from)
    model = SoftORLogisticRegression(**options).fit(data.bags, data.y)
    assert model.objective_ <= expected.objective_ * (1 + 1e-9)
    # Another start could lead to a better optimum, but on these data not to a much better one.
    assert model.objective_ >= expected.objective_ * (1 - 1e-4)
    np.testing.assert_allclose(model.labeler_.expected_bags.sum(), len(data.y), rtol=1e-9)
    np.testing.assert_allclose(model.labeler_.values, expected.labeler_.values, atol=0.02)


def test_a_path_reaches_the_objectives_in_memory(data, large, large_from):
    large_from(2**40)
    expected = milr_path(data.bags, data.y, alphas=8)
    large_from(1000)
    path = milr_path(data.bags, data.y, alphas=8)
    assert path.alpha_max == pytest.approx(expected.alpha_max, rel=1e-9)
    np.testing.assert_allclose(path.alphas, expected.alphas, rtol=1e-9)
    np.testing.assert_allclose(path.objectives, expected.objectives, rtol=1e-9)
    np.testing.assert_array_equal(path.n_nonzero, expected.n_nonzero)
    assert path.n_nonzero[0] == 0
    assert (path.kkt <= 1e-6).all()


def test_cross_validation_shares_passes(data, large, large_from):
    options = {"alphas": 5, "cv": 3, "n_init": 1, "random_state": 0}
    expected = in_memory(MILogisticRegressionCV(**options), data.bags, data.y, large_from)
    model = MILogisticRegressionCV(**options).fit(data.bags, data.y)
    np.testing.assert_allclose(model.deviances_, expected.deviances_, rtol=1e-4)
    assert model.alpha_ == pytest.approx(expected.alpha_, rel=1e-9)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    assert model.n_passes_ <= 80


def test_many_labels(data, large, large_from):
    y = np.column_stack([data.y, 1 - data.y])
    options = {"alpha": 3.0, "n_init": 1, "random_state": 0, "tol": 1e-7}
    expected = in_memory(MIMLLogisticRegression(**options), data.bags, y, large_from)
    model = MIMLLogisticRegression(**options).fit(data.bags, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_single_precision_gives_the_numbers_of_the_same_instances_in_double(l1_ratio, data, large):
    options = {"alpha": 5.0, "l1_ratio": l1_ratio, "n_init": 1, "random_state": 0, "tol": 1e-9}
    single = Bags(data.bags.instances.astype(np.float32), data.bags.offsets)
    double = Bags(single.instances.astype(np.float64), data.bags.offsets)
    in_single, in_double = (MILogisticRegression(**options).fit(bags, data.y) for bags in (single, double))
    np.testing.assert_allclose(in_single.coef_, in_double.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(in_single.predict_proba(single), in_double.predict_proba(double), rtol=1e-7)


def test_sparse_bags(data, large, large_from):
    X = data.bags.instances * (np.abs(data.bags.instances) > 0.5)
    bags = Bags(sp.csr_array(X), data.bags.offsets)
    options = {"tol": 1e-9, **RIDGE}
    expected = in_memory(MILogisticRegression(**options), bags, data.y, large_from)
    model = MILogisticRegression(**options).fit(bags, data.y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-8)


def test_a_rule_with_kinks_and_a_warm_start(data, large):
    model = MILogisticRegression("max", l1_ratio=0.0, alpha=3.0, n_init=1, random_state=0, warm_start=True)
    model.fit(data.bags, data.y)
    before = model.objective_
    assert model.fit(data.bags, data.y).objective_ <= before * (1 + 1e-9)


def test_rare_positive_bags_are_in_the_sample(large):
    data = make_noisy_or_bags(4000, size=3, coef=[3.0, -1.0, 0.0], intercept=-11.0, random_state=1)
    assert 0 < data.y.sum() < 120
    model = MILogisticRegression(l1_ratio=0.0, alpha=1.0, n_init=1, random_state=0).fit(data.bags, data.y)
    assert model.converged_
    assert model.coef_[0, 0] > 1


def test_a_sample_stands_for_all_bags():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, 5000)
    offsets = np.append(0, np.cumsum(sizes))
    X, y = rng.normal(size=(offsets[-1], 2)), (rng.random(5000) < 0.02).astype(np.int8)
    weight = rng.uniform(0.5, 2.0, 5000) * (rng.random(5000) < 0.9)
    cuts = [MemoryBlocks(X, offsets, y, weight, most=most) for most in (None, 7, 500)]
    samples = [sample_bags(blocks, 3000, np.random.RandomState(0)) for blocks in cuts]
    sample, indices = samples[0]
    assert (weight[indices] > 0).all()
    assert sample.y.sum() == (weight[y == 1] > 0).sum()  # all bags of the rare class
    assert sample.weight.sum() == pytest.approx(weight.sum(), rel=1e-12)
    for label in (0, 1):
        drawn, all_of = sample.weight[sample.y == label], weight[y == label]
        assert drawn.sum() == pytest.approx(all_of.sum(), rel=0.1)
    for index, bag in zip(indices[:20], range(20), strict=True):
        mine = sample.X[sample.offsets[bag] : sample.offsets[bag + 1]]
        np.testing.assert_array_equal(mine, X[offsets[index] : offsets[index + 1]])
    for other, other_indices in samples[1:]:
        np.testing.assert_array_equal(other_indices, indices)
        np.testing.assert_array_equal(other.X, sample.X)
