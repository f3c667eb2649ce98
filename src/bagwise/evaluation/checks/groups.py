"""Checks for groups of bags, such as several bags of one patient, and for groups that a split divides."""

from __future__ import annotations

import re

import numpy as np

from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, count, first_few, quoted

# Columns whose names contain one of these are treated as groups or as splits.
_GROUPS = (
    "patient",
    "subject",
    "person",
    "donor",
    "participant",
    "animal",
    "case",
    "family",
    "group",
    "batch",
)
_SPLITS = ("split", "fold", "subset", "partition")
# Integer columns with one of these parts in their names contain identifiers, not measurements.
_IDENTIFIER = re.compile(r"(^|[\W_])(id|nr|no|number|code)($|[\W_])")
# Other columns may be groups if they have at least three values, each of them in this many bags on average.
_FEWEST_VALUES, _FEWEST_BAGS = 3, 4


def check_groups(data: DataSet) -> Finding:
    """Check whether bags form groups, and whether a group has several labels or is divided by a split."""
    columns = {
        name: values for name, values in data.bags.bag_columns.items() if values.ndim == 1 and len(values)
    }
    groups = [name for name in columns if _is_named(name, _GROUPS) and _repeats(columns[name])]
    if not groups:
        return _possible_groups(data, columns)
    name = groups[0]
    names, codes = np.unique(columns[name].astype(str), return_inverse=True)
    summary = f"{len(codes):,} bags form {count(len(names), 'group')} in column {quoted(name)}"
    for split in (other for other in columns if _is_named(other, _SPLITS) and other != name):
        torn = _with_several(codes, columns[split])
        if len(torn):
            return Finding(
                "warning",
                "groups",
                f"{summary}, and {count(len(torn), 'group')} {'is' if len(torn) == 1 else 'are'} divided "
                f"by column {quoted(split)} ({first_few(names[torn])}). Test scores are too optimistic if "
                "training and test bags come from the same group. Keep all bags of a group on one side.",
            )
    keep = (
        f"Keep the bags of a group in one fold: pass groups=bags.bag_columns[{name!r}] with GroupKFold "
        f"(command line: --groups {name})"
    )
    mixed = _with_several(codes, data.label_codes if data.kind == "classes" else codes)
    if len(mixed):
        return Finding(
            "note",
            "groups",
            f"{summary}, and {count(len(mixed), 'group')} {'has' if len(mixed) == 1 else 'have'} bags of "
            f"different labels ({first_few(names[mixed])}). If all bags of a group should have the same "
            f"label, correct the labels. {keep}.",
        )
    return Finding("note", "groups", f"{summary}. {keep}, or merge them: bags.merge({name!r}).")


def _possible_groups(data: DataSet, columns: dict[str, np.ndarray]) -> Finding:
    """Check whether a column with an unknown name has few values for many bags, as a column of groups has."""
    for name, values in columns.items():
        is_text = values.dtype.kind in "UO" and all(isinstance(value, str) for value in values.tolist())
        is_identifier = values.dtype.kind in "iu" and _IDENTIFIER.search(name.lower()) is not None
        if not (is_text or is_identifier) or _is_named(name, _SPLITS):
            continue
        codes = np.unique(values, return_inverse=True)[1]
        n_values = int(codes.max()) + 1
        if n_values < _FEWEST_VALUES or n_values * _FEWEST_BAGS > len(values):
            continue
        if data.kind == "classes" and not len(_with_several(codes, data.label_codes)):
            continue  # the column determines the labels, so it describes classes
        return Finding(
            "note",
            "groups",
            f"column {quoted(name)} has {n_values:,} values for {len(values):,} bags. If bags with the same "
            "value may be similar for reasons other than their labels (same batch, day or site), keep them "
            f"in one fold: pass groups=bags.bag_columns[{name!r}] with GroupKFold "
            f"(command line: --groups {name}).",
        )
    return Finding("ok", "groups", "no column defines groups of bags.")


def _is_named(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name.lower() for part in parts)


def _repeats(values: np.ndarray) -> bool:
    return len(np.unique(values.astype(str))) < len(values)


def _with_several(codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the indices of the groups that have more than one value."""
    _, others = np.unique(np.asarray(values).astype(str), return_inverse=True)
    pairs = np.unique(np.column_stack([codes, others]), axis=0)
    return np.flatnonzero(np.bincount(pairs[:, 0]) > 1)
