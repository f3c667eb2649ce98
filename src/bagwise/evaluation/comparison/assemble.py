"""Assemble the result of a model from its cells (one per split)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bagwise.evaluation.comparison.plan import Labelled, Split
from bagwise.evaluation.comparison.portfolio import Entry
from bagwise.evaluation.comparison.results import ModelResult
from bagwise.evaluation.comparison.scoring import score_of_split, score_together
from bagwise.models.base.held_out import OUTPUTS, HeldOut, Output


def assemble(
    entry: Entry,
    cells: Sequence[Mapping[str, Any]],
    data: Labelled,
    folds: Sequence[Split],
    n_repeats: int,
    scorers: Mapping[str, Callable[..., float]],
) -> ModelResult:
    """Return the result of a model, with scores of each split and of all held-out bags.

    Parameters
    ----------
    entry : Entry
        The model.
    cells : sequence of dict
        Result of `run_cell` for each split.
    data : Labeled
        The bags.
    folds : sequence of (train, test)
        The splits.
    n_repeats : int
        Number of repeats of the cross-validation.
    scorers : dict
        Scorers by name.
    """
    messages = tuple(dict.fromkeys(message for cell in cells for message in cell["warnings"]))
    shape = (n_repeats, len(data.codes))
    failed = [(split, cell["error"]) for split, cell in enumerate(cells) if cell["error"] is not None]
    if failed:
        split, sentence = failed[0]
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
            error=f"split {split + 1} of {len(folds)}: {sentence}",
            warnings=messages,
        )
    n_folds = len(folds) // n_repeats
    splits = [_held_out(cells[k : k + 1], folds[k : k + 1], data)[1] for k in range(len(folds))]
    scores = {
        name: np.array([score_of_split(name, scorer, held) for held in splits])
        for name, scorer in scorers.items()
    }
    repeats = [
        _held_out(cells[k : k + n_folds], folds[k : k + n_folds], data) for k in range(0, len(folds), n_folds)
    ]
    in_groups = [(held, None if data.groups is None else data.groups[rows]) for rows, held in repeats]
    together = {name: score_together(name, scores[name], in_groups, folds) for name in scorers}
    predictions = np.full(shape, None, dtype=object)
    for repeat, (rows, held) in enumerate(repeats):
        predictions[repeat, rows] = data.classes[held.predicted]
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
        warnings=messages,
    )


def _held_out(
    cells: Sequence[Mapping[str, Any]], folds: Sequence[Split], data: Labelled
) -> tuple[np.ndarray, HeldOut]:
    """Return the indices of the held-out bags of these splits, and the concatenated predictions."""
    rows = np.concatenate([test for _, test in folds])
    fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
    outputs: dict[Output, np.ndarray] = {
        name: np.concatenate([cell[name] for cell in cells]) for name in OUTPUTS if cells[0][name] is not None
    }
    return rows, HeldOut(data.codes[rows], data.classes, fold, outputs)


def _out_of_fold(
    repeats: Sequence[tuple[np.ndarray, HeldOut]], shape: tuple[int, int]
) -> tuple[np.ndarray | None, str | None]:
    kinds = {"probability": "predict_proba", "score": "decision_function"}
    kind = next((kind for kind, output in kinds.items() if output in repeats[0][1].outputs), None)
    if kind is None:
        return None, None
    parts = [
        held.outputs[kinds[kind]] if len(held.classes) > 2 else getattr(held, kind) for _, held in repeats
    ]
    oof = np.full((*shape, *parts[0].shape[1:]), np.nan)
    for repeat, ((rows, _), values) in enumerate(zip(repeats, parts, strict=True)):
        oof[repeat, rows] = values
    return oof, kind


def _seconds(by_split: Sequence[Sequence[float]]) -> dict[str, Any]:
    names = ("fit_seconds", "predict_seconds", "fit_processor_seconds", "predict_processor_seconds")
    return dict(zip(names, np.array(by_split, dtype=float).T, strict=True))
