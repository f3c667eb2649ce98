"""Distances between bags, compared with direct definitions, for all kinds of storage."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, directed_hausdorff
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from tests.peaks import measured, only_linux

from bagwise import (
    Bags,
    BayesianKNNClassifier,
    CitationKNNClassifier,
    DissimilarityEmbedding,
    bag_distances,
    make_bag_pipeline,
    make_noisy_or_bags,
    save_parquet,
    scan_bags,
    set_kernel,
)
from bagwise.similarity import distances


def random_bags(n=9, seed=0, n_features=4):
    rng = np.random.default_rng(seed)
    return Bags.from_list([rng.normal(size=(rng.integers(1, 7), n_features)) for _ in range(n)])


def kth(values, rank):
    return np.sort(values)[min(rank, len(values)) - 1]


def halfway(a, b):
    D = cdist(a, b)
    return (D.min(axis=1).mean() + D.min(axis=0).mean()) / 2


def discrepancy(a, b):
    k = {(x, y): np.exp(-0.3 * cdist(*pair, "sqeuclidean")).mean() for (x, y), pair in pairs(a, b)}
    return np.sqrt(max(0.0, k[0, 0] + k[1, 1] - 2 * k[0, 1]))


def pairs(a, b):
    return [((0, 0), (a, a)), ((1, 1), (b, b)), ((0, 1), (a, b))]


def one_way(a, b):
    return directed_hausdorff(np.array(a), np.array(b))[0]  # scipy 1.14 needs writeable arrays


DEFINITIONS = {
    "minimal": ({}, lambda a, b: cdist(a, b).min()),
    "maximal": ({}, lambda a, b: max(one_way(a, b), one_way(b, a))),
    "ranked": (
        {"rank": 2},
        lambda a, b: max(kth(cdist(a, b).min(axis=1), 2), kth(cdist(a, b).min(axis=0), 2)),
    ),
    "mean_min": ({}, halfway),
    "mmd": ({"gamma": 0.3}, discrepancy),
}


@pytest.fixture(params=[2**23, 700])
def block_bytes(request, large_from):
    """Set the size of blocks: the default, and a few rows."""
    large_from(block_bytes=request.param)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("metric", DEFINITIONS)
def test_distances_are_as_defined(metric, make, block_bytes):
    options, define = DEFINITIONS[metric]
    bags, new = random_bags(), random_bags(5, seed=1)
    bags, new = (b.with_instances(np.where(b.instances < -0.5, 0.0, b.instances)) for b in (bags, new))
    mine, others = (b.with_instances(make(b.instances)) for b in (bags, new))
    square, both = (
        bag_distances(mine, metric=metric, **options),
        bag_distances(others, mine, metric=metric, **options),
    )
    np.testing.assert_allclose(square, [[define(a, b) for b in bags] for a in bags], rtol=1e-12, atol=1e-7)
    np.testing.assert_allclose(both, [[define(a, b) for b in bags] for a in new], rtol=1e-12)
    np.testing.assert_array_equal(square, square.T)
    np.testing.assert_array_equal(square.diagonal(), 0.0)


@pytest.mark.parametrize("metric", ["minimal", "maximal", "ranked", "mean_min"])
def test_a_large_bag_is_compared_in_parts(metric, monkeypatch, large_from):
    options, define = DEFINITIONS[metric]
    bags = Bags.from_list([np.random.default_rng(2).normal(size=(50, 4)), *random_bags(6)])
    seen, whole = [], distances.nearest_instances

    def counted(X, offsets, Z, others):
        seen.append((X.shape[0], X.shape[0] * (len(others) - 1)))
        return whole(X, offsets, Z, others)

    monkeypatch.setattr(distances, "nearest_instances", counted)
    large_from(block_bytes=8 * 56)
    D = bag_distances(bags, metric=metric, **options)
    np.testing.assert_allclose(D, [[define(a, b) for b in bags] for a in bags], rtol=1e-12, atol=1e-15)
    assert max(n_values for _, n_values in seen) <= 56 and 14 in dict(seen), "the bag of 50 must be divided"


def test_ranked_distance_is_between_minimal_and_maximal_distance():
    bags = random_bags()
    first, last = (bag_distances(bags, metric="ranked", rank=rank) for rank in (1, 99))
    np.testing.assert_array_equal(first, bag_distances(bags))
    np.testing.assert_array_equal(last, bag_distances(bags, metric="maximal"))


def test_bags_of_one_instance_have_the_distances_of_instances():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for metric in ("minimal", "maximal", "mean_min", "ranked"):
        np.testing.assert_allclose(bag_distances(X, metric=metric), cdist(X, X), rtol=1e-14)


def test_a_callable_gets_two_matrices_and_need_not_be_symmetric():
    bags = random_bags(4)
    D = bag_distances(bags, metric=one_way)
    np.testing.assert_allclose(D, [[one_way(a, b) for b in bags] for a in bags])
    assert (D != D.T).any()


@pytest.mark.parametrize("metric", ["minimal", "maximal", "mean_min", "ranked"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_distances_do_not_depend_on_shift_or_other_bags(metric, make):
    near = random_bags().with_instances(np.round(random_bags().instances * 64) / 64)  # sums below are exact
    far = near.with_instances(make(near.instances + 2.0**33))
    D = bag_distances(far, metric=metric)
    np.testing.assert_allclose(D, bag_distances(near, metric=metric), rtol=1e-14)
    alone = np.vstack([bag_distances(far[i : i + 1], far, metric=metric) for i in range(len(far))])
    np.testing.assert_array_equal(alone, D)


@pytest.mark.parametrize("metric", DEFINITIONS)
def test_distances_of_bags_in_files_equal_those_in_memory(metric, tmp_path, large_from):
    bags = random_bags(30)
    bags = Bags(bags.instances.astype(np.float32), bags.offsets)
    order = np.random.default_rng(0).permutation(30)[:20]
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, np.arange(30) % 2))
    large_from(0, block_bytes=8 * 4 * 20)
    expected = bag_distances(bags, metric=metric)
    np.testing.assert_array_equal(bag_distances(scan, metric=metric), expected)
    shuffled = bag_distances(scan[order], scan, metric=metric)
    np.testing.assert_allclose(shuffled, expected[order], rtol=1e-9, atol=1e-7 if metric == "mmd" else 0.0)


def test_nearest_neighbours_of_scikit_learn_accept_distances():
    data = make_noisy_or_bags(60, coef=[3.0, -3.0], random_state=0)
    D = bag_distances(data.bags[:40])
    model = KNeighborsClassifier(3, metric="precomputed").fit(D, data.y[:40])
    new = bag_distances(data.bags[40:], data.bags[:40])
    nearest = data.y[np.argsort(new, axis=1)[:, :3]]
    np.testing.assert_array_equal(model.predict(new), nearest.mean(axis=1) > 0.5)


def test_what_cannot_be_is_refused(monkeypatch):
    bags = random_bags(3)
    for options, message in (
        (
            {"metric": "cosine"},
            "metric must be one of minimal, maximal, ranked, mean_min, mmd, or a callable",
        ),
        ({"metric": "ranked", "rank": 0}, "rank must be an integer >= 1; got 0"),
        (
            {"metric": lambda a, b: np.nan},
            "distances between bags must be finite; the metric returned infinity or NaN",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            bag_distances(bags, **options)
    with pytest.raises(ValueError, match="X has 4 features but Y has 3; both must have the same"):
        bag_distances(bags, random_bags(3, n_features=3))
    with pytest.raises(ValueError, match="scale the features down: their squares are infinity"):
        bag_distances(bags.with_instances(bags.instances * 1e200))
    with pytest.raises(ValueError, match="bag 1 is empty"):
        bag_distances([np.ones((1, 2)), np.ones((0, 2))])
    monkeypatch.setattr("bagwise.similarity.matrix_memory.available_memory", lambda: 10.0)
    with pytest.raises(MemoryError, match=r"distance matrix of 3 x 3 bags .*DissimilarityEmb"):
        bag_distances(bags)


def test_linear_mmd_is_the_distance_of_bag_means():
    bags = random_bags()
    means = np.array([bag.mean(axis=0) for bag in bags])
    D = bag_distances(bags, metric="mmd", kernel="linear")
    np.testing.assert_allclose(D, cdist(means, means), rtol=1e-6, atol=1e-7)
    K = set_kernel(bags)
    squares = K.diagonal()[:, None] + K.diagonal() - 2 * K
    np.testing.assert_allclose(bag_distances(bags, metric="mmd") ** 2, squares, atol=1e-14)


def test_an_embedding_is_distances_to_training_bags():
    bags, y = random_bags(30), np.arange(30) % 2
    scaled = StandardScaler().fit(bags.instances)
    ranked = bags.with_instances(scaled.transform(bags.instances))
    vectors = DissimilarityEmbedding().fit(bags[:20]).transform(bags)
    assert vectors.shape == (30, 20) and not vectors[:20].diagonal().any()
    embedded = DissimilarityEmbedding("ranked", metric_params={"rank": 2}).fit_transform(bags)
    np.testing.assert_allclose(embedded, bag_distances(ranked, metric="ranked", rank=2), rtol=1e-12)
    few = DissimilarityEmbedding(prototypes=7, random_state=0).fit(bags)
    assert list(few.get_feature_names_out()) == [f"bag{i}" for i in few.prototypes_]
    whole = DissimilarityEmbedding().fit_transform(bags)
    np.testing.assert_allclose(few.transform(bags), whole[:, few.prototypes_], rtol=1e-14)
    pipeline = make_bag_pipeline(DissimilarityEmbedding(), StandardScaler(), LogisticRegression())
    assert pipeline.fit(bags, y).predict(bags[:3]).shape == (3,)


@pytest.mark.parametrize("metric", [*distances.METRICS, lambda A, B: A.mean() - 2.0 * B.mean()])
@pytest.mark.parametrize("prototypes", [None, 4])
def test_embedding_of_training_bags_equals_that_of_new_bags(metric, prototypes):
    bags = random_bags()
    model = DissimilarityEmbedding(metric, prototypes, random_state=0)
    vectors = model.fit_transform(bags)
    np.testing.assert_allclose(
        vectors, model.transform(bags), rtol=1e-12, atol=1e-7
    )  # mmd: square roots of rounding errors


@pytest.mark.parametrize(
    "model", [DissimilarityEmbedding(), CitationKNNClassifier(), BayesianKNNClassifier()]
)
def test_unknown_metric_parameter_is_refused_by_fit(model):
    bags, y = random_bags(), np.arange(9) % 2
    with pytest.raises(ValueError, match="metric_params contains the unknown parameter 'ranks'; expected"):
        model.set_params(metric_params={"ranks": 2}).fit(bags, y)
    with pytest.raises(ValueError, match="rank must be an integer >= 1; got 'two'"):
        bag_distances(bags, metric="ranked", rank="two")


def test_distances_cost_little_more_than_those_of_all_instances():
    instances = np.random.default_rng(0).normal(size=(3000, 166))
    bags = Bags(instances, np.arange(0, 3001, 60))
    bag_distances(bags[:2])
    ours, theirs = [], []
    for _ in range(3):
        begin = time.process_time()
        bag_distances(bags)
        middle = time.process_time()
        pairwise_distances(instances)
        theirs.append(time.process_time() - middle)
        ours.append(middle - begin)
    assert min(ours) < 3 * min(theirs)


PEAK = """
def draw(n):
    X = np.random.default_rng(0).standard_normal((n, 80), dtype=np.float32)
    return Bags(X, np.arange(0, n + 1, 20))

few = draw(60)
bag_distances(few, few), bag_distances(few)
bags = draw(300_000)
print(json.dumps([peak_of(lambda: bag_distances(bags, few)), bags.instances.nbytes]))
"""


@pytest.mark.slow
@only_linux
def test_the_instances_of_large_bags_are_not_copied():
    above, size = measured(PEAK, None)
    assert size == 96_000_000, "a copy would take 96 MB, or twice as much in double precision"
    assert above <= 0.6 * size
