"""`inspect_bags` runs all checks on a data set and collects basic facts about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.bags import Bags, is_scan
from bagwise.data.scanned import ScannedBags
from bagwise.evaluation.checks import groups, instances, labels, repeats
from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, Report, count, first_few, format_size, quoted

# A check takes a `DataSet` and returns a `Finding`. These checks need numeric instances.
_OF_VALUES = (
    instances.check_values,
    instances.check_constant_features,
    instances.check_scales,
    instances.check_width,
    repeats.check_repeated_rows,
    repeats.check_repeated_bags,
)
# These checks use only bag sizes, labels and bag columns.
_OF_BAGS = (
    instances.check_empty_bags,
    labels.check_classes,
    labels.check_order,
    labels.check_size,
    groups.check_groups,
    instances.check_memory,
)
_MOST_CLASSES_LISTED = 5
_MOST_VALUES_READ = 10**6  # values that `inspect_scan` reads at most


def inspect_bags(bags: Bags, y: Any = None) -> Report:
    """Check bags and labels for problems that harm models or their evaluation.

    Parameters
    ----------
    bags : Bags
        Bags of any kind: empty bags, NaN, CSR instances and text instances are allowed.
    y : array of shape (n_bags,) or (n_bags, n_labels), optional
        Labels of the bags.

    Returns
    -------
    Report
        Facts about the data, and one finding per check.

    Notes
    -----
    Time is O(n_instances (n_features + log n_instances)).

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import Bags
    >>> from bagwise.evaluation.checks import inspect_bags
    >>> report = inspect_bags(Bags(np.array([[1.0], [2.0], [np.nan]]), [0, 2, 3]), [0, 1])
    >>> report.findings[0].level, report.findings[0].text
    ('warning', '1 NaN value, in bag 1, instance 0, feature 0. Remove or impute ...')
    """
    data = DataSet(bags, y)
    checks = (*(_OF_VALUES if data.is_numeric else (_other_values,)), *_OF_BAGS)
    return Report(tuple(_facts(data)), tuple(check(data) for check in checks))


def inspect_scan(scan: ScannedBags, y: Any = None) -> Report:
    """Check bags that are stored in files: all sizes and labels, but only the values of the first bags.

    Parameters
    ----------
    scan : ScannedBags
        The bags. The values of the first bags are read: up to a million values, and at least one bag.
    y : array of shape (n_bags,), optional
        Labels of the bags.
    """
    data = DataSet(scan, y)
    n_read = max(
        1, int(np.searchsorted(scan.offsets, _MOST_VALUES_READ // scan.n_features, side="right")) - 1
    )
    first = DataSet(scan[:n_read].load())
    of_values = [
        Finding(finding.level, finding.topic, f"in the first {count(n_read, 'bag')}: {finding.text}")
        for finding in (check(first) for check in _OF_VALUES[:3])
    ]
    of_values.append(instances.check_width(first, len(scan)))
    return Report(tuple(_facts(data)), (*of_values, *(check(data) for check in _OF_BAGS)))


def inspect_any(bags: Any, y: Any = None) -> Report:
    """Check bags in memory with `inspect_bags`, and bags in files with `inspect_scan`."""
    return inspect_scan(bags, y) if is_scan(bags) else inspect_bags(bags, y)


def _other_values(data: DataSet) -> Finding:
    kind = data.bags.instances.dtype
    return Finding(
        "warning", "values", f"instances have dtype {kind}, but models need numeric values; not checked."
    )


def _facts(data: DataSet) -> list[tuple[str, str]]:
    bags = data.bags
    sizes = bags.sizes
    facts = [
        ("bags", f"{len(bags):,}"),
        ("instances", f"{bags.n_instances:,}"),
        ("features", f"{bags.n_features:,}"),
    ]
    if not is_scan(bags):
        facts.append(("values", _describe_values(bags.instances)))
    if len(sizes):
        facts.append(
            (
                "bag sizes",
                f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):g}, mean {sizes.mean():.4g}",
            )
        )
    facts.append(("labels", _describe_labels(data)))
    if bags.bag_columns:
        facts.append(("bag columns", first_few(list(bags.bag_columns), 6)))
    return facts


def _describe_values(X: Any) -> str:
    if sp.issparse(X):
        n_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        share = X.nnz / max(1, X.shape[0] * X.shape[1])
        return f"{X.dtype}, {format_size(n_bytes)}, sparse ({share:.2%} stored)"
    text = f"{X.dtype}, {format_size(X.nbytes)}"
    if X.dtype.kind in "biu":
        text += f" ({format_size(8.0 * X.size)} after models convert it to float64)"
    return text


def _describe_labels(data: DataSet) -> str:
    y = data.y
    if data.kind == "none":
        return "none"
    if data.kind == "labels":
        per_label = (y != 0).sum(axis=0)
        return (
            f"{y.shape[1]} labels, each of {per_label.min(initial=len(y)):,} to "
            f"{per_label.max(initial=0):,} bags; on average {(y != 0).sum() / max(1, len(y)):.3g} per bag"
        )
    if data.kind == "other":
        return f"{y.dtype} of shape {y.shape}"
    if data.kind == "numbers":
        return f"{y.dtype} from {np.nanmin(y):.4g} to {np.nanmax(y):.4g}"
    counts = np.bincount(data.label_codes, minlength=len(data.classes))
    if len(counts) > _MOST_CLASSES_LISTED:
        spread = f"{counts.min():,} to " if counts.min() < counts.max() else ""
        return f"{len(counts)} classes of {spread}{counts.max():,} bags"
    return ", ".join(
        f"{quoted(label)}: {count(int(n), 'bag')} ({n / len(y):.0%})"
        for label, n in zip(data.classes, counts, strict=True)
    )
