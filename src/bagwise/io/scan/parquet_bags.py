"""Scans of Parquet files with one row per bag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise.data.blocks import block_rows
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.description import refuse_duplicates
from bagwise.data.scanned.source import FileStamp, MatrixPiece
from bagwise.io._arrow import BagRows, BagTables
from bagwise.io._parquet_reader import Reader, joined_rows
from bagwise.io.scan.parquet import ParquetSource, row_groups


@dataclass
class BagRowsSource(ParquetSource):
    """A source with one row per bag; the instances of a bag are a list of lists.

    Attributes
    ----------
    names : list of str
        The column names of the files.
    """

    names: list[str] = field(repr=False)

    def _columns(self, sides: bool) -> list[str]:
        return self.names if sides else [self.tables.instances_column]

    def _rows_at_a_time(self) -> int:
        return _bags_at_a_time(self.offsets, block_rows(self.n_features))

    def _piece(
        self, first: int, tables: BagTables, row: int, table: Any, sides: bool, buffers: Buffers
    ) -> MatrixPiece:
        if not sides:
            return MatrixPiece(first, tables.instances(table, row)[1])
        rows = tables.rows(table, row)
        return MatrixPiece(first, rows.instances, rows.instance_columns)


def scan_bag_rows(readers: Sequence[Reader], stamps: list[FileStamp]) -> BagRowsSource:
    """Return the source of files with one row per bag.

    Files that bagwise wrote contain the bag sizes in the footer. The instances of other files are read once
    to determine the bag sizes.
    """
    groups, n_rows = row_groups(readers)
    parts: list[BagRows] = []
    width, dtype = 0, np.dtype(float)
    for reader in readers:
        row = 0
        for part in _bags_of(reader):
            if part.instances.size or not parts:
                if width and part.instances.shape[1] != width:
                    raise ValueError(
                        f"{reader.where}, row {row}: instances have {part.instances.shape[1]} features, but "
                        f"earlier rows have {width}."
                    )
                width, dtype = part.instances.shape[1], part.instances.dtype
            part.instances, part.instance_columns = np.empty((0, 0)), {}  # release the memory of the batch
            parts.append(part)
            row += len(part.sizes)
    if not parts:
        raise ValueError(f"{readers[0].where} has no bags.")
    whole = joined_rows(parts)
    if whole.ids is not None:
        begins = np.cumsum([0, *(reader.file.metadata.num_rows for reader in readers)])

        def describe_row(bag: int) -> str:
            i_file = int(np.searchsorted(begins, bag, side="right")) - 1
            file = "" if len(readers) == 1 else f"{readers[i_file].where}, "
            return f"{file}row {bag - begins[i_file]}"

        refuse_duplicates(whole.ids.tolist(), readers[0].where if len(readers) == 1 else "ids", describe_row)
    offsets = np.append(0, np.cumsum(whole.sizes))
    first = readers[0]
    return BagRowsSource(
        offsets=offsets,
        ids=whole.ids,
        y=whole.y,
        bag_columns=whole.bag_columns,
        feature_names=None if first.description is None else first.description["instances"]["names"],
        n_features=width,
        dtype=dtype,
        unit_offsets=offsets[np.append(0, np.cumsum(n_rows))],
        stamps=stamps,
        groups=groups,
        tables=first.tables,
        names=first.schema.names,
    )


def _bags_of(reader: Reader) -> Iterator[BagRows]:
    """Yield ids, labels, columns and sizes of bags in batches; read instances only to find the sizes."""
    every = list(range(reader.file.num_row_groups))
    sizes, about, row = reader.sizes(), reader.description, 0
    if sizes is None or about is None:
        for table in reader.batches(every, reader.schema.names, _likely_bags_at_a_time(reader)):
            yield reader.tables.rows(table, row)
            row += len(table)
        return
    kinds = [about["bag"], *about["bag_columns"].values(), *([] if about["y"] is None else [about["y"]])]
    for table in reader.batches(every, [kind["column"] for kind in kinds], 2**14):
        yield reader.tables.described_bags(table, row, sizes[row : row + len(table)])
        row += len(table)


def _likely_bags_at_a_time(reader: Reader) -> int:
    """Estimate the number of bags per block from the mean bag size."""
    bags = max(1, reader.file.metadata.num_rows)
    return max(1, int(block_rows(1) / max(1.0, reader.n_values() / bags)))


def _bags_at_a_time(offsets: np.ndarray, most: int) -> int:
    """Return the number of bags to read at once, such that a run has at most about `most` instances.

    Parquet files are read in runs with a fixed number of rows. A run can exceed `most` by the size of the
    largest bag.
    """
    n_bags = len(offsets) - 1
    allowed = most + int(np.diff(offsets).max(initial=0))
    several = 1
    while several < n_bags:
        ends = offsets[np.minimum(np.arange(0, n_bags + 2 * several, 2 * several), n_bags)]
        if np.diff(ends).max() > allowed:
            break
        several *= 2
    return several
