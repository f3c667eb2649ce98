"""Checks of bags that belong together: several of one patient, and the two sides of a split."""

from __future__ import annotations

import numpy as np

from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, count, first_few, quoted

# Parts of the names that columns of groups and of splits usually have.
_GROUPS = ("patient", "subject", "person", "donor", "participant", "animal", "case", "family", "group")
_SPLITS = ("split", "fold", "subset", "partition")


def check_groups(data: DataSet) -> Finding:
    """Look for several bags of a patient: of both labels, and on both sides of a split that came along."""
    columns = {
        name: values for name, values in data.bags.bag_columns.items() if values.ndim == 1 and len(values)
    }
    groups = [name for name in columns if _is_named(name, _GROUPS) and _repeats(columns[name])]
    if not groups:
        return Finding("ok", "groups", "no column says that several bags belong together.")
    name = groups[0]
    names, codes = np.unique(columns[name].astype(str), return_inverse=True)
    where = f"{len(codes):,} bags are of {count(len(names), 'group')} by the column {quoted(name)}"
    for split in (other for other in columns if _is_named(other, _SPLITS) and other != name):
        torn = _with_several(codes, columns[split])
        if len(torn):
            return Finding(
                "warning",
                "groups",
                f"{where}, and {count(len(torn), 'group')} {'stands' if len(torn) == 1 else 'stand'} on "
                f"several sides of the column {quoted(split)} ({first_few(names[torn])}): what is learned of "
                "a group helps to predict it, and scores are too good. Keep the bags of a group on one side.",
            )
    keep = (
        f"Keep the bags of a group in one fold: groups=bags.bag_columns[{name!r}] with GroupKFold (in the "
        f"program, --groups {name})"
    )
    mixed = _with_several(codes, data.label_codes if data.kind == "classes" else codes)
    if len(mixed):
        return Finding(
            "note",
            "groups",
            f"{where}, and {count(len(mixed), 'group')} {'has' if len(mixed) == 1 else 'have'} bags of "
            f"several labels ({first_few(names[mixed])}). If labels are meant for groups, correct them. "
            f"{keep}.",
        )
    return Finding("note", "groups", f"{where}. {keep}, or join them: bags.merge({name!r}).")


def _is_named(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name.lower() for part in parts)


def _repeats(values: np.ndarray) -> bool:
    return len(np.unique(values.astype(str))) < len(values)


def _with_several(codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which groups have several values."""
    _, others = np.unique(np.asarray(values).astype(str), return_inverse=True)
    pairs = np.unique(np.column_stack([codes, others]), axis=0)
    return np.flatnonzero(np.bincount(pairs[:, 0]) > 1)
