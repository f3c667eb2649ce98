"""Estimates of the class prior from positive and unlabeled bags, tested with known priors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from bagwise import datasets
from bagwise.data.bags import Bags
from reproduction.framework import Cell, Experiment, Report, Settings, Table
from reproduction.pu import fit_quietly

PAPER = (
    "This page does not reproduce a table from a paper. The methods are from Garg, Wu, Smola, Balakrishnan "
    "and Lipton (2021), Mixture proportion estimation and PU learning: a modern approach, NeurIPS 34; Bao, "
    "Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance learning from positive and "
    "unlabeled bags, section 3.3"
)
LEVEL, N_DRAWS, BLOCK, N_BOOTSTRAP = 0.9, 200, 25, 100


class Setting(NamedTuple):
    """The source of the bags, the numbers of drawn bags, and the prior in the population.

    `source` is the name of a data set. For simulated bags, it is the shift of the only positive instance in a
    positive bag, in standard deviations of each of the three features.
    """

    kind: str
    source: float | str
    n_positive: int
    n_unlabeled: int
    prior: float


SETTINGS = {
    **{f"separable-{prior}": Setting("separable", 6.0, 100, 200, prior) for prior in (0.1, 0.3, 0.5)},
    "small": Setting("separable, few bags", 6.0, 30, 60, 0.3),
    "rare": Setting("separable, unbalanced", 6.0, 30, 300, 0.1),
    "many": Setting("separable, unbalanced", 6.0, 300, 60, 0.3),
    "near": Setting("hardly overlapping", 3.0, 100, 200, 0.3),
    **{f"overlapping-{prior}": Setting("overlapping", 2.0, 100, 200, prior) for prior in (0.1, 0.3, 0.5)},
    "elephant": Setting("Elephant", "elephant", 50, 100, 0.3),
    "tiger": Setting("Tiger", "tiger", 50, 100, 0.3),
    "musk1": Setting("Musk1", "musk1", 20, 50, 0.3),
}
METHODS: tuple[Literal["least", "tail", "ratio"], ...] = ("least", "tail", "ratio")


def draw_bags(setting: Setting, seed: int) -> tuple[Bags, np.ndarray, float]:
    """Draw positive and unlabeled bags; an unlabeled bag is positive with probability `setting.prior`.

    Return bags, labels, and the share of positive bags among the unlabeled bags in this draw.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.random(setting.n_unlabeled) < setting.prior
    truth = np.append(np.ones(setting.n_positive, bool), hidden)
    y = np.repeat([1, 0], [setting.n_positive, setting.n_unlabeled])
    if isinstance(setting.source, str):
        data = _fetched(setting.source)
        pools = {label: rng.permutation(np.flatnonzero(data.y == label)) for label in (0, 1)}
        indices = np.empty(len(truth), dtype=int)
        for label in (0, 1):
            indices[truth == label] = pools[label][: np.sum(truth == label)]
        return data.bags[indices], y, float(hidden.mean())
    bags = []
    for positive in truth:
        X = rng.normal(size=(1 + rng.poisson(4), 3))
        X[0] += setting.source * positive
        bags.append(X)
    return Bags.from_list(bags), y, float(hidden.mean())


@cache
def _fetched(dataset: str) -> Any:
    return getattr(datasets, f"fetch_{dataset}")()


def cut_where_counted(score: np.ndarray, y: np.ndarray) -> float:
    """Run best bin estimation as printed: the cut is chosen on the same bags whose tails are counted."""
    score_P, score_U = (np.sort(score[y == label])[::-1] for label in (1, 0))
    cuts = np.unique(score_P)
    share_P, share_U = (np.searchsorted(-s, -cuts, side="right") / len(s) for s in (score_P, score_U))
    margin = 1.01 * sum(np.sqrt(np.log(40.0) / (2 * len(s))) for s in (score_P, score_U))
    best = np.argmin((share_U + margin) / share_P)
    return float(min(1.0, share_U[best] / share_P[best]))


def estimates(name: str, block: int, n_draws: int, n_bootstrap: int, seed: int) -> dict[str, list[float]]:
    """Return both estimates and their intervals for a block of draws from a setting."""
    from bagwise.models.pu import ClassPriorEstimator

    measures: dict[str, list[float]] = {}
    for index in range(BLOCK * block, BLOCK * block + n_draws):
        # Every setting uses separate draws.
        drawn = 100_000 * seed + 1000 * list(SETTINGS).index(name) + index
        bags, y, share = draw_bags(SETTINGS[name], drawn)
        row = {"share": share}
        for method in reversed(METHODS):  # the default is the last method
            model = fit_quietly(ClassPriorEstimator(method=method), bags, y)
            again = model.interval(bags, y, level=LEVEL, n_bootstrap=n_bootstrap, random_state=drawn)
            row |= _ends(f"{method}-bootstrap", again) | _ends(method, model.estimate_.interval(LEVEL))
            row[method] = model.class_prior_
        row["apart"] = float(model.estimate_.disagrees(model.check_))
        row["printed"] = cut_where_counted(model.scores_, y)
        for key, value in row.items():
            measures.setdefault(key, []).append(value)
    return measures


def _ends(key: str, interval: tuple[float, float]) -> dict[str, float]:
    return {f"{key}-low": interval[0], f"{key}-high": interval[1]}


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for every block of draws from a setting."""
    quick = settings.quick
    names = ("separable-0.3", "overlapping-0.3") if quick else SETTINGS
    n_draws, n_bootstrap = (3, 10) if quick else (BLOCK, N_BOOTSTRAP)
    return [
        Cell(
            f"{name}-{block}",
            estimates,
            {
                "name": name,
                "block": block,
                "n_draws": n_draws,
                "n_bootstrap": n_bootstrap,
                "seed": settings.seed,
            },
        )
        for block in range(1 if quick else N_DRAWS // BLOCK)
        for name in names
    ]


def _collected(results: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    merged: dict[str, dict[str, list[float]]] = {}
    for key, value in results.items():
        into = merged.setdefault(key.rsplit("-", 1)[0], {})
        for name, values in value.items():
            into.setdefault(name, []).extend(values)
    return {key: {name: np.array(v) for name, v in value.items()} for key, value in merged.items()}


def _covered(draws: Mapping[str, np.ndarray], key: str, prior: float) -> float:
    return float(np.mean((draws[f"{key}-low"] <= prior) & (prior <= draws[f"{key}-high"])))


def _row(name: str, method: str, draws: Mapping[str, np.ndarray]) -> dict[str, Any]:
    setting, value = SETTINGS[name], draws[method]
    low, high = draws[f"{method}-low"], draws[f"{method}-high"]
    return {
        "bags": setting.kind,
        "positive, unlabeled": f"{setting.n_positive}, {setting.n_unlabeled}",
        "prior": setting.prior,
        "method": method,
        "mean estimate": f"{value.mean():.3f}",
        "bias": f"{value.mean() - setting.prior:+.3f}",
        "median error": f"{np.median(np.abs(value - setting.prior)):.3f}",
        "median error, share drawn": f"{np.median(np.abs(value - draws['share'])):.3f}",
        "least": f"{value.min():.3f}",
        "below half": int(np.sum(value < 0.5 * draws["share"])),
        "covered": f"{100 * _covered(draws, method, setting.prior):.1f}",
        "covered, bootstrap": f"{100 * _covered(draws, f'{method}-bootstrap', setting.prior):.1f}",
        "from 0": f"{100 * np.mean(low == 0):.0f}",
        "upper end": f"{high.mean():.3f}",
    }


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Compare the methods."""
    collected = _collected(results)
    rows = [_row(name, method, collected[name]) for name in collected for method in METHODS]
    printed = [
        {
            "bags": SETTINGS[name].kind,
            "prior": SETTINGS[name].prior,
            "cut on other bags": f"{draws['tail'].mean() - SETTINGS[name].prior:+.3f}",
            "cut on the same bags": f"{draws['printed'].mean() - SETTINGS[name].prior:+.3f}",
            "least on same bags": f"{draws['printed'].min():.3f}",
            "disagreement (%)": f"{100 * draws['apart'].mean():.0f}",
        }
        for name, draws in collected.items()
    ]
    n_draws = len(next(iter(collected.values()))["share"])
    apart = [name for name in collected if SETTINGS[name].kind.startswith("separable")]
    errors = {
        method: np.mean([np.median(np.abs(collected[n][method] - collected[n]["share"])) for n in apart])
        for method in METHODS
    }
    covered = {
        key: [100 * _covered(collected[n], key, SETTINGS[n].prior) for n in apart]
        for key in (*METHODS, *(f"{method}-bootstrap" for method in METHODS))
    }

    def span(key: str) -> str:
        return f"{min(covered[key]):.1f} to {max(covered[key]):.1f}"

    other = [name for name in collected if name not in apart]
    bias = {
        method: np.mean([collected[n][method].mean() - SETTINGS[n].prior for n in other])
        for method in METHODS
    }
    below = {
        method: sum(int(np.sum(collected[n][method] < 0.5 * collected[n]["share"])) for n in apart)
        for method in METHODS
    }
    text = f"""
`ClassPriorEstimator` is fitted to {n_draws} draws from each setting. Every unlabeled bag is positive with
probability equal to the prior, so the share of positive bags varies between draws, as in samples from a
population. Simulated bags contain 1 + Poisson(4) instances with three standard normal features. In positive
bags, one instance is shifted in each feature by 6 standard deviations (*separable*), 3 (*hardly overlapping*)
or 2 (*overlapping*). Real bags are drawn without replacement. Intervals should cover the prior with
probability {LEVEL:.0%}. With {n_draws} draws, the observed coverage of a correct interval is
{100 * LEVEL:.0f} ± {100 * np.sqrt(LEVEL * (1 - LEVEL) / n_draws):.1f} %.

"least", the default, is the smaller of "tail" and "ratio" (the larger one is the check).

If classes are separable, the median error relative to the drawn share averages {errors["least"]:.3f} for
"least", {errors["tail"]:.3f} for "tail" and {errors["ratio"]:.3f} for "ratio" over the settings. The coverage
of bootstrap intervals is {span("least-bootstrap")} % for "least", {span("tail-bootstrap")} % for "tail" and
{span("ratio-bootstrap")} % for "ratio". The coverage of the approximate intervals from a fit is
{span("least")} %, {span("tail")} % and {span("ratio")} %. The intervals for "ratio" ignore the uncertainty
from the choice of degree and ridge. The number of estimates below half of the drawn share is {below["least"]}
for "least", {below["tail"]} for "tail" and {below["ratio"]} for "ratio".

If classes overlap, all estimates are too large: the mean bias over these settings is {bias["least"]:+.3f} for
"least", {bias["tail"]:+.3f} for "tail" and {bias["ratio"]:+.3f} for "ratio". *From 0* counts the intervals
that reflect this: they start at 0, because the scores show overlap, and only their upper end is informative.

The criterion for overlap (nine in ten positive bags in the tail, a gap below it) was tuned on different draws
from the same settings. It does not detect negative bags among the highest scores.

The second table shows why the cut is not chosen on the bags that are counted: the minimum of many ratios is
biased downwards. The table also shows the percentage of fits with a warning that the two methods
disagree.
"""
    note = (
        "*Median error*: median absolute difference from the prior, and from the drawn share of positive "
        "bags, which is the best value that a sample can reveal. *Least*: the smallest estimate. *Below "
        "half*: number of draws with an estimate below half of that share. *Covered*: percentage of the "
        f"{LEVEL:.0%} intervals from a fit (`estimate_.interval()`, `check_.interval()`) that contain the "
        "prior; *bootstrap*: the same for the method `interval`. *From 0*: percentage of intervals that "
        "start at 0. *Upper end*: mean upper end of the intervals."
    )
    tables = [
        Table("Estimates of the class prior", rows, note),
        Table("Bias of the tail estimate, and disagreement", printed),
    ]
    return Report(text, tables)


EXPERIMENTS = [
    Experiment(
        name="pu-prior",
        title="estimates of the class prior from positive and unlabeled bags",
        paper=f"{PAPER}.",
        cells=cells,
        report=report,
        minutes=30.0,
        needs_data=("elephant", "tiger", "musk1"),
    )
]
