"""Checks of the instances: values, empty bags, features, memory."""

from __future__ import annotations

import numpy as np

from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, count, first_few, quoted, size_in_words

# An RBF kernel or a penalty sees only the widest of two features that differ by more than this.
_WIDE_RATIO = 100.0
_LARGE_KERNEL = 4e9


def check_values(data: DataSet) -> Finding:
    """Look for NaN and infinite values."""
    columns = data.columns
    n_bad = columns.n_nan + columns.n_infinite
    if columns.first_bad is None:
        return Finding("ok", "values", "all finite.")
    row, column = columns.first_bad
    bag = int(np.searchsorted(data.bags.offsets, row, side="right")) - 1
    what = {
        (True, True): f"{columns.n_nan:,} NaN and {columns.n_infinite:,} infinite values",
        (True, False): count(columns.n_nan, "NaN value"),
        (False, True): count(columns.n_infinite, "infinite value"),
    }[columns.n_nan > 0, columns.n_infinite > 0]
    where = (
        f"bag {quoted(data.bag_name(bag))}, instance {row - data.bags.offsets[bag]}, "
        f"feature {quoted(data.feature_name(column))}"
    )
    return Finding(
        "warning",
        "values",
        f"{what}, {'the first ' if n_bad > 1 else ''}in {where}. Remove or impute them, for instance with "
        "OnInstances(SimpleImputer()) in a pipeline.",
    )


def check_empty_bags(data: DataSet) -> Finding:
    """Look for bags without instances."""
    empty = np.flatnonzero(data.bags.sizes == 0)
    if len(empty) == 0:
        return Finding("ok", "empty bags", "none.")
    return Finding(
        "warning",
        "empty bags",
        f"{count(len(empty), 'bag')} without instances: {first_few(data.bags.ids[empty])}. Models refuse "
        "them; keep = bags.sizes > 0 selects the others: bags[keep], y[keep].",
    )


def check_constant_features(data: DataSet) -> Finding:
    """Look for features that never change."""
    constant = np.flatnonzero(data.columns.constant)
    if len(constant) == 0 or data.bags.n_instances < 2:
        return Finding("ok", "constant features", "none.")
    names = [data.feature_name(int(i)) for i in constant]
    return Finding(
        "note",
        "constant features",
        f"{len(constant):,} of {data.bags.n_features:,} never change: {first_few(names)}. They say nothing; "
        "OnInstances(VarianceThreshold()) drops them.",
    )


def check_scales(data: DataSet) -> Finding:
    """Compare the spread of the features."""
    varying = np.flatnonzero(~data.columns.constant & (data.columns.std > 0))
    if len(varying) < 2:
        return Finding("ok", "scales", "fewer than two features vary, nothing to compare.")
    std = data.columns.std[varying]
    least, most = int(np.argmin(std)), int(np.argmax(std))
    ratio = std[most] / std[least]
    if ratio < _WIDE_RATIO:
        return Finding("ok", "scales", f"standard deviations differ by a factor of {ratio:.3g} at most.")
    narrow, wide = (quoted(data.feature_name(int(varying[i]))) for i in (least, most))
    return Finding(
        "note",
        "scales",
        f"standard deviations go from {std[least]:.3g} (feature {narrow}) to {std[most]:.3g} (feature "
        f"{wide}). Scale them: linear and kernel models do so themselves (scale=), for others there is "
        "OnInstances(StandardScaler()).",
    )


def check_memory(data: DataSet) -> Finding:
    """Work out what kernel matrices would need."""
    instances, bags = 8.0 * data.bags.n_instances**2, 8.0 * len(data.bags) ** 2
    text = (
        f"a kernel between instances takes {size_in_words(instances)}, a set kernel between bags "
        f"{size_in_words(bags)}"
    )
    if instances <= _LARGE_KERNEL:
        return Finding("ok", "kernel memory", f"{text}.")
    if bags <= _LARGE_KERNEL:
        return Finding(
            "note", "kernel memory", f"{text}. Prefer set kernels, linear models or fewer instances."
        )
    return Finding(
        "note", "kernel memory", f"{text}. Prefer linear models, or kernels on a sample of the bags."
    )
