"""Checks of the instances: NaN and infinite values, empty bags, features and memory."""

from __future__ import annotations

import numpy as np

from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, count, first_few, format_size, quoted

# If standard deviations differ by more than this factor, the widest features dominate kernels and penalties.
_WIDE_RATIO = 100.0
_LARGE_KERNEL = 4e9
# Standard deviations within this factor are similar, as in features of a neural network.
_SIMILAR_RATIO = 30.0


def check_values(data: DataSet) -> Finding:
    """Check for NaN and infinite values."""
    columns = data.columns
    n_bad = columns.n_nan + columns.n_infinite
    if columns.first_bad is None:
        return Finding("ok", "values", "all finite.")
    row, column = columns.first_bad
    bag = int(np.searchsorted(data.bags.offsets, row, side="right")) - 1
    counts = {
        (True, True): f"{columns.n_nan:,} NaN and {columns.n_infinite:,} infinite values",
        (True, False): count(columns.n_nan, "NaN value"),
        (False, True): count(columns.n_infinite, "infinite value"),
    }[columns.n_nan > 0, columns.n_infinite > 0]
    location = (
        f"bag {quoted(data.bag_name(bag))}, instance {row - data.bags.offsets[bag]}, "
        f"feature {quoted(data.feature_name(column))}"
    )
    remedy = "Remove or impute them, for example with OnInstances(SimpleImputer()) in a pipeline."
    if columns.n_infinite:
        remedy = (
            "Replace infinite values by finite ones or by NaN, and impute NaN, for example with "
            "OnInstances(SimpleImputer()) in a pipeline."
        )
    return Finding(
        "warning",
        "values",
        f"{counts}, {'the first ' if n_bad > 1 else ''}in {location}. {remedy}",
    )


def check_empty_bags(data: DataSet) -> Finding:
    """Check for bags without instances."""
    empty = np.flatnonzero(data.bags.sizes == 0)
    if len(empty) == 0:
        return Finding("ok", "empty bags", "none.")
    return Finding(
        "warning",
        "empty bags",
        f"{count(len(empty), 'bag')} without instances: {first_few(data.bags.ids[empty])}. Models reject "
        "empty bags; remove them: keep = bags.sizes > 0, then bags[keep], y[keep].",
    )


def check_constant_features(data: DataSet) -> Finding:
    """Check for features with a single value."""
    constant = np.flatnonzero(data.columns.constant)
    if len(constant) == 0 or data.bags.n_instances < 2:
        return Finding("ok", "constant features", "none.")
    names = [data.feature_name(int(i)) for i in constant]
    return Finding(
        "note",
        "constant features",
        f"{len(constant):,} of {data.bags.n_features:,} are constant: {first_few(names)}. They carry no "
        "information; remove them with OnInstances(VarianceThreshold()).",
    )


def check_scales(data: DataSet) -> Finding:
    """Compare the standard deviations of the features."""
    varying = np.flatnonzero(~data.columns.constant & (data.columns.std > 0))
    if len(varying) < 2:
        return Finding("ok", "scales", "nothing to compare: fewer than two features vary.")
    std = data.columns.std[varying]
    least, most = int(np.argmin(std)), int(np.argmax(std))
    ratio = std[most] / std[least]
    if ratio < _WIDE_RATIO:
        return Finding("ok", "scales", f"standard deviations differ by a factor of at most {ratio:.3g}.")
    narrow, wide = (quoted(data.feature_name(int(varying[i]))) for i in (least, most))
    return Finding(
        "note",
        "scales",
        f"standard deviations range from {std[least]:.3g} (feature {narrow}) to {std[most]:.3g} (feature "
        f"{wide}). Scale the features: linear and kernel models have a parameter scale; for other models "
        "use OnInstances(StandardScaler()).",
    )


def check_width(data: DataSet, n_bags: int | None = None) -> Finding:
    """Check for more features than bags, with similar scales: many features may have small effects."""
    n_features = data.bags.n_features
    n_bags = len(data.bags) if n_bags is None else n_bags
    std = data.columns.std[~data.columns.constant & (data.columns.std > 0)]
    if n_features <= n_bags or len(std) < 2 or std.max() / std.min() > _SIMILAR_RATIO:
        return Finding("ok", "features", f"{n_features:,} for {n_bags:,} bags.")
    return Finding(
        "note",
        "features",
        f"{n_features:,} for {n_bags:,} bags, on similar scales. If most of them matter, like the features "
        "of a neural network, start with a ridge penalty, MILogisticRegression(l1_ratio=0) (command line: "
        "--set l1_ratio=0). The default (LASSO) selects only a few features.",
    )


def check_memory(data: DataSet) -> Finding:
    """Estimate the memory that kernel matrices would need."""
    instances, bags = 8.0 * data.bags.n_instances**2, 8.0 * len(data.bags) ** 2
    text = (
        f"an instance kernel matrix needs {format_size(instances)}, a set kernel matrix {format_size(bags)}"
    )
    if instances <= _LARGE_KERNEL:
        return Finding("ok", "kernel memory", f"{text}.")
    if bags <= _LARGE_KERNEL:
        return Finding(
            "note", "kernel memory", f"{text}. Prefer set kernels, linear models or fewer instances."
        )
    return Finding(
        "note", "kernel memory", f"{text}. Prefer linear models, or fit kernel models to a sample of bags."
    )
