"""From the cells of a model to its row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bagwise.evaluation.comparison.plan import Labelled, Split
from bagwise.evaluation.comparison.portfolio import Entry
from bagwise.evaluation.comparison.results import ModelResult
from bagwise.evaluation.comparison.scoring import Said, score_of_split, score_together


def assemble(
    entry: Entry,
    cells: Sequence[Mapping[str, Any]],
    data: Labelled,
    folds: Sequence[Split],
    n_repeats: int,
    scorers: Mapping[str, Callable[..., float]],
) -> ModelResult:
    """Score what a model said, split by split and all together.

    Parameters
    ----------
    entry : Entry
        The model.
    cells : sequence of dict
        What `run_cell` gave, of every split.
    data : Labelled
        The bags.
    folds : sequence of (train, test)
        The splits.
    n_repeats : int
        How often all bags were cut into folds.
    scorers : dict
        By name.
    """
    told = tuple(dict.fromkeys(message for cell in cells for message in cell["warnings"]))
    shape = (n_repeats, len(data.codes))
    failed = [(number, cell["error"]) for number, cell in enumerate(cells) if cell["error"] is not None]
    if failed:
        number, sentence = failed[0]
        nothing = np.full(len(folds), np.nan)
        return ModelResult(
            **entry.about(),
            scores={name: nothing for name in scorers},
            mean={name: np.nan for name in scorers},
            interval={name: (np.nan, np.nan) for name in scorers},
            **_seconds([[np.nan] * 4 for _ in folds]),
            predictions=np.full(shape, None, dtype=object),
            oof=None,
            oof_kind=None,
            choices=[{} for _ in folds],
            error=f"split {number + 1} of {len(folds)}: {sentence}",
            warnings=told,
        )
    n_classes, n_folds = len(data.classes), len(folds) // n_repeats
    repeats = [
        _together(cells[first : first + n_folds], folds[first : first + n_folds], n_classes)
        for first in range(0, len(folds), n_folds)
    ]
    scores = {
        name: np.array(
            [
                score_of_split(name, scorer, _said(cell, n_classes), data.codes[test])
                for cell, (_, test) in zip(cells, folds, strict=True)
            ]
        )
        for name, scorer in scorers.items()
    }
    together = {
        name: score_together(name, scores[name], repeats, data.codes, data.groups, folds) for name in scorers
    }
    predictions = np.full(shape, None, dtype=object)
    for repeat, (said, held, _) in enumerate(repeats):
        predictions[repeat, held] = data.classes[said.predicted]
    oof, kind = _out_of_fold(repeats, shape)
    return ModelResult(
        **entry.about(),
        scores=scores,
        mean={name: value for name, (value, _) in together.items()},
        interval={name: interval for name, (_, interval) in together.items()},
        **_seconds([cell["seconds"] for cell in cells]),
        predictions=predictions,
        oof=oof,
        oof_kind=kind,
        choices=[dict(cell["choices"]) for cell in cells],
        warnings=told,
    )


def _said(cell: Mapping[str, Any], n_classes: int) -> Said:
    return Said(n_classes, cell["predicted"], cell["probability"], cell["decision"])


def _together(
    cells: Sequence[Mapping[str, Any]], folds: Sequence[Split], n_classes: int
) -> tuple[Said, np.ndarray, np.ndarray]:
    """Join what was said in the folds of one repeat: all of it, the numbers of the bags, their folds."""
    joined = {
        name: None if cells[0][name] is None else np.concatenate([cell[name] for cell in cells])
        for name in ("predicted", "probability", "decision")
    }
    held = np.concatenate([test for _, test in folds])
    fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
    return Said(n_classes, **joined), held, fold


def _out_of_fold(
    repeats: Sequence[tuple[Said, np.ndarray, np.ndarray]], shape: tuple[int, int]
) -> tuple[np.ndarray | None, str | None]:
    said = repeats[0][0]
    kind = "probability" if said.probability is not None else "score" if said.decision is not None else None
    if kind is None:
        return None, None
    parts = []
    for said, _, _ in repeats:
        values = said.probability if kind == "probability" else said.decision
        parts.append(values[:, 1] if kind == "probability" and said.n_classes == 2 else values)
    oof = np.full((*shape, *parts[0].shape[1:]), np.nan)
    for repeat, ((_, held, _), values) in enumerate(zip(repeats, parts, strict=True)):
        oof[repeat, held] = values
    return oof, kind


def _seconds(by_split: Sequence[Sequence[float]]) -> dict[str, Any]:
    names = ("fit_seconds", "predict_seconds", "fit_processor_seconds", "predict_processor_seconds")
    return dict(zip(names, np.array(by_split, dtype=float).T, strict=True))
