"""`BagEnsembleClassifier` against a plain implementation with scikit-learn, NumPy and loops."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagwise import BagEnsembleClassifier, make_noisy_or_bags
from bagwise.similarity import set_kernel

N_TRAIN = 30
SPLITS = [
    (np.flatnonzero(np.arange(N_TRAIN) % 3 != k), np.flatnonzero(np.arange(N_TRAIN) % 3 == k))
    for k in range(3)
]


def problem():
    data = make_noisy_or_bags(40, size=(2, 5), coef=[2.0, -2.0, 1.0], intercept=-1.5, random_state=2)
    return list(data.bags), np.asarray(data.y).astype(int)


def scaled(train, rows, scale):
    """Scale or rank columns by the training rows."""
    if scale == "standard":
        return (rows - train.mean(axis=0)) / train.std(axis=0)
    if scale == "minmax":
        return (rows - train.min(axis=0)) / (train.max(axis=0) - train.min(axis=0))
    below = np.array([(train < row).sum(axis=0) for row in rows])
    equal = np.array([(train == row).sum(axis=0) for row in rows])
    return (below + 0.5 * equal) / len(train)


def median_gamma(rows):
    distances = np.sort(cdist(rows, rows, "sqeuclidean").ravel())
    distances = distances[distances > 1e-12]
    return 1.0 / distances[(len(distances) + 1) // 2 - 1]


def matrices(compute):
    """Yield the kernel matrix with all training bags, followed by those of the folds."""
    everyone = np.arange(N_TRAIN)
    return zip(compute(everyone), *(compute(train) for train, _ in SPLITS), strict=True)


def gaussian_kernels(Z, train):
    for factor in (0.25, 1.0, 4.0):
        yield rbf_kernel(Z, Z[train], gamma=factor * median_gamma(Z[train]))


def statistics_kernels(bags, functions):
    V = np.array([np.concatenate([f(bag, axis=0) for f in functions]) for bag in bags])

    def compute(train):
        for scale in ("standard", "rank"):
            yield from gaussian_kernels(scaled(V[train], V, scale), train)

    return matrices(compute)


def scaled_bags(bags):
    """Yield all bags with instances scaled by the training bags, once for each scaling."""
    train = np.concatenate(bags[:N_TRAIN])
    for scale in ("standard", "rank", "minmax"):
        yield [scaled(train, bag, scale) for bag in bags]


def distance_kernels(bags):
    for parts in scaled_bags(bags):
        D = np.empty((len(bags), N_TRAIN))
        for i, bag in enumerate(parts):
            for j, other in enumerate(parts[:N_TRAIN]):
                pairs = cdist(bag, other)
                D[i, j] = 0.5 * (pairs.min(axis=0).mean() + pairs.min(axis=1).mean())

        def compute(train, D=D):
            return gaussian_kernels(scaled(D[np.ix_(train, train)], D[:, train], "standard"), train)

        yield from matrices(compute)


def ranked_kernels(bags):
    """Rank each instance separately among the instances of the training bags."""

    def compute(train):
        among = np.concatenate([bags[i] for i in train])
        ranked = [scaled(among, bag, "rank") for bag in bags]
        V = np.array([np.concatenate([bag.min(axis=0), bag.max(axis=0)]) for bag in ranked])
        return gaussian_kernels(scaled(V[train], V, "standard"), train)

    return matrices(compute)


def prototype_kernels(bags):
    owner = np.repeat(np.arange(N_TRAIN), [len(bag) for bag in bags[:N_TRAIN]])
    for parts in scaled_bags(bags):
        points = np.concatenate(parts[:N_TRAIN])
        least = np.array([cdist(part, points, "sqeuclidean").min(axis=0) for part in parts])
        inside = np.sort(least[:N_TRAIN].ravel())
        inside = inside[inside > 1e-12]
        width = inside[(len(inside) + 1) // 2 - 1]

        def compute(train, least=least, width=width):
            for factor in (0.25, 1.0, 4.0):
                V = np.exp(-factor * least[:, np.isin(owner, train)] / width)
                yield V @ V[train].T

        yield from matrices(compute)


def set_kernels(bags):
    for K in _set_kernels(bags):
        yield from matrices(lambda train, K=K: [K[:, train]])


def _set_kernels(bags):
    for parts in scaled_bags(bags):
        gamma = 0.5 * median_gamma(np.concatenate(parts[:N_TRAIN]))
        sizes = np.array([len(part) for part in parts])
        starts = np.cumsum([0, *sizes[:-1]])
        means = []
        for g in (gamma, 4 * gamma, 16 * gamma):
            pairs = rbf_kernel(np.concatenate(parts), gamma=g)
            sums = np.add.reduceat(np.add.reduceat(pairs, starts, axis=0), starts, axis=1)
            means.append(sums / np.outer(sizes, sizes))
        yield from means
        for K in means:
            D = K.diagonal()[:, None] + K.diagonal() - 2 * K
            inside = np.sort(D[:N_TRAIN, :N_TRAIN].ravel())
            inside = inside[inside > 1e-12 * inside.max()]
            yield np.exp(-D / inside[(len(inside) + 1) // 2 - 1])
        yield set_kernel(parts, gamma=4 * gamma, normalize="feature", weights="graph")


def softened(y, added):
    """Return smoothed labels, as in Platt's method."""
    n_positive, n_negative = y.sum(), (1 - y).sum()
    return np.where(y == 1, (n_positive + added) / (n_positive + 2 * added), added / (n_negative + 2 * added))


def line(scores, y):
    """Return slope and shift of Platt's calibration line."""
    target = softened(y, 1)
    # A negligible penalty: with C=inf scikit-learn 1.8 warns.
    model = LogisticRegression(C=1e10, tol=1e-10, max_iter=10_000)
    model.fit(
        np.tile(scores, 2)[:, None],
        np.repeat([1, 0], len(y)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope, shift = model.coef_[0, 0], model.intercept_[0]
    return (slope, shift) if slope > 0 else (0.0, np.log(target.mean() / (1 - target.mean())))


def likelihood(log_odds, y):
    return -np.logaddexp(0, -(2 * y - 1) * log_odds).mean()


def machine(K, y, C):
    variance = K.diagonal().mean() - K.mean()
    return SVC(C=C / variance, kernel="precomputed", tol=1e-9).fit(K, y)


def blended(kernels, y):
    """Return held-out log-odds of the training bags, and log-odds of the test bags."""
    raw, new = [], []
    for whole, *folds in kernels:
        for C in (10.0, 100.0):
            scores = np.empty(N_TRAIN)
            for (train, test), K in zip(SPLITS, folds, strict=True):
                scores[test] = machine(K[train], y[train], C).decision_function(K[test])
            raw.append(scores)
            new.append(machine(whole[:N_TRAIN], y, C).decision_function(whole[N_TRAIN:]))
    raw, new = np.array(raw), np.array(new)
    held = np.empty(N_TRAIN)
    for train, test in SPLITS:
        held[test] = weighed(raw[:, train], y[train], raw[:, test])
    return held, weighed(raw, y, new)


def weighed(train_scores, y, scores):
    """Calibrate and weight settings by their training scores, and return the log-odds for other scores."""
    lines = [line(row, y) for row in train_scores]
    weight = softmax(
        [
            likelihood(slope * row + shift, y) / 0.02
            for (slope, shift), row in zip(lines, train_scores, strict=True)
        ]
    )
    return weight @ [slope * row + shift for (slope, shift), row in zip(lines, scores, strict=True)]


def factor(held, y, base):
    target = softened(y, 0.5)

    def loss(log_factor):
        z = base + np.exp(log_factor) * (held - base)
        return np.mean(np.logaddexp(0, z) - target * z)

    return np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10}).x)


KERNELS = {
    "extremes": lambda bags: statistics_kernels(bags, (np.min, np.max)),
    "moments": lambda bags: statistics_kernels(bags, (np.mean, np.std)),
    "sets": set_kernels,
    "distances": distance_kernels,
    "prototypes": prototype_kernels,
    "ranks": ranked_kernels,
}


@cache
def oracle_log_odds(name):
    bags, y = problem()
    return blended(KERNELS[name](bags), y[:N_TRAIN])


@pytest.mark.parametrize(
    "families", [("moments",), ("ranks",), ("extremes", "sets"), tuple(KERNELS)], ids=" and ".join
)
def test_vote_matches_a_plain_implementation(families):
    bags, y = problem()
    y_train = y[:N_TRAIN]
    model = BagEnsembleClassifier(families, cv=SPLITS, random_state=0).fit(bags[:N_TRAIN], y_train)
    held, new = (np.mean(parts, axis=0) for parts in zip(*map(oracle_log_odds, families), strict=True))
    base = np.log(y_train.sum() / (1 - y_train).sum())
    exponent = factor(held, y_train, base)
    expected = base + exponent * (new - base)
    np.testing.assert_allclose(model.decision_function(bags[N_TRAIN:]), expected, rtol=1e-3, atol=1e-3)
    assert model.votes_[0].exponent == pytest.approx(exponent, rel=1e-3)
