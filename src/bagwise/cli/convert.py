"""``bagwise convert``: bags from one kind of file to another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.screen import Screen

_DESCRIPTION = """\
Read bags from one kind of file and write them to another. The kind follows from the name:

  .npz      one compressed numpy file
  .parquet  a row per bag (or per instance: --to parquet-long); needs pyarrow
  .csv      a row per instance
  .arff     relational, as WEKA writes it; read only
  folders   with an .h5 file (--to h5, needs h5py) or an .npy file (--to npy) for every bag,
            and a table labels.csv

Tables of other origin need --bag and --label, the columns with the bag and its label; folders
may have their labels in a CSV file elsewhere (--labels).

From Parquet files and folders to Parquet memory holds a part of the bags at a time. SRC may then be a
folder of Parquet files, or a pattern in quotes; rows of a bag that do not stand together are sorted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("source", type=Path, metavar="SRC", help="a file or folder to read")
    parser.add_argument("target", type=Path, metavar="DST", help="a file, or new folder, to write")
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help="the format of SRC")
    parser.add_argument("--to", dest="target_format", metavar="FORMAT", help="the format of DST")
    parser.add_argument("--bag", metavar="COLUMN", help="the column of a table that names the bag")
    parser.add_argument("--label", metavar="COLUMN", help="the column of a table with the bag's label")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="a CSV file with the labels of a folder")


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read, write, and say what was written."""
    from bagwise.io import load_bags, save_bags

    bags: Any
    columns = {"bag": arguments.bag, "label": arguments.label}
    written = arguments.target
    try:
        if layout := _streamed_layout(arguments):
            from bagwise.io.scan.converting import convert_to_parquet

            bags = convert_to_parquet(arguments.source, written, layout=layout, **columns)
            y = bags.y
        else:
            bags, y = load_bags(
                arguments.source, format=arguments.source_format, labels=arguments.labels, **columns
            )
            written = save_bags(written, bags, y, format=arguments.target_format)
    except (OSError, ValueError, ImportError) as error:
        raise CommandError(error) from error
    counts = str(bags).partition("(")[2][:-1]
    screen.line(f"written: {written}  {counts}, {'no labels' if y is None else 'with labels'}")
    return 0


def _streamed_layout(arguments: argparse.Namespace) -> str | None:
    """What a row of the target is, if bags go into a Parquet file without being in memory all at once."""
    source, target = arguments.source, arguments.target
    is_scanned = source.is_dir() or source.suffix.lower() == ".parquet"
    if not is_scanned or arguments.labels or arguments.source_format not in (None, "parquet"):
        return None
    by_name = "parquet" if target.suffix.lower() == ".parquet" else ""
    return {"parquet": "bags", "parquet-long": "long"}.get(arguments.target_format or by_name)


COMMAND = Command(
    name="convert",
    summary="bags from one kind of file to another",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
