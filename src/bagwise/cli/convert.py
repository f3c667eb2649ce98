"""``bagwise convert``: convert bags between file formats."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import (
    add_data_arguments,
    add_json_argument,
    data_options,
    find_label,
    showing_warnings,
)
from bagwise.cli.screen import Screen

_DESCRIPTION = """\
Convert bags from one file format to another. The format is detected from the file name:

  .npz      a compressed NumPy file
  .parquet  a row per bag (or per instance: --to parquet-long); needs pyarrow
  .csv      a row per instance
  .tsv .txt text separated by commas, semicolons or tabs; read only
  .xlsx     a sheet of a workbook (needs openpyxl); read only
  .arff     relational format, as written by WEKA; read only
  folders   with one .h5 (--to h5, needs h5py) or .npy file (--to npy) per
            bag, and a table labels.csv

For tables that bagwise did not write, name the columns with the bag's id (--bag) and its label
(--label). The labels of a folder can be in a separate table (--labels). With --positive, this label
is written as True and all others as False.

  bagwise convert shapes.csv shapes.parquet --bag molecule --label activity \\
      --positive active

Conversion from Parquet to Parquet is streamed, so the data can be larger than memory. SRC can then be
a folder of Parquet files or a quoted glob pattern. Rows are sorted if the rows of a bag are not
contiguous.

The exit status is 0 if DST was written, and 2 otherwise; SRC is never overwritten."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("source", type=Path, metavar="SRC", help="file or folder to read")
    parser.add_argument("target", type=Path, metavar="DST", help="file or new folder to write")
    parser.add_argument(
        "--from", dest="source_format", metavar="FORMAT", help="format of SRC (default: from its name)"
    )
    parser.add_argument(
        "--to", dest="target_format", metavar="FORMAT", help="format of DST (default: from its name)"
    )
    add_data_arguments(parser)
    parser.add_argument("--positive", metavar="LABEL", help="label of the positive class")
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read the bags, write them, and show a summary."""
    from bagwise.io import load_bags, save_bags

    bags: Any
    written = arguments.target
    _refuse_source(arguments.source, written)
    with showing_warnings(screen) as messages:
        try:
            if layout := _streamed_layout(arguments):
                from bagwise.io.scan.converting import convert_to_parquet

                columns = {"bag": arguments.bag, "label": arguments.label}
                bags = convert_to_parquet(arguments.source, written, layout=layout, **columns)
                y = bags.y
            else:
                bags, y = load_bags(
                    arguments.source, format=arguments.source_format, **data_options(arguments)
                )
                if arguments.positive is not None:
                    y = _positive(y, arguments)
                written = save_bags(written, bags, y, format=arguments.target_format)
        except (OSError, ValueError, ImportError) as error:
            raise CommandError(error) from error
    counts = str(bags).partition("(")[2][:-1]
    screen.line(f"written: {written}  {counts}, {'no labels' if y is None else 'with labels'}")
    if arguments.json:
        about = {"bags": len(bags), "instances": bags.n_instances, "features": bags.n_features}
        screen.data({"written": str(written), **about, "labels": y is not None, "warnings": messages})
    return 0


def _refuse_source(source: Path, target: Path) -> None:
    """Raise an error if the target would overwrite the source, which could lose data."""
    if not target.exists():
        return
    is_inside = source.is_dir() and source.resolve() in target.resolve().parents
    if is_inside or (source.exists() and target.samefile(source)):
        where = "is in" if is_inside else "is"
        raise CommandError(
            f"DST {str(target)!r} {where} SRC, which would be overwritten; choose another path."
        )


def _positive(y: Any, arguments: argparse.Namespace) -> Any:
    if y is None:
        raise CommandError(
            f"--positive needs labels, but {str(arguments.source)!r} has none; name the column with --label."
        )
    return y == find_label(y, arguments.positive)


def _streamed_layout(arguments: argparse.Namespace) -> str | None:
    """Return the layout of the Parquet file if the conversion can be streamed, otherwise None."""
    source, target = arguments.source, arguments.target
    is_scanned = source.is_dir() or source.suffix.lower() == ".parquet"
    if (
        not is_scanned
        or arguments.labels
        or arguments.positive
        or arguments.source_format not in (None, "parquet")
    ):
        return None
    by_name = "parquet" if target.suffix.lower() == ".parquet" else ""
    return {"parquet": "bags", "parquet-long": "long"}.get(arguments.target_format or by_name)


COMMAND = Command(
    name="convert",
    summary="convert bags between file formats",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
