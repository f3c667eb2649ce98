"""Work of a command that goes to a Dask cluster: ``--dask``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bagwise.cli.command import CommandError


def add_dask_argument(parser: argparse.ArgumentParser) -> None:
    """Add where the work is to be done."""
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="let the workers of a Dask cluster do it: tcp://host:8786, or local; leaves instances in their "
        "files (--scan)",
    )


@contextmanager
def shared_out(arguments: argparse.Namespace) -> Iterator[Callable[[Any], Any]]:
    """Give what puts a scan on the cluster that the arguments name; as it is, if they name none."""
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
                # Without a page to look at; any port, for another cluster may be running here.
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
                f"--dask {arguments.dask}: no cluster answers there ({error}); expected an address such as "
                "tcp://host:8786, or local."
            ) from error
        yield lambda scan: scan.on(client)
