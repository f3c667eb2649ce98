"""``bagwise check``: check a data set before a model is fitted."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise._display.parts import Table
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import (
    KINDS,
    add_data_arguments,
    add_json_argument,
    data_options,
    join_command,
    load_labelled,
    showing_warnings,
)
from bagwise.cli.labels import (
    describe_measurement,
    is_measurement,
    looks_unlabeled,
    missing_labels,
    name_unlabeled,
)
from bagwise.cli.pages import add_html_argument, check_page, write_page_of
from bagwise.cli.remedies import with_options
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    from bagwise.evaluation.checks.report import Report

_DESCRIPTION = f"""\
Check a data set before a model is fitted: sizes and labels, missing values, empty bags, constant
features, duplicate rows and bags, leaks through the order or the size of bags, and the memory that
kernel models would need.

{KINDS}

  bagwise check shapes.csv --bag molecule --label active --html check.html

With --splits instead of DATA, check split files: which patients, bags or duplicates are in both
training and test bags of a fold. Features are not needed. The files can be those of CLAM
(splits_0.csv), Patho-Bench (.tsv), MIL_BASELINE (.csv), or tables with columns such as fold_0 that
contain train, val or test. If they have no patient column, use --labels for a table that has one.

  bagwise check --splits splits_*.csv --labels slides.csv --patient case_id

The exit status is 0 if there are no warnings, 1 if there are, and 2 if a file cannot be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=Path, nargs="?", metavar="DATA", help="data set: a file or folder")
    parser.add_argument(
        "--splits", type=Path, nargs="+", metavar="FILE", help="check split files instead of a data set"
    )
    parser.add_argument(
        "--patient", metavar="COLUMN", help="with --splits: column with the patient of every bag"
    )
    add_data_arguments(parser)
    add_html_argument(parser)
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read the file and show the findings."""
    if (arguments.file is None) == (arguments.splits is None):
        raise CommandError("usage: bagwise check DATA, or bagwise check --splits FILE ... (not both).")
    if arguments.splits is not None:
        return _check_splits(arguments, screen)
    if arguments.patient is not None:
        raise CommandError(
            "--patient needs --splits; for DATA, specify groups of bags with bagwise fit --groups."
        )
    check_page(arguments.html)
    from bagwise.evaluation.checks import inspect_bags

    with showing_warnings(screen) as messages:
        bags, y = load_labelled(arguments.file, data_options(arguments))
    named = name_unlabeled(y)
    report = _advise_labels(inspect_bags(bags, named), y, arguments)
    screen.title(str(arguments.file))
    show_report(report, screen)
    n_warnings, n_notes = report.count("warning") + len(messages), report.count("note")
    screen.line()
    screen.line(
        f"{n_warnings} {'warning' if n_warnings == 1 else 'warnings'}, "
        f"{n_notes} {'note' if n_notes == 1 else 'notes'}."
    )
    if arguments.html is not None:
        _write_page(report, bags, named, arguments)
        screen.line(f"written: {arguments.html}")
    if arguments.json:
        written = None if arguments.html is None else str(arguments.html)
        content = {
            "file": str(arguments.file),
            "warnings": messages,
            **report_data(report),
            "written": written,
        }
        screen.data(content)
    return 1 if n_warnings else 0


def _check_splits(arguments: argparse.Namespace, screen: Screen) -> int:
    """Show which patients and bags are in two parts of a fold."""
    if arguments.html is not None:
        raise CommandError("--html cannot be combined with --splits.")
    if arguments.labels is not None and arguments.patient is None:
        raise CommandError(
            "With --splits, --labels is the patient table; name its patient column with --patient."
        )
    from bagwise.evaluation.checks import check_splits

    try:
        report = check_splits(
            arguments.splits, patient=arguments.patient, table=arguments.labels, bag=arguments.bag
        )
    except (ValueError, OSError) as error:
        raise CommandError(error) from error
    screen.title("Splits")
    screen.table(report.table())
    for sentence in report.sentences():
        screen.paragraph(sentence)
    screen.line()
    screen.line("No overlap." if report.is_clean else "Some parts of a fold overlap.")
    if arguments.json:
        overlaps = [{**vars(overlap), "is_clean": overlap.is_clean} for overlap in report.overlaps]
        screen.data({"folds": report.folds, "overlaps": overlaps, "without_patient": report.without_patient})
    return 0 if report.is_clean else 1


def _advise_labels(report: Report, y: Any, arguments: argparse.Namespace) -> Report:
    """Replace the finding about labels by advice for the command line if it depends on an option."""
    from bagwise.evaluation.checks.report import Finding

    text, level = None, "note"
    if y is None or y.ndim != 1:
        return report
    missing = missing_labels(y)
    classes = sorted({str(label) for label in y[~missing].tolist()})
    unknown = looks_unlabeled(y)
    if missing.any() and len(classes) == 1:
        text = (
            f"{missing.sum():,} of {len(y):,} bags have no label, and all others are labeled {classes[0]!r}: "
            "use a model for positive and unlabeled bags, such as --model pu. bagwise compare compares such "
            "models."
        )
    elif missing.any():
        level, text = (
            "warning",
            f"{missing.sum():,} of {len(y):,} bags have no label; --missing skip leaves them out.",
        )
    elif is_measurement(y):
        text = describe_measurement(y, arguments.label)
    elif unknown is not None:
        other = next(label for label in classes if label != unknown)
        text = (
            f"{unknown!r} looks like a missing label. If it is, use a model for positive and unlabeled bags: "
            f"--model pu --positive {join_command([other])}."
        )
    elif len(classes) == 2 and y.dtype.kind not in "biuf":
        first, second = (join_command([label]) for label in classes)
        text = f"choose the positive label in bagwise fit: --positive {first} or --positive {second}."
    if text is None:
        return report
    advice = Finding(level, "labels", text)
    findings = [advice if finding.topic == "labels" else finding for finding in report.findings]
    return replace(report, findings=tuple(findings))


def _write_page(report: Report, bags: Any, y: Any, arguments: argparse.Namespace) -> None:
    from bagwise.report.pages import check_subject

    title = arguments.file.name
    subject = check_subject(report, bags, y, title=title, code=arguments.command_line)
    write_page_of(subject, arguments.html)


def show_report(report: Report, screen: Screen, levels: Collection[str] = ("ok", "note", "warning")) -> None:
    """Show the facts of an inspection, and its findings of these levels."""
    screen.table(Table.of_facts(report.facts))
    for finding in report.findings:
        if finding.level in levels:
            screen.finding(finding.level, finding.topic, with_options(finding.text))


def report_data(report: Report) -> dict[str, Any]:
    """Return an inspection as a dictionary, for ``--json``."""
    findings = [{**vars(finding), "text": with_options(finding.text)} for finding in report.findings]
    return {"facts": dict(report.facts), "findings": findings}


COMMAND = Command(
    name="check",
    summary="check a data set before a model is fitted",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
