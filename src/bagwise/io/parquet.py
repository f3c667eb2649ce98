"""Read and write Parquet files with one row per bag (compact, streamed) or one row per instance (long)."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.files.atomic import replacing
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.data.blocks.cutting import cut
from bagwise.data.description import check_bags, describe, refuse_duplicates
from bagwise.io._long import long_columns, refuse_empty_bags

_GROUP_BYTES = 32 * 2**20  # maximum size of the instances in a row group
SIZES_KEY = "bagwise.sizes"  # key of the bag sizes in the footer: int64, compressed by zlib, in base64


def save_parquet(
    path: FilePath,
    bags: Bags | Iterable[tuple[Bags, Any]],
    y: ArrayLike | None = None,
    *,
    layout: str = "bags",
) -> Path:
    """Write bags and their labels to a Parquet file.

    With the layout "bags", there is one row per bag with the columns ``bag_id``, ``y``, the bag columns,
    ``instances`` (a list of fixed-size lists) and the instance columns (lists). With "long", there is one row
    per instance and one column per feature. The file is compressed with zstd, and features with byte stream
    split encoding. The file is written one row group at a time, so that little memory is needed in addition
    to the bags.

    Parameters
    ----------
    path : path
        The file to write. Writing is atomic: no incomplete file is ever left behind.
    bags : Bags, or iterable of (Bags, y)
        Dense bags with unique ids. Data that do not fit into memory can be passed as an iterable of parts
        with labels (or None), as returned by `iter_parquet`.
    y : array of shape (n_bags, ...), optional
        Labels of the bags.
    layout : {"bags", "long"}, default="bags"
        Whether a row is a bag ("bags") or an instance ("long").

    Returns
    -------
    pathlib.Path
        The path of the written file.

    See Also
    --------
    load_parquet : Read the file.
    iter_parquet : Read the file part by part.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bagwise import load_parquet, make_noisy_or_bags, save_parquet
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_parquet(pathlib.Path(folder) / "five.parquet", data.bags, data.y, layout="long")
    ...     bags, y = load_parquet(file)
    >>> bags
    Bags(5 bags, 15 instances, 3 features)
    """
    from bagwise.io._arrow import pa, table_from_bags, to_arrow

    if layout not in ("bags", "long"):
        raise ValueError(f"layout is {layout!r}; expected 'bags' or 'long'.")
    parts: Iterable[tuple[Bags, Any]] = [(bags, y)] if isinstance(bags, Bags) else bags
    path = Path(path)
    seen: list[Any] = []
    sizes: list[np.ndarray] = []
    n_written = 0
    first = None
    with replacing(path) as temporary, _Writer(temporary) as writer:
        for i_part, (part, labels) in enumerate(parts):
            part, labels = check_bags(part, labels, "Parquet")
            if layout == "long":
                refuse_empty_bags(part)
            description = describe(part, labels, instances=None if layout == "long" else "instances")
            if part._ids is None:  # number the bags consecutively across all parts
                part = part._replace(ids=np.arange(n_written, n_written + len(part)))
            n_written += len(part)
            seen += part.ids.tolist()
            sizes.append(part.sizes)
            first = first or description
            if description != first:
                raise ValueError(
                    f"the columns, dtypes or features of part {i_part} differ from those of part 0."
                )
            rows = max(1, _GROUP_BYTES // (part.n_features * part.instances.itemsize))
            for run in cut(part.offsets, rows):
                few, few_y = part[run], None if labels is None else labels[run]
                if layout == "long":
                    columns = long_columns(few, few_y, description)
                    writer.write(pa.table({name: to_arrow(name, a) for name, a in columns.items()}))
                else:
                    writer.write(table_from_bags(few, few_y, description))
        if first is None:
            raise ValueError("there are no bags to write: the iterable is empty.")
        refuse_duplicates(seen, "ids", lambda i: f"index {i}")
        writer.describe({**first, "layout": layout}, np.concatenate(sizes) if layout == "bags" else None)
    return path


def load_parquet(
    path: FilePath, *, bag: str | None = None, label: str | None = None, features: Sequence[str] | None = None
) -> tuple[Bags, Labels]:
    """Read bags and their labels from a Parquet file.

    Reads files written by `save_parquet` and by other programs. A file with a column ``instances`` has one
    row per bag: this column contains lists of numeric lists, other columns of lists are instance columns, and
    all other columns are bag columns. Any other file has one row per instance, and column roles are inferred
    as in `load_csv`. In these files, a column with a list of k values in every row, such as an embedding,
    becomes the columns NAME_0 to NAME_{k-1}; all lists must have the same length. Decimals become float64.

    Parameters
    ----------
    path : path
        The file.
    bag : str, optional
        The column with the bag id; by default ``bag_id``, ``bag`` or ``slide_id``.
    label : str, optional
        The column with the label; by default ``y`` or ``label``, if one of them exists.
    features : sequence of str, optional
        The feature columns, in this order; the name of a column of lists selects all of its entries. Only
        used for files with one row per instance that `save_parquet` did not write.

    Returns
    -------
    bags : Bags
        The bags.
    y : array or None
        The labels; None if there are none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import load_parquet, make_noisy_or_bags, save_parquet
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_parquet(pathlib.Path(folder) / "five.parquet", data.bags, data.y)
    ...     bags, y = load_parquet(file)
    >>> bags
    Bags(5 bags, 15 instances, 3 features)
    """
    from bagwise.io._parquet_reader import Reader

    return Reader(path, bag, label).load(features)


def iter_parquet(
    path: FilePath, *, bag: str | None = None, label: str | None = None
) -> Iterator[tuple[Bags, Labels]]:
    """Read a Parquet file with one row per bag part by part, for data larger than memory.

    Parameters
    ----------
    path, bag, label
        As in `load_parquet`.

    Yields
    ------
    bags : Bags
        The bags of a row group. Bags without ids are numbered consecutively across the file.
    y : array or None
        The labels of these bags; None if there are none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import iter_parquet, make_noisy_or_bags, save_parquet
    >>> parts = ((data.bags, data.y) for data in [make_noisy_or_bags(5), make_noisy_or_bags(3)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_parquet(pathlib.Path(folder) / "eight.parquet", parts)
    ...     [len(bags) for bags, y in iter_parquet(file)]
    [5, 3]
    """
    from bagwise.io._parquet_reader import Reader

    return Reader(path, bag, label).parts()


class _Writer:
    """Writer of a Parquet file, opened with the first table because the columns must be known."""

    def __init__(self, path: Path):
        self.path = path
        self.file: Any = None

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.file is not None:
            self.file.close()

    def write(self, table: Any) -> None:
        """Write a table as one row group."""
        import pyarrow.parquet as pq

        if self.file is None:
            self.file = pq.ParquetWriter(
                self.path,
                table.schema,
                compression="zstd",
                use_dictionary=False,
                use_byte_stream_split=list(_float_leaves(table.schema)),
            )
        self.file.write_table(table, row_group_size=max(1, len(table)))

    def describe(self, description: dict[str, Any], sizes: np.ndarray | None) -> None:
        """Store the description and the bag sizes in the footer, so that scans need not read instances."""
        about = {"bagwise": json.dumps(description)}
        if sizes is not None:
            about[SIZES_KEY] = b64encode(zlib.compress(sizes.astype("<i8").tobytes())).decode()
        self.file.add_key_value_metadata(about)


def _float_leaves(schema: Any) -> Iterator[str]:
    """Yield the paths of the floating-point columns, including those inside lists."""
    from bagwise.io._arrow import is_list, pa

    for field in schema:
        path, arrow_type = field.name, field.type
        while is_list(arrow_type):
            path, arrow_type = path + ".list.element", arrow_type.value_type
        if pa.types.is_float32(arrow_type) or pa.types.is_float64(arrow_type):
            yield path
