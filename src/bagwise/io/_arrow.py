"""Conversions between Arrow and numpy, and between `Bags` and Arrow tables with one row per bag."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._core.precision import dtype_of_text, is_bfloat16, to_compute
from bagwise.data.bags import Bags
from bagwise.data.bags.parts import as_text
from bagwise.data.description import BAG_NAMES, LABEL_NAMES, choose_column, restore

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError("Parquet files need pyarrow: pip install 'bagwise[arrow]'") from error

__all__ = [
    "BagRows",
    "BagTables",
    "from_arrow",
    "in_one",
    "is_list",
    "is_numeric",
    "is_text",
    "pa",
    "table_from_bags",
    "to_arrow",
]


def to_arrow(name: str, array: np.ndarray) -> Any:
    """Convert a numpy array to an Arrow array; dimensions after the first become fixed-size lists."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if is_bfloat16(flat.dtype):
        flat = to_compute(flat)  # Arrow has no bfloat16
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    try:
        # Arrow cuts numpy strings at the first NUL character, but not Python strings.
        values = pa.array(flat.tolist(), pa.string()) if flat.dtype.kind == "U" else pa.array(flat)
    except pa.ArrowNotImplementedError:
        raise ValueError(f"{name} has dtype {array.dtype}, which Parquet cannot store.") from None
    # Arrow stores days as 32-bit integers, and silently wraps around on overflow.
    if pa.types.is_date(values.type) and not np.array_equal(from_arrow(values), flat, equal_nan=True):
        raise ValueError(
            f"{name} has a date that Parquet cannot store: it is millions of years before or after 1970."
        )
    if array.ndim == 1:
        return values
    return pa.FixedSizeListArray.from_arrays(values, int(np.prod(array.shape[1:])))


def from_arrow(array: Any) -> np.ndarray:
    """Convert an Arrow array to a numpy array.

    The shape is (n,), or (n, k) for lists of fixed size k. Strings without nulls become a text array, and
    decimals become float64.
    """
    if pa.types.is_fixed_size_list(array.type):
        if array.null_count:
            raise ValueError("a row has no value")
        # `flatten` respects slices; `values` does not.
        return from_arrow(array.flatten()).reshape(len(array), array.type.list_size)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        # Parsing the digits returns the nearest float64, which Arrow's direct conversion does not.
        array = array.cast(pa.string()).cast(pa.float64())
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype == object and not array.null_count and is_text(array.type):
        return as_text(values)
    return values


def in_one(column: Any) -> Any:
    """Return a column as one array, copied only if the column has several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def is_text(arrow_type: Any) -> bool:
    """Return whether an Arrow type is a string type."""
    return (
        pa.types.is_string(arrow_type)
        or pa.types.is_large_string(arrow_type)
        or (hasattr(pa.types, "is_string_view") and pa.types.is_string_view(arrow_type))
    )


def is_list(arrow_type: Any) -> bool:
    """Return whether an Arrow type is a list type, of variable or fixed size."""
    return (
        pa.types.is_list(arrow_type)
        or pa.types.is_large_list(arrow_type)
        or pa.types.is_fixed_size_list(arrow_type)
    )


def is_numeric(arrow_type: Any) -> bool:
    """Return whether an Arrow type is numeric or boolean, that is, valid for features."""
    return (
        pa.types.is_integer(arrow_type)
        or pa.types.is_floating(arrow_type)
        or pa.types.is_boolean(arrow_type)
        or pa.types.is_decimal(arrow_type)
    )


# ---------------------------------------------------------------------- one row per bag


@dataclass
class BagRows:
    """Columns of a table with one row per bag."""

    ids: np.ndarray | None
    y: np.ndarray | None
    sizes: np.ndarray
    instances: np.ndarray
    bag_columns: dict[str, np.ndarray]
    instance_columns: dict[str, np.ndarray]


class BagTables:
    """Reader of Arrow tables with one row per bag, such as the row groups of a file.

    Parameters
    ----------
    description : dict or None
        The description of the bags that `describe` returned; None if bagwise did not write the tables.
    bag, label : str, optional
        The columns with the ids and the labels, for tables without a description.
    where : str, optional
        Name of the source of the tables in error messages.
    """

    bag: str | None
    label: str | None
    where: str

    def __init__(
        self,
        description: dict[str, Any] | None = None,
        *,
        bag: str | None = None,
        label: str | None = None,
        where: str = "the table",
    ):
        self.description = description
        self.bag, self.label, self.where = bag, label, where
        # The lengths of the lists in columns with a list per row, from the first rows that were read.
        self.widths: dict[str, int] = {}

    def of_file(self, where: str) -> BagTables:
        """Return the same reader for another file, whose name appears in error messages."""
        tables = copy(self)
        tables.where = where
        return tables

    @property
    def instances_column(self) -> str:
        """Name of the column that contains the instances as lists of lists."""
        return "instances" if self.description is None else self.description["instances"]["column"]

    def read(self, table: Any, first: int = 0) -> tuple[Bags, np.ndarray | None]:
        """Convert one table to bags and labels (None if the table has no labels).

        `first` is the index of the table's first row among the rows of all tables. Bags without ids are
        numbered from `first`.
        """
        rows = self.rows(table, first)
        ids = np.arange(first, first + len(rows.sizes)) if rows.ids is None else rows.ids
        return self.bags(rows, rows.instances, ids), rows.y

    def column(self, name: str, array: Any, first: int = 0, *, complete: bool = False) -> np.ndarray:
        """Convert a column to a numpy array; lists of equal lengths become a matrix.

        Errors report row indices starting at `first`. If `complete`, nulls are rejected.
        """
        array = in_one(array)
        if array.null_count and (complete or is_list(array.type)):
            row = first + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(f"{self.where}, row {row}: the column {name!r} has no value.")
        return self._matrix_of_lists(name, array, first) if is_list(array.type) else self._values(name, array)

    def key_column(self, name: str, array: Any, first: int = 0, *, complete: bool = False) -> np.ndarray:
        """Convert a column of ids or labels to a numpy array, without rounding decimals that are integers."""
        array = in_one(array)
        if pa.types.is_decimal(array.type) and array.type.scale == 0:
            try:
                array = array.cast(pa.int64())
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"{self.where}: the column {name!r} has integers beyond 64 bits; store them as text."
                ) from error
        return self.column(name, array, first, complete=complete)

    def _matrix_of_lists(self, name: str, array: Any, first: int) -> np.ndarray:
        if is_list(array.type.value_type):
            raise ValueError(
                f"{self.where}: the column {name!r} has the type {array.type}; expected one value or one "
                "list of values per row."
            )
        if pa.types.is_fixed_size_list(array.type):
            lengths = np.full(len(array), array.type.list_size)
        else:
            lengths = np.diff(array.offsets.to_numpy())
        if not len(lengths):
            return np.empty((0, self.widths.get(name, 0)))
        width = self.widths.setdefault(name, int(lengths[0]))
        differs = lengths != width
        if differs.any():
            row = int(np.argmax(differs))
            raise ValueError(
                f"{self.where}, row {first + row}: the list in the column {name!r} has length {lengths[row]}"
                f", but earlier lists have length {width}; all must have the same length."
            )
        return self._values(name, array.flatten()).reshape(len(array), width)

    def _values(self, name: str, array: Any) -> np.ndarray:
        """Convert the values of a column; errors, such as invalid UTF-8, contain the source and column."""
        try:
            return from_arrow(array)
        except pa.ArrowException as error:
            raise ValueError(f"{self.where}: the column {name!r} cannot be read: {error}") from error

    def rows(self, table: Any, first: int = 0) -> BagRows:
        """Read the columns of a table; errors report row indices starting at `first`."""
        name = self.instances_column
        sizes, instances = self.instances(table, first)
        if self.description is not None:
            return self._described(table, first, sizes, instances)
        names = table.column_names
        bag = choose_column(self.bag, BAG_NAMES, names, self.where, "the bag ids")
        label = choose_column(self.label, LABEL_NAMES, names, self.where, "the labels")
        part = BagRows(None, None, sizes, instances, {}, {})
        for other in names:
            if other == name:
                continue
            if other in (bag, label):
                values = self.key_column(other, table[other], first, complete=True)
                setattr(part, "ids" if other == bag else "y", values)
            elif is_list(table[other].type) and not pa.types.is_fixed_size_list(table[other].type):
                lengths, values = self._lists(other, table[other], first)
                self._check_lengths(other, lengths, sizes, first)
                part.instance_columns[other] = self._values(other, values)
            else:
                part.bag_columns[other] = self.column(other, table[other], first)
        return part

    def instances(self, table: Any, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the bag sizes and the instance matrix of a table."""
        name = self.instances_column
        sizes, inner = self._lists(name, table[name], first)
        return sizes, self._matrix(inner, sizes, first)

    def described_bags(self, table: Any, first: int, sizes: np.ndarray) -> BagRows:
        """Read the ids, labels and bag columns listed in the description, but not the instances."""
        about = self.description or {}

        def side(kind: dict[str, Any], *, complete: bool = False) -> np.ndarray:
            column = kind["column"]
            return restore(self.column(column, table[column], first, complete=complete), kind)

        return BagRows(
            None if about["bag"]["numbered"] else side(about["bag"], complete=True),
            None if about["y"] is None else side(about["y"], complete=True),
            sizes,
            np.empty((0, about["instances"]["width"]), dtype_of_text(about["instances"]["dtype"])),
            {name: side(kind) for name, kind in about["bag_columns"].items()},
            {},
        )

    def _described(self, table: Any, first: int, sizes: np.ndarray, instances: np.ndarray) -> BagRows:
        about = self.description or {}
        rows = self.described_bags(table, first, sizes)
        for name, kind in about["instance_columns"].items():
            lengths, values = self._lists(kind["column"], table[kind["column"]], first)
            self._check_lengths(kind["column"], lengths, sizes, first)
            rows.instance_columns[name] = restore(self._values(name, values), kind)
        rows.instances = instances.astype(rows.instances.dtype, copy=False)
        return rows

    def _lists(self, name: str, column: Any, first: int) -> tuple[np.ndarray, Any]:
        """Return the lengths of the lists in a column, and their concatenated values."""
        array = in_one(column)
        if not is_list(array.type) or pa.types.is_fixed_size_list(array.type):
            raise ValueError(f"{self.where}: the column {name!r} has the type {array.type}; expected lists.")
        if array.null_count:
            row = first + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(f"{self.where}, row {row}: the column {name!r} has no value.")
        return np.diff(array.offsets.to_numpy()).astype(np.int64), array.flatten()

    def _matrix(self, inner: Any, sizes: np.ndarray, first: int) -> np.ndarray:
        kind = inner.type
        if not is_list(kind) or not is_numeric(kind.value_type):
            raise ValueError(
                f"{self.where}: the column {self.instances_column!r} has lists of {kind}; expected lists "
                "of numeric lists."
            )

        def refuse(broken: np.ndarray, why: str) -> None:
            bag = int(np.searchsorted(np.cumsum(sizes), int(np.argmax(broken)), side="right"))
            raise ValueError(f"{self.where}, row {first + bag}: {why}.")

        if inner.null_count:
            refuse(inner.is_null().to_numpy(zero_copy_only=False), "an instance is missing")
        if pa.types.is_fixed_size_list(kind):
            width = kind.list_size
        else:
            widths = np.diff(inner.offsets.to_numpy())
            width = int(widths[0]) if len(widths) else 0
            if (widths != width).any():
                why = f"an instance has a different number of features than the first one, which has {width}"
                refuse(widths != width, why)
        values = inner.flatten()
        if values.null_count:
            nulls = values.is_null().to_numpy(zero_copy_only=False).reshape(-1, width)
            refuse(nulls.any(axis=1), "an instance has a missing feature value")
        return from_arrow(values).reshape(len(inner), width)

    def _check_lengths(self, name: str, lengths: np.ndarray, sizes: np.ndarray, first: int) -> None:
        if (lengths != sizes).any():
            row = int(np.argmax(lengths != sizes))
            raise ValueError(
                f"{self.where}, row {first + row}: the column {name!r} has {lengths[row]} values; expected "
                f"{sizes[row]}, one per instance of the bag."
            )

    def bags(self, rows: BagRows, instances: np.ndarray, ids: np.ndarray | None) -> Bags:
        """Build bags from the columns of a table; `instances` and `ids` replace those in `rows`."""
        names = None if self.description is None else self.description["instances"]["names"]
        return Bags(
            instances,
            np.concatenate([[0], np.cumsum(rows.sizes)]),
            ids=ids,
            feature_names=names,
            instance_columns=rows.instance_columns,
            bag_columns=rows.bag_columns,
        )


def table_from_bags(bags: Bags, y: np.ndarray | None, description: dict[str, Any]) -> Any:
    """Convert bags to an Arrow table with one row per bag; `description` comes from `describe`."""
    offsets = pa.array(bags.offsets.astype(np.int32))

    def lists(name: str, array: np.ndarray) -> Any:
        return pa.ListArray.from_arrays(offsets, to_arrow(name, array))

    arrays = {description["bag"]["column"]: to_arrow("ids", bags.ids)}
    if y is not None:
        arrays[description["y"]["column"]] = to_arrow("y", y)
    for name, about in description["bag_columns"].items():
        arrays[about["column"]] = to_arrow(name, bags.bag_columns[name])
    arrays[description["instances"]["column"]] = lists("instances", bags.instances)
    for name, about in description["instance_columns"].items():
        arrays[about["column"]] = lists(name, bags.instance_columns[name])
    return pa.table(arrays)
