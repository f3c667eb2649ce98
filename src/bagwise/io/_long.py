"""Bags as a table with a row per instance: what long CSV and long Parquet files have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.bags.parts import as_python
from bagwise.data.description import BAG_NAMES, LABEL_NAMES, choose_column, missing_values, restore
from bagwise.data.frames import _describes_bags


def refuse_empty_bags(bags: Bags) -> None:
    """Refuse what a table with a row per instance has no place for."""
    empty = bags.sizes == 0
    if empty.any():
        raise ValueError(
            f"bag {bags.ids[int(np.argmax(empty))].item()!r} is empty, and a table with a row per instance "
            "has no place for it."
        )


def long_columns(bags: Bags, y: np.ndarray | None, description: dict[str, Any]) -> dict[str, np.ndarray]:
    """Give the columns of the table; those that describe bags are repeated for every instance."""
    index = bags.bag_index
    columns = {description["bag"]["column"]: bags.ids[index]}
    if y is not None:
        columns[description["y"]["column"]] = y[index]
    for name, about in description["bag_columns"].items():
        columns[about["column"]] = bags.bag_columns[name][index]
    columns |= zip(description["instances"]["columns"], bags.instances.T, strict=True)
    for name, about in description["instance_columns"].items():
        columns[about["column"]] = bags.instance_columns[name]
    return columns


def bags_from_long(
    columns: dict[str, np.ndarray], description: dict[str, Any], where: str
) -> tuple[Bags, np.ndarray | None]:
    """Put bags together again from the columns of a table and its description."""
    about = description["bag"]
    names = description["instances"]["columns"]
    X = np.empty((len(columns[about["column"]]), len(names)), dtype=description["instances"]["dtype"])
    for j, name in enumerate(names):
        X[:, j] = columns[name]
    sides = description["instance_columns"]
    bags = _grouped(X, columns[about["column"]], where)
    order = bags.source_rows

    def of_bags(kind: dict[str, Any]) -> np.ndarray:
        return restore(_per_bag(columns[kind["column"]][order], bags, kind["column"], where), kind)

    y = None if description["y"] is None else of_bags(description["y"])
    return (
        Bags(
            bags.instances,
            bags.offsets,
            ids=None if about["numbered"] else bags.ids,
            feature_names=description["instances"]["names"],
            instance_columns={n: restore(columns[k["column"]][order], k) for n, k in sides.items()},
            bag_columns={name: of_bags(kind) for name, kind in description["bag_columns"].items()},
        ),
        y,
    )


def infer_long(
    columns: dict[str, np.ndarray],
    bag: str | None,
    label: str | Literal[False] | None,
    where: str,
    row_name: Callable[[int], str],
    *,
    features: Sequence[str] | None = None,
) -> tuple[Bags, np.ndarray | None]:
    """Make bags of a table of unknown origin; roles are inferred as `Bags.from_frame` does.

    Numbers that vary inside some bag are features, unless `features` are named; what is constant inside
    every bag, but not everywhere, describes bags; the rest are instance columns.
    """
    bag, label = choose_bag_and_label(bag, label, columns, where, features or ())
    refuse_missing(columns, bag, label, where, row_name)
    others = {name: column for name, column in columns.items() if name not in (bag, label)}
    rows = _grouped(np.empty((len(columns[bag]), 0)), columns[bag], where, others)
    sides = rows.instance_columns
    of_bags = [name for name in others if _describes_bags(sides[name], rows.offsets)]
    kinds = {name: sides[name].dtype for name in others}
    if features is None:
        features = choose_features(kinds, of_bags, bags_of_one=len(rows) == rows.n_instances, where=where)
    else:
        features = named_features(features, kinds, where)
    y = None
    if label is not None:
        y = _per_bag(columns[label][rows.source_rows], rows, label, where)
    return (
        Bags(
            np.column_stack([sides[name] for name in features]),
            rows.offsets,
            ids=rows.ids,
            feature_names=features,
            instance_columns={n: v for n, v in sides.items() if n not in features and n not in of_bags},
            bag_columns={n: sides[n][rows.offsets[:-1]] for n in of_bags if n not in features},
        ),
        y,
    )


def named_features(names: Sequence[str], kinds: Mapping[str, np.dtype], where: str) -> list[str]:
    """Find the features that were named among the columns that are neither bag nor label."""
    for name in names:
        if name not in kinds:
            shown = ", ".join(map(repr, list(kinds)[:8])) + (", ..." if len(kinds) > 8 else "")
            raise ValueError(f"{where} has no column {name!r} for a feature; it has {shown}.")
        if kinds[name].kind not in "biuf":
            raise ValueError(f"{where}: the column {name!r} is a feature, but its values are no numbers.")
    return list(names)


def choose_bag_and_label(
    bag: str | None,
    label: str | Literal[False] | None,
    columns: Collection[str],
    where: str,
    features: Collection[str] = (),
) -> tuple[str, str | None]:
    """Find the columns with the bags and the labels, by the names given or by custom, but no feature."""
    bag = choose_column(bag, BAG_NAMES, columns, where, "the bag of every row")
    if bag is None:
        raise ValueError(
            f"{where} has no column called {' or '.join(BAG_NAMES)}; name the one that says which bag a row "
            f"is of (bag=...): it has {', '.join(map(repr, list(columns)[:8]))}."
        )
    customary = [name for name in LABEL_NAMES if name not in features]
    return bag, choose_column(label, customary, columns, where, "the labels")


def refuse_missing(
    columns: Mapping[str, np.ndarray],
    bag: str,
    label: str | None,
    where: str,
    row_name: Callable[[int], str],
) -> None:
    """Refuse rows without a bag or a label."""
    for name in filter(None, (bag, label)):
        missing = missing_values(columns[name])
        if missing.any():
            what = "bag" if name == bag else "label"
            raise ValueError(
                f"{where}, {row_name(int(np.argmax(missing)))}: the {what} is missing ({name!r})."
            )


def choose_features(
    kinds: Mapping[str, np.dtype], of_bags: Collection[str], *, bags_of_one: bool, where: str
) -> list[str]:
    """Choose the features among columns: numbers that do not describe bags.

    In bags of one instance nothing can be told from what varies: there every number is a feature.
    """
    numbers = [name for name, dtype in kinds.items() if dtype.kind in "biuf"]
    features = numbers if bags_of_one else [name for name in numbers if name not in of_bags]
    if not features:
        raise ValueError(f"{where} has no column of numbers that could be a feature; it has {sorted(kinds)}.")
    return features


def _grouped(X: np.ndarray, ids: np.ndarray, where: str, columns: Any = None) -> Bags:
    try:
        return Bags.from_groups(X, ids, instance_columns=columns)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _per_bag(values: np.ndarray, bags: Bags, column: str, where: str) -> np.ndarray:
    """Take the one value that all rows of a bag have; `values` are in the order of the instances."""
    firsts = values[bags.offsets[:-1]]
    expected = firsts[bags.bag_index]
    differs = (values != expected) & ((values == values) | (expected == expected))
    if differs.any():
        row = int(np.argmax(differs.reshape(len(values), -1).any(axis=1)))
        number = int(bags.bag_index[row])
        raise two_values(where, bags.ids[number], column, firsts[number], values[row])
    return firsts


def two_values(where: str, bag: Any, column: str, first: Any, other: Any) -> ValueError:
    """Make the error of a bag whose rows do not agree."""
    return ValueError(
        f"{where}: the bag {as_python(bag)!r} has two values of {column!r}, "
        f"{first.tolist()!r} and {other.tolist()!r}; all rows of a bag must agree."
    )
