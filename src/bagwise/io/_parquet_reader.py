"""Read Parquet files by row group, with or without a bagwise description."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bagwise._core.files.damage import reading
from bagwise.data.bags import Bags
from bagwise.data.description import check_description, join, refuse_duplicates
from bagwise.io._arrow import BagRows, BagTables, pa
from bagwise.io._long import bags_from_long, choose_bag_and_label, infer_long
from bagwise.io._remote import RemoteFile
from bagwise.io.parquet import SIZES_KEY

_BUFFER_BYTES = 2**15  # compressed bytes per column


class Reader:
    """An open Parquet file, with the roles of its columns.

    Parameters
    ----------
    path : path
        The file.
    bag, label : str or None
        The columns with ids and labels, for files without a description.
    streamed : bool
        Whether row groups are read in small batches, as `batches` does.
    """

    where: str
    file: Any
    schema: Any
    bag: str | None
    label: str | None
    description: dict[str, Any] | None
    is_long: bool
    tables: BagTables

    def __init__(self, path: Any, bag: str | None, label: str | None, *, streamed: bool = False):
        self.where = repr(str(path))
        is_remote = isinstance(path, RemoteFile)
        if not (path if is_remote else Path(path)).is_file():
            raise FileNotFoundError(f"there is no file {self.where}.")
        # Without pre-buffering, only a few pages of every column are in memory.
        options = {"pre_buffer": False, "buffer_size": _BUFFER_BYTES} if streamed else {}
        try:
            self.file = pq.ParquetFile(path.open() if is_remote else path, **options)
        # Column names that are not valid text raise a ValueError.
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from error
        self.path = path
        with reading(path, "Parquet file"):
            self.schema = self.file.schema_arrow
            names = self.schema.names
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"{self.where} has two columns {twice!r}.")
            self.bag, self.label = bag, label
            about = (self.file.metadata.metadata or {}).get(b"bagwise")
            self.description = None if about is None or bag or label else self._checked(json.loads(about))
        if self.description is None:
            self.is_long = "instances" not in self.schema.names
        else:
            self.is_long = self.description["layout"] == "long"
        self.tables = BagTables(self.description, bag=bag, label=label, where=self.where)

    def _checked(self, description: Any) -> dict[str, Any]:
        """Return the description; raise an error if it is damaged or lists columns that do not exist."""
        if not isinstance(description, dict) or description.get("layout") not in ("long", "bags"):
            raise ValueError("its description is damaged: the layout is neither 'long' nor 'bags'.")
        features = check_description(description)["instances"]
        kinds = [description["bag"], description["y"] or {}]
        kinds += [*description["bag_columns"].values(), *description["instance_columns"].values()]
        columns = [kind["column"] for kind in kinds if kind]
        columns += features["columns"] if description["layout"] == "long" else [features["column"]]
        absent = [name for name in columns if name not in self.schema.names]
        if absent:
            raise ValueError(f"its description lists a column {absent[0]!r}, which the file does not have.")
        return description

    def sizes(self) -> np.ndarray | None:
        """Return the bag sizes from the footer of a file with one row per bag; None if they are missing."""
        noted = (self.file.metadata.metadata or {}).get(SIZES_KEY.encode())
        if noted is None or self.description is None:
            return None
        with reading(self.path, "Parquet file"):
            # Limit the output to one size per row, because damaged bytes may decompress to far more values.
            unfolded = zlib.decompressobj().decompress(b64decode(noted), 8 * self.file.metadata.num_rows + 8)
            sizes = np.frombuffer(unfolded, dtype="<i8").astype(np.int64)
        return sizes if len(sizes) == self.file.metadata.num_rows else None

    def _unreadable(self, error: Exception) -> ValueError:
        return ValueError(f"{self.where} is not a readable Parquet file: {' '.join(str(error).split())}")

    def load(self, features: Sequence[str] | None = None) -> tuple[Bags, np.ndarray | None]:
        """Read all bags; `features` are the names of the feature columns, for files without a description."""
        with self.file, reading(self.path, "Parquet file"):
            if self.is_long:
                return self._load_long(features)
            return self._load_bags()

    def parts(self) -> Iterator[tuple[Bags, np.ndarray | None]]:
        """Read the bags of one row group after another."""
        if self.is_long:
            raise ValueError(
                f"{self.where} has one row per instance, but only files with one row per bag can be read "
                "part by part. Convert it with load_parquet and save_parquet."
            )
        with self.file:
            for first, table in self._tables():
                with reading(self.path, "Parquet file of bags"):
                    part = self.tables.read(table, first)
                yield part

    def batches(self, groups: list[int], columns: list[str], rows: int) -> Iterator[Any]:
        """Read some columns of some row groups, as tables of at most `rows` rows."""
        try:
            for batch in self.file.iter_batches(rows, row_groups=groups, columns=columns):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    # ------------------------------------------------------------------ one row per instance

    def _load_long(self, features: Sequence[str] | None) -> tuple[Bags, np.ndarray | None]:
        if not self.file.metadata.num_rows:
            raise ValueError(f"{self.where} has no bags.")
        groups = [self._group(i) for i in range(self.file.num_row_groups)]
        columns = {}
        keys: tuple[str | None, ...] = ()
        if self.description is None:
            keys = choose_bag_and_label(self.bag, self.label, self.schema.names, self.where, features or ())
        for name in self.schema.names:
            joined = pa.chunked_array(
                [g[name].combine_chunks() for g in groups], type=self.schema.field(name).type
            ).combine_chunks()
            read = self.tables.key_column if name in keys else self.tables.column
            columns[name] = read(name, joined)
        if self.description is not None:
            return bags_from_long(columns, self.description, self.where)
        return infer_long(
            columns, self.bag, self.label, self.where, lambda row: f"row {row}", features=features
        )

    def _group(self, index: int) -> Any:
        try:
            return self.file.read_row_group(index)
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    # ------------------------------------------------------------------ one row per bag

    def _load_bags(self) -> tuple[Bags, np.ndarray | None]:
        """Read the row groups into one matrix, using little more memory than the result."""
        X: np.ndarray | None = None
        filled = 0
        parts: list[BagRows] = []
        for first, table in self._tables():
            part = self.tables.rows(table, first)
            if X is None:
                X = np.empty((self._most_rows(), part.instances.shape[1]), dtype=part.instances.dtype)
            X[filled : filled + len(part.instances)] = part.instances
            filled += len(part.instances)
            part.instances = np.empty((0, 0))  # a slice would keep the row group in memory
            parts.append(part)
        if X is None:
            raise ValueError(f"{self.where} has no bags.")
        whole = joined_rows(parts)
        if whole.ids is not None:
            refuse_duplicates(whole.ids.tolist(), self.where, lambda i: f"row {i}")
        return self.tables.bags(whole, X[:filled], whole.ids), whole.y

    def n_values(self) -> int:
        """Return the number of feature values from the footer; an empty bag counts as one value."""
        metadata = self.file.metadata
        leaf = next(
            j
            for j in range(metadata.num_columns)
            if metadata.schema.column(j).path.split(".")[0] == self.tables.instances_column
        )
        return sum(metadata.row_group(i).column(leaf).num_values for i in range(metadata.num_row_groups))

    def _most_rows(self) -> int:
        """Return an upper bound of the number of instances, from the footer."""
        entries = self.n_values()
        # An empty bag has one entry as well.
        inner = self.schema.field(self.tables.instances_column).type.value_type
        width = inner.list_size if pa.types.is_fixed_size_list(inner) else 1
        return -(-entries // width)

    def _tables(self) -> Iterator[tuple[int, Any]]:
        """Yield the row groups, each with the index of its first row."""
        first = 0
        for i in range(self.file.num_row_groups):
            table = self._group(i)
            yield first, table
            first += len(table)


def joined_rows(parts: list[BagRows]) -> BagRows:
    """Join the columns of several tables, without the instances."""
    first = parts[0]

    def all_of(get: Any) -> Any:
        return join([get(part) for part in parts])

    return BagRows(
        None if first.ids is None else all_of(lambda p: p.ids),
        None if first.y is None else all_of(lambda p: p.y),
        all_of(lambda p: p.sizes),
        first.instances,
        {name: all_of(lambda p, n=name: p.bag_columns[n]) for name in first.bag_columns},
        {name: all_of(lambda p, n=name: p.instance_columns[n]) for name in first.instance_columns},
    )
