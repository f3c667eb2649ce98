"""Passes over features from encoders, against the matrix products that they consist of."""

import warnings

import numpy as np

from bagwise import Bags, BagStatistics, FisherEmbedding
from bagwise.families import Gaussian, GaussianDiag
from benchmarks.harness import milliseconds, private, race

TITLE = "Passes at 1,024 features"
NOTE = (
    "float32 features, bags of 50; processor time, the best of seven rounds. *Peer*: matrix products of "
    "numpy. For the first six rows, these are `X @ w` and `X.T @ g` in float32, for 8,000 x 1,024 values; "
    "bagwise computes sums in float64. Goal: a ratio of at most 2.5. The other rows are for 16,000 x 256 "
    "values, against products in float64, in which bagwise computes: for *Fisher vectors* with two "
    "components, a quadratic form and weighted sums per bag; for *full covariance*, `X @ A` with 512 "
    "columns, and weighted `X.T @ X`. Goal: 1.5."
)
SIZE = 50


def run() -> list[dict]:
    """Time passes of linear models, mixtures and embeddings."""
    return [*_wide(), *_fisher(), *_full()]


def _row(name: str, ours, peer) -> dict:
    times = race(7, ours=ours, peers={"peer": peer}, processor=True)
    return {
        "pass": name,
        "bagwise (ms)": milliseconds(times["ours"]),
        "peer (ms)": f"{1e3 * times['peer']:.1f}",
        "ratio": f"{times['ours'] / times['peer']:.2f}",
    }


def _draw(n: int, d: int):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    return X, Bags(X, np.arange(0, n + 1, SIZE)), rng.random(n), rng.standard_normal(d)


def _wide() -> list[dict]:
    X, bags, g, w = _draw(8_000, 1_024)
    single_w, single_g = w.astype(np.float32), g.astype(np.float32)
    log_odds_of, sums_over_instances = private("log_odds_of"), private("sums_over_instances")
    y = (np.arange(len(bags)) % 2).astype(np.int8)
    rule = private("CountLogistic")().start(bags.offsets, y)
    negative, positive = _components(GaussianDiag, bags)

    def products():
        return X @ single_w, X.T @ single_g

    def soft_or():
        log_odds = log_odds_of(X, w / 32, np.float64(-6.0))
        return rule.gradient(log_odds, bags.offsets, y), sums_over_instances(g, X)

    def diagonal():
        family = GaussianDiag()
        return family.log_odds(X, positive, negative), family.statistics(X, g, positive, _Origin(X))

    rows = [_row("SoftOR, score and gradient", soft_or, products)]
    rows.append(_row("diagonal mixture, log-odds and sums", diagonal, products))
    for statistics in (("min", "max"), ("mean",), ("std",), ("min", "max", "mean", "std")):
        model = BagStatistics(statistics).fit(bags)
        name = f"BagStatistics, {', '.join(statistics)}"
        rows.append(_row(name, lambda model=model: model.transform(bags), products))
    return rows


def _fisher() -> list[dict]:
    X, bags, g, _ = _draw(16_000, 256)
    model = FisherEmbedding(2, random_state=0).fit(bags[:40])
    Z, A = X.astype(np.float64), model.mixture_.means_.T
    shares = np.stack([g, 1 - g]).reshape(2, len(bags), 1, SIZE)

    def products():
        squares = Z * Z
        by_bag = [values.reshape(len(bags), SIZE, -1) for values in (Z, squares)]
        return squares @ A, Z @ A, [share @ values for values in by_bag for share in shares]

    return [_row("Fisher vectors", lambda: model.transform(bags), products)]


def _full() -> list[dict]:
    X, bags, g, _ = _draw(16_000, 256)
    negative, positive = _components(Gaussian, bags[:50])
    Z, A = X.astype(np.float64), np.random.default_rng(1).standard_normal((256, 512))
    family, origin = Gaussian(), _Origin(X)
    return [
        _row("full covariance, log-odds", lambda: family.log_odds(X, positive, negative), lambda: Z @ A),
        _row(
            "full covariance, sums",
            lambda: family.statistics(X, g, positive, origin),
            lambda: (Z * g[:, None]).T @ Z,
        ),
    ]


def _components(family, bags):
    """Return the parameters of a negative and a positive component, from a fit with one iteration."""
    model = private("MIMixture")(family(), n_init=1, max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(bags, np.arange(len(bags)) % 2)
    return model.negative_components_[0], model.positive_components_[0]


class _Origin:
    """A prior that contains only the origin of the moments."""

    def __init__(self, X):
        self.mean = np.zeros(X.shape[1])
