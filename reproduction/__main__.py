"""``python -m reproduction``: rerun the experiments from the papers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bagwise._display.parts import Table
from bagwise.cli import run_program
from bagwise.cli.command import CommandError
from bagwise.cli.data import add_json_argument
from bagwise.cli.parser import Help
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    from reproduction.framework import Experiment, Report, Settings

_DESCRIPTION = """\
Rerun experiments from papers, and compare our results, with standard errors, to the published
ones. Without a name, list the experiments.

An experiment consists of cells, and every finished cell is stored. To resume an interrupted run,
repeat the same command. A stored cell is reused as long as its code has not changed. Pages
(Markdown), tables (CSV) and figures (PNG) are written to --out. Public data that are not stored
locally are downloaded.

  python -m reproduction mimm-fig2 --quick

The exit status is 0 on success, 2 if the experiment is unknown or its data are not available, and
130 after Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the program."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments to run (default: list them)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument(
        "--quick", action="store_true", help="short run of a few seconds, to test that everything works"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("bagwise-results"),
        metavar="FOLDER",
        help="folder for the results (default: bagwise-results)",
    )
    parser.add_argument("--fresh", action="store_true", help="compute stored cells again")
    parser.add_argument(
        "--stored", action="store_true", help="compute nothing; report the stored cells (some experiments)"
    )
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """List the experiments, or run the named ones."""
    from reproduction import all_experiments
    from reproduction.framework import Settings

    experiments = all_experiments()
    if not arguments.names:
        rows = [
            [e.name, e.title, f"{e.minutes:g}", "yes" if e.needs_data or e.needs_files else ""]
            for e in experiments.values()
        ]
        heads = ["name", "description", "minutes\non 2 cores", "public\ndata"]
        screen.table(Table.of(heads, rows, n_text=2))
        screen.line("To run experiments: python -m reproduction NAME [NAME ...]; --quick for a short test.")
        if arguments.json:
            about = [
                {
                    "name": e.name,
                    "title": e.title,
                    "minutes": e.minutes,
                    "data": [*e.needs_data, *e.needs_files],
                }
                for e in experiments.values()
            ]
            screen.data({"experiments": about})
        return 0
    unknown = [name for name in arguments.names if name not in experiments]
    if unknown:
        raise CommandError(f"there is no experiment {unknown[0]!r}; choose from {', '.join(experiments)}.")
    if arguments.jobs == 0:
        raise CommandError("--jobs is 0; use the number of processes, or -1 for all cores.")
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot write to {str(arguments.out)!r}: {error.strerror}.") from error
    if arguments.fresh and arguments.stored:
        raise CommandError("--fresh and --stored are mutually exclusive; use only one of them.")
    settings = Settings(quick=arguments.quick, seed=arguments.seed)
    names = list(dict.fromkeys(arguments.names))
    pages = [_run_one(experiments[name], settings, arguments, screen) for name in names]
    if arguments.json:
        screen.data({"written": dict(zip(names, map(str, pages), strict=True))})
    return 0


def _run_one(
    experiment: Experiment, settings: Settings, arguments: argparse.Namespace, screen: Screen
) -> Path:
    from reproduction.runner import cell_folder, count_stored, run_experiment

    _fetch(experiment)
    n_cells = len(experiment.cells(settings))
    screen.title(f"{experiment.name}: {experiment.title}")
    stored = cell_folder(experiment, settings, arguments.out)
    reports: list[Report] = []
    try:
        with screen.progress(n_cells) as begin:
            page = run_experiment(
                experiment,
                settings,
                out=arguments.out,
                jobs=arguments.jobs,
                fresh=arguments.fresh,
                stored=arguments.stored,
                begin=begin,
                on_report=reports.append,
            )
    except ValueError as error:
        if arguments.stored:
            raise CommandError(error) from error
        raise
    except KeyboardInterrupt:
        n_stored = count_stored(experiment, settings, arguments.out)
        screen.error(
            f"{n_stored} of {n_cells} cells are finished and stored in {str(stored)!r}; to resume, repeat "
            f"the same command{' without --fresh' if arguments.fresh else ''}."
        )
        raise
    for table in reports[0].tables:
        screen.table(replace(table, note=""))  # notes appear only on the page
    screen.line(f"written: {page}")
    screen.line()
    return page


def _fetch(experiment: Experiment) -> None:
    """Download the data before processes start, so that there is only one progress bar or error message."""
    from bagwise.datasets._download import original_files

    missing = experiment.missing_files()
    if missing:
        raise CommandError(
            f"{missing[0]!r} does not exist; {experiment.name} needs this file, which cannot be downloaded: "
            "store it in the folder that the environment variable BAGWISE_DATA specifies."
        )
    for dataset in experiment.needs_data:
        try:
            original_files(dataset)
        except (OSError, ValueError) as error:
            raise CommandError(error) from error


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description=_DESCRIPTION,
        formatter_class=Help,
        allow_abbrev=False,
    )
    add_arguments(parser)
    parser.set_defaults(run=run)
    return run_program(parser, argv)


if __name__ == "__main__":
    sys.exit(main())
