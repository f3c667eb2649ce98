"""Tables of what a model says of bags, made by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._core.types import FilePath
from bagwise.data.blocks import block_rows, cut
from bagwise.data.cluster.blocks import cancelled_unless_done
from bagwise.data.cluster.cluster import Cluster

if TYPE_CHECKING:
    from bagwise.data.scanned import ScannedBags

Columns = dict[str, np.ndarray]
Said = Callable[[Any, Any], Columns]
# So many blocks are a part: a part of a folder is a file.
_BLOCKS_OF_A_PART = 16


def write_folder(
    cluster: Cluster, scan: ScannedBags, y: np.ndarray | None, said: Said, path: FilePath, *, sides: bool
) -> Path:
    """Let every worker write tables of its bags, Parquet files of a folder, which is complete or absent.

    The files follow each other by name in the order of the bags. The workers must see the folder.
    """
    from bagwise._core.files.atomic import replacing_folder
    from bagwise.io._remote import is_address

    if is_address(path):
        raise ValueError(
            f"path is {str(path)!r}, an address; a folder that is complete or absent needs a file system "
            "that all workers see, where it can be renamed."
        )
    with replacing_folder(path) as folder:
        for _ in columns_of_parts(cluster, scan, y, said, sides=sides, folder=folder):
            pass
    return Path(path)


def columns_of_parts(
    cluster: Cluster,
    scan: ScannedBags,
    y: np.ndarray | None,
    said: Said,
    *,
    sides: bool,
    folder: Path | None = None,
) -> Iterator[Any]:
    """Give the columns of a table part by part, in the order of the bags, as workers have made them.

    With a `folder` they write them to files there, and give None.
    """
    import cloudpickle

    client = cluster.client
    # A model may be large: it is pickled once, and kept where it is used.
    pickled = client.submit(bytes, cloudpickle.dumps(said), pure=False)
    futures: list[Any] = []
    places = {}
    runs = cut(scan.offsets, _BLOCKS_OF_A_PART * block_rows(scan.n_features))
    for number, run in enumerate(runs):
        some = scan.standalone(run)
        labels = None if y is None else y[run]
        file = None if folder is None else folder / f"part-{number:05d}.parquet"
        future = client.submit(_said_of_part, some, labels, pickled, sides, file, pure=False)
        futures.append(future)
        places[str(future.key)] = f"bags {scan.ids[run.start]!r} to {scan.ids[run.stop - 1]!r}"
    with cancelled_unless_done(client, futures):
        for number, future in enumerate(futures):
            (result,) = cluster.results([future], places)
            futures[number] = None  # its columns need not stay on the worker
            yield result


def _said_of_part(
    scan: ScannedBags, y: np.ndarray | None, pickled: bytes, sides: bool, file: Path | None
) -> Columns | None:
    """Say what is to be said of some bags, block by block; write it to a file, or give it."""
    import pickle

    from bagwise._core.threads import one_blas_thread
    from bagwise.io._table import RowFile

    said = pickle.loads(pickled)
    done = 0

    def parts() -> Iterator[Columns]:
        nonlocal done
        for bags, _ in scan.parts(columns=sides):
            yield said(bags, None if y is None else y[done : done + len(bags)])
            done += len(bags)

    with one_blas_thread():
        if file is None:
            found = list(parts())
            return {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}
        with RowFile(file) as table:
            for columns in parts():
                table.write(columns)
    return None
