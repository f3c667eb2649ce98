"""Checks of the labels: classes, order of the bags, and whether the bag size predicts the label."""

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
    """Check the type of the labels and whether every class has enough bags."""
    if data.kind == "none":
        return Finding("note", "labels", "none, so only the instances were checked.")
    if len(data.bags) == 0:
        return Finding("warning", "labels", "the data set has no bags.")
    y = data.y
    missing = _missing_labels(y)
    if missing.any():
        first = quoted(data.bag_name(int(np.argmax(missing))))
        return Finding(
            "warning",
            "labels",
            f"{count(int(missing.sum()), 'bag')} without a label; the first is {first}. Remove them, or use "
            "a model that accepts unlabeled bags.",
        )
    if data.kind == "other":
        return Finding("note", "labels", f"y has shape {y.shape} and dtype {y.dtype}; not checked.")
    classes = data.classes
    if data.kind == "numbers":
        return Finding(
            "note",
            "labels",
            f"y has {len(classes):,} distinct values and looks continuous. Classifiers need class labels, "
            "for example y > threshold.",
        )
    if data.kind == "labels":
        return _several_labels(data)
    if len(classes) < 2:
        return Finding(
            "warning",
            "labels",
            f"only one class, {first_few(classes)}. Classifiers need two; models for positive and unlabeled "
            "bags need unlabeled bags as well.",
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
            f"{len(classes)} classes, but most bagwise models are binary: wrap them in "
            "sklearn.multiclass.OneVsRestClassifier or bagwise.OneVsOneBagClassifier.",
        )
    low, high = map(quoted, classes)
    if classes.dtype.kind not in "biuf":
        return Finding(
            "note",
            "labels",
            f"text labels {low} and {high}: choose the positive class with positive={high} or positive={low} "
            f"(command line: --positive {low}).",
        )
    return Finding("ok", "labels", f"two classes; {high} is the positive class.")


def _missing_labels(y: np.ndarray) -> np.ndarray:
    """Return a mask of the bags whose label is NaN or None."""
    if y.dtype.kind in "fc":
        missing = np.isnan(y)
    elif y.dtype == object:
        missing = np.array([v is None or v != v for v in y.ravel()], dtype=bool)
    else:
        return np.zeros(len(y), dtype=bool)
    return missing.reshape(len(y), -1).any(axis=1)


def _several_labels(data: DataSet) -> Finding:
    text = f"{data.y.shape[1]} label columns: fit one model per column, y[:, k]."
    unused = [name for name, has in data.problems if has.all() or not has.any()]
    if unused:
        text += f" {count(len(unused), 'column')} with a single value: {first_few(unused)}."
    return Finding("note", "labels", text)


def check_order(data: DataSet) -> Finding:
    """Check whether bags are sorted by label, beyond what chance explains."""
    if data.kind == "labels":
        columns = [has.astype(np.int64) for _, has in data.problems]
    elif data.kind == "classes":
        columns = [data.label_codes]
    else:
        return Finding("ok", "order", "nothing to check: no classes.")
    ordered = [k for k, codes in enumerate(columns) if _is_in_blocks(codes, len(columns))]
    if not ordered:
        return Finding("ok", "order", "bags are not sorted by label.")
    sort_key = f"label column {first_few(ordered)}" if data.kind == "labels" else "label"
    return Finding(
        "note",
        "order",
        f"bags are sorted by {sort_key}. Shuffle them in every cross-validation: "
        "StratifiedKFold(shuffle=True).",
    )


def _is_in_blocks(codes: np.ndarray, n_looks: int) -> bool:
    """Return whether the bags of each label are contiguous, and a random order has p < 0.001 for that."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    n_changes = int((codes[1:] != codes[:-1]).sum())
    if len(counts) < 2 or n_changes >= len(counts):
        return False
    # k! of the n! / (n_1! ... n_k!) possible orders consist of one run per label.
    log_orders = gammaln(len(codes) + 1) - gammaln(counts + 1).sum()
    log_chance = gammaln(len(counts) + 1) - log_orders
    return bool(log_chance + np.log(n_looks) < np.log(0.001))


def check_size(data: DataSet) -> Finding:
    """Check whether the bag size predicts the label."""
    problems = [(name, has) for name, has in data.problems if has.any() and not has.all()]
    sizes = data.bags.sizes
    if not problems or len(np.unique(sizes)) < 2:
        reason = "all bags have the same size." if problems else "nothing to check: no classes."
        return Finding("ok", "size and label", reason)
    results = [(*size_auc(sizes, has), name) for name, has in problems]
    telling = [
        result
        for result in results
        if result[1] * len(results) < _P_VALUE and abs(result[0] - 0.5) >= _AUC_DISTANCE
    ]
    auc, p_value, name = max(telling or results, key=lambda result: abs(result[0] - 0.5))
    statistics = f"AUC {max(auc, 1 - auc):.2f}, p = {p_value:.1g}"
    if not telling:
        return Finding("ok", "size and label", f"the bag size does not predict the label ({statistics}).")
    larger = "larger" if auc > 0.5 else "smaller"
    others = len(telling) - 1
    more = f"; sizes also predict {count(others, 'other label')}" if others else ""
    return Finding(
        "warning",
        "size and label",
        f"bags labeled {quoted(name)} are {larger} ({statistics}){more}. If bag sizes depend on how the "
        "data were collected, models learn that artifact; compare them with BagStatistics(('size',)) alone.",
    )


def size_auc(sizes: np.ndarray, has_label: np.ndarray) -> tuple[float, float]:
    """Return the AUC of the bag size as a score, and the two-sided p value of the Mann-Whitney U test.

    Sizes are integers with many ties, so counts per distinct size are sufficient. The normal
    approximation is corrected for ties and continuity. scipy.stats is not used, because importing it
    takes longer than all the checks.
    """
    values, size_index = np.unique(sizes, return_inverse=True)
    n_with = np.bincount(size_index, weights=has_label, minlength=len(values))
    n_all = np.bincount(size_index, minlength=len(values)).astype(np.float64)
    n1, n = n_with.sum(), n_all.sum()
    n0 = n - n1
    # A pair counts as 1 if the bag with the label is larger, and as 1/2 if both sizes are equal.
    n_without = n_all - n_with
    u = float(n_with @ (np.cumsum(n_without) - n_without / 2))
    ties = float((n_all**3 - n_all).sum()) / (n * (n - 1))
    spread = sqrt(n0 * n1 / 12 * (n + 1 - ties))
    z = max(abs(u - n0 * n1 / 2) - 0.5, 0.0) / spread
    return u / (n0 * n1), min(1.0, 2.0 * float(ndtr(-z)))
