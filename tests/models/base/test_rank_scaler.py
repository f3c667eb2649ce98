"""Ranks among training values: exact for few values, close for many, independent of the storage."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import percentileofscore, rankdata
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.peaks import measured, only_linux

import bagwise.models.base.rank_scaler
from bagwise import (
    Bags,
    BagStatistics,
    ClusterEmbedding,
    MILogisticRegression,
    MissSVC,
    OnInstances,
    RankScaler,
    SetKernelSVC,
    make_bag_pipeline,
    make_noisy_or_bags,
    save_parquet,
    scan_bags,
    set_kernel,
)

DATA = make_noisy_or_bags(60, size=(2, 6), coef=[2.0, -2.0, 0.0], intercept=-1.0, random_state=0)


def mixed(n, seed=0):
    """Return columns of many kinds: continuous, ties, mostly zeros, constant, and with outliers."""
    rng = np.random.default_rng(seed)
    zeros = np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n))
    columns = [rng.normal(size=n), rng.integers(0, 5, n), zeros, np.full(n, 3.0), rng.standard_cauchy(n)]
    return np.column_stack(columns).astype(np.float64)


def by_counting(train, x, weight=None):
    """Return the share of smaller training values; ties count half."""
    weight = np.ones(len(train)) if weight is None else weight
    return np.array([weight @ ((train < v) + 0.5 * (train == v)) for v in x]) / weight.sum()


@parametrize_with_checks([RankScaler()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("block_bytes", [2**23, 700])
def test_ranks_are_shares_below_and_half_of_ties(block_bytes, large_from):
    large_from(block_bytes=block_bytes)
    X, new = mixed(200), np.vstack([mixed(50, 1), np.full((2, 5), [[1e9], [-1e9]])])
    scaler = RankScaler().fit(X)
    for j in range(5):
        np.testing.assert_allclose(scaler.transform(X)[:, j], (rankdata(X[:, j]) - 0.5) / 200, atol=1e-15)
        np.testing.assert_allclose(
            scaler.transform(new)[:, j], percentileofscore(X[:, j], new[:, j], "mean") / 100, atol=1e-15
        )


def test_weights_are_repetitions():
    X, weight = mixed(80), np.arange(80) % 4
    ours = RankScaler().fit(X, sample_weight=weight).transform(X)
    np.testing.assert_allclose(ours, RankScaler().fit(np.repeat(X, weight, axis=0)).transform(X), atol=1e-15)
    for j in range(5):
        np.testing.assert_allclose(ours[:, j], by_counting(X[:, j], X[:, j], weight), atol=1e-14)
    for wrong in (np.zeros(80), -weight, np.ones(3)):
        with pytest.raises(ValueError, match="sample_weight must contain 80 finite values >= 0"):
            RankScaler().fit(X, sample_weight=wrong)


def test_a_rising_function_of_a_feature_changes_nothing():
    X = np.abs(mixed(100)) + 0.1
    np.testing.assert_array_equal(RankScaler().fit_transform(X), RankScaler().fit_transform(np.log(X)))


@pytest.mark.parametrize("weighted", [False, True])
def test_zeros_of_sparse_matrices_stay_zeros(weighted):
    X = np.where(np.random.default_rng(0).random((60, 5)) < 0.6, 0.0, mixed(60))
    weight = 1.0 + np.arange(60) % 3 if weighted else None
    scaler = RankScaler().fit(sp.csr_array(X), sample_weight=weight)
    ranks = scaler.transform(sp.csr_array(X))
    assert ranks.format == "csr" and ranks.nnz == np.count_nonzero(X)
    for j in range(5):
        expected = by_counting(X[:, j], X[:, j], weight) - by_counting(X[:, j], [0.0], weight)
        np.testing.assert_allclose(ranks.toarray()[:, j], expected, atol=1e-14)
    np.testing.assert_allclose(scaler.transform(X), ranks.toarray(), atol=1e-15)
    with pytest.raises(ValueError, match="fitted to a dense matrix, where zeros have nonzero ranks"):
        RankScaler().fit(X).transform(sp.csr_array(X))


def test_many_values_are_ranked_closely_and_heavy_ones_exactly(monkeypatch, large_from):
    large_from(block_bytes=5 * 8 * 1000)
    monkeypatch.setattr(bagwise.models.base.rank_scaler, "_MOST", 200)
    X = mixed(20_000)
    scaler = RankScaler().fit(X)
    assert max(map(len, scaler.values_)) <= 3 * 200
    error = np.abs(scaler.transform(X) - (rankdata(X, axis=0) - 0.5) / 20_000).max(axis=0)
    assert (error[[0, 2, 4]] <= 6 / (2 * 200)).all(), "one error of the first step and five of additions"
    assert error[[0, 2, 4]].max() > 1e-4, "the error is so small that the limit tests nothing"
    np.testing.assert_allclose(error[[1, 3]], 0.0, atol=1e-12)
    zero = scaler.transform(np.zeros((1, 5)))[0, 2]
    assert zero == pytest.approx(by_counting(X[:, 2], [0.0])[0], abs=6 / (2 * 200))


def test_partial_fits_equal_a_single_fit():
    X = mixed(300)
    scaler = RankScaler()
    for rows in np.array_split(X, 4):
        scaler.partial_fit(rows)
    np.testing.assert_allclose(scaler.transform(X), RankScaler().fit(X).transform(X), atol=1e-14)
    assert scaler.n_samples_seen_ == 300


MODELS = [
    MILogisticRegression(scale="rank", n_init=1, random_state=0),
    MissSVC(scale="rank", random_state=0),
    SetKernelSVC(scale="rank"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scale_rank_is_the_transformer_before_the_model(model):
    bags, y = DATA.bags, DATA.y
    model = clone(model).fit(bags, y)
    assert isinstance(model.scaler_, RankScaler)
    before = make_bag_pipeline(OnInstances(RankScaler()), clone(model).set_params(scale=None)).fit(bags, y)
    score = before.decision_function(bags)
    np.testing.assert_allclose(model.decision_function(bags), score, rtol=1e-9, atol=1e-9)
    bent = bags.with_instances(np.exp(bags.instances))
    again = clone(model).fit(bent, y)
    np.testing.assert_allclose(again.decision_function(bent), score, rtol=1e-6, atol=1e-6)


def test_weights_of_bags_count_in_ranks():
    weight = np.arange(60) % 3
    model = SetKernelSVC(scale="rank").fit(DATA.bags, DATA.y, weight)
    repeated = RankScaler().fit(np.repeat(DATA.bags.instances, weight[DATA.bags.bag_index], axis=0))
    X = DATA.bags.instances
    np.testing.assert_allclose(model.scaler_.transform(X), repeated.transform(X), atol=1e-14)


@pytest.mark.parametrize(
    "embedding", [BagStatistics(scale="rank"), ClusterEmbedding(5, scale="rank", random_state=0)]
)
def test_embeddings_take_a_scale(embedding):
    ranked = DATA.bags.with_instances(RankScaler().fit_transform(DATA.bags.instances))
    plain = clone(embedding).set_params(scale=None).fit_transform(ranked)
    np.testing.assert_array_equal(embedding.fit_transform(DATA.bags), plain)
    assert make_bag_pipeline(embedding, SVC()).fit(DATA.bags, DATA.y).predict(DATA.bags).shape == (60,)


def test_ranks_of_bags_in_files_are_those_of_memory(tmp_path, large_from):
    bags = Bags(DATA.bags.instances.astype(np.float32), DATA.bags.offsets)
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, DATA.y))
    large_from(100, block_bytes=8 * 3 * 20)
    for model in (MODELS[0], BagStatistics(scale="rank"), OnInstances(RankScaler())):
        ours, theirs = (clone(model).fit(X, DATA.y) for X in (scan, bags))
        ours, theirs = (getattr(m, "scaler_", None) or m.transformer_ for m in (ours, theirs))
        for name in ("values_", "cumulative_"):
            for mine, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-14)


def test_large_instances_keep_fewer_values(large_from):
    X = np.random.default_rng(0).normal(size=(6000, 2))
    assert max(map(len, RankScaler().fit(X).values_)) == 6000
    large_from(10_000)
    scaler = RankScaler().fit(X)
    assert 2000 < max(map(len, scaler.values_)) <= 4096
    ranks = scaler.transform(X)
    assert np.abs(ranks - (rankdata(X, axis=0) - 0.5) / 6000).max() < 1e-3


PEAK = """
def draw(n):
    X = np.random.default_rng(0).standard_normal((n, 80), dtype=np.float32)
    return Bags(X, np.arange(0, n + 1, 20))

run = lambda bags: BagStatistics(scale="rank").fit(bags)
as_if_large(lambda: run(draw(1000)))
bags = draw(300_000)
print(json.dumps([peak_of(lambda: run(bags)), bags.instances.nbytes]))
"""


@pytest.mark.slow
@only_linux
def test_a_fit_to_large_instances_takes_a_part_of_their_memory():
    above, size = measured(PEAK, None)
    assert above <= 0.5 * size


def test_the_set_kernel_of_ranks_is_robust_to_outliers():
    X = DATA.bags.instances.copy()
    X[0, 0] = 1e12
    ranked = DATA.bags.with_instances(RankScaler().fit_transform(X))
    assert np.ptp(set_kernel(ranked)) > 0.05
