"""Conversion of pandas and polars data frames, through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from bagwise.data.bags import Bags


def bags_from_frame(frame: Any, *, bag: str, features: Sequence[str] | None = None) -> Bags:
    """Group the rows of a data frame into bags, as documented in `Bags.from_frame`."""
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"from_frame takes a pandas or polars data frame; got {type(frame).__name__}. "
            "For arrays, use Bags.from_groups(X, bag_ids); for lazy frames, pass frame.collect()."
        ) from None
    columns = table.columns
    wanted = [bag] if features is None else [bag, *features]
    absent = [name for name in wanted if name not in columns]
    if absent:
        is_index = absent[0] in getattr(getattr(frame, "index", None), "names", ())
        remedy = "; this is its index: pass frame.reset_index()" if is_index else ""
        raise ValueError(f"the frame has no column {absent[0]!r}; it has {columns}{remedy}.")
    if features is not None and bag in features:
        raise ValueError(f"the bag column {bag!r} cannot be a feature as well.")

    others = [name for name in columns if name != bag and name not in (features or ())]
    rows = Bags.from_groups(
        np.empty((len(table), 0)),
        table.get_column(bag).to_numpy(),
        instance_columns={name: table.get_column(name).to_numpy() for name in others},
    )
    sides = rows.instance_columns
    of_bags = [name for name in others if _describes_bags(sides[name], rows.offsets)]
    if features is None:
        if len(rows) == rows.n_instances:
            raise ValueError(
                "every bag has one instance, so columns that describe bags (such as a label) cannot be "
                "distinguished from features; name the features: from_frame(..., features=[...])."
            )
        schema = table.schema
        features = [
            name
            for name in others
            if name not in of_bags and (schema[name].is_numeric() or schema[name] == nw.Boolean)
        ]
    matrix = table.select(list(features)).to_numpy() if features else np.empty((len(table), 0))
    if not (np.issubdtype(matrix.dtype, np.number) or matrix.dtype == bool):
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"features must be numeric columns; got {features} with dtypes "
                f"{[str(table.schema[name]) for name in features]}."
            ) from None
    per_instance = {k: v for k, v in sides.items() if k not in features and k not in of_bags}
    per_bag = {k: sides[k][rows.offsets[:-1]] for k in of_bags if k not in features}
    bags = Bags(
        matrix[rows.source_rows],
        rows.offsets,
        ids=rows.ids,
        feature_names=features,
        instance_columns=per_instance,
        bag_columns=per_bag,
    )
    return bags._replace(source_rows=rows.source_rows, n_source_rows=len(table))


def _describes_bags(values: np.ndarray, offsets: np.ndarray) -> bool:
    """Return whether a column is constant within every bag but differs between bags."""
    missing = values != values  # True for NaN; a bag that contains only NaN is constant
    changes = (values[1:] != values[:-1]) & ~(missing[1:] & missing[:-1])
    changes = changes.any(axis=tuple(range(1, changes.ndim)))
    at_border = np.zeros(len(changes), dtype=bool)
    at_border[offsets[1:-1] - 1] = True
    return bool(changes.any() and not changes[~at_border].any())


def frame_backend(backend: str | None) -> Any:
    """Return the library for a new data frame: `backend`, or by default one that is installed."""
    if backend is not None:
        return backend
    for name in ("pandas", "polars"):
        if find_spec(name):
            return name
    raise ImportError("data frames need pandas or polars: pip install pandas")


def instance_columns_of(bags: Any, *, features: bool) -> dict[str, np.ndarray]:
    """Return all columns with a value per instance; columns with several values are split."""
    sides = {name: column[bags.bag_index] for name, column in bags.bag_columns.items()}
    sides.update(bags.instance_columns)
    if features:
        X = bags.instances
        for k, name in enumerate(feature_names_of(bags)):
            while name in sides:
                name += "_"
            sides[name] = X[:, k] if isinstance(X, np.ndarray) else X[:, [k]].toarray()[:, 0]
    flat: dict[str, np.ndarray] = {}
    for name, column in sides.items():
        if column.ndim == 1:
            flat[name] = column
        else:
            wide = column.reshape(len(column), -1)
            flat.update({f"{name}_{i}": part for i, part in enumerate(wide.T)})
    return flat


def feature_names_of(bags: Any) -> list[str]:
    """Return the feature names; x0, x1, ... if the bags have none."""
    names = bags.feature_names
    return [f"x{k}" for k in range(bags.n_features)] if names is None else [str(name) for name in names]
