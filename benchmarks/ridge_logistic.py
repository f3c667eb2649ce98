"""MILogisticRegression on bags of one instance against logistic regression with the same objective."""

import numpy as np

from benchmarks.contest import MEMORY_NOTE, contest

TITLE = "MILogisticRegression on bags of one against LogisticRegression"
NOTE = (
    "The models have a ridge penalty and an unpenalized intercept. All solvers use the same objective and "
    "tolerance (1e-6 on the gradient per sample). *Excess*: relative difference from the smallest objective "
    "of all solvers. " + MEMORY_NOTE
)
KIND = "ridge_logistic"
WARM_UP = {"n": 100, "d": 5}
PROBLEMS = {
    "100,000 x 20": {"n": 100_000, "d": 20},
    "10,000 x 200": {"n": 10_000, "d": 200},
    "1,000 x 500": {"n": 1_000, "d": 500},
}


def make_data(n: int, d: int) -> dict:
    """Draw labels from a logistic model in which a fifth of the coefficients are nonzero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    beta = np.where(np.arange(d) < d / 5, rng.normal(size=d), 0.0)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-(X @ beta) - 0.5))).astype(np.int64)
    return {"X": X, "y": y, "alpha": 1.0, "tol": 1e-6}


def objective(data: dict, solution) -> float:
    """Return the logistic loss, summed over samples, plus the penalty."""
    beta, intercept = solution
    margin = (2.0 * data["y"] - 1.0) * (data["X"] @ beta + intercept)
    return float(np.logaddexp(0.0, -margin).sum() + 0.5 * data["alpha"] * beta @ beta)


def run() -> list[dict]:
    """Solve all problems with all libraries."""
    return contest("benchmarks.ridge_logistic")
