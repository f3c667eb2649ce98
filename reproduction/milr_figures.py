"""MILR with LASSO (Chen et al. 2016): a cross-validation curve and a coefficient path, Figures 1 and 2."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from reproduction.framework import Cell, Experiment, Figure, Report, Settings, Table
from reproduction.milr import PAPER
from reproduction.milr_simulations import draw_selection_data

PAPER_LAMBDA = 2.31


@cache
def _demonstration(number: int, seed: int) -> tuple[Any, np.ndarray]:
    """The cross-validated model of a data set, and which features are active."""
    from bagwise.models.linear_model import MILogisticRegressionCV

    data = draw_selection_data(number, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small penalties may stop at max_iter
        model = MILogisticRegressionCV(random_state=number).fit(data.bags, data.y)
    return model, data.coef != 0


def chosen_penalty(number: int, seed: int) -> dict[str, float]:
    """What cross-validation chooses on one data set."""
    model, active = _demonstration(number, seed)
    chosen = model.coef_[0] != 0
    at_least = int(np.argmin(model.criterion_path_))
    fold_deviances = model.deviances_[at_least]
    return {
        "lambda": model.alpha_,
        "lambda_max": model.path_.alpha_max,
        "deviance": float(fold_deviances.mean()),
        "error": float(fold_deviances.std(ddof=1) / np.sqrt(len(fold_deviances))),
        "active in": int(chosen[active].sum()),
        "others in": int(chosen[~active].sum()),
        "from below": int(model.path_.from_below.sum()),
    }


def figure_cells(settings: Settings) -> list[Cell]:
    """A cell for every data set; one is drawn."""
    return [
        Cell(f"set{number}", chosen_penalty, {"number": number, "seed": settings.seed})
        for number in range(2 if settings.quick else 20)
    ]


def _drawn(results: Mapping[str, Any]) -> int:
    """The data set whose chosen lambda is nearest to the paper's, which shows one of unknown seed."""
    return min(range(len(results)), key=lambda number: abs(results[f"set{number}"]["lambda"] - PAPER_LAMBDA))


def _choices(results: Mapping[str, Any]) -> Table:
    rows = []
    for name, drawn in results[f"set{_drawn(results)}"].items():
        low, middle, high = np.percentile([value[name] for value in results.values()], [25, 50, 75])
        row = {"": name, "the set drawn": f"{drawn:.3g}", "median": f"{middle:.3g}"}
        rows.append(row | {"quartiles": f"{low:.3g} to {high:.3g}"})
    return Table(f"Over {len(results)} data sets", rows, CHOICES_NOTE)


CHOICES_NOTE = (
    "*deviance*, *error*: per held-out bag at the chosen lambda, and its standard error over folds; *from "
    "below*: lambdas at which the way back up the path has found a better solution than the way down."
)
FIGURE_SETTING = "100 bags of 3 instances, 100 features of which 5 are active, as in Table II. "


def figure1_report(results: Mapping[str, Any], settings: Settings) -> Report:
    """The cross-validation curve of one data set."""
    from bagwise.models.linear_model.plots import plot_cv

    model, _ = _demonstration(_drawn(results), settings.seed)
    low, high = (pick(value["lambda"] for value in results.values()) for pick in (min, max))
    text = (
        f"{FIGURE_SETTING}Mean deviance of a held-out bag over 10 folds, drawn once, with bounds of one "
        f"standard error. The paper chooses lambda = {PAPER_LAMBDA} on its data set, which is not to be "
        f"had; drawn is the one of {len(results)} whose lambda, {model.alpha_:.2f}, comes nearest. The "
        f"printed lambda lies at the lower end of ours ({low:.2f} to {high:.2f}), as it would on a data set "
        "in which the features tell more than on most."
    )
    return Report(text, [_choices(results)], [Figure("deviance", plot_cv(model).figure_)])


def figure2_report(results: Mapping[str, Any], settings: Settings) -> Report:
    """The coefficient path of one data set."""
    from bagwise.models.linear_model.plots import plot_path

    model, active = _demonstration(_drawn(results), settings.seed)
    drawn = results[f"set{_drawn(results)}"]
    figure = plot_path(model.path_, alpha=model.alpha_, highlight=active).figure_
    text = (
        f"{FIGURE_SETTING}Red: active features, blue: the others. At the chosen lambda = {model.alpha_:.2f} "
        f"{drawn['active in']} of 5 active features and {drawn['others in']} of the 95 "
        "others are in the model. A path may jump: bag likelihoods have several optima, and the better of "
        "the way down and the way back up is drawn."
    )
    return Report(text, [_choices(results)], [Figure("path", figure)])


EXPERIMENTS = [
    Experiment(
        name="milr-fig1",
        title="deviance along the path, cross-validated",
        paper=f"{PAPER}: Figure 1.",
        cells=figure_cells,
        report=figure1_report,
        minutes=0.5,
    ),
    Experiment(
        name="milr-fig2",
        title="coefficients along the path",
        paper=f"{PAPER}: Figure 2.",
        cells=figure_cells,
        report=figure2_report,
        minutes=0.5,
    ),
]
