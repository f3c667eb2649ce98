"""Checks of the labels: classes, their order, and whether the size of a bag gives its label away."""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.special import gammaln, ndtr

from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, count, first_few, quoted

_P_VALUE = 0.01
_AUC_DISTANCE = 0.1
_FOLDS = 5


def check_classes(data: DataSet) -> Finding:
    """Look at what kind of labels there are, and whether there are enough of each."""
    if data.kind == "none":
        return Finding("note", "labels", "there are none, so only the instances were looked at.")
    if len(data.bags) == 0:
        return Finding("warning", "labels", "there is not a single bag.")
    y = data.y
    missing = _missing_labels(y)
    if missing.any():
        first = quoted(data.bag_name(int(np.argmax(missing))))
        return Finding(
            "warning",
            "labels",
            f"{count(int(missing.sum()), 'bag')} without a label, the first is {first}. Drop them, or use "
            "a model that takes bags of unknown label.",
        )
    if data.kind == "other":
        return Finding("note", "labels", f"y has shape {y.shape} and type {y.dtype}; it was not looked at.")
    classes = data.classes
    if data.kind == "numbers":
        return Finding(
            "note",
            "labels",
            f"y has {len(classes):,} different numbers: a measurement rather than classes. Classifiers need "
            "classes, such as y > threshold.",
        )
    if data.kind == "labels":
        return _several_labels(data)
    if len(classes) < 2:
        return Finding(
            "warning",
            "labels",
            f"one class only, {first_few(classes)}. Classifiers need two; models of positive and unlabeled "
            "bags need unlabeled ones.",
        )
    counts = np.bincount(data.label_codes)
    if counts.min() < _FOLDS:
        rare = classes[int(np.argmin(counts))]
        return Finding(
            "warning",
            "labels",
            f"class {quoted(rare)} has {count(int(counts.min()), 'bag')}: too few for {_FOLDS}-fold "
            "cross-validation.",
        )
    if len(classes) > 2:
        return Finding(
            "note",
            "labels",
            f"{len(classes)} classes, and most models here take two: wrap them in "
            "sklearn.multiclass.OneVsRestClassifier or bagwise.OneVsOneBagClassifier.",
        )
    low, high = map(quoted, classes)
    if classes.dtype.kind not in "biuf":
        return Finding(
            "note",
            "labels",
            f"{high} sorts last, so it is taken as the positive class. If you mean {low}, pass y == {low} "
            f"(in the program, --positive {low}).",
        )
    return Finding("ok", "labels", f"two classes, {high} is the positive one.")


def _missing_labels(y: np.ndarray) -> np.ndarray:
    """Say which bags have NaN or None for a label."""
    if y.dtype.kind in "fc":
        missing = np.isnan(y)
    elif y.dtype == object:
        missing = np.array([v is None or v != v for v in y.ravel()], dtype=bool)
    else:
        return np.zeros(len(y), dtype=bool)
    return missing.reshape(len(y), -1).any(axis=1)


def _several_labels(data: DataSet) -> Finding:
    text = f"{data.y.shape[1]} per bag: fit one model for each, y[:, k]."
    unused = [name for name, has in data.problems if has.all() or not has.any()]
    if unused:
        text += f" {count(len(unused), 'column')} with one value only: {first_few(unused)}."
    return Finding("note", "labels", text)


def check_order(data: DataSet) -> Finding:
    """Look whether bags of one label stand together, more than chance explains."""
    if data.kind == "labels":
        columns = [has.astype(np.int64) for _, has in data.problems]
    elif data.kind == "classes":
        columns = [data.label_codes]
    else:
        return Finding("ok", "order", "no classes, nothing to compare.")
    ordered = [k for k, codes in enumerate(columns) if _is_in_blocks(codes, len(columns))]
    if not ordered:
        return Finding("ok", "order", "bags of different labels are mixed.")
    which = f"labels {first_few(ordered)}" if data.kind == "labels" else "labels"
    return Finding(
        "note",
        "order",
        f"bags stand in order of their {which}. Shuffle before any cross-validation: "
        "StratifiedKFold(shuffle=True).",
    )


def _is_in_blocks(codes: np.ndarray, n_looks: int) -> bool:
    """Whether every label is one run of bags, and a random order would hardly ever do that."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    n_changes = int((codes[1:] != codes[:-1]).sum())
    if len(counts) < 2 or n_changes >= len(counts):
        return False
    # Of n! / (n_1! ... n_k!) orders, k! are in blocks.
    log_orders = gammaln(len(codes) + 1) - gammaln(counts + 1).sum()
    log_chance = gammaln(len(counts) + 1) - log_orders
    return bool(log_chance + np.log(n_looks) < np.log(0.001))


def check_size(data: DataSet) -> Finding:
    """Look whether the size of a bag tells its label."""
    problems = [(name, has) for name, has in data.problems if has.any() and not has.all()]
    sizes = data.bags.sizes
    if not problems or len(np.unique(sizes)) < 2:
        reason = "all bags have the same size." if problems else "no classes, nothing to compare."
        return Finding("ok", "size and label", reason)
    results = [(*size_auc(sizes, has), name) for name, has in problems]
    telling = [
        result
        for result in results
        if result[1] * len(results) < _P_VALUE and abs(result[0] - 0.5) >= _AUC_DISTANCE
    ]
    auc, p_value, name = max(telling or results, key=lambda result: abs(result[0] - 0.5))
    numbers = f"AUC {max(auc, 1 - auc):.2f}, p = {p_value:.1g}"
    if not telling:
        return Finding("ok", "size and label", f"the size does not give the label away ({numbers}).")
    larger = "larger" if auc > 0.5 else "smaller"
    others = len(telling) - 1
    more = f"; so it is with {count(others, 'other label')}" if others else ""
    return Finding(
        "warning",
        "size and label",
        f"bags labelled {quoted(name)} are {larger} ({numbers}){more}. If the size comes from "
        "how the data were collected, models will learn it; compare with BagStatistics(('size',)) alone.",
    )


def size_auc(sizes: np.ndarray, has_label: np.ndarray) -> tuple[float, float]:
    """Give the AUC of the size as a score, and the two-sided p value of Mann and Whitney.

    Sizes are whole numbers with many ties: counting them is all there is to do. The normal
    approximation is corrected for ties and continuity; importing scipy.stats for it would take longer
    than all the rest.
    """
    values, place = np.unique(sizes, return_inverse=True)
    n_with = np.bincount(place, weights=has_label, minlength=len(values))
    n_all = np.bincount(place, minlength=len(values)).astype(np.float64)
    n1, n = n_with.sum(), n_all.sum()
    n0 = n - n1
    # A pair counts if the bag with the label is the larger one; half if the sizes are equal.
    n_without = n_all - n_with
    u = float(n_with @ (np.cumsum(n_without) - n_without / 2))
    ties = float((n_all**3 - n_all).sum()) / (n * (n - 1))
    spread = sqrt(n0 * n1 / 12 * (n + 1 - ties))
    z = max(abs(u - n0 * n1 / 2) - 0.5, 0.0) / spread
    return u / (n0 * n1), min(1.0, 2.0 * float(ndtr(-z)))
