"""LASSO paths of multiple-instance logistic regression: against skglm, against L-BFGS, and at scale."""

import json
import sys
import warnings
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit

from bagwise import Bags, MILogisticRegressionCV, milr_path
from benchmarks.harness import (
    COMPARING,
    Figure,
    Stopwatch,
    begin_peak,
    in_process,
    peak,
    pick,
    race,
    seconds,
)

TITLE = "MILR: LASSO paths"
NOTE = (
    "Times are for whole paths, including input validation. *Worst objective*: the largest relative excess "
    "of our objective over the peer's at any alpha; negative values mean that ours is better at every "
    "alpha. *skglm*: `SparseLogisticRegression(warm_start=True)` on a Fortran-ordered copy, with a "
    "tolerance of 1e-6, as ours. *L-BFGS-B*: scipy's solver, with split variables and warm starts from the "
    "largest alpha to the smallest. Both solvers stop at a projected gradient of 1e-5, either of the "
    "objective (a sum over bags) or *per bag*, which is much less strict. Independent features are the best "
    "case for a first-order method; *correlation* is the correlation of neighboring features. About half of "
    "the noisy-or bags are positive. *Cross-validation*: ten folds with `n_jobs=2` and the final search, "
    "against a single path. The rows with a number of instances use bags of 5 instances, 50 features and 10 "
    "decreasing alphas; each row runs in a separate process. *Memory*: peak memory of the path without the "
    "data. Goals: 5x faster than skglm; 5x (down) and 2.5x (both ways) faster than L-BFGS-B without a worse "
    "objective; cross-validation within 6 paths; time linear in the number of instances, without a second "
    "copy of X."
)
N_LARGE = pick(1000, 300)
NOISY_OR = {"2,000 bags of 5 x 200": (2000, 5, 200), f"{N_LARGE:,} bags of 50 x 100": (N_LARGE, 50, 100)}
# The correlation of neighboring features, and whether the tolerance is per bag.
SETTINGS = ((0.0, False), (0.9, False), (0.0, True), (0.9, True))
N_INSTANCES = pick((10_000, 100_000, 1_000_000), (10_000, 300_000))
N_SPARSE = pick(10_000, 2_500)


def run() -> list[dict]:
    """Return all rows of the table."""
    rows = [_against_skglm()]
    for name, shape in NOISY_OR.items():
        for correlation, per_bag in SETTINGS:
            rows += _against_lbfgs(name, *shape, correlation, per_bag)
    rows.append(_cross_validation())
    rows += [_in_process("dense", n) for n in N_INSTANCES]
    rows.append(_in_process("sparse", N_SPARSE))
    return rows


def _row(problem: str, ours: float, other: str = "", theirs: float | None = None, **more: str) -> dict:
    row = {"problem": problem, "bagwise (s)": seconds(ours, 3), "other": other}
    row |= {"other (s)": "" if theirs is None else f"{theirs:.3f}"}
    row |= {"times faster": "" if theirs is None else f"{theirs / ours:.1f}"}
    return row | {"worst objective": "", "memory (MB)": "", "nonzeros at the end": ""} | more


def _excess(ours: np.ndarray, theirs: np.ndarray) -> str:
    return f"{np.max((ours - theirs) / np.abs(theirs)):+.1e}"


# ---------------------------------------------------------------------- bags of one


def _against_skglm(n: int = 10_000, d: int = 200, n_alphas: int = 100) -> dict:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    beta = np.where(np.arange(d) < d / 5, 0.5 * rng.normal(size=d), 0.0)
    y = (rng.random(n) < expit(X @ beta + 0.5)).astype(np.int64)
    path = milr_path(X, y, alphas=n_alphas, scale=None)
    nonzeros = str(path.n_nonzero[-1])
    problem = f"bags of one, {n:,} x {d}, {n_alphas} alphas"

    def ours():
        return milr_path(X, y, alphas=n_alphas, scale=None)

    if COMPARING or find_spec("skglm") is None:
        time = race(3, ours=ours)["ours"]
        return _row(problem, time, "skglm: not run") | {"nonzeros at the end": nonzeros}
    columns = np.asfortranarray(X)
    times = race(3, ours=ours, peers={"skglm": lambda: _skglm_path(columns, y, path.alphas)})
    theirs = [_logistic_objective(X, y, *solution) for solution in _skglm_path(columns, y, path.alphas)]
    row = _row(problem, times["ours"], "skglm", times["skglm"])
    return row | {
        "worst objective": _excess(path.objectives, np.array(theirs)),
        "nonzeros at the end": nonzeros,
    }


def _skglm_path(X, y, alphas) -> list[tuple[np.ndarray, float, float]]:
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(tol=1e-6, max_iter=100, warm_start=True)
    solutions = []
    for alpha in alphas:
        model.alpha = alpha / len(y)  # skglm's loss is a mean over samples, ours a sum
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        solutions.append((model.coef_.ravel().copy(), float(np.ravel(model.intercept_)[0]), float(alpha)))
    return solutions


def _logistic_objective(X, y, coef, intercept, alpha) -> float:
    margin = (2.0 * y - 1.0) * (X @ coef + intercept)
    return float(-log_expit(margin).sum() + alpha * np.abs(coef).sum())


# ---------------------------------------------------------------------- noisy-or


def _draw(n_bags: int, size: int, d: int, correlation: float = 0.0) -> tuple[Bags, np.ndarray]:
    """Draw noisy-or bags, half of them positive on average, with ten relevant features.

    `correlation` is the correlation of neighboring features.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_bags * size, d))
    if correlation:
        innovation = np.sqrt(1 - correlation**2)
        for k in range(1, d):
            X[:, k] = correlation * X[:, k - 1] + innovation * X[:, k]
    coef = np.zeros(d)
    coef[:: d // 10] = np.resize([1.0, -1.0, 0.5, -0.5, 0.25], len(coef[:: d // 10]))
    signal = X @ coef

    def positive(intercept):
        return _noisy_or(signal + intercept, size).mean() - 0.5

    log_odds = signal + brentq(positive, -20.0, 10.0)
    z = rng.random(len(X)) < expit(log_odds)
    y = z.reshape(n_bags, size).any(axis=1).astype(np.int64)
    return Bags(X, np.arange(0, len(X) + 1, size)), y


def _noisy_or(log_odds: np.ndarray, size: int) -> np.ndarray:
    """Return the probability that a bag of `size` instances has a positive instance."""
    return -np.expm1(log_expit(-log_odds).reshape(-1, size).sum(axis=1))


def _against_lbfgs(
    name: str, n_bags: int, size: int, d: int, correlation: float, per_bag: bool
) -> list[dict]:
    bags, y = _draw(n_bags, size, d, correlation)
    tol = 1e-5 if per_bag else 1e-5 / n_bags
    options = {"scale": None, "tol": tol}
    paths: dict = {"down": milr_path(bags, y, both_ways=False, **options)}
    alphas = paths["down"].alphas
    times = race(
        5 if size < 10 else 1,  # rounds are long
        down=lambda: milr_path(bags, y, both_ways=False, **options),
        both=lambda: paths.update(both=milr_path(bags, y, **options)),
        peers={"lbfgs": lambda: paths.update(lbfgs=_lbfgs_path(bags, y, alphas, tol))},
    )
    theirs = paths.get("lbfgs", np.full(len(alphas), np.nan))
    rows = []
    for way, title in (("down", "down"), ("both", "both ways")):
        # With both_ways, the path can start at larger alphas.
        excess = _excess(paths[way].objectives[-len(theirs) :], theirs)
        more = {"worst objective": excess, "nonzeros at the end": str(paths[way].n_nonzero[-1])}
        how_close = "1e-5 per bag" if per_bag else "1e-5"
        problem = f"noisy-or, {name}, correlation {correlation:g}, to {how_close}, {title}"
        rows.append(_row(problem, times[way], "L-BFGS-B, down", times["lbfgs"]) | more)
    return rows


def _lbfgs_path(bags: Bags, y: np.ndarray, alphas: np.ndarray, tol: float) -> np.ndarray:
    """Return the objectives along the alphas, by bounded L-BFGS on split coefficients."""
    X, starts, sizes = bags.instances, bags.offsets[:-1], bags.sizes
    n_bags, d = len(y), bags.n_features

    def value_and_gradient(parameters, alpha):
        coef, intercept = parameters[:d] - parameters[d:-1], parameters[-1]
        eta = X @ coef + intercept
        none_log = np.add.reduceat(log_expit(-eta), starts)  # log probability that no instance is positive
        with np.errstate(divide="ignore"):
            log_proba = np.where(y == 1, np.log(-np.expm1(none_log)), none_log)
        by_bag = np.where(y == 1, -1.0 / np.expm1(-none_log), 1.0)
        by_instance = expit(eta) * np.repeat(by_bag, sizes) / n_bags
        slope = X.T @ by_instance
        value = -log_proba.mean() + alpha * parameters[:-1].sum()
        return value, np.concatenate([slope + alpha, -slope + alpha, [by_instance.sum()]])

    bounds = [(0.0, None)] * (2 * d) + [(None, None)]
    options = {"gtol": tol, "ftol": 0.0, "maxiter": 10_000, "maxfun": 20_000}
    parameters, objectives = np.zeros(2 * d + 1), []
    for alpha in alphas / n_bags:
        result = minimize(
            value_and_gradient, parameters, alpha, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        parameters = result.x
        objectives.append(n_bags * result.fun)
    return np.array(objectives)


def _cross_validation() -> dict:
    bags, y = _draw(2000, 5, 200)
    times = race(
        3,
        path=lambda: milr_path(bags, y, scale=None),
        cv=lambda: MILogisticRegressionCV(cv=10, scale=None, n_jobs=2, random_state=0).fit(bags, y),
    )
    problem = "10-fold cross-validation, 2,000 bags of 5 x 200"
    row = _row(problem, times["cv"], "one bagwise path, both ways")
    return row | {
        "other (s)": seconds(times["path"], 3),
        "times faster": f"{times['path'] / times['cv']:.2f}",
    }


# ---------------------------------------------------------------------- scale


def _in_process(kind: str, n_instances: int) -> dict:
    result = in_process("benchmarks.milr", kind, n_instances)
    row = _row(result["problem"], result["seconds"])
    memory = Figure(f"{result['memory']:.0f} (X: {result['data']:.0f})", "memory", result["memory"])
    return row | {"memory (MB)": memory, "nonzeros at the end": str(result["nonzeros"])}


def _measure(kind: str, n_instances: int) -> dict:
    small, small_y = _draw(100, 5, 20)
    if kind == "dense":
        bags, y = _draw(n_instances // 5, 5, 50)
        size, problem = bags.instances.nbytes, f"{n_instances:,} instances x 50, 10 alphas"
    else:
        bags, y = _draw_sparse(n_instances // 5, 20_000)
        small = small.with_instances(sp.csr_array(small.instances))
        size, problem = (
            bags.instances.data.nbytes,
            f"CSR, {n_instances:,} x 20,000, 0.5 % nonzero, 10 alphas to 0.1",
        )
    milr_path(small, small_y, both_ways=False)  # imports and compiles
    before = begin_peak()
    with Stopwatch() as watch:
        path = milr_path(bags, y, alphas=10, eps=0.01 if kind == "dense" else 0.1, both_ways=False)
    memory = peak() - before
    nonzeros = int(path.n_nonzero[-1])
    facts = {"problem": problem, "seconds": watch.seconds, "memory": memory}
    return facts | {"data": size / 1e6, "nonzeros": nonzeros}


def _draw_sparse(n_bags: int, d: int):
    """Draw bags of five sparse rows, similar to word counts, with a hundred relevant features."""
    rng = np.random.default_rng(0)
    X = sp.random_array((5 * n_bags, d), density=0.005, format="csr", rng=rng)
    coef = np.zeros(d)
    coef[:100] = rng.normal(scale=8.0, size=100)
    log_odds = X @ coef
    # With this intercept, the noisy-or of five equal instances is one half.
    z = rng.random(5 * n_bags) < expit(log_odds - 1.9)
    bags = Bags(X, np.arange(0, 5 * n_bags + 1, 5))
    return bags, z.reshape(n_bags, 5).any(axis=1).astype(np.int64)


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]))))
