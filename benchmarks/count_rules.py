"""Rules of counts: exact recursions against plain ones, large bags against small, and a whole fit."""

import json

import numba
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bagwise import CountLogistic, CountTable, Or, SoftORLogisticRegression, Threshold
from bagwise.datasets import fetch_hja_birdsong
from benchmarks.harness import in_process, milliseconds, race

TITLE = "Rules of counts"
NOTE = (
    "E step of a table with an entry for every count on 2,000 bags of 100 instances, against a "
    "forward-backward recursion of each bag in NumPy (goal: 1/100) and against the same as a plain compiled "
    "loop on one core, its time divided by the threads of bagwise: one, and two in a process of its own "
    "(goal: 1.3, and with two threads 0.4 ns for each of the 20,000,000 cells of an instance and a count). "
    "`Threshold(5)` against `Or` on 10,000,000 instances in bags of 1,000 (goal: 6). A bag of 20,000 "
    "instances under a logistic labeler against the plain recursion, with rows kept at every 142nd instance "
    "(goal: 1/10). A start of `SoftORLogisticRegression` on the birdsong data against one "
    "`LogisticRegression` fit on its 10,232 instances with known labels (goal: 30). *Ratio*: bagwise / peer."
)


def run() -> list[dict]:
    """Time E steps and a fit."""
    rng = np.random.default_rng(0)
    table = [*_general_rule(_measure(), 1), _general_rule(in_process(__name__, NUMBA_NUM_THREADS="2"), 2)[1]]
    log_odds, offsets = rng.normal(-5.0, 2.0, size=10_000_000), np.arange(0, 10_000_001, 1000)
    y = (rng.random(10_000) < 0.5).astype(np.int8)
    seconds = race(
        3,
        ours=lambda: Threshold(5).estep(log_odds, offsets, y),
        peers={"peer": lambda: Or().estep(log_odds, offsets, y)},
    )
    table.append(_row("E step, Threshold(5), 10,000 bags of 1,000", "Or", seconds["ours"], seconds["peer"]))
    log_odds, rule = rng.normal(size=20_000), CountLogistic(-10.0, 0.001)
    weight = 1 / (1 + np.exp(10.0 - 0.001 * np.arange(20_001)))
    seconds = race(
        3,
        ours=lambda: rule.estep(log_odds, [0, 20_000], [1]),
        peers={"peer": lambda: direct(log_odds, weight)},
    )
    table.append(
        _row("E step, CountLogistic, a bag of 20,000", "direct recursion", seconds["ours"], seconds["peer"])
    )
    table.append(_birdsong())
    return table


def _general_rule(seconds: dict[str, float], threads: int) -> list[dict]:
    problem = f"E step, table, 2,000 bags of 100, {threads} thread{'s' if threads > 1 else ''}"
    cell = {"ns per cell": f"{1e9 * seconds['ours'] / 20_000_000:.2f}"}
    return [
        _row(problem, "NumPy, bag by bag", seconds["ours"], 200 * seconds["numpy"]) | cell,
        _row(problem, f"compiled loop / {threads}", seconds["ours"], seconds["loop"] / threads) | cell,
    ]


def _measure() -> dict[str, float]:
    """Time the general rule with the threads of this process."""
    rng = np.random.default_rng(0)
    log_odds, offsets = rng.normal(size=200_000), np.arange(0, 200_001, 100)
    y = (rng.random(2000) < 0.5).astype(np.int8)
    rule = CountTable(rng.uniform(0.1, 0.9, size=101))
    weights = np.stack([1 - np.array(rule.values), rule.values])
    return race(
        25,
        ours=lambda: rule.estep(log_odds, offsets, y),
        peers={
            "loop": lambda: in_a_loop(log_odds, y, weights),
            "numpy": lambda: in_numpy(log_odds[:1000], y[:10], weights),  # ten bags stand for two thousand
        },
    )


def _birdsong() -> dict:
    data = fetch_hja_birdsong()
    instance_y = np.isin(data.instance_y, np.arange(1, 6)).astype(int)
    y = (np.add.reduceat(instance_y, data.bags.offsets[:-1]) >= 5).astype(int)
    X = StandardScaler().fit_transform(data.bags.instances)
    # The penalty of the peer; the default is weaker, and takes more steps.
    model = SoftORLogisticRegression(alpha=1.0, n_init=1, random_state=0)
    seconds = race(
        3,
        ours=lambda: model.fit(data.bags, y),
        peers={"peer": lambda: LogisticRegression(max_iter=1000).fit(X, instance_y)},
    )
    # The model without features, and soft thresholds, whose search is part of the time.
    n_starts = len(model.objectives_)
    return _row(
        f"SoftORLogisticRegression, birdsong, a start of {n_starts}",
        "LogisticRegression",
        seconds["ours"] / n_starts,
        seconds["peer"],
    )


def _row(problem: str, peer: str, ours: float, theirs: float) -> dict:
    return {
        "problem": problem,
        "peer": peer,
        "bagwise (ms)": milliseconds(ours),
        "peer (ms)": f"{1e3 * theirs:.1f}",
        "ratio": f"{ours / theirs:.3g}",
    }


def in_numpy(log_odds, y, weights) -> np.ndarray:
    """Forward and backward recursion of bags of 100 with NumPy, all counts of a row at a time."""
    p, posterior = 1 / (1 + np.exp(-log_odds)), []
    for label, odds in zip(y, p.reshape(len(y), -1), strict=True):
        rows = [np.ones(1)]
        for a in odds:
            rows.append(np.append(rows[-1] * (1 - a), 0.0) + np.append(0.0, rows[-1] * a))
        context = weights[label]
        for a, row in zip(odds[::-1], rows[-2::-1], strict=True):
            one, none = a * (row @ context[1:]), (1 - a) * (row @ context[:-1])
            posterior.append(one / (one + none))
            context = a * context[1:] + (1 - a) * context[:-1]
    return np.array(posterior)


@numba.njit(nogil=True)
def in_a_loop(log_odds, y, weights):
    """The same as a plain loop over counts, with two tables, for all bags."""
    m = weights.shape[1] - 1
    posterior, a, b = np.empty(len(log_odds)), np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1))
    p = 1 / (1 + np.exp(-log_odds))
    for i in range(len(y)):
        a[0, 0] = 1.0
        for j in range(m):
            odds = p[i * m + j]
            a[j + 1, 0] = (1 - odds) * a[j, 0]
            for k in range(1, j + 1):
                a[j + 1, k] = (1 - odds) * a[j, k] + odds * a[j, k - 1]
            a[j + 1, j + 1] = odds * a[j, j]
        for k in range(m + 1):
            b[m, k] = weights[y[i], k]
        for j in range(m - 1, -1, -1):
            odds, one, none = p[i * m + j], 0.0, 0.0
            for k in range(j + 1):
                one += a[j, k] * b[j + 1, k + 1]
                none += a[j, k] * b[j + 1, k]
                b[j, k] = (1 - odds) * b[j + 1, k] + odds * b[j + 1, k + 1]
            posterior[i * m + j] = odds * one / (odds * one + (1 - odds) * none)
    return posterior


@numba.njit(nogil=True)
def direct(log_odds, weight):
    """Posteriors in one large bag by the plain recursion; rows are kept at every sqrt(m)-th instance."""
    m = len(log_odds)
    block = int(np.sqrt(m)) + 1
    p = 1 / (1 + np.exp(-log_odds))
    kept, rows = np.zeros((m // block + 1, m + 1)), np.zeros((block + 1, m + 1))
    context, posterior = np.zeros((2, m + 2)), np.empty(m)
    rows[0, 0] = 1.0
    for begin in range(0, m, block):
        kept[begin // block] = rows[0]
        fill(p, begin, min(begin + block, m), rows)
        rows[0] = rows[block]
    context[m % 2, : m + 1] = weight
    for begin in range((m - 1) // block * block, -1, -block):
        rows[0] = kept[begin // block]
        fill(p, begin, min(begin + block, m), rows)
        for j in range(min(begin + block, m) - 1, begin - 1, -1):
            old, new, one, none = 1 - j % 2, j % 2, 0.0, 0.0
            for k in range(j + 1):
                one += rows[j - begin, k] * context[old, k + 1]
                none += rows[j - begin, k] * context[old, k]
                context[new, k] = (1 - p[j]) * context[old, k] + p[j] * context[old, k + 1]
            posterior[j] = p[j] * one / (p[j] * one + (1 - p[j]) * none)
    return posterior


@numba.njit(nogil=True)
def fill(p, begin, end, rows):
    """Forward recursion over some instances."""
    for j in range(begin, end):
        i = j - begin
        rows[i + 1, 0] = (1 - p[j]) * rows[i, 0]
        for k in range(1, j + 2):
            rows[i + 1, k] = (1 - p[j]) * rows[i, k] + p[j] * rows[i, k - 1]


if __name__ == "__main__":
    print(json.dumps(_measure()))
