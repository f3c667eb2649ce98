"""From the cells of a model to its row."""

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
    """Score the predictions of a model, split by split and all together.

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
    n_folds = len(folds) // n_repeats
    splits = [_held_out([cell], [fold], data) for cell, fold in zip(cells, folds, strict=True)]
    scores = {
        name: np.array([score_of_split(name, scorer, held) for held in splits])
        for name, scorer in scorers.items()
    }
    starts = range(0, len(folds), n_folds)
    rows = [np.concatenate([test for _, test in folds[k : k + n_folds]]) for k in starts]
    repeats = [_held_out(cells[k : k + n_folds], folds[k : k + n_folds], data) for k in starts]
    in_groups = [
        (held, None if data.groups is None else data.groups[held_rows])
        for held, held_rows in zip(repeats, rows, strict=True)
    ]
    together = {name: score_together(name, scores[name], in_groups, folds) for name in scorers}
    predictions = np.full(shape, None, dtype=object)
    for repeat, held in enumerate(repeats):
        predictions[repeat, rows[repeat]] = data.classes[held.predicted]
    oof, kind = _out_of_fold(repeats, rows, shape)
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


def _held_out(cells: Sequence[Mapping[str, Any]], folds: Sequence[Split], data: Labelled) -> HeldOut:
    """Join the cells of some splits: their held-out bags, split after split."""
    rows = np.concatenate([test for _, test in folds])
    fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
    outputs: dict[Output, np.ndarray] = {
        name: np.concatenate([cell[name] for cell in cells]) for name in OUTPUTS if cells[0][name] is not None
    }
    return HeldOut(data.codes[rows], data.classes, fold, outputs)


def _out_of_fold(
    repeats: Sequence[HeldOut], rows: Sequence[np.ndarray], shape: tuple[int, int]
) -> tuple[np.ndarray | None, str | None]:
    kinds = {"probability": "predict_proba", "score": "decision_function"}
    kind = next((kind for kind, output in kinds.items() if output in repeats[0].outputs), None)
    if kind is None:
        return None, None
    parts = [held.outputs[kinds[kind]] if len(held.classes) > 2 else getattr(held, kind) for held in repeats]
    oof = np.full((*shape, *parts[0].shape[1:]), np.nan)
    for repeat, values in enumerate(parts):
        oof[repeat, rows[repeat]] = values
    return oof, kind


def _seconds(by_split: Sequence[Sequence[float]]) -> dict[str, Any]:
    names = ("fit_seconds", "predict_seconds", "fit_processor_seconds", "predict_processor_seconds")
    return dict(zip(names, np.array(by_split, dtype=float).T, strict=True))
