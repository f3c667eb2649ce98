"""What a model may learn: the algorithmic unit tests for all models of the leaderboard."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from inspect import unwrap
from typing import Any

import numpy as np

from bagwise.datasets.assumptions import KINDS
from bagwise.evaluation.checks.report import count
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.base.tags import can_use_absence
from bagwise.testing import assumption_scores
from reproduction import leaderboard, leaderboard_models
from reproduction.framework import Cell, Experiment, Report, Settings, Table, with_error
from reproduction.nested import cross_validated, fetched

N_BAGS, N_SEEDS = 50, 5
# The two ensembles are also compared on these data sets, in one cross-validation with 5 folds.
CLASSIC, ENSEMBLES, N_FOLDS = ("musk1", "fox"), ("ensemble", "ensemble_standard"), 5
MODELS = {run.__name__: run for run in (*leaderboard.MODELS, leaderboard_models.ensemble_standard)}
QUICK = ("statistics_standard", "milr_or")
TITLES = {
    "single_concept": "single concept",
    "multiple_concepts": "multiple concepts",
    "false_frequency": "false frequency",
}


def run_test(model: str, kind: str, n_bags: int, repeat: int, seed: int) -> dict[str, Any]:
    """Tune and fit a model on the training bags of a test; return the AUC on training and test bags."""
    drawn = 1000 * seed + repeat
    made = unwrap(MODELS[model])(drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = assumption_scores(made, kind, n_bags=n_bags, random_state=drawn)  # type: ignore[arg-type]
    return {**scores._asdict(), "can_use_absence": can_use_absence(made)}


def run_ensemble(model: str, dataset: str, seed: int) -> dict[str, Any]:
    """Cross-validate an ensemble on a classic data set, in the same folds for both ensembles."""
    return cross_validated(unwrap(MODELS[model])(seed), *fetched(dataset), N_FOLDS, seed)


def cells(settings: Settings) -> list[Cell]:
    """Return the cells ordered by seed, so that a partial run covers all tests and models."""
    names = QUICK if settings.quick else [name for name in MODELS if _can_run(name)]
    n_bags, n_seeds = (40, 2) if settings.quick else (N_BAGS, N_SEEDS)
    tests = [
        Cell(
            f"{kind}-{name}-{repeat}",
            run_test,
            {"model": name, "kind": kind, "n_bags": n_bags, "repeat": repeat, "seed": settings.seed},
        )
        for repeat in range(n_seeds)
        for name in names
        for kind in KINDS
    ]
    if settings.quick:
        return tests
    return tests + [
        Cell(f"{dataset}-{name}", run_ensemble, {"model": name, "dataset": dataset, "seed": settings.seed})
        for dataset in CLASSIC
        for name in ENSEMBLES
    ]


def _can_run(name: str) -> bool:
    return name != "attention" or find_spec("torch") is not None


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Make the table of all models, and summarize the results."""
    cells: dict[str, dict[str, list[dict[str, Any]]]] = {}
    tests = {key: value for key, value in results.items() if key.count("-") == 2}
    for key, value in tests.items():
        kind, name, _ = key.split("-")
        cells.setdefault(name, {}).setdefault(kind, []).append(value)
    complete = {name: by_kind for name, by_kind in cells.items() if set(by_kind) == set(KINDS)}
    rows = sorted((_row(name, by_kind) for name, by_kind in complete.items()), key=_order)
    note = (
        "AUC on the test bags, mean ± standard error over seeds, and in parentheses the mean AUC on the "
        "training bags. 0.5 is chance; a model below 0.5 has learned the forbidden signal. *Absence*: "
        "whether adding an instance to a bag can lower its score (`can_use_absence`)."
    )
    tables = [Table("Test AUC of every model", rows, note, n_text=2), *_compare_ensembles(results)]
    data = {"cells": [_cell_row(key, value) for key, value in tests.items()]}
    n_bags = 40 if settings.quick else N_BAGS
    n_seeds = max(len(values) for by_kind in cells.values() for values in by_kind.values())
    text = _TEXT.format(n_bags=n_bags, n_seeds=n_seeds, findings=_findings(complete))
    return Report(text, tables, data=data)


def _compare_ensembles(results: Mapping[str, Any]) -> list[Table]:
    """Return the accuracy of both ensembles on classic data, if all results are available."""
    if any(f"{dataset}-{name}" not in results for dataset in CLASSIC for name in ENSEMBLES):
        return []
    rows = []
    for score, title, digits in (("accuracy", "accuracy (%)", 1), ("auc", "AUC (%)", 1)):
        for name in ENSEMBLES:
            values = {dataset: 100 * results[f"{dataset}-{name}"][score] for dataset in CLASSIC}
            shown = {dataset: f"{value:.{digits}f}" for dataset, value in values.items()}
            mean = f"{np.mean(list(values.values())):.{digits}f}"
            rows.append({"model": _title(name), "score": title, **shown, "mean": mean})
    note = (
        f"Both ensembles use default settings and the same folds of one {N_FOLDS}-fold cross-validation. The "
        "labels of these data sets may depend on the whole bag, so the assumption can lower the accuracy."
    )
    return [Table("The ensemble with and without the assumption, on classic data", rows, note, n_text=2)]


def _title(name: str) -> str:
    return leaderboard.title_of(MODELS[name])


def _mean(values: list[dict[str, Any]], score: str = "test_auc") -> float:
    return float(np.mean([value[score] for value in values]))


def _row(name: str, by_kind: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    row = {"model": _title(name), "absence": "yes" if _uses_absence(by_kind) else "no"}
    for kind in KINDS:
        values = by_kind[kind]
        test = with_error([value["test_auc"] for value in values], 2, 1.0)
        row[TITLES[kind]] = f"{test} ({_mean(values, 'train_auc'):.2f})"
    return row


def _order(row: Mapping[str, str]) -> tuple[bool, float]:
    return row["absence"] == "yes", -float(row["single concept"].split()[0])


def _uses_absence(by_kind: Mapping[str, list[dict[str, Any]]]) -> bool:
    return bool(by_kind["single_concept"][0]["can_use_absence"])


def _cell_row(key: str, value: Mapping[str, Any]) -> dict[str, Any]:
    kind, name, repeat = key.split("-")
    scores = {score: f"{value[score]:.4f}" for score in ("train_auc", "test_auc")}
    return {"test": kind, "model": _title(name), "seed": repeat, **scores}


def _findings(complete: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> str:
    """Summarize which models pass, separately for models that can and cannot use absence."""
    lines = []
    for uses, description in ((False, "that cannot use absence"), (True, "that can use absence")):
        group = {name: by_kind for name, by_kind in complete.items() if _uses_absence(by_kind) == uses}
        if not group:
            continue
        single = {name: _mean(by_kind["single_concept"]) for name, by_kind in group.items()}
        n_failed = sum(auc < 0.5 for auc in single.values())
        others = "; ".join(_title(name) for name, auc in single.items() if auc >= 0.5)
        exceptions = f"; the exceptions are: {others}" if n_failed and others else ""
        failed = f"{n_failed} of them are below 0.5{exceptions}"
        both = [
            _title(name)
            for name, by_kind in group.items()
            if min(_mean(by_kind["multiple_concepts"]), _mean(by_kind["false_frequency"])) >= 0.75
        ]
        worst, best = min(single.values()), max(single.values())
        lines.append(
            f"- **{count(len(group), 'model')} {description}.** On *single concept*, their test AUC is "
            f"{worst:.2f} to {best:.2f}; {failed}. Models that pass both tests with two concepts (test "
            f"AUC of at least 0.75): {'; '.join(both) or 'none'}."
        )
    return "\n".join(lines)


_TEXT = """
The three tests use bags from `make_assumption_bags`. The training bags contain a signal that a model must not
use under the tested assumption, and the test bags reverse this signal. In *single concept*, negative training
bags contain poison: a model that uses the absence of poison classifies all training bags correctly and all
test bags incorrectly. In *multiple concepts*, a bag is positive if it contains both concepts, and the poison
is the same. In *false frequency*, the number of concept instances is misleading.

Each model is fitted to {n_bags} bags with 16 features and tested on {n_bags} others, with {n_seeds}
seeds. The models are those on the [leaderboard](leaderboard.md). They are tuned in the same way, by
accuracy in three folds of the training bags. As in practice, these folds also contain the forbidden
signal: cross-validation cannot detect that a signal in the training data will be absent later.

{findings}

Recommendations:

- A bag may be positive because of what it *contains* (a tumor, a malicious file), while negative bags
  may contain markers that positive bags do not have (a pen mark, a stain, a benign program). In this case,
  use a model that cannot use absence, or `BagEnsembleClassifier(assumption="standard")`. A high accuracy in
  cross-validation is not enough.
- If bags need two kinds of instances, models with one score per instance cannot represent the rule. They
  can pass *multiple concepts*, because a positive bag contains more concept instances, and then fail
  *false frequency*. Use a model of the whole bag, and check that the absence of an instance does not
  indicate the label.
- `bagwise.testing.check_assumption(model)` runs a test on any model, and `can_use_absence(model)` returns
  whether the model can use absence.
"""

EXPERIMENTS = [
    Experiment(
        name="assumption",
        title="What a model may learn: algorithmic unit tests of all classifiers",
        paper=(
            "E. Raff and J. Holt, Reproducibility in multiple instance learning: a case for algorithmic unit "
            "tests, NeurIPS 2023. The paper tests five deep networks; all of them fail at least one test."
        ),
        cells=cells,
        report=report,
        minutes=4.0,
        needs_data=CLASSIC,
        is_partial=True,
    )
]
