"""Metadata that files contain in addition to values: names, roles, dtypes and shapes.

Table formats (Parquet, CSV, folders) store a small description in JSON, so that a round trip returns the same
`Bags`. Files without a description can be read as well; the roles of their columns are then inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise._core.precision import dtype_text, is_bfloat16
from bagwise.data.bags import Bags
from bagwise.data.bags.parts import as_text

# Default column names, in order of preference.
BAG_NAMES = ("bag_id", "bag", "slide_id")
LABEL_NAMES = ("y", "label")


def describe(bags: Bags, y: np.ndarray | None, *, instances: str | None = None) -> dict[str, Any]:
    """Describe bags for a file: assign unique column names and record dtypes and shapes.

    Parameters
    ----------
    bags, y
        The bags and labels to write; both have passed `check_bags`.
    instances : str, optional
        The column of the instances. None if every feature is a column, as in a table with one row per
        instance.
    """
    taken: set[str] = set()

    def side(name: str, array: np.ndarray) -> dict[str, Any]:
        return {"column": free_name(name, taken), **_kind(array)}

    description: dict[str, Any] = {"bagwise": 1}
    description["bag"] = {
        "column": free_name("bag_id", taken),
        **_kind(bags.ids),
        "numbered": bags._ids is None,
    }
    description["y"] = None if y is None else side("y", y)
    description["bag_columns"] = {name: side(name, a) for name, a in bags.bag_columns.items()}
    names = None if bags.feature_names is None else bags.feature_names.tolist()
    dtype = dtype_text(bags.instances.dtype)
    features: dict[str, Any] = {"dtype": dtype, "width": bags.n_features, "names": names}
    if instances is None:
        shown = names if names is not None else [f"x{j}" for j in range(bags.n_features)]
        features["columns"] = [free_name(name, taken) for name in shown]
    else:
        features["column"] = free_name(instances, taken)
    description["instances"] = features
    description["instance_columns"] = {name: side(name, a) for name, a in bags.instance_columns.items()}
    return description


def free_name(name: str, taken: set[str]) -> str:
    """Return an unused name, with underscores appended if necessary, and add it to `taken`."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _kind(array: np.ndarray) -> dict[str, Any]:
    # The string width is not recorded, because it may differ between parts of a stream.
    return {
        "dtype": "U" if array.dtype.kind == "U" else array.dtype.str,
        "shape": list(array.shape[1:]),
    }


def check_description(description: dict[str, Any]) -> dict[str, Any]:
    """Raise an error for an invalid description, so that later code can rely on its entries and types.

    Descriptions are read from files, which may be damaged, so every entry is checked.
    """

    def expect(holds: bool, problem: str) -> None:
        if not holds:
            raise ValueError(f"its description is damaged: {problem}.")

    def expect_column(kind: Any, subject: str) -> None:
        expect(isinstance(kind, dict) and isinstance(kind.get("column"), str), f"{subject} has no column")
        expect_dtype(kind, subject, "biufUMm")
        shape = kind.get("shape")
        expect(
            isinstance(shape, list) and all(type(size) is int and size > 0 for size in shape),
            f"{subject} has shape {shape!r}",
        )

    def expect_dtype(kind: dict[str, Any], subject: str, kinds: str) -> None:
        text = kind.get("dtype")
        try:
            is_valid = isinstance(text, str) and np.dtype(text).kind in kinds
        except (TypeError, ValueError, SyntaxError):
            is_valid = False
        expect(is_valid, f"{subject} has dtype {text!r}")

    expect(description.get("bagwise") == 1, f"the version is {description.get('bagwise')!r}, not 1")
    expect_column(description.get("bag"), "'bag'")
    expect(isinstance(description["bag"].get("numbered"), bool), "'numbered' of 'bag' is not true or false")
    expect("y" in description, "there is no 'y'")
    if description["y"] is not None:
        expect_column(description["y"], "'y'")
    for sides in ("bag_columns", "instance_columns"):
        expect(isinstance(description.get(sides), dict), f"there is no {sides!r}")
        for name, kind in description[sides].items():
            expect_column(kind, f"{name!r} of {sides!r}")
    features: Any = description.get("instances")
    expect(isinstance(features, dict), "there is no 'instances'")
    if features.get("dtype") != "bfloat16":  # which numpy knows only if ml_dtypes is installed
        expect_dtype(features, "'instances'", "biuf")
    width = features.get("width")
    expect(type(width) is int and width > 0, f"the number of features is {width!r}")
    expect("names" in features, "'instances' has no 'names'")
    for key in ("names", "columns"):
        names = features.get(key)
        expect(
            names is None
            or (isinstance(names, list) and len(names) == width and all(isinstance(n, str) for n in names)),
            f"{key!r} of 'instances' is not a list of {width} names",
        )
    expect(
        features.get("columns") is not None or isinstance(features.get("column"), str),
        "'instances' has no columns",
    )
    rows = description.get("rows", 0)
    expect(type(rows) is int and rows >= 0, f"the number of rows is {rows!r}")
    return description


def restore(array: np.ndarray, kind: dict[str, Any]) -> np.ndarray:
    """Restore the dtype and shape that were recorded for an array."""
    return array.astype(np.dtype(kind["dtype"]), copy=False).reshape(len(array), *kind["shape"])


def join(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenate arrays and keep their common dtype; numpy would change it to the native byte order."""
    dtypes = {part.dtype for part in parts}
    joined = np.concatenate(parts)
    return joined.astype(dtypes.pop(), copy=False) if len(dtypes) == 1 else joined


def text_array(name: str, array: np.ndarray) -> np.ndarray:
    """Convert object arrays of strings to string arrays; raise an error for other Python objects."""
    array = np.asarray(array)
    if array.dtype.kind == "T" or (
        array.dtype == object and all(isinstance(value, str) for value in array.ravel())
    ):
        return as_text(array.ravel().tolist()).reshape(array.shape)
    if array.dtype == object:
        raise ValueError(
            f"{name} contains Python objects, which cannot be stored in a file; convert them to text or "
            "to a numeric dtype."
        )
    return array


def check_bags(bags: Bags, y: ArrayLike | None, format_name: str) -> tuple[Bags, np.ndarray | None]:
    """Check that a table can store the bags; return bags and labels without Python objects."""
    if not isinstance(bags, Bags):
        raise TypeError(f"bags is a {type(bags).__name__}; expected Bags.")
    if sp.issparse(bags.instances):
        raise ValueError(
            f"{format_name} stores dense instances but these are sparse; use save_npz, or convert them: "
            "bags.with_instances(bags.instances.toarray())."
        )
    if len(bags) == 0:
        raise ValueError("there are no bags to write.")
    if bags.n_features == 0:
        raise ValueError(f"{format_name} needs at least one feature; these bags have none.")
    if y is not None:
        y = checked_labels(y, len(bags))
    ids = None if bags._ids is None else text_array("ids", bags.ids)
    sides = {
        kind: {name: text_array(f"{kind}/{name}", column) for name, column in getattr(bags, kind).items()}
        for kind in ("instance_columns", "bag_columns")
    }
    named = {
        "instances": bags.instances,
        "y": y,
        "ids": ids,
        **{f"{kind}/{name}": a for kind, columns in sides.items() for name, a in columns.items()},
    }
    for name, array in named.items():
        if array is not None and not (name == "instances" and is_bfloat16(array.dtype)):
            _check_kept(name, array, format_name)
    refuse_duplicates(bags.ids.tolist(), "ids", lambda i: f"entry {i}")
    checked = Bags(bags.instances, bags.offsets, ids=ids, feature_names=bags.feature_names, **sides)
    return checked, y


def checked_labels(y: Any, n_bags: int) -> np.ndarray:
    """Check that there is one label, or one row of labels, per bag."""
    y = text_array("y", y)
    if y.shape[:1] != (n_bags,):
        raise ValueError(f"y has shape {y.shape}, but there are {n_bags} bags; pass one label per bag.")
    return y


def is_positive_label(y: np.ndarray | None, positive: Any, where: str) -> np.ndarray:
    """Return a boolean array: True for bags with the positive label, False for all others."""
    if y is None:
        raise ValueError(
            f"positive is {positive!r}, but {where} has no labels; name the label column with label=..."
        )
    if y.ndim != 1:
        raise ValueError(f"positive is {positive!r}, but {where} has several labels per bag.")
    labels = np.unique(y).tolist()
    if positive not in labels:
        raise ValueError(
            f"positive is {positive!r}, but no bag of {where} has this label; the labels are {labels[:8]}."
        )
    return y == positive


def _check_kept(name: str, array: np.ndarray, format_name: str) -> None:
    dtype = array.dtype
    if dtype.kind not in "biufUMm" or (dtype.kind == "f" and dtype.itemsize > 8):
        raise ValueError(f"{name} has dtype {dtype}, which {format_name} cannot store; use save_npz.")
    if 0 in array.shape[1:]:
        raise ValueError(f"{name} has shape {array.shape} and contains no values to store.")


def refuse_duplicates(ids: Iterable[Any], where: str, row_name: Callable[[int], str]) -> None:
    """Raise an error if two bags have the same id; the message contains both locations."""
    seen: dict[Any, int] = {}
    for i, value in enumerate(ids):
        if value in seen:
            raise ValueError(
                f"{where}: the bag id {value!r} occurs twice, in {row_name(seen[value])} and {row_name(i)}."
            )
        seen[value] = i


def missing_values(column: np.ndarray) -> np.ndarray:
    """Return a mask of the missing values: None, empty strings and NaN."""
    if column.dtype == object:
        return np.array([value is None for value in column], dtype=bool)
    if column.dtype.kind == "U":
        return column == ""
    return (column != column).reshape(len(column), -1).any(axis=1)


def choose_column(
    column: str | Literal[False] | None,
    customary: Iterable[str],
    columns: Iterable[str],
    where: str,
    purpose: str,
) -> str | None:
    """Return the requested column, else the first default name that exists; None for False or no match."""
    columns = list(columns)
    if column is False:
        return None
    if column is not None:
        if column not in columns:
            shown = ", ".join(map(repr, columns[:8])) + (", ..." if len(columns) > 8 else "")
            raise ValueError(f"{where} has no column {column!r} for {purpose}; it has {shown}")
        return column
    return next((name for name in customary if name in columns), None)
