"""Multi-instance mixture models (Foulds and Smyth 2011): figures 2 and 3."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from bagwise import datasets
from bagwise.models.mixture import MIMixture
from bagwise.models.mixture.model import BagMixture
from reproduction.framework import (
    Cell,
    Experiment,
    Figure,
    Report,
    Settings,
    Table,
    mean_and_error,
    with_error,
)
from reproduction.labelled import fit_labelled

PAPER = "J. Foulds and P. Smyth (2011), Multi-instance mixture models and semi-supervised learning, SDM"
SUPERVISION: dict[str, Any] = {"MIMM": "bags", "MM": "negatives", "MMU": "none"}

# ---------------------------------------------------------------------- figure 2


def information_costs(n_points: int) -> dict[str, list[float]]:
    """Return -log2 P(+) over a grid, by the formula and by the or-rule on bags with the same P(+)."""
    from bagwise import Or

    grid = np.linspace(0.02, 1.0, n_points)
    offsets = np.array([0, 3])
    measured = []
    for positive in grid:
        # Three instances with equal odds, chosen for the given probability of a positive bag.
        p = min(1 - (1 - positive) ** (1 / 3), 1 - 1e-12)
        log_odds = np.full(3, np.log(p) - np.log1p(-p))
        measured.append(-Or().log_proba(log_odds, offsets)[0, 1] / np.log(2))
    return {"positive": grid.tolist(), "bits": (-np.log2(grid)).tolist(), "measured": measured}


def figure2_cells(settings: Settings) -> list[Cell]:
    """Return the only cell; the curve is deterministic."""
    return [Cell("curve", information_costs, {"n_points": 20 if settings.quick else 200})]


def figure2_report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Report the curve, and the distance between rule and curve."""
    from bagwise.models.mixture.plots import plot_information_cost

    curve = results["curve"]
    gap = float(np.abs(np.subtract(curve["bits"], curve["measured"])).max())
    rows = [
        {"P(+) without the label": f"{p:g}", "bits lost": f"{-np.log2(p):.3f}"}
        for p in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
    ]
    text = (
        "Ignoring the label of a positive bag loses `-log2 P(+ | instances)` bits of information (equation "
        "7.3). The curve shows this formula, and the points show the log-probability under the or-rule for "
        f"bags of three instances. They differ by at most {gap:.0e}."
    )
    points = slice(None, None, max(1, len(curve["positive"]) // 12))
    figure = plot_information_cost(curve["positive"][points], curve["measured"][points]).figure_
    return Report(text, [Table("The cost of ignoring a positive label", rows)], [Figure("cost", figure)])


# ---------------------------------------------------------------------- figure 3

OVERLAPS, RATES, SIZES = (5.0, 10.0), (0.2, 0.8), (1, 5, 10)
N_BAGS = (10, 20, 50, 100, 200)
# Scenarios in which nearly all bags are positive and the paper finds no difference; with few bags, the
# posterior has many modes.
CLOSE = ((5.0, 0.8, 5), (10.0, 0.8, 10))


def _mixture_params(overlap, rate) -> dict[str, Any]:
    return {"means": [[5, 5], [0, 0]], "covariances": overlap, "positive_rate": rate}


def _generator(overlap, rate, size, repetition, seed) -> np.random.RandomState:
    return np.random.RandomState([seed, repetition, int(overlap), int(10 * rate), size])


def _draw_training(n, size, rng, params):
    """Draw bags until at least one is positive; if bags have one instance, both classes must occur."""
    while True:
        train = datasets.make_mixture_bags(n, size=size, random_state=rng, **params)
        if train.y.any() and (size > 1 or not train.y.all()):
            return train


def _error(train, test, supervision, n_init, seed, start=None) -> float:
    """Fit one model and return its error on the instances in `test`."""
    model = MIMixture("gaussian_diag", supervision=supervision, n_init=n_init, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 200 iterations, as in the paper
        # With pi = 0.8, negative bags of ten instances are too rare to be drawn.
        fit_labelled(model, train.bags, train.y, start)
    return float(np.mean((model.decision_function_instances(test.bags) > 0) != test.instance_y))


def instance_errors(overlap, rate, size, n_bags, n_init, repetition, seed) -> dict[str, Any]:
    """Return the instance error on 10,000 test instances for each model and each n."""
    params, rng = _mixture_params(overlap, rate), _generator(overlap, rate, size, repetition, seed)
    test = datasets.make_mixture_bags(10_000, size=1, random_state=rng, **params)
    errors: dict[str, Any] = {"bayes": float(np.mean((test.log_odds > 0) != test.instance_y))}
    for n in n_bags:
        train = _draw_training(n, size, rng, params)
        for name, supervision in SUPERVISION.items():
            errors[f"{name}-{n}"] = _error(train, test, supervision, n_init, seed)
    return errors


def start_errors(overlap, rate, size, n_bags, n_init, repetition, seed) -> dict[str, float]:
    """Return the errors of MIMM with and without swapped starts, and of MM, for few and many starts."""
    params, rng = _mixture_params(overlap, rate), _generator(overlap, rate, size, repetition, seed)
    test = datasets.make_mixture_bags(10_000, size=1, random_state=rng, **params)
    train = _draw_training(n_bags, size, rng, params)
    as_drawn = BagMixture.draw_around_instances
    errors = {"drawn": _error(train, test, "bags", n_init, seed, as_drawn)}
    errors["drawn_many"] = _error(train, test, "bags", 10 * n_init, seed, as_drawn)
    errors["turned"] = _error(train, test, "bags", n_init, seed)
    errors["turned_many"] = _error(train, test, "bags", 10 * n_init, seed)
    errors["MM"] = _error(train, test, "negatives", n_init, seed)
    errors["MM_many"] = _error(train, test, "negatives", 10 * n_init, seed)
    return errors


def figure3_cells(settings: Settings) -> list[Cell]:
    """Return a cell for every scenario and repetition, and cells that vary the starts."""
    repetitions = 2 if settings.quick else 50
    n_bags = [10, 50] if settings.quick else list(N_BAGS)
    common = {"n_init": 2 if settings.quick else 10, "seed": settings.seed}
    cells = []
    for overlap in OVERLAPS:
        for rate in RATES:
            for size in SIZES:
                scenario = {"overlap": overlap, "rate": rate, "size": size}
                name = f"overlap{overlap:g}-rate{rate:g}-size{size}"
                for r in range(repetitions):
                    arguments = common | scenario | {"n_bags": n_bags, "repetition": r}
                    cells.append(Cell(f"{name}-{r}", instance_errors, arguments))
                    if (overlap, rate, size) in CLOSE:
                        arguments = arguments | {"n_bags": n_bags[0]}
                        cells.append(Cell(f"starts-{name}-{r}", start_errors, arguments))
    return cells


def _with_oracle(errors) -> np.ndarray:
    """Return errors with the better of the two assignments of class names."""
    return np.minimum(errors, np.subtract(1, errors))


def _starts_table(results: Mapping[str, Any], settings: Settings) -> Table:
    """Compare MIMM with MM on the smallest training sets in `CLOSE`, for different starts of MIMM."""
    rows = []
    few = 2 if settings.quick else 10
    for overlap, rate, size in CLOSE:
        start = f"starts-overlap{overlap:g}-rate{rate:g}-size{size}-"
        runs = [value for key, value in results.items() if key.startswith(start)]
        errors = {name: _with_oracle([run[name] for run in runs]) for name in runs[0]}
        for name, variant, other in (
            ("drawn", f"{few} starts, as drawn", "MM"),
            ("turned", f"{few} starts, better class assignment", "MM"),
            ("drawn_many", f"{10 * few} starts, as drawn", "MM_many"),
            ("turned_many", f"{10 * few} starts, better class assignment", "MM_many"),
        ):
            row = {
                "scenario": f"{overlap:g}I, pi = {rate:g}, bags of {size}, 10 bags",
                "MIMM's starts": variant,
            }
            row |= {"MIMM": with_error(errors[name]), "MM, same number of starts": with_error(errors[other])}
            rows.append(row | {"difference": with_error(errors[name] - errors[other])})
    return Table("Ten bags, all positive: influence of the starts", rows, STARTS_NOTE)


def figure3_report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Report curves with bands, and list settings in which MIMM is not the best."""
    from reproduction.mimm_figures import plot_error_curves

    panels: dict[tuple[float, float, int], list[dict[str, float]]] = {}
    for key, value in results.items():
        parts = key.split("-")
        if parts[0] == "starts":
            continue
        scenario = float(parts[0][7:]), float(parts[1][4:]), int(parts[2][4:])
        panels.setdefault(scenario, []).append(value)
    rows, worse, curves = [], [], {}
    for (overlap, rate, size), runs in panels.items():
        names = [key for key in runs[0] if key != "bayes"]
        n_bags = sorted({int(name.split("-")[1]) for name in names})
        bayes = float(np.mean([run["bayes"] for run in runs]))
        errors = {name: _with_oracle([run[name] for run in runs]) for name in names}
        title = f"{overlap:g}I, pi = {rate:g}, bags of {size}"
        curves[title] = {
            "n_bags": n_bags,
            "bayes": bayes,
            "errors": {m: [mean_and_error(errors[f"{m}-{n}"]) for n in n_bags] for m in SUPERVISION},
        }
        for n in n_bags:
            row = {"scenario": title, "bags": n}
            row |= {m: with_error(errors[f"{m}-{n}"]) for m in SUPERVISION}
            raw = [run[f"MIMM-{n}"] for run in runs]
            rows.append(row | {"Bayes": f"{100 * bayes:.1f}", "MIMM without oracle": with_error(raw)})
            for other in ("MM", "MMU"):
                gap = errors[f"MIMM-{n}"] - errors[f"{other}-{n}"]
                mean, error = mean_and_error(gap)
                if mean > 2 * error and mean > 0.005:
                    worse.append(f"{title}, {n} bags: {100 * mean:.1f} ± {100 * error:.1f} above {other}")
    worst = "; ".join(worse) if worse else "none"
    text = (
        "The table shows the instance error in percent on 10,000 new instances, by the number of training "
        f"bags. The values are means over {len(runs)} training sets ± standard error (the paper uses 100 "
        f"sets and shows no errors). The models use diagonal Gaussians, {2 if settings.quick else 10} starts "
        "of at most 200 iterations, and a prior with kappa = 0.01. All columns except the last use the "
        "paper's identifiability oracle, which assigns the class names with the smaller test error.\n\n"
        "MIMM should not have a larger error than MM and MMU where the paper's curves differ. Settings in "
        f"which it is worse by more than two standard errors and half a percent: {worst}. With pi = 0.8 and "
        "bags of five or ten, nearly all bags are positive. Labels are then almost uninformative, and the "
        "three models should agree, as in the paper."
    )
    figure = plot_error_curves(curves).figure_
    tables = [Table("Instance error", rows), _starts_table(results, settings)]
    return Report(text, tables, [Figure("errors", figure)])


STARTS_NOTE = (
    "MM uses no labels here, so its two classes can be swapped. In MIMM, every bag must contain an instance "
    "from the positive class. If a start puts the positive class in a region with few instances, EM cannot "
    "swap the classes. MIMM therefore has fewer good starts than MM. With ten unmodified starts, "
    "MIMM converges to worse modes; with a hundred starts, it does not. `MIMixture` therefore swaps the "
    "classes of a start if this makes the labels more probable."
)


EXPERIMENTS = [
    Experiment(
        name="mimm-fig2",
        title="information in the label of a positive bag",
        paper=f"{PAPER}: figure 2.",
        cells=figure2_cells,
        report=figure2_report,
        minutes=0.1,
    ),
    Experiment(
        name="mimm-fig3",
        title="instance error by number of training bags, with all, some and no labels",
        paper=f"{PAPER}: figure 3.",
        cells=figure3_cells,
        report=figure3_report,
        minutes=8.0,
    ),
]
