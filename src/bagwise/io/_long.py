"""Tables with one row per instance: shared code for CSV and long Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bagwise._core.precision import dtype_of_text, is_bfloat16, to_compute
from bagwise.data.bags import Bags
from bagwise.data.bags.parts import as_python
from bagwise.data.description import BAG_NAMES, LABEL_NAMES, choose_column, missing_values, restore
from bagwise.data.frames import _describes_bags
from bagwise.io._table import Spread


def refuse_empty_bags(bags: Bags) -> None:
    """Raise an error if a bag is empty: a table with one row per instance cannot represent empty bags."""
    empty = bags.sizes == 0
    if empty.any():
        raise ValueError(
            f"bag {bags.ids[int(np.argmax(empty))].item()!r} is empty; a table with one row per instance "
            "cannot store empty bags."
        )


def long_columns(bags: Bags, y: np.ndarray | None, description: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the columns of the table; bag columns are repeated for every instance."""
    index = bags.bag_index
    columns = {description["bag"]["column"]: bags.ids[index]}
    if y is not None:
        columns[description["y"]["column"]] = y[index]
    for name, about in description["bag_columns"].items():
        columns[about["column"]] = bags.bag_columns[name][index]
    X = to_compute(bags.instances) if is_bfloat16(bags.instances.dtype) else bags.instances
    columns |= zip(description["instances"]["columns"], X.T, strict=True)
    for name, about in description["instance_columns"].items():
        columns[about["column"]] = bags.instance_columns[name]
    return columns


def bags_from_long(
    columns: dict[str, np.ndarray], description: dict[str, Any], where: str
) -> tuple[Bags, np.ndarray | None]:
    """Rebuild bags from the columns of a table and its description."""
    about = description["bag"]
    names = description["instances"]["columns"]
    X = np.empty(
        (len(columns[about["column"]]), len(names)), dtype=dtype_of_text(description["instances"]["dtype"])
    )
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
    missing: str = "raise",
) -> tuple[Bags, np.ndarray | None]:
    """Build bags from a table without a description; column roles are inferred as in `Bags.from_frame`.

    Unless `features` is passed, numeric columns that vary within a bag are features. Columns that are
    constant within every bag, but not overall, are bag columns. All others are instance columns. A column
    with several values per row has a single role, and is split into columns with one value per row. Missing
    labels raise an error if `missing` is "raise".
    """
    bag, label = choose_bag_and_label(bag, label, columns, where, features or ())
    refuse_missing(columns, bag, label if missing == "raise" else None, where, row_name)
    others = {name: column for name, column in columns.items() if name not in (bag, label)}
    rows = _grouped(np.empty((len(columns[bag]), 0)), columns[bag], where, others)
    sides = rows.instance_columns
    of_bags = [name for name in others if _describes_bags(sides[name], rows.offsets)]
    spread = spread_of({name: column.shape[1:] for name, column in sides.items()})
    sides = dict(zip(spread.header, spread.out(sides), strict=True))
    of_bags = spread.names(of_bags)
    kinds = {name: column.dtype for name, column in sides.items()}
    if features is None:
        features = choose_features(kinds, of_bags, bags_of_one=len(rows) == rows.n_instances, where=where)
    else:
        features = named_features(spread.names(features), kinds, where)
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


def spread_of(shapes: Mapping[str, tuple[int, ...]]) -> Spread:
    """Return the mapping that splits columns into one value per row; `shapes` are the shapes of a row."""
    return Spread([{"column": name, "dtype": None, "shape": shape} for name, shape in shapes.items()])


def named_features(names: Sequence[str], kinds: Mapping[str, np.dtype], where: str) -> list[str]:
    """Check the feature names passed by the caller against the columns that are neither bag nor label."""
    for name in names:
        if name not in kinds:
            shown = ", ".join(map(repr, list(kinds)[:8])) + (", ..." if len(kinds) > 8 else "")
            raise ValueError(f"{where} has no column {name!r} for a feature; it has {shown}.")
        if kinds[name].kind not in "biuf":
            raise ValueError(f"{where}: the column {name!r} is a feature, but it is not numeric.")
    return list(names)


def choose_bag_and_label(
    bag: str | None,
    label: str | Literal[False] | None,
    columns: Collection[str],
    where: str,
    features: Collection[str] = (),
) -> tuple[str, str | None]:
    """Return the columns with the bag ids and the labels: the requested columns, or the default names.

    A feature is not used as the default label column.
    """
    bag = choose_column(bag, BAG_NAMES, columns, where, "the bag of every row")
    if bag is None:
        raise ValueError(
            f"{where} has no column called {' or '.join(BAG_NAMES)}; name the column that contains the bag "
            f"id of every row (bag=...). Its columns are {', '.join(map(repr, list(columns)[:8]))}."
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
    """Raise an error if a row has no bag id or no label."""
    for name in filter(None, (bag, label)):
        missing = missing_values(columns[name])
        if missing.any():
            value_name, remedy = "bag id", ""
            if name == label:
                value_name = "label"
                remedy = '; pass missing="skip" to skip bags without a label, or "keep" to keep them'
            raise ValueError(
                f"{where}, {row_name(int(np.argmax(missing)))}: the {value_name} is missing ({name!r})"
                f"{remedy}."
            )


def choose_features(
    kinds: Mapping[str, np.dtype], of_bags: Collection[str], *, bags_of_one: bool, where: str
) -> list[str]:
    """Choose the features among the columns: the numeric columns that are not bag columns.

    If every bag has one instance, bag columns cannot be recognized, and all numeric columns are features.
    """
    numeric = [name for name, dtype in kinds.items() if dtype.kind in "biuf"]
    features = numeric if bags_of_one else [name for name in numeric if name not in of_bags]
    if not features:
        raise ValueError(f"{where} has no numeric column that could be a feature; it has {sorted(kinds)}.")
    return features


def _grouped(X: np.ndarray, ids: np.ndarray, where: str, columns: Any = None) -> Bags:
    try:
        return Bags.from_groups(X, ids, instance_columns=columns)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _per_bag(values: np.ndarray, bags: Bags, column: str, where: str) -> np.ndarray:
    """Return the value that all rows of a bag share; `values` are in the order of the instances."""
    firsts = values[bags.offsets[:-1]]
    expected = firsts[bags.bag_index]
    differs = (values != expected) & ((values == values) | (expected == expected))
    if differs.any():
        row = int(np.argmax(differs.reshape(len(values), -1).any(axis=1)))
        bag = int(bags.bag_index[row])
        raise two_values(where, bags.ids[bag], column, firsts[bag], values[row])
    return firsts


def two_values(where: str, bag: Any, column: str, first: Any, other: Any) -> ValueError:
    """Return the error for a bag whose rows have different values."""
    return ValueError(
        f"{where}: the bag {as_python(bag)!r} has two values of {column!r}, {first.tolist()!r} and "
        f"{other.tolist()!r}; all rows of a bag must have the same value."
    )
