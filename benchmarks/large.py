"""Two million instances in memory (single precision), against logistic regression with known labels."""

import json
import math
import sys

import numpy as np

from benchmarks.harness import COMPARING, Stopwatch, begin_peak, in_process, megabytes, peak, pick, seconds

TITLE = "Two million instances in memory, against LogisticRegression with known labels"
NOTE = (
    "2,000,000 x 50 float32 instances. scikit-learn's `LogisticRegression` is fitted to instance labels; "
    "bagwise's models are fitted to the labels of bags with five instances or one. All fits use a ridge "
    "penalty of 1, no scaling, one start, and a tolerance of 1e-6 on the gradient per sample, unless the "
    "row states otherwise. Each fit runs in a separate process, after loading the data and the library and "
    "running a small fit; the better of two runs is reported. *Memory*: growth of the process at its peak. "
    "*Excess*: relative difference from the objective of `LogisticRegression`, if the problem is the same."
)
N, D = pick(2_000_000, 500_000), 50
# The fits, each with its kind of model and its bag size.
FITS = {
    "LogisticRegression": ("logistic", 1),
    "MILogisticRegression, bags of one": ("ridge", 1),
    "LogisticRegression, instance labels": ("logistic", 5),
    "MILogisticRegression, bags of five": ("ridge", 5),
    "SoftORLogisticRegression, bags of five": ("soft", 5),
    "MILogisticRegression, LASSO (alpha 100, five starts), bags of five": ("lasso", 5),
    "milr_path, 20 penalties both ways, bags of five": ("path", 5),
}


def make_data(n: int, d: int, size: int) -> tuple:
    """Draw instances, their labels, and bag labels; a bag is positive if any of its instances is positive."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    beta = (0.5 * rng.normal(size=d)).astype(np.float32)
    log_odds = X @ beta - (2.5 if size > 1 else 0.0)
    z = rng.random(n) < 1.0 / (1.0 + np.exp(-log_odds))
    return X, z, np.logical_or.reduceat(z, np.arange(0, n, size))


def fit(kind: str, bags, y):
    """Fit a model of this kind, and return it."""
    from sklearn.linear_model import LogisticRegression

    from bagwise import MILogisticRegression, SoftORLogisticRegression, milr_path

    one_start = {"scale": None, "n_init": 1, "tol": 1e-6, "random_state": 0}
    match kind:
        case "logistic":
            return LogisticRegression(C=1.0, tol=1e-6, max_iter=1000).fit(bags, y)
        case "ridge":
            return MILogisticRegression(alpha=1.0, l1_ratio=0.0, **one_start).fit(bags, y)
        case "soft":
            return SoftORLogisticRegression(**one_start).fit(bags, y)
        case "lasso":
            return MILogisticRegression(alpha=100.0, scale=None, random_state=0).fit(bags, y)
    return milr_path(bags, y, scale=None)


def run() -> list[dict]:
    """Run every fit twice, or once if versions are compared."""
    rows, reference = [], {}
    for name, (kind, size) in FITS.items():
        is_peer = kind == "logistic"
        if is_peer and COMPARING:
            reference[size] = {"seconds": math.nan, "objective": math.nan}
            continue
        # Each process returns seconds, memory growth in MB, and the objective.
        rounds = [in_process("benchmarks.large", kind, size, N) for _ in range(pick(2, 1))]
        best = min(rounds, key=lambda result: result["seconds"])
        if is_peer:
            reference[size] = best
        peer = reference[size]
        same = kind == "ridge" and size == 1
        time, memory = seconds(best["seconds"]), megabytes(max(result["memory"] for result in rounds))
        excess = f"{best['objective'] / peer['objective'] - 1:.1e}" if same else "-"
        rows.append(
            {
                "fit": name,
                "seconds": str(time) if is_peer else time,
                "times LogisticRegression": f"{best['seconds'] / peer['seconds']:.2f}",
                "passes": best["passes"] or "-",
                "memory (MB)": str(memory) if is_peer else memory,
                "excess": excess,
            }
        )
    return rows


def _main(kind: str, size: str, n: str) -> None:
    from bagwise import Bags

    few, few_z, few_y = make_data(2000, 5, int(size))
    X, z, y = make_data(int(n), D, int(size))
    bags, offsets = X, np.arange(0, len(X) + 1, int(size))
    if kind == "logistic":
        fit(kind, few, few_z)
        y = z
    else:
        fit(kind, Bags(few, np.arange(0, len(few) + 1, int(size))), few_y)
        bags = Bags(X, offsets)
    before = begin_peak()
    with Stopwatch() as watch:
        model = fit(kind, bags, y)
    memory = peak() - before
    objective = getattr(model, "objective_", None)
    if kind == "logistic":
        margin = np.where(z, 1.0, -1.0) * (X.astype(np.float64) @ model.coef_[0] + model.intercept_)
        objective = np.logaddexp(0.0, -margin).sum() + 0.5 * np.square(model.coef_).sum()
    result = {
        "seconds": watch.seconds,
        "memory": memory,
        "objective": None if objective is None else float(objective),
        "passes": getattr(model, "n_passes_", None),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    _main(*sys.argv[1:])
