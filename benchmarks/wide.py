"""Ridge and LASSO fits at every shape, from few to many features, against L-BFGS-B on the same objective."""

import warnings
from datetime import UTC, datetime

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit

from benchmarks.harness import COMPARING, pick, race, seconds

TITLE = "Features from encoders: every shape against plain L-BFGS"
NOTE = (
    "Standard normal features, eight true coefficients of 1.5, about half of the bags positive, no scaling, "
    "one start unless stated, gradient to 1e-6 per bag (LASSO: 1e-5). *Plain*: scipy's L-BFGS-B on the "
    "gradient of our rule, started at the model without features; for the LASSO on split coefficients, and "
    "warm-started on paths. *lbfgs*: scikit-learn's `LogisticRegression`. Smallest processor time of three "
    "alternating runs with one thread. All products use the precision of X. *Excess*: objective relative to "
    "the peer's. Goals: 1.1 times plain + 10 ms, 1.2 times `LogisticRegression` + 10 ms, half of L-BFGS-B on "
    "split coefficients, and five starts at most 5 times one start."
)
# Instances, features, bag size, penalty, rule, precision.
SMALL = [(2000, 20), (100_000, 20), (20_000, 200)]
SHAPES = pick([*SMALL, (20_000, 1024), (20_000, 2560), (60_000, 200), (60_000, 1024)], SMALL)
RIDGE = [
    *((n, d, size, alpha, "or", "float32") for n, d in SHAPES for size in (1, 50) for alpha in (1.0, 100.0)),
    *(
        (20_000, d, 50, 1.0, "mean", precision)
        for d in (200, pick(1024, 200))
        for precision in ("float32", "float64")
    ),
]
LARGEST = [(400_000, 1024, size, 100.0, "or", "float32") for size in (1, 50)]
LASSO = pick([(20_000, 1024), (20_000, 2560)], [(5000, 200)])


def draw(n: int, d: int, size: int, precision: str = "float32"):
    """Draw instances, and labels of which about half are positive."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32).astype(precision, copy=False)
    signal = 1.5 * X[:, :8].sum(axis=1, dtype=np.float64)

    def positive(intercept):
        none = log_expit(-signal - intercept).reshape(-1, size).sum(axis=1)
        return -np.expm1(none).mean() - 0.5

    z = rng.random(n) < expit(signal + brentq(positive, -50.0, 10.0))
    return X, np.arange(0, n + 1, size), z.reshape(-1, size).any(axis=1).astype(np.int64)


class Likelihood:
    """Negative log-likelihood per bag of a linear model with a rule, as a user would write it."""

    def __init__(self, X, offsets, y, rule: str):
        from bagwise.rules import make_rule

        self.X, self.offsets, self.rule = X, offsets, make_rule(rule)
        self.y = y.astype(np.int8)

    def start(self) -> np.ndarray:
        """Return the parameters of the model without features."""
        share, size = self.y.mean(), int(self.offsets[1])
        p = share if type(self.rule).__name__ == "Mean" else -np.expm1(np.log1p(-share) / size)
        return np.append(np.zeros(self.X.shape[1]), np.log(p) - np.log1p(-p))

    def __call__(self, theta):
        """Return value and gradient."""
        X = self.X
        eta = (X @ theta[:-1].astype(X.dtype)).astype(np.float64) + theta[-1]
        by_bag, slope = self.rule.gradient(eta, self.offsets, self.y)
        gradient = np.append(X.T @ slope.astype(X.dtype), slope.sum())
        return -by_bag.sum() / len(self.y), -gradient / len(self.y)


def _lbfgs(function, start, tol: float, bounds=None):
    options = {"gtol": tol, "ftol": 0.0, "maxiter": 20_000, "maxfun": 40_000}
    return minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def plain_ridge(likelihood: Likelihood, alpha: float, tol: float = 1e-6):
    """Fit by scipy's L-BFGS-B."""
    strength = alpha / len(likelihood.y)

    def function(theta):
        value, gradient = likelihood(theta)
        gradient[:-1] += strength * theta[:-1]
        return value + 0.5 * strength * theta[:-1] @ theta[:-1], gradient

    return _lbfgs(function, likelihood.start(), tol)


def plain_lasso(likelihood: Likelihood, alphas, tol: float = 1e-5):
    """Fit a path by L-BFGS-B on split coefficients; return all parameters."""
    d, start, path = likelihood.X.shape[1], likelihood.start(), []
    split = np.concatenate([np.zeros(2 * d), start[-1:]])
    bounds = [(0.0, None)] * (2 * d) + [(None, None)]
    for alpha in np.asarray(alphas) / len(likelihood.y):

        def function(split, alpha=alpha):
            value, g = likelihood(np.append(split[:d] - split[d:-1], split[-1]))
            gradient = np.concatenate([g[:-1] + alpha, alpha - g[:-1], g[-1:]])
            return value + alpha * split[:-1].sum(), gradient

        split = _lbfgs(function, split, tol, bounds).x
        path.append(np.append(split[:d] - split[d:-1], split[-1]))
    return path


def objective(X, offsets, y, rule: str, theta, l1: float = 0.0, l2: float = 0.0) -> float:
    """Return the objective, summed over bags, in double precision."""
    from bagwise.rules import make_rule

    eta = np.concatenate([X[i : i + 5000].astype(float) @ theta[:-1] for i in range(0, len(X), 5000)])
    by_bag, _ = make_rule(rule).gradient(eta + theta[-1], offsets, y.astype(np.int8))
    return float(-by_bag.sum() + l1 * np.abs(theta[:-1]).sum() + 0.5 * l2 * theta[:-1] @ theta[:-1])


def _theta(model) -> np.ndarray:
    return np.append(model.coef_[0], model.intercept_)


def ridge(n: int, d: int, size: int, alpha: float, rule: str, precision: str, repeats: int = 3) -> dict:
    """Return the row of one ridge fit."""
    from sklearn.linear_model import LogisticRegression

    from bagwise import Bags, MILogisticRegression

    X, offsets, y = draw(n, d, size, precision)
    bags, likelihood = Bags(X, offsets), Likelihood(X, offsets, y, rule)
    options = {"alpha": alpha, "l1_ratio": 0.0, "n_init": 1, "scale": None, "random_state": 0}
    ends: dict = {}

    def ours():
        ends["ours"] = MILogisticRegression(rule, **options).fit(bags, y)

    def plain():
        ends["plain"] = plain_ridge(likelihood, alpha)

    def lbfgs():
        ends["lbfgs"] = LogisticRegression(C=1 / alpha, tol=1e-6, max_iter=10_000).fit(X, y)

    peers = {"plain": plain} | ({"lbfgs": lbfgs} if size == 1 else {})
    times = race(repeats, peers=peers, processor=True, ours=ours)
    value = objective(X, offsets, y, rule, _theta(ends["ours"]), l2=alpha)
    penalty = f"{rule}, {precision}, alpha {alpha:g}"
    row = {"fit": f"{n:,} x {d}, bags of {size}, {penalty}", "bagwise (s)": seconds(times["ours"], 3)}
    row["passes"] = str(ends["ours"].n_passes_)
    if COMPARING:
        return row
    row |= {"plain (s)": f"{times['plain']:.3f}", "plain's passes": ends["plain"].nfev}
    row["bagwise / plain"] = f"{times['ours'] / times['plain']:.2f}"
    other = objective(X, offsets, y, rule, ends["plain"].x, l2=alpha)
    row["excess"] = f"{(value - other) / other:+.1e}"
    if size == 1:
        row["bagwise / lbfgs"] = f"{times['ours'] / times['lbfgs']:.2f}"
    met = times["ours"] <= 1.1 * times["plain"] + 0.01
    met &= size > 1 or times["ours"] <= 1.2 * times["lbfgs"] + 0.01
    met &= (value - other) / other <= (1e-7 if size == 1 or rule == "mean" else 1e-3)
    return row | {"goal": "met" if met else "missed"}


def lasso(n: int, d: int, repeats: int = 3) -> list[dict]:
    """Return the rows of the LASSO: one start, a path, and five starts."""
    from bagwise import Bags, MILogisticRegression, milr_path

    size = 50
    X, offsets, y = draw(n, d, size)
    bags, likelihood = Bags(X, offsets), Likelihood(X, offsets, y, "or")
    largest = len(y) * np.abs(likelihood(likelihood.start())[1][:-1]).max()
    alpha = largest / 10
    grid = np.geomspace(largest, alpha, 20)
    options = {"alpha": alpha, "scale": None, "tol": 1e-5, "random_state": 0}
    ends: dict = {}

    def one_start():
        ends["one"] = _theta(MILogisticRegression(n_init=1, **options).fit(bags, y))

    def five_starts():
        ends["five"] = _theta(MILogisticRegression(**options).fit(bags, y))

    def path():
        fitted = milr_path(bags, y, alphas=grid, scale=None, tol=1e-5, both_ways=False)
        ends["path"] = np.append(fitted.coefs[-1], fitted.intercepts[-1])

    peers = {
        "plain": lambda: ends.update(plain=plain_lasso(likelihood, [alpha])[-1]),
        "plain path": lambda: ends.update({"plain path": plain_lasso(likelihood, grid)[-1]}),
    }
    times = race(repeats, peers=peers, processor=True, one=one_start, path=path)
    times |= race(1, processor=True, five=five_starts)
    rows = []
    for name, title, peer, limit in (
        ("one", "one start", "plain", 0.5),
        ("path", "path of 20", "plain path", 0.5),
        ("five", "five starts", "one", 5.0),
    ):
        row = {"fit": f"{n:,} x {d}, bags of {size}, LASSO, {title}", "bagwise (s)": seconds(times[name], 3)}
        if not COMPARING:
            value, other = (objective(X, offsets, y, "or", ends[end], l1=alpha) for end in (name, peer))
            ratio = times[name] / times[peer]
            row["plain (s)"] = f"{times[peer]:.3f}" if peer != "one" else ""
            row["bagwise / plain" if peer != "one" else "five / one"] = f"{ratio:.2f}"
            row["excess"] = f"{(value - other) / other:+.1e}"
            row["goal"] = "met" if ratio <= limit and (value - other) / other <= 1e-3 else "missed"
        rows.append(row)
    return rows


def run() -> list[dict]:
    """Run all cells; the largest cells run only once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [ridge(*cell) for cell in RIDGE]
        for cell in LASSO:
            rows += lasso(*cell)
        if not COMPARING:
            for cell in LARGEST:
                row = ridge(*cell, repeats=1)
                rows.append(row | {"fit": f"{row['fit']}, once on {datetime.now(UTC):%Y-%m-%d}"})
    return rows
