"""Missing labels, and bag labels that are stored in a separate table."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.description import BAG_NAMES, missing_values, refuse_duplicates
from bagwise.exceptions import warn_user
from bagwise.io._folder import read_label_table, whole_labels, with_none
from bagwise.io._rows import as_table
from bagwise.io._table import read_header

Missing: TypeAlias = Literal["raise", "skip", "keep"]


def treat_missing(
    bags: Bags, y: np.ndarray | None, missing: Missing, where: str
) -> tuple[Bags, np.ndarray | None]:
    """Skip bags without a label, or keep them with the label NaN (None among text labels)."""
    if missing not in ("raise", "skip", "keep"):
        raise ValueError(f'missing must be "raise", "skip" or "keep"; got {missing!r}.')
    if y is None or missing == "raise":
        return bags, y
    unlabelled = missing_values(y)
    if not unlabelled.any():
        return bags, y
    if missing == "keep":
        return bags, with_none(y, unlabelled)
    n = int(unlabelled.sum())
    if n == len(bags):
        raise ValueError(f"{where}: no bag has a label.")
    warn_user(f"{where}: {n:,} {'bag has' if n == 1 else 'bags have'} no label; skipped.")
    return bags[~unlabelled], whole_labels(y[~unlabelled])


def join_labels(
    bags: Bags, table: Any, *, bag: str | None, label: str | None, missing: Missing, where: str
) -> tuple[Bags, np.ndarray]:
    """Add the labels and bag columns of a separate table to bags; rows are matched by bag id, as text.

    Parameters
    ----------
    bags : Bags
        The bags.
    table : path or TableFile
        The table, with one row per bag.
    bag, label : str or None
        The columns of the table with the ids and the labels. If the table has no column `bag`, the default
        names are tried.
    missing : {"raise", "skip", "keep"}
        How to treat bags without a label and, with "skip", rows without a bag.
    where : str
        The name of the data in messages.
    """
    table = as_table(table)
    name = repr(str(table))
    header = read_header(table)
    if bag not in header and not {"slide_id", *BAG_NAMES} & set(header):
        data_column = f"{bag!r}, " if bag else ""
        raise ValueError(
            f"{name} has no column {data_column}'slide_id', 'bag_id' or 'bag'; "
            f"rename its column with the bag ids to one of these. Its columns are "
            f"{', '.join(map(repr, header[:8]))}."
        )
    index, names, lines, _ = read_label_table(table, bag if bag in header else None, label)
    if index.y is None or index.ids is None:
        raise ValueError(f"{name} has no column 'y' or 'label'; name the column with the labels (label=...).")
    refuse_duplicates(names, name, lambda row: f"line {lines[row]}")
    row_of = {text: row for row, text in enumerate(names)}
    ids = [str(value) for value in bags.ids.tolist()]
    rows = np.array([row_of.get(text, -1) for text in ids], dtype=np.int64)
    is_listed, n_rows = rows >= 0, len(names) - len({int(row) for row in rows if row >= 0})
    if not is_listed.any():
        raise ValueError(
            f"{name} lists none of the bags of {where}: the first id is {names[0]!r} in the table, but "
            f"{ids[0]!r} in the data."
        )
    if missing == "raise" and (n_rows or not is_listed.all()):
        if not is_listed.all():
            problem = f"{name} has no label for bag {ids[int(np.argmin(is_listed))]!r} of {where}"
        else:
            other = next(text for text in names if text not in set(ids))
            problem = f"{name}, line {lines[row_of[other]]}: {where} has no bag {other!r}"
        raise ValueError(
            f'{problem}; pass missing="skip" to skip bags without a label and rows without a bag.'
        )
    bags, rows = bags[is_listed], rows[is_listed]
    n_bags = int((~is_listed).sum())
    if n_bags or n_rows:
        skipped = []
        if n_bags:
            skipped.append(f"{n_bags:,} {'bag has' if n_bags == 1 else 'bags have'} no label")
        if n_rows:
            skipped.append(f"{n_rows:,} {'row has' if n_rows == 1 else 'rows have'} no bag")
        warn_user(f"{name}: {' and '.join(skipped)}; skipped.")
    columns = {**bags.bag_columns, **{key: values[rows] for key, values in index.bag_columns.items()}}
    y = index.y[rows]
    if missing == "raise" and (unlabelled := missing_values(y)).any():
        row = int(rows[int(np.argmax(unlabelled))])
        raise ValueError(
            f'{name}, line {lines[row]}: the label is missing; pass missing="skip" to skip bags without a '
            'label, or "keep" to keep them.'
        )
    labelled, kept = treat_missing(bags._replace(bag_columns=columns), y, missing, name)
    assert kept is not None  # y is an array
    return labelled, kept
