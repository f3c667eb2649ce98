"""EM iterations of MIMixture against scikit-learn's GaussianMixture on the same instances."""

import warnings

import numpy as np
from sklearn.mixture import GaussianMixture

from bagwise import Bags, MIMixture
from benchmarks.harness import COMPARING, milliseconds, pick, race

TITLE = "EM iterations of MIMixture against GaussianMixture"
NOTE = (
    "100,000 instances with 20 features in bags of 10, two components. Times are milliseconds per "
    "iteration, computed from the difference between fits with 1 and with 11 iterations. Each time is the "
    "smallest processor time of fifteen fits (of five with 2,000,000 instances). The peer is an iteration "
    "of a plain mixture on all instances. Goals: a ratio of at most 0.5 if nearly all instances are in "
    "positive bags (0.5 % are in negative bags, because fits need negative bags), and of at most 0.25 if "
    "half of them are in negative bags. The next rows compare the time per instance between 2,000,000 and "
    "100,000 instances (goal: a ratio of 1), and 8 starts with two threads and with one. The "
    "last rows compare default fits with missing values to fits without them, on 578 instances in 120 bags."
)

FEW = 0.005


def make_bags(n_instances: int, share_negative: float) -> tuple[Bags, np.ndarray]:
    """Draw instances from two Gaussian classes; the positive class occurs only in positive bags."""
    rng = np.random.default_rng(0)
    n_bags = n_instances // 10
    y = (np.arange(n_bags) >= share_negative * n_bags).astype(int)
    X = rng.normal(size=(n_bags, 10, 20))
    X[y == 1, :3] += 0.7
    return Bags.from_list(X), y


def make_incomplete_bags(n_features: int, share: float) -> tuple[Bags, Bags, np.ndarray]:
    """Draw bags of noise, and the same bags with a share of missing values."""
    rng = np.random.default_rng(0)
    offsets = np.r_[0, np.cumsum(rng.multinomial(578 - 240, np.ones(120) / 120) + 2)]
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(578, n_features))
    incomplete = np.where(rng.uniform(size=X.shape) < share, np.nan, X)
    return Bags(X, offsets), Bags(incomplete, offsets), y


def fit(model, X, *y):
    """Fit without warnings about too few iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, *y)


def seconds_of_iterations(
    mine: tuple, peer: tuple, rounds: int = 15, n_iter: int = 10
) -> tuple[float, float]:
    """Return the seconds per iteration of two models, from fits with 1 and with 1 + `n_iter` iterations.

    `mine` and `peer` each contain a function that creates the model for a number of iterations, followed by
    its data. The smallest processor time for each length is used: a fit does much more than its iterations,
    so noise would distort the difference. If versions are compared, whole fits are compared, because
    differences vary by more than 5 % between runs.
    """
    lengths, iterations = pick((1, 1 + n_iter), (1 + n_iter,)), {}

    def runs(contestant, name):
        make, *data = contestant

        def run(length):
            iterations[name, length] = fit(make(length), *data).n_iter_

        return {f"{name} {length}": lambda length=length: run(length) for length in lengths}

    times = race(rounds, processor=True, peers=runs(peer, "peer"), **runs(mine, "mine"))
    if COMPARING:
        return times[f"mine {lengths[0]}"] / iterations["mine", lengths[0]], np.nan
    first, last = (
        {name: (times[f"{name} {length}"], iterations[name, length]) for name in ("mine", "peer")}
        for length in lengths
    )
    return tuple((last[name][0] - first[name][0]) / (last[name][1] - first[name][1]) for name in first)


def ours(covariance: str):
    """Return a function that creates a MIMixture for a number of iterations."""
    family = {"diag": "gaussian_diag", "full": "gaussian"}[covariance]
    return lambda n: MIMixture(family, n_init=1, max_iter=n, tol=0.0, random_state=0)


def theirs(covariance: str):
    """Return a function that creates a plain GaussianMixture for a number of iterations."""
    return lambda n: GaussianMixture(
        2, covariance_type=covariance, init_params="random_from_data", tol=0.0, max_iter=n, random_state=0
    )


def run() -> list[dict]:
    """Time iterations, their growth with the number of instances, and threads."""
    table = []

    def row(problem, mine, peer, of):
        ratio = f"{mine / peer:.2f}"
        table.append(
            {"problem": problem, "bagwise (ms)": milliseconds(mine), of: f"{1e3 * peer:.1f}", "ratio": ratio}
        )

    for share, where in ((FEW, "instances in positive bags"), (0.5, "half the instances in negative bags")):
        bags, y = make_bags(100_000, share)
        for covariance in ("diag", "full"):
            mine, peer = seconds_of_iterations(
                (ours(covariance), bags, y), (theirs(covariance), bags.instances)
            )
            row(f"{covariance}, {where}", mine, peer, "peer (ms)")
    times = pick(20, 5)
    for covariance in ("diag", "full"):
        large, y = make_bags(100_000 * times, FEW)
        small, y_small = make_bags(100_000, FEW)
        mine, peer = seconds_of_iterations(
            (ours(covariance), large, y), (ours(covariance), small, y_small), rounds=5, n_iter=20
        )
        row(f"{covariance}, {100_000 * times:,} instances, per 100,000", mine / times, peer, "peer (ms)")
    bags, y = make_bags(100_000, FEW)

    def starts(n_jobs):
        model = MIMixture("gaussian_diag", n_init=8, max_iter=20, tol=0.0, random_state=0, n_jobs=n_jobs)
        return fit(model, bags, y)

    seconds = race(5, two=lambda: starts(2), peers={"one": lambda: starts(1)})
    row("8 starts of 20 iterations, two threads against one", seconds["two"], seconds["one"], "peer (ms)")
    for n_features, share in ((25, 0.012), (50, 0.012), (100, 0.012), (25, 0.1), (25, 0.5)):
        complete, incomplete, y = make_incomplete_bags(n_features, share)
        seconds = race(
            3,
            processor=True,
            mine=lambda bags=incomplete, y=y: fit(MIMixture(random_state=0), bags, y),
            peers={"peer": lambda bags=complete, y=y: fit(MIMixture(random_state=0), bags, y)},
        )
        name = f"{n_features} features, {100 * share:g} % of the values missing, default fit"
        row(name, seconds["mine"], seconds["peer"], "peer (ms)")
    return table
