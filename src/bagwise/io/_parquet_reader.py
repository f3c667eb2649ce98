"""Read Parquet files row group by row group, whoever wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bagwise.bags import Bags
from bagwise.io._arrow import from_arrow, is_list, is_number, pa
from bagwise.io._description import BAG_NAMES, LABEL_NAMES, choose_column, join, refuse_duplicates, restore
from bagwise.io._long import bags_from_long, infer_long


@dataclass
class _Part:
    """The columns of a row group with a row per bag."""

    ids: np.ndarray | None
    y: np.ndarray | None
    sizes: np.ndarray
    instances: np.ndarray
    bag_columns: dict[str, np.ndarray]
    instance_columns: dict[str, np.ndarray]


class Reader:
    """A Parquet file, opened, and what its columns mean.

    Parameters
    ----------
    path : path
        The file.
    bag, label : str or None
        The columns with ids and labels, where the file does not say.
    """

    def __init__(self, path, bag: str | None, label: str | None):
        self.where = repr(str(path))
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no file {self.where}.")
        try:
            self.file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error
        self.schema = self.file.schema_arrow
        self.bag, self.label = bag, label
        about = (self.file.metadata.metadata or {}).get(b"bagwise")
        self.description = None if about is None or bag or label else json.loads(about)
        if self.description is None:
            self.is_long = "instances" not in self.schema.names
        else:
            self.is_long = self.description["layout"] == "long"

    def _unreadable(self, error: Exception) -> ValueError:
        return ValueError(f"{self.where} is not a readable Parquet file: {' '.join(str(error).split())}")

    def load(self) -> tuple[Bags, np.ndarray | None]:
        """Read all bags."""
        with self.file:
            if self.is_long:
                return self._load_long()
            return self._load_bags()

    def parts(self) -> Iterator[tuple[Bags, np.ndarray | None]]:
        """Read the bags of one row group after another."""
        if self.is_long:
            raise ValueError(
                f"{self.where} has a row per instance; only files with a row per bag are read part by part: "
                "load_parquet and save_parquet make one."
            )
        with self.file:
            first = 0
            for part in self._parts():
                n_bags = len(part.sizes)
                ids = part.ids if part.ids is not None else np.arange(first, first + n_bags)
                yield self._bags(part, part.instances, ids), part.y
                first += n_bags

    # ------------------------------------------------------------------ a row per instance

    def _load_long(self) -> tuple[Bags, np.ndarray | None]:
        groups = [self._group(i) for i in range(self.file.num_row_groups)]
        columns = {}
        for name in self.schema.names:
            joined = pa.chunked_array(
                [g[name].combine_chunks() for g in groups], type=self.schema.field(name).type
            ).combine_chunks()
            columns[name] = self._column(name, joined, 0)
        if self.description is not None:
            return bags_from_long(columns, self.description, self.where)
        return infer_long(columns, self.bag, self.label, self.where, lambda row: f"row {row}")

    def _group(self, number: int) -> Any:
        try:
            return self.file.read_row_group(number)
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    def _column(self, name: str, array: Any, first: int, *, complete: bool = False) -> np.ndarray:
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if array.null_count and (complete or is_list(array.type)):
            row = first + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(f"{self.where}, row {row}: there is no value in the column {name!r}.")
        return from_arrow(array)

    # ------------------------------------------------------------------ a row per bag

    def _load_bags(self) -> tuple[Bags, np.ndarray | None]:
        """Fill one matrix as row groups come, so that memory holds little more than the result."""
        X: np.ndarray | None = None
        filled = 0
        parts: list[_Part] = []
        for part in self._parts():
            if X is None:
                X = np.empty((self._most_rows(), part.instances.shape[1]), dtype=part.instances.dtype)
            X[filled : filled + len(part.instances)] = part.instances
            filled += len(part.instances)
            part.instances = np.empty((0, 0))  # not a slice, which would hold on to the row group
            parts.append(part)
        if X is None:
            raise ValueError(f"{self.where} has no bags.")
        whole = _joined(parts)
        if whole.ids is not None:
            refuse_duplicates(whole.ids.tolist(), self.where, lambda i: f"row {i}")
        return self._bags(whole, X[:filled], whole.ids), whole.y

    def _most_rows(self) -> int:
        """Find from the footer how many instances there are at most."""
        metadata = self.file.metadata
        leaf = next(
            j
            for j in range(metadata.num_columns)
            if metadata.schema.column(j).path.split(".")[0] == self._instances_column()
        )
        entries = sum(metadata.row_group(i).column(leaf).num_values for i in range(metadata.num_row_groups))
        # A bag without instances has an entry, too.
        inner = self.schema.field(self._instances_column()).type.value_type
        width = inner.list_size if pa.types.is_fixed_size_list(inner) else 1
        return -(-entries // width)

    def _instances_column(self) -> str:
        return "instances" if self.description is None else self.description["instances"]["column"]

    def _parts(self) -> Iterator[_Part]:
        first = 0
        for i in range(self.file.num_row_groups):
            table = self._group(i)
            yield self._part(table, first)
            first += len(table)

    def _part(self, table: Any, first: int) -> _Part:
        name = self._instances_column()
        sizes, inner = self._lists(name, table[name], first)
        instances = self._matrix(inner, sizes, first)
        if self.description is not None:
            return self._described(table, first, sizes, instances)
        names = table.column_names
        bag = choose_column(self.bag, BAG_NAMES, names, self.where, "the bags' names")
        label = choose_column(self.label, LABEL_NAMES, names, self.where, "the labels")
        part = _Part(None, None, sizes, instances, {}, {})
        for other in names:
            if other == name:
                continue
            if other in (bag, label):
                values = self._column(other, table[other], first, complete=True)
                setattr(part, "ids" if other == bag else "y", values)
            elif is_list(table[other].type) and not pa.types.is_fixed_size_list(table[other].type):
                lengths, values = self._lists(other, table[other], first)
                self._check_lengths(other, lengths, sizes, first)
                part.instance_columns[other] = from_arrow(values)
            else:
                part.bag_columns[other] = self._column(other, table[other], first)
        return part

    def _described(self, table: Any, first: int, sizes: np.ndarray, instances: np.ndarray) -> _Part:
        about = self.description or {}

        def side(kind: dict[str, Any], *, complete: bool = False) -> np.ndarray:
            column = kind["column"]
            return restore(self._column(column, table[column], first, complete=complete), kind)

        per_instance = {}
        for name, kind in about["instance_columns"].items():
            lengths, values = self._lists(kind["column"], table[kind["column"]], first)
            self._check_lengths(kind["column"], lengths, sizes, first)
            per_instance[name] = restore(from_arrow(values), kind)
        return _Part(
            None if about["bag"]["numbered"] else side(about["bag"], complete=True),
            None if about["y"] is None else side(about["y"], complete=True),
            sizes,
            instances.astype(np.dtype(about["instances"]["dtype"]), copy=False),
            {name: side(kind) for name, kind in about["bag_columns"].items()},
            per_instance,
        )

    def _lists(self, name: str, column: Any, first: int) -> tuple[np.ndarray, Any]:
        """Give the lengths of the lists of a column, and what is in them."""
        array = column.combine_chunks()
        if not is_list(array.type) or pa.types.is_fixed_size_list(array.type):
            raise ValueError(
                f"{self.where}: the column {name!r} is of the type {array.type}; expected lists."
            )
        if array.null_count:
            row = first + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(f"{self.where}, row {row}: there is no value in the column {name!r}.")
        return np.diff(array.offsets.to_numpy()).astype(np.int64), array.flatten()

    def _matrix(self, inner: Any, sizes: np.ndarray, first: int) -> np.ndarray:
        kind = inner.type
        if not is_list(kind) or not is_number(kind.value_type):
            raise ValueError(
                f"{self.where}: the column {self._instances_column()!r} has lists of {kind}; expected lists "
                "of lists of numbers."
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
                refuse(widths != width, f"an instance has not {width} features as the first one has")
        values = inner.flatten()
        if values.null_count:
            nulls = values.is_null().to_numpy(zero_copy_only=False).reshape(-1, width)
            refuse(nulls.any(axis=1), "a feature of an instance is missing")
        return values.to_numpy(zero_copy_only=False).reshape(len(inner), width)

    def _check_lengths(self, name: str, lengths: np.ndarray, sizes: np.ndarray, first: int) -> None:
        if (lengths != sizes).any():
            row = int(np.argmax(lengths != sizes))
            raise ValueError(
                f"{self.where}, row {first + row}: the column {name!r} has {lengths[row]} values but the bag "
                f"has {sizes[row]} instances."
            )

    def _bags(self, part: _Part, instances: np.ndarray, ids: np.ndarray | None) -> Bags:
        names = None if self.description is None else self.description["instances"]["names"]
        return Bags(
            instances,
            np.concatenate([[0], np.cumsum(part.sizes)]),
            ids=ids,
            feature_names=names,
            instance_columns=part.instance_columns,
            bag_columns=part.bag_columns,
        )


def _joined(parts: list[_Part]) -> _Part:
    """Join everything but the instances."""
    first = parts[0]

    def all_of(get) -> Any:
        return join([get(part) for part in parts])

    return _Part(
        None if first.ids is None else all_of(lambda p: p.ids),
        None if first.y is None else all_of(lambda p: p.y),
        all_of(lambda p: p.sizes),
        first.instances,
        {name: all_of(lambda p, n=name: p.bag_columns[n]) for name in first.bag_columns},
        {name: all_of(lambda p, n=name: p.instance_columns[n]) for name in first.instance_columns},
    )
