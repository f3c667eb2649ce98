"""Convert scanned files to Parquet with bounded memory, and sort rows if bags are not consecutive."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bagwise._core.types import FilePath
from bagwise.data.blocks.cutting import cut
from bagwise.data.scanned import ScannedBags
from bagwise.io._arrow import pa
from bagwise.io._long import choose_bag_and_label
from bagwise.io._parquet_reader import Reader
from bagwise.io.parquet import save_parquet
from bagwise.io.scan.runs import BagComesBackError
from bagwise.io.scan.scan_files import find_files, scan_bags

_PART_BYTES = 32 * 2**20
# For sorting, rows are distributed to temporary files that each fit in memory. This is the size in bytes of
# such a file, and of the buffer from which rows are distributed.
_PILE_BYTES = 32 * 2**20


def convert_to_parquet(
    source: FilePath,
    target: FilePath,
    *,
    bag: str | None = None,
    label: str | None = None,
    layout: str = "bags",
) -> ScannedBags:
    """Write bags that may be larger than memory to a Parquet file.

    Parameters
    ----------
    source : path or pattern
        The files, as in `scan_bags`. The rows of a bag need not be consecutive; if they are not, the rows are
        sorted first, using temporary files in the target folder.
    target : path
        Path of the new file.
    bag, label : str, optional
        As in `scan_bags`.
    layout : {"bags", "long"}
        Whether a row of the new file is a bag or an instance.

    Returns
    -------
    ScannedBags
        The scanned source.
    """
    try:
        return _write(scan_bags(source, bag=bag, label=label), target, layout)
    except BagComesBackError:
        paths, _ = find_files(source, "parquet")
    with tempfile.TemporaryDirectory(dir=Path(target).parent) as folder:
        from bagwise.io.scan.converting import sort_long

        sort_long(paths, Path(folder) / "sorted.parquet", bag=bag, label=label)
        return _write(scan_bags(Path(folder) / "sorted.parquet", bag=bag, label=label), target, layout)


def _write(scan: ScannedBags, target: Any, layout: str) -> ScannedBags:
    row = max(1, scan.nbytes // max(1, scan.n_instances))
    save_parquet(target, scan.parts(max(1, _PART_BYTES // row)), layout=layout)
    return scan


def sort_long(paths: Sequence[Path], target: Path, *, bag: str | None, label: str | None) -> None:
    """Write the rows of Parquet files to one file in which the rows of every bag are consecutive.

    Bags are sorted by their first row, and the rows of a bag keep their order. Only the bag ids and a part of
    the rows are in memory. All rows are stored in temporary files in the target folder.
    """
    readers = [Reader(path, bag, label, streamed=True) for path in paths]
    with ExitStack() as stack:
        for reader in readers:
            stack.enter_context(reader.file)
        first = readers[0]
        column = _bag_column(first)
        rank, sizes = _ranks(readers, column)
        n_rows = sum(sizes)
        size_of_row = max(1, _bytes(readers) // max(1, n_rows))
        piles = cut(np.append(0, np.cumsum(sizes)), max(1, _PILE_BYTES // size_of_row))
        pile_of = np.repeat(np.arange(len(piles)), [pile.stop - pile.start for pile in piles])
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=target.parent)))
        _share_out(readers, column, rank, pile_of, [folder / str(i) for i in range(len(piles))])
        writer = stack.enter_context(pq.ParquetWriter(target, first.schema, compression="zstd"))
        for i in range(len(piles)):
            with pa.OSFile(str(folder / str(i))) as file, pa.ipc.open_stream(file) as stream:
                table = stream.read_all()
            order = np.argsort(_of_rows(first, table, column, rank), kind="stable")
            writer.write_table(table.take(pa.array(order)))
            (folder / str(i)).unlink()
        kept = {k: v for k, v in (first.file.metadata.metadata or {}).items() if k == b"bagwise"}
        if kept and first.description is not None:
            writer.add_key_value_metadata(kept)


def _bag_column(reader: Reader) -> str:
    if reader.description is not None:
        return reader.description["bag"]["column"]
    return choose_bag_and_label(reader.bag, reader.label, reader.schema.names, reader.where)[0]


def _bytes(readers: Sequence[Reader]) -> int:
    """Return the uncompressed size of all rows in bytes."""
    footers = [reader.file.metadata for reader in readers]
    return sum(f.row_group(i).total_byte_size for f in footers for i in range(f.num_row_groups))


def _batches(reader: Reader, columns: list[str], rows: int) -> Iterator[Any]:
    return reader.batches(list(range(reader.file.num_row_groups)), columns, rows)


def _ranks(readers: Sequence[Reader], column: str) -> tuple[dict[Any, int], list[int]]:
    """Return the rank of every bag, by its first row, and the number of rows of each bag."""
    rank: dict[Any, int] = {}
    sizes: list[int] = []
    for reader in readers:
        for table in _batches(reader, [column], 2**16):
            ids = reader.tables.column(column, table[column])
            unique_ids, begins, counts = np.unique(ids, return_index=True, return_counts=True)
            for i in np.argsort(begins):
                name = unique_ids[i].item() if isinstance(unique_ids[i], np.generic) else unique_ids[i]
                bag_rank = rank.setdefault(name, len(rank))
                if bag_rank == len(sizes):
                    sizes.append(0)
                sizes[bag_rank] += int(counts[i])
    return rank, sizes


def _of_rows(reader: Reader, table: Any, column: str, rank: dict[Any, int]) -> np.ndarray:
    """Return the rank of each row's bag."""
    unique_ids, inverse = np.unique(reader.tables.column(column, table[column]), return_inverse=True)
    return np.array([rank[name] for name in unique_ids.tolist()], dtype=np.int64)[inverse.ravel()]


def _share_out(
    readers: Sequence[Reader], column: str, rank: dict[Any, int], pile_of: np.ndarray, piles: list[Path]
) -> None:
    with ExitStack() as stack:
        schema = readers[0].schema
        files = [stack.enter_context(pa.OSFile(str(path), "wb")) for path in piles]
        streams = [stack.enter_context(pa.ipc.new_stream(file, schema)) for file in files]
        for reader in readers:
            for gathered in _gathered(_batches(reader, schema.names, 2**14), _PILE_BYTES):
                pile = pile_of[_of_rows(reader, gathered, column, rank)]
                order = np.argsort(pile, kind="stable")
                gathered = gathered.select(schema.names).take(pa.array(order)).combine_chunks()
                ends = np.searchsorted(pile[order], np.arange(len(piles) + 1))
                for index in np.unique(pile):
                    part = gathered.slice(ends[index], ends[index + 1] - ends[index])
                    streams[index].write_table(part.cast(schema))


def _gathered(tables: Iterator[Any], most: int) -> Iterator[Any]:
    """Concatenate small tables into larger ones."""
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(part.nbytes for part in waiting) > most:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
