"""Tables of predictions that the workers of a cluster compute."""

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
MakeColumns = Callable[[Any, Any], Columns]
# Number of blocks per part; in a folder, each part is one file.
_BLOCKS_OF_A_PART = 16


def write_folder(
    cluster: Cluster,
    scan: ScannedBags,
    y: np.ndarray | None,
    make_columns: MakeColumns,
    path: FilePath,
    *,
    sides: bool,
) -> Path:
    """Let the workers write the tables of their bags as Parquet files in a folder.

    The file names sort in the order of the bags. All workers must be able to access the folder. If writing
    fails, no incomplete folder is left.
    """
    from bagwise._core.files.atomic import replacing_folder
    from bagwise.io._remote import is_address

    if is_address(path):
        raise ValueError(
            f"path is the address {str(path)!r}; expected a folder in a file system that all workers can "
            "access, because the folder is renamed when all files are complete."
        )
    with replacing_folder(path) as folder:
        for _ in columns_of_parts(cluster, scan, y, make_columns, sides=sides, folder=folder):
            pass
    return Path(path)


def columns_of_parts(
    cluster: Cluster,
    scan: ScannedBags,
    y: np.ndarray | None,
    make_columns: MakeColumns,
    *,
    sides: bool,
    folder: Path | None = None,
) -> Iterator[Any]:
    """Yield the columns of a table in parts, in the order of the bags, as the workers compute them.

    With `folder`, the workers write the parts to files in that folder, and None is yielded for each part.
    """
    import cloudpickle

    client = cluster.client
    # A model may be large: it is pickled once, and workers keep the pickle.
    pickled = client.submit(bytes, cloudpickle.dumps(make_columns), pure=False)
    futures: list[Any] = []
    locations = {}
    runs = cut(scan.offsets, _BLOCKS_OF_A_PART * block_rows(scan.n_features))
    for index, run in enumerate(runs):
        part = scan.standalone(run)
        labels = None if y is None else y[run]
        file = None if folder is None else folder / f"part-{index:05d}.parquet"
        future = client.submit(_predict_part, part, labels, pickled, sides, file, pure=False)
        futures.append(future)
        locations[str(future.key)] = f"bags {scan.ids[run.start]!r} to {scan.ids[run.stop - 1]!r}"
    with cancelled_unless_done(client, futures):
        for index, future in enumerate(futures):
            (result,) = cluster.results([future], locations)
            futures[index] = None  # release the columns on the worker
            yield result


def _predict_part(
    scan: ScannedBags, y: np.ndarray | None, pickled: bytes, sides: bool, file: Path | None
) -> Columns | None:
    """Compute the columns of a part block by block, and write them to a file or return them."""
    import pickle

    from bagwise._core.threads import one_blas_thread
    from bagwise.io._table import RowFile

    make_columns = pickle.loads(pickled)
    done = 0

    def parts() -> Iterator[Columns]:
        nonlocal done
        for bags, _ in scan.parts(columns=sides):
            yield make_columns(bags, None if y is None else y[done : done + len(bags)])
            done += len(bags)

    with one_blas_thread():
        if file is None:
            blocks = list(parts())
            return {name: np.concatenate([columns[name] for columns in blocks]) for name in blocks[0]}
        with RowFile(file) as table:
            for columns in parts():
                table.write(columns)
    return None
