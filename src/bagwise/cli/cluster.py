"""Commands on a Dask cluster: ``--dask``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bagwise.cli.command import CommandError


def add_dask_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--dask``."""
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run on a Dask cluster: its address, such as tcp://host:8786, or local for a cluster on this "
        "computer; implies --scan",
    )


@contextmanager
def open_cluster(arguments: argparse.Namespace) -> Iterator[Callable[[Any], Any]]:
    """Yield a function that moves a scan to the cluster of ``--dask``; without one, it returns the scan."""
    if arguments.dask is None:
        yield lambda scan: scan
        return
    arguments.scan = True
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise CommandError("--dask needs distributed: pip install 'bagwise[dask]'") from error
    with ExitStack() as stack:
        try:
            where = arguments.dask
            if where == "local":
                # No dashboard, and any free port, because another cluster may be running on this computer.
                where = stack.enter_context(
                    LocalCluster(
                        threads_per_worker=1,
                        dashboard_address=None,
                        scheduler_kwargs={"dashboard_address": ":0"},
                    )
                )
            client = stack.enter_context(Client(where, timeout="10s"))
        except (OSError, ValueError) as error:
            raise CommandError(
                f"--dask {arguments.dask}: no connection to a cluster ({error}); expected an address such as "
                "tcp://host:8786, or local."
            ) from error
        yield lambda scan: scan.on(client)
