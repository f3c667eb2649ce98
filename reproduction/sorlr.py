"""SORLR (Pham et al.): instance and bag accuracy if bags with at least t positive instances are positive."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from reproduction.framework import Cell, Experiment, Report, Settings
from reproduction.sorlr_models import FROM_NULL, HELD, METHODS, Split, predict
from reproduction.sorlr_problems import PROBLEMS, load_problem
from reproduction.sorlr_report import PRINTED_AT, make_report

PAPER = (
    "A. T. Pham, R. Raich, X. Z. Fern, W.-K. Wong and X. Guan, Discriminative probabilistic framework for "
    "generalized multi-instance learning"
)
N_FOLDS, N_REPEATS = 5, 1
QUICK_EVERY = 8


def accuracies(
    problem: str, method: str, t: int, n_folds: int, repeat: int, seed: int, every: int = 1
) -> dict[str, Any]:
    """Return instance and bag accuracies of every fold, for every kind of features that a method uses.

    With ``every=8``, only every eighth bag is used.
    """
    bags, z = load_problem(problem)
    z = z[bags.bag_index % every == 0]
    bags = bags[::every]
    y = (np.add.reduceat(z, bags.offsets[:-1]) >= t).astype(int)
    right: dict[str, dict[str, list[float]]] = {}
    # All methods and thresholds use the same folds.
    for train, test in KFold(n_folds, shuffle=True, random_state=1000 * seed + repeat).split(y):
        in_train, in_test = (np.isin(bags.bag_index, part) for part in (train, test))
        split = Split(bags[train], y[train], z[in_train], bags[test], t, 1000 * seed + repeat)
        for variant, predicted in predict(method, split).items():
            of_variant = right.setdefault(variant, {"instance": [], "bag": []})
            of_variant["instance"].append(float(np.mean(predicted.instances == z[in_test])))
            of_variant["bag"].append(float(np.mean(predicted.bags == y[test])))
    return right


def figure_cells(settings: Settings, *, problem: str) -> list[Cell]:
    """Return a cell for every method, threshold and shuffle, and for settings that explain differences."""
    thresholds = PROBLEMS[problem].quick if settings.quick else PROBLEMS[problem].thresholds
    n_folds, n_repeats = (2, 1) if settings.quick else (N_FOLDS, N_REPEATS)
    wanted = [(method, t) for t in thresholds for method in METHODS]
    if PRINTED_AT in thresholds:
        wanted += [(f"{HELD}{k}", PRINTED_AT) for k in range(1, PRINTED_AT + 1)]
    wanted += [(name, t) for t in thresholds if t in PROBLEMS[problem].middle for name in FROM_NULL]
    return [
        Cell(
            f"{method}-t{t}-{repeat}",
            accuracies,
            {
                "problem": problem,
                "method": method,
                "t": t,
                "n_folds": n_folds,
                "repeat": repeat,
                "seed": settings.seed,
            }
            | ({"every": QUICK_EVERY} if settings.quick else {}),
        )
        for repeat in range(n_repeats)
        for method, t in wanted
    ]


def figure_report(results: Mapping[str, Any], settings: Settings, *, problem: str) -> Report:
    """Report curves with bands, and check the paper's statements."""
    n_folds, every = (2, QUICK_EVERY) if settings.quick else (N_FOLDS, 1)
    return make_report(results, problem, n_folds=n_folds, every=every)


def _experiment(problem: str, minutes: float) -> Experiment:
    return Experiment(
        name=f"sorlr-fig2-{problem}",
        title="instance and bag accuracy by the number of positive instances that a positive bag needs",
        paper=f"{PAPER}: Figure 2, {problem.upper()}.",
        cells=partial(figure_cells, problem=problem),
        report=partial(figure_report, problem=problem),
        minutes=minutes,
        needs_data=(PROBLEMS[problem].data,),
    )


EXPERIMENTS = [_experiment("hja", minutes=30.0), _experiment("mscv2", minutes=6.0)]
