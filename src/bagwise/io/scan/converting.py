"""From scanned files to Parquet, in bounded memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bagwise._core.types import FilePath
from bagwise.data.scanned import ScannedBags
from bagwise.io.parquet import save_parquet
from bagwise.io.scan.door import find_files, scan_bags
from bagwise.io.scan.runs import BagComesBackError

_PART_BYTES = 32 * 2**20


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
        What `scan_bags` takes; here the rows of a bag need not stand together. If they do not, they are
        brought together first, in files beside the target.
    target : path
        Where to write.
    bag, label : str, optional
        As in `scan_bags`.
    layout : {"bags", "long"}
        What a row is to be.

    Returns
    -------
    ScannedBags
        What was read.
    """
    try:
        return _write(scan_bags(source, bag=bag, label=label), target, layout)
    except BagComesBackError:
        paths, _ = find_files(source, "parquet")
    with tempfile.TemporaryDirectory(dir=Path(target).parent) as folder:
        from bagwise.io.scan.sorting import sort_long

        sort_long(paths, Path(folder) / "sorted.parquet", bag=bag, label=label)
        return _write(scan_bags(Path(folder) / "sorted.parquet", bag=bag, label=label), target, layout)


def _write(scan: ScannedBags, target: Any, layout: str) -> ScannedBags:
    row = max(1, scan.nbytes // max(1, scan.n_instances))
    save_parquet(target, scan.parts(max(1, _PART_BYTES // row)), layout=layout)
    return scan
