"""Stability of a model under different starts and training bags."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from bagwise._display.parts import Table
from bagwise.data.bags import is_scan
from bagwise.evaluation.checks.report import count
from bagwise.evaluation.held_out.intervals import auc_interval, share_interval
from bagwise.models.wrappers.instance_level import instance_model, instance_predictions, label_names
from bagwise.report.subject import Subject, percent

_SAME = 1e-4  # objectives with a smaller relative difference count as the same optimum
_MOST_BAGS = 500  # whose key instances are compared


def stability_parts(subject: Subject) -> list[Any]:
    """Return the results of the starts, the scores per fold, and the agreement on key instances."""
    parts: list[Any] = []
    parts += _starts(subject)
    parts += _folds(subject)
    parts += _key_instances(subject)
    return parts


def _starts(subject: Subject) -> list[Any]:
    values = subject.inner("objectives_")
    values = np.asarray([] if values is None else values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return []
    best = values.min()
    n_same = int((values - best <= _SAME * max(1.0, abs(best))).sum())
    text = f"{n_same} of {len(values)} starts"
    if subject.inner("n_init") not in (None, len(values)):
        # A LASSO path also starts from the solutions of the previous penalty.
        text += f" (n_init={subject.inner('n_init')} random starts at most, plus solutions of earlier steps)"
    text += f" reached the best objective, {best:.6g}"
    if n_same < len(values):
        text += f"; the others ended at most {values.max() - best:.3g} above it"
        if n_same == 1:
            text += ". Only one start reached it, so more starts (n_init) may find a better optimum"
    return [f"{text}."]


def _folds(subject: Subject) -> list[Any]:
    evaluation = subject.evaluation
    if evaluation is None or evaluation.from_unlabeled:
        return []
    held, rows = evaluation.held, []
    for index in range(min(held.n_folds, 20)):
        chosen = held.fold == index
        row: dict[str, Any] = {
            "fold": index + 1,
            "bags": f"{int(chosen.sum()):,}",
            "accuracy": f"{(held.predicted[chosen] == held.codes[chosen]).mean():.3f}",
        }
        if held.score is not None:
            auc = auc_interval(held.codes[chosen] == 1, held.score[chosen], held.fold[chosen])[0]
            row["AUC"] = "-" if auc != auc else f"{auc:.3f}"
        rows.append(row)
    n_left = held.n_folds - len(rows)
    note = f"{count(n_left, 'more fold')} not shown." if n_left > 0 else ""
    return [Table("Scores per fold", rows, note)]


def _key_instances(subject: Subject) -> list[Any]:
    """Compare the key instances (the most positive instance of each positive bag) between models."""
    evaluation = subject.evaluation
    if evaluation is None or not evaluation.held.models or subject.bags is None or len(subject.names) != 2:
        return []
    if label_names(subject.model) is not None or instance_model(subject.model) is None:
        return []
    held, sizes = evaluation.held, np.asarray(subject.bags.sizes)
    several = np.flatnonzero((held.codes == 1) & (sizes > 1))
    if not len(several):
        return []
    indices = several[np.unique(np.linspace(0, len(several) - 1, _MOST_BAGS).astype(int))]
    bags = subject.bags[indices]
    bags = bags.load() if is_scan(bags) else bags
    keys = np.array([key_indices(model, bags) for model in held.models])
    of_all = key_indices(subject.model, bags)
    unseen = keys[held.fold[indices], np.arange(len(indices))]
    same = unseen == of_all
    groups = None if subject.groups is None else subject.groups[indices]
    low, high = share_interval(same, groups)
    interval = "-" if low != low else f"{percent(low)} to {percent(high)}"
    pairs = [float((first == second).mean()) for first, second in combinations(keys, 2)]
    chance = float((1 / sizes[indices]).mean())
    rows = [
        {
            "models": "fitted without the bag, fitted to all bags",
            "same key instance": percent(float(same.mean())),
            "95 %": interval,
        },
        {
            "models": "two models of different folds (mean)",
            "same key instance": percent(float(np.mean(pairs))) if pairs else "-",
            "95 %": "",
        },
        {"models": "chance (random instances)", "same key instance": percent(chance), "95 %": ""},
    ]
    bag_count = (
        f"{len(indices):,} of {len(several):,}" if len(indices) < len(several) else f"{len(indices):,}"
    )
    note = (
        f"The key instance of a bag is its most positive instance. Based on {bag_count} positive bags with "
        "several instances."
    )
    return [Table("Agreement on key instances", rows, note)]


def key_indices(model: Any, bags: Any) -> np.ndarray:
    """Return the index of the most positive instance in each bag; the first one in case of ties."""
    values = np.asarray(instance_predictions(model, bags)[1], dtype=float)
    parts = np.split(values, bags.offsets[1:-1])
    return np.array([int(np.argmax(part)) for part in parts])
