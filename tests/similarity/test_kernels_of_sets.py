"""Instance weights, graphs, kernels of kernels, and means of kernels, compared with loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.svm import SVC

from bagwise import (
    Bags,
    SetKernelSVC,
    load,
    make_mixture_bags,
    mean_kernel,
    save,
    save_parquet,
    scan_bags,
    set_kernel,
    statistic_kernel,
)
from bagwise.similarity import resolve_gamma

RBF = {"kernel": "rbf", "gamma": 0.4}


@pytest.fixture
def bags():
    return Bags(np.random.default_rng(0).normal(size=(30, 4)), [0, 1, 4, 9, 10, 22, 30])


@pytest.fixture
def new():
    return Bags(np.random.default_rng(1).normal(size=(9, 4)), [0, 4, 5, 9])


@pytest.fixture(params=[2**25, 700])
def block_bytes(request, large_from):
    """Set the size of blocks: the default, and a few rows."""
    large_from(block_bytes=request.param)


def weighted_sums(rows, w, columns, v, **kernel):
    options = {name: value for name, value in kernel.items() if name != "kernel"}
    K = pairwise_kernels(rows.instances, columns.instances, metric=kernel["kernel"], **options)
    left, right = (np.eye(len(b))[b.bag_index] for b in (rows, columns))
    return left.T @ (w[:, None] * K * v) @ right


@pytest.mark.parametrize(
    "kernel", [RBF, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.2, "coef0": 1.0}]
)
def test_weights_multiply_the_kernel_of_instances(kernel, bags, new, block_bytes):
    rng = np.random.default_rng(2)
    w, v = rng.uniform(0, 2, size=30), rng.uniform(0, 2, size=9)
    raw = weighted_sums(bags, w, bags, w, **kernel)
    np.testing.assert_allclose(set_kernel(bags, normalize=None, weights=w, **kernel), raw, rtol=1e-9)
    total = np.bincount(bags.bag_index, w)
    np.testing.assert_allclose(set_kernel(bags, weights=w, **kernel), raw / np.outer(total, total), rtol=1e-9)
    K = set_kernel(bags, normalize="feature", weights=w, **kernel)
    np.testing.assert_allclose(K.diagonal(), 1.0)
    np.testing.assert_allclose(K, raw / np.sqrt(np.outer(raw.diagonal(), raw.diagonal())), rtol=1e-9)
    of_both = set_kernel(new, bags, normalize=None, weights=v, other_weights=w, **kernel)
    np.testing.assert_allclose(of_both, weighted_sums(new, v, bags, w, **kernel), rtol=1e-9)
    of_one = set_kernel(new, bags, normalize=None, other_weights=w, **kernel)
    np.testing.assert_allclose(of_one, weighted_sums(new, np.ones(9), bags, w, **kernel), rtol=1e-9)


def test_integer_weight_equals_repeated_instances(bags):
    count = np.random.default_rng(0).integers(1, 4, size=30)
    rows = np.repeat(np.arange(30), count)
    repeated = Bags.from_groups(bags.instances[rows], bags.bag_index[rows])
    for normalize in ("average", "feature", None):
        K = set_kernel(bags, weights=count, normalize=normalize, **RBF)
        np.testing.assert_allclose(K, set_kernel(repeated, normalize=normalize, **RBF), rtol=1e-10)


def graph_weights_by_hand(bag, gamma):
    K = rbf_kernel(bag, gamma=gamma)
    D, n = 2 - 2 * K, len(bag)
    if n == 1:
        return np.ones(1)
    mean = D[~np.eye(n, dtype=bool)].mean()
    return np.array([1 / (1 + sum(D[i, j] < mean - 1e-9 for j in range(n) if j != i)) for i in range(n)])


def test_graph_weights_count_close_instances(bags, new, block_bytes):
    w, v = (np.concatenate([graph_weights_by_hand(bag, 0.4) for bag in b]) for b in (bags, new))
    assert len(np.unique(w)) > 3
    np.testing.assert_allclose(
        set_kernel(bags, weights="graph", **RBF), set_kernel(bags, weights=w, **RBF), rtol=1e-10
    )
    np.testing.assert_allclose(
        set_kernel(new, bags, weights="graph", **RBF),
        set_kernel(new, bags, weights=v, other_weights=w, **RBF),
        rtol=1e-10,
    )


def test_a_clique_counts_once():
    near = np.array([[0.0], [1e-3], [2e-3], [3e-3], [10.0]])
    clique, pair, single = Bags(near, [0, 5]), Bags(near[[0, 4]], [0, 2]), Bags(near[:1], [0, 1])
    np.testing.assert_allclose(set_kernel(pair, single, **RBF), 0.5)
    np.testing.assert_allclose(set_kernel(clique, single, **RBF), 0.8, rtol=1e-5)
    np.testing.assert_allclose(set_kernel(clique, single, weights="graph", **RBF), 0.5, rtol=1e-5)


def test_sparse_bags_and_bags_in_files_equal_dense_bags(bags, tmp_path, large_from):
    sparse = bags.with_instances(sp.csr_array(bags.instances))
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, np.arange(6) % 2))
    large_from(0)
    w = np.linspace(0.5, 1.5, 30)
    for extra in (
        {"weights": "graph"},
        {"weights": w},
        {"level2": "rbf"},
        {"kernel": "linear", "weights": w},
    ):
        options = {**RBF, **extra}
        for other in (sparse, scan):
            np.testing.assert_allclose(set_kernel(other, **options), set_kernel(bags, **options), rtol=1e-9)


@pytest.mark.parametrize("normalize", ["average", "feature", None])
def test_the_second_level_is_a_gaussian_of_distances(normalize, bags, new):
    both = Bags(np.vstack([bags.instances, new.instances]), np.append(bags.offsets, 30 + new.offsets[1:]))
    K = set_kernel(both, normalize=normalize, **RBF)
    D = K.diagonal()[:, None] + K.diagonal() - 2 * K
    expected = np.exp(-D / 0.9**2)
    kernel = set_kernel(bags, normalize=normalize, level2="rbf", width=0.9, **RBF)
    np.testing.assert_allclose(kernel, expected[:6, :6], rtol=1e-9)
    kernel = set_kernel(new, bags, normalize=normalize, level2="rbf", width=0.9, **RBF)
    np.testing.assert_allclose(kernel, expected[6:, :6], rtol=1e-9)
    # By default, the width is the median of the training bags, used as rows or as columns.
    distances = np.sort(D[:6, :6][np.triu_indices(6, 1)])
    width = np.sqrt(distances[(len(distances) - 1) // 2])
    for rows, columns, part in ((bags, None, slice(6)), (new, bags, slice(6, 9))):
        kernel = set_kernel(rows, columns, normalize=normalize, level2="rbf", **RBF)
        np.testing.assert_allclose(kernel, np.exp(-D[part, :6] / width**2), rtol=1e-9)
    assert np.linalg.eigvalsh(set_kernel(bags, level2="rbf", **RBF)).min() > -1e-12


def test_distances_of_the_second_level_are_mean_discrepancies(bags):
    """With the linear kernel, these are the distances between the means of bags."""
    means = np.array([bag.mean(axis=0) for bag in bags])
    K = set_kernel(bags, kernel="linear", level2="rbf", width=2.0)
    np.testing.assert_allclose(K, rbf_kernel(means, gamma=0.25), rtol=1e-9)


def test_gamma_median_is_one_by_the_median_squared_distance(bags):
    X = bags.instances
    D = np.sort(np.sum((X[:, None] - X) ** 2, axis=2)[np.triu_indices(30, 1)])
    assert resolve_gamma("median", X) == pytest.approx(1 / D[(len(D) - 1) // 2])
    weight = 1.0 + np.arange(30) % 3
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert resolve_gamma("median", X, weight) == pytest.approx(resolve_gamma("median", repeated))
    assert resolve_gamma("median", np.ones((4, 2))) == 1.0
    with pytest.raises(ValueError, match="gamma must be 'scale', 'auto', 'median' or a number; got 'wide'"):
        set_kernel(bags, gamma="wide")


def test_a_mean_kernel_is_the_mean_at_median_widths(bags, new):
    kernel = mean_kernel(["set", "graph", "minimax", "mean"]).fitted(bags)
    of_instances = resolve_gamma("median", bags.instances)
    s = [np.array([[*b.min(axis=0), *b.max(axis=0)] for b in bags]), np.array([b.mean(axis=0) for b in bags])]
    for rows, columns in ((bags, None), (new, bags)):
        parts = [
            set_kernel(rows, columns, gamma=of_instances, normalize="feature"),
            set_kernel(rows, columns, gamma=of_instances, normalize="feature", weights="graph"),
        ]
        for name, vectors in zip(("minimax", "mean"), s, strict=True):
            gamma = resolve_gamma("median", vectors)
            parts.append(statistic_kernel(rows, columns, statistic=name, kernel="rbf", gamma=gamma))
        np.testing.assert_allclose(kernel(rows, columns), np.mean(parts, axis=0), rtol=1e-10)
    np.testing.assert_allclose(kernel(bags).diagonal(), 1.0)
    # Without a fit, the kernel uses the widths of its columns.
    np.testing.assert_allclose(mean_kernel(["set"])(new, bags), mean_kernel(["set"]).fitted(bags)(new, bags))


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([], "at least one"),
        ("set", "must be a list"),
        (["set", "sets"], "kernels contains 'sets'; expected 'set', 'graph'"),
    ],
)
def test_other_kernels_are_refused(kernels, message):
    with pytest.raises(ValueError, match=message):
        mean_kernel(kernels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": np.ones(7)}, r"weights has shape \(7,\), but there are 30 instances"),
        ({"weights": -np.ones(30)}, "weights must contain only finite values >= 0"),
        ({"weights": "tree"}, "weights must be an array, 'graph' or None; got 'tree'"),
        ({"level2": "poly"}, "level2 must be 'rbf' or None; got 'poly'"),
    ],
)
def test_bad_options_are_refused(options, message, bags):
    with pytest.raises(ValueError, match=message):
        set_kernel(bags, **options)


@pytest.fixture
def data():
    return make_mixture_bags(60, separation=3.0, random_state=0)


@pytest.mark.parametrize(
    "options",
    [
        {"weights": "graph"},
        {"level2": "rbf"},
        {"weights": "graph", "level2": "rbf", "normalize": "feature"},
        {"bag_kernel": mean_kernel(["set", "minimax"])},
    ],
    ids=str,
)
def test_svms_predict_with_the_widths_of_their_training_bags(options, data, tmp_path):
    train, test = data.bags[:40], data.bags[40:]
    model = SetKernelSVC(gamma="median", scale=None, **options).fit(train, data.y[:40])
    if "bag_kernel" in options:
        kernel = options["bag_kernel"].fitted(train)
        K, new = kernel(train), kernel(test, train)
    else:
        params = {"gamma": resolve_gamma("median", train.instances), **options}
        K, new = set_kernel(train, **params), set_kernel(test, train, **params)
    machine = SVC(C=10.0, kernel="precomputed", tol=1e-8).fit(K, data.y[:40])
    np.testing.assert_allclose(model.decision_function(test), machine.decision_function(new), atol=1e-3)
    assert not hasattr(model, "decision_function_instances")
    again = load(save(model, tmp_path / "a.bagwise"))
    np.testing.assert_array_equal(again.decision_function(test), model.decision_function(test))
    assert model.score(test, data.y[40:]) > 0.7


def test_bag_weights_affect_the_width_of_the_second_level(data):
    weight = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weight)
    model = SetKernelSVC(level2="rbf")
    weighted = model.fit(data.bags, data.y, weight).decision_function(data.bags)
    repeated = model.fit(data.bags[copies], data.y[copies]).decision_function(data.bags)
    np.testing.assert_allclose(weighted, repeated, atol=1e-3)
