import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC
from tests.peaks import measured, only_linux
from tests.studies import always

from bagwise import Bags, BagStatistics, minimax_kernel, set_kernel, statistic_kernel
from bagwise.similarity import InstanceKernel, require_memory, resolve_gamma


@pytest.fixture
def bags():
    rng = np.random.default_rng(0)
    return Bags(rng.normal(size=(30, 4)), [0, 1, 4, 9, 10, 22, 30])


@pytest.fixture(params=[2**25, 700])
def block_bytes(request, large_from):
    """Set the size of blocks: the default, and a few rows."""
    large_from(block_bytes=request.param)


PARAMETERS = {
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 0.5},
    "rbf": {"gamma": 0.3},
}


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_instance_kernels_equal_those_of_scikit_learn(bags, name, as_sparse, block_bytes):
    X = sp.csr_matrix(bags.instances) if as_sparse else bags.instances
    expected = pairwise_kernels(bags.instances, metric=name, **PARAMETERS[name])
    kernel = InstanceKernel(name, **PARAMETERS[name])
    np.testing.assert_allclose(kernel(X[:7], X), expected[:7], atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), expected.diagonal(), atol=1e-12)
    filled = np.zeros((32, 32))
    kernel.fill(X, filled)
    np.testing.assert_allclose(filled[:30, :30], expected, atol=1e-12)
    assert (filled == filled.T).all() and not filled[30:].any()


def test_rbf_kernel_is_at_most_one_despite_negative_rounded_distances():
    X = 1e3 + np.random.default_rng(0).normal(size=(50, 7))
    assert InstanceKernel("rbf", 5.0)(X, X.copy()).max() <= 1.0


def test_callable_kernel_is_called_with_pairs_and_validated(bags):
    kernel = InstanceKernel(lambda X, Y: X @ Y.T)
    np.testing.assert_allclose(kernel.diagonal(bags.instances), (bags.instances**2).sum(axis=1))
    with pytest.raises(ValueError, match="must return finite"):
        InstanceKernel(lambda X, Y: np.full((len(X), len(Y)), np.nan))(bags.instances, bags.instances)


def sums(bags, other, name):
    return np.array(
        [[pairwise_kernels(a, b, metric=name, **PARAMETERS[name]).sum() for b in other] for a in bags]
    )


@pytest.mark.parametrize("name", PARAMETERS)
def test_set_kernels_are_sums_over_all_pairs(bags, name, block_bytes):
    new = Bags(np.random.default_rng(1).normal(size=(9, 4)), [0, 4, 5, 9])
    plain = {"kernel": name, **PARAMETERS[name]}
    for rows, columns, other in ((bags, bags, None), (new, bags, bags)):
        raw = sums(rows, columns, name)
        K = set_kernel(rows, other, normalize=None, **plain)
        np.testing.assert_allclose(K, raw, rtol=1e-10, atol=1e-10)
        sizes = rows.sizes[:, None] * columns.sizes
        np.testing.assert_allclose(set_kernel(rows, other, **plain), raw / sizes, rtol=1e-10, atol=1e-10)
        lengths = [np.sqrt(sums(b, b, name).diagonal()) for b in (rows, columns)]
        np.testing.assert_allclose(
            set_kernel(rows, other, normalize="feature", **plain),
            raw / np.outer(*lengths),
            rtol=1e-10,
            atol=1e-10,
        )
    square = set_kernel(bags, **plain)
    assert (square == square.T).all()
    assert np.linalg.eigvalsh(square).min() > -1e-10


def test_sparse_and_dense_bags_have_equal_kernels(bags):
    sparse = bags.with_instances(sp.csr_matrix(bags.instances))
    for function in (set_kernel, minimax_kernel, statistic_kernel):
        np.testing.assert_allclose(function(sparse), function(bags), atol=1e-12)
    # Sums over bags and means of bags are products with a membership matrix, and must be dense.
    for function, options in ((set_kernel, {}), (statistic_kernel, {"statistic": "mean"})):
        K = function(sparse, kernel="linear", **options)
        np.testing.assert_allclose(K, function(bags, kernel="linear", **options), atol=1e-12)


def test_the_minimax_kernel_is_the_polynomial_of_minima_and_maxima(bags, block_bytes):
    s = np.array([np.concatenate([bag.min(axis=0), bag.max(axis=0)]) for bag in bags])
    np.testing.assert_allclose(minimax_kernel(bags, degree=2), (s @ s.T + 1) ** 2)
    np.testing.assert_allclose(minimax_kernel(bags[:2], bags, gamma=0.125), s[:2] @ s.T / 8 + 1)
    rbf = statistic_kernel(bags, kernel="rbf", gamma=0.2)
    np.testing.assert_allclose(rbf, pairwise_kernels(s, metric="rbf", gamma=0.2), atol=1e-12)
    means = np.array([bag.mean(axis=0) for bag in bags])
    np.testing.assert_allclose(statistic_kernel(bags, statistic="mean", kernel="linear"), means @ means.T)
    fitted = BagStatistics(["mean"]).fit(bags)
    np.testing.assert_allclose(statistic_kernel(bags, statistic=fitted, kernel="linear"), means @ means.T)


def test_small_integers_do_not_overflow():
    wide = [[[300.0], [200.0]], [[250.0]]]
    narrow = [np.array(bag, dtype=np.int16) for bag in wide]
    np.testing.assert_array_equal(minimax_kernel(narrow, degree=2), minimax_kernel(wide, degree=2))
    np.testing.assert_array_equal(set_kernel(narrow, kernel="linear"), set_kernel(wide, kernel="linear"))


def test_gamma_scale_equals_that_of_scikit_learn_with_repeated_rows(bags):
    X = bags.instances
    assert resolve_gamma("scale", X) == pytest.approx(SVC().fit(X, np.arange(30) % 2)._gamma)
    assert resolve_gamma("auto", X) == 0.25
    weight = np.arange(30) % 3
    repeated = np.repeat(X, weight, axis=0)
    assert resolve_gamma("scale", X, weight) == pytest.approx(resolve_gamma("scale", repeated))
    assert resolve_gamma("scale", np.ones((4, 2))) == 1.0


def test_a_bag_larger_than_a_block_is_compared_in_parts(bags, large_from):
    expected = {name: sums(bags, bags, name) for name in PARAMETERS}
    large_from(block_bytes=8 * 4 * 3)  # three instances, twelve pairs
    seen = []

    def kernel(X, Z):
        seen.append(X.shape[0] * Z.shape[0])
        return InstanceKernel("poly", **PARAMETERS["poly"])(X, Z)

    K = set_kernel(bags, kernel=kernel, normalize=None)
    np.testing.assert_allclose(K, expected["poly"], rtol=1e-10)
    assert max(seen) <= 12, "a block must have at most twelve pairs, even of the largest bag"


def test_bags_with_other_features_are_refused(bags):
    with pytest.raises(ValueError, match="bags has 4 features but other has 3; both must have the same"):
        set_kernel(bags, bags.with_instances(bags.instances[:, :3]))


PEAK = """
def draw(n):
    X = np.random.default_rng(0).standard_normal((n, 80), dtype=np.float32)
    return Bags(X, np.arange(0, n + 1, 20))

few = draw(200)
run = {
    "set": lambda bags: set_kernel(bags, few),
    "columns": lambda bags: set_kernel(few, bags),
    "linear": lambda bags: set_kernel(bags, few, kernel="linear"),
    "minimax": lambda bags: minimax_kernel(bags, few),
}[task]
run(few)
bags = draw(300_000)
print(json.dumps([peak_of(lambda: run(bags)), bags.instances.nbytes]))
"""


@pytest.mark.slow
@only_linux
@pytest.mark.parametrize("kind", always(["set"], ["set", "columns", "linear", "minimax"]))
def test_the_instances_of_large_bags_are_not_copied(kind):
    above, size = measured(PEAK, kind)
    assert size == 96_000_000, "a copy would take as much, or twice as much in double precision"
    assert above <= 0.6 * size


def test_too_large_matrix_is_refused_before_allocation(bags, monkeypatch):
    with pytest.raises(
        MemoryError, match=r"120,000 x 120,000 instances needs 115.2 GB.*Nystroem.*cache_size.*SetK"
    ):
        require_memory(120_000, 120_000, "instances", limit=64e9)
    monkeypatch.setattr("bagwise.similarity.matrix_memory.available_memory", lambda: 200.0)
    with pytest.raises(MemoryError, match="6 x 6 bags"):
        set_kernel(bags)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: set_kernel(b, normalize="size"), "normalize must be 'average', 'feature' or None"),
        (lambda b: set_kernel(b, kernel="cosine"), "kernel must be 'linear', 'poly', 'rbf' or a callable"),
        (lambda b: statistic_kernel(b, statistic="median"), "statistic must be 'minimax', 'mean' or"),
        (lambda b: set_kernel([np.ones((0, 2)), np.ones((1, 2))]), "bag 0 is empty"),
        (
            lambda b: set_kernel(b, kernel="poly", degree=2.5),
            "degree=2.5 is not an integer, but gamma x'y",
        ),
        (lambda b: InstanceKernel("poly", degree=0.5, coef0=-99.0).diagonal(b.instances), "degree=0.5 is"),
        (lambda b: minimax_kernel(b.with_instances(1e200 * b.instances)), "kernel values overflow"),
        (
            lambda b: set_kernel(b.with_instances(1e200 * b.instances), kernel="linear"),
            "the variance of the instances, which overflows",
        ),
        (lambda b: InstanceKernel("linear").diagonal(1e200 * b.instances), "kernel values overflow"),
    ],
)
def test_what_cannot_be_is_refused(bags, call, message):
    with pytest.raises(ValueError, match=message):
        call(bags)


def test_bag_of_zero_norm_has_kernel_zero(bags):
    X = np.array(bags.instances)
    X[1:4] = 0.0
    K = set_kernel(bags.with_instances(X), kernel="linear", normalize="feature")
    assert not K[1].any() and not K[:, 1].any()
    np.testing.assert_allclose(np.delete(K.diagonal(), 1), 1.0)
    other = set_kernel(bags.with_instances(X), bags.with_instances(X), kernel="linear", normalize="feature")
    np.testing.assert_allclose(other, K, atol=1e-15)


def test_object_arrays_of_python_floats_are_accepted(bags):
    objects = bags.with_instances(bags.instances.astype(object))
    for options in ({"kernel": "linear"}, {"kernel": "rbf"}):
        np.testing.assert_array_equal(set_kernel(objects, **options), set_kernel(bags, **options))
    expected = statistic_kernel(bags, statistic="mean")
    np.testing.assert_array_equal(statistic_kernel(objects, statistic="mean"), expected)
