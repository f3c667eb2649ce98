"""Read and write CSV files with one row per instance, for spreadsheets and other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.files.atomic import holding
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.data.blocks.cutting import cut
from bagwise.data.description import check_bags, describe
from bagwise.io._label_table import Missing, treat_missing
from bagwise.io._long import bags_from_long, choose_bag_and_label, infer_long, long_columns, refuse_empty_bags
from bagwise.io._rows import TableFile, TextTable
from bagwise.io._table import Spread, read_columns, read_described, read_description, read_header, write_table

_BLOCK = 10_000  # instances that are converted to text at a time


def save_csv(path: FilePath, bags: Bags, y: ArrayLike | None = None) -> Path:
    """Write bags and their labels to a CSV file with one row per instance.

    The columns are ``bag_id``, ``y``, the bag columns, the features and the instance columns; a
    multi-dimensional column is split into several. Values are written such that loading restores them
    exactly. A second file, ``NAME.csv-metadata.json``, stores the dtypes and roles of the columns. `load_csv`
    and other programs can also read the CSV file without this second file. For large data, use Parquet.

    Parameters
    ----------
    path : path
        The file to write. Writing is atomic: no incomplete file is ever left behind.
    bags : Bags
        Dense, non-empty bags with unique ids.
    y : array of shape (n_bags, ...), optional
        Labels of the bags.

    Returns
    -------
    pathlib.Path
        The file written.

    See Also
    --------
    load_csv : Read the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bagwise import Bags, save_csv
    >>> bags = Bags([[0.5], [0.25], [2.0]], [0, 2, 3], ids=["m1", "m2"], feature_names=["angle"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(save_csv(pathlib.Path(folder) / "shapes.csv", bags, [1, 0]).read_text())
    bag_id,y,angle
    m1,1,0.5
    m1,1,0.25
    m2,0,2.0
    """
    path = Path(path)
    bags, y = check_bags(bags, y, "CSV")
    refuse_empty_bags(bags)
    description = {**describe(bags, y), "rows": bags.n_instances}
    spread = Spread(_kinds(description))

    def blocks() -> Iterator[list[np.ndarray]]:
        for part in cut(bags.offsets, _BLOCK):
            yield spread.out(long_columns(bags[part], None if y is None else y[part], description))

    write_table(path, spread.header, blocks(), description)
    return path


def load_csv(
    path: FilePath,
    *,
    bag: str | None = None,
    label: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    encoding: str | None = None,
    missing: Missing = "raise",
) -> tuple[Bags, Labels]:
    r"""Read bags and their labels from a CSV file with one row per instance.

    Reads files written by `save_csv`, and any text file with a header, cells separated by commas, semicolons
    or tabs, and a column with the bag id of every row. The rows may be in any order. In files separated by
    semicolons or tabs, a comma within a number is a decimal comma: 0,5 is 0.5. A first line such as
    ``sep=;``, which some programs write for Excel, specifies the separator.

    In a file without a description, numeric columns that vary within a bag are features. Columns that are
    constant within every bag, but not overall, are bag columns, so a label never leaks into the features.
    All others are instance columns. An empty cell, NA, N/A, null, None, ? or - in a numeric column is a
    missing value (NaN). Ids are read as text, so that 007 differs from 7.

    Parameters
    ----------
    path : path
        The file.
    bag : str, optional
        The column with the bag id of every row; by default ``bag_id``, ``bag`` or ``slide_id``.
    label : str, optional
        The column with the label of the bag; by default ``y`` or ``label``, if one of them exists.
    features : sequence of str, optional
        The feature columns, in this order; text in them raises an error. Other numeric columns become bag
        columns or instance columns. If any of `bag`, `label` and `features` is passed, the description of the
        file is ignored.
    encoding : str, optional
        The encoding of the text, such as "cp1250" or "mac-roman". By default UTF-8, or UTF-16 with a byte
        order mark; a text file that is not valid UTF-8 is read as Windows-1252 (cp1252), in which Excel
        writes plain CSV files in Western Europe and America.
    missing : {"raise", "skip", "keep"}, default="raise"
        How to treat bags without a label (an empty cell): "raise" raises an error; "skip" skips these bags
        and issues a warning with their number; "keep" reads missing labels as NaN (None among text labels),
        for example to pass unlabeled bags to `compare`.

    Returns
    -------
    bags : Bags
        The bags.
    y : array or None
        The labels; None if there are none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import load_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "shapes.csv"
    ...     _ = file.write_text("molecule,active,angle\nm1,1,0.1\nm2,0,0.7\nm1,1,0.3\n")
    ...     bags, y = load_csv(file, bag="molecule", label="active")
    >>> bags, y
    (Bags(2 bags, 3 instances, 1 feature), array([1, 0]))
    """
    with holding(os.path.dirname(os.path.realpath(path)), alone=False):
        description = None if bag or label or features else read_description(path)
        if description is None:
            return bags_of_table(TextTable(path, encoding), bag, label, features, missing)
        columns, _ = read_described(path, description, _kinds(description))
        return bags_from_long(columns, description, repr(str(path)))


def bags_of_table(
    table: TableFile,
    bag: str | None,
    label: str | Literal[False] | None,
    features: Sequence[str] | None,
    missing: Missing = "raise",
) -> tuple[Bags, np.ndarray | None]:
    """Build bags from a table without a description."""
    where, header = repr(str(table)), read_header(table)
    bag, label = choose_bag_and_label(bag, label, header, where, features or ())
    dtypes = {name: "number" if name in (features or ()) else None for name in header}
    columns, lines = read_columns(table, {**dtypes, bag: "U"})
    if not len(lines):
        raise ValueError(f"{where} has a header but no rows.")
    bags, y = infer_long(
        columns,
        bag,
        label or False,
        where,
        lambda row: f"{table.row_word} {lines[row]}",
        features=features,
        missing=missing,
    )
    return treat_missing(bags, y, missing, where)


def _kinds(description: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the columns of the table in order, each with its dtype and shape."""
    features = description["instances"]
    # The text of a bfloat16 value is that of the same value in float32.
    dtype = "<f4" if features["dtype"] == "bfloat16" else features["dtype"]
    return [
        description["bag"],
        *([description["y"]] if description["y"] else []),
        *description["bag_columns"].values(),
        *({"column": name, "dtype": dtype, "shape": []} for name in features["columns"]),
        *description["instance_columns"].values(),
    ]
