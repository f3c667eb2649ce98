"""HTML reports (``--html``): the argument, its early checks, and writing the file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bagwise.cli.command import CommandError


def add_html_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--html``."""
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write a report, a single HTML file (.html)"
    )


def check_page(path: Path | None, option: str = "--html") -> None:
    """Raise an error if a report cannot be written to a path, before any computation."""
    if path is None:
        return
    from bagwise.report.writing import check_path, require_packages

    try:
        check_path(path)
        require_packages()
    except (ValueError, ImportError) as error:
        raise CommandError(str(error).replace("path must", f"{option} must")) from error


def write_page_of(subject: Any, path: Path) -> None:
    """Write the report of a subject (`bagwise.report.subject`)."""
    from bagwise.report import write_report

    try:
        write_report(subject, path)
    except OSError as error:
        raise CommandError(f"the report could not be written: {error}") from error
