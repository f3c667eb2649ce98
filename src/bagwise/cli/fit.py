"""``bagwise fit``: fit a model to a file of labeled bags and save it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.check import report_data, show_report
from bagwise.cli.class_names import ClassNames, choose_positive
from bagwise.cli.cluster import add_dask_argument, open_cluster
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import (
    KINDS,
    add_data_arguments,
    add_json_argument,
    data_options,
    data_path,
    is_same_file,
    reading_data,
    showing_warnings,
)
from bagwise.cli.models import MODELS, list_models, make_model, nearest
from bagwise.cli.pages import add_html_argument, check_page, write_page_of
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    import numpy as np

    from bagwise.evaluation.held_out import Evaluation

_DESCRIPTION = f"""\
Fit a model to labeled bags. The command checks the data, evaluates the model by cross-validation,
fits it to all bags and saves it. The saved model works with bagwise predict, explain, plot and show,
and with bagwise.load in Python.

{KINDS}

Models, with their most important settings:
{list_models()}

  bagwise fit shapes.csv --bag molecule --label activity --positive active \\
      --model milr --set alpha=3 --groups batch -o shapes.bagwise \\
      --html shapes.html

Text labels need --positive. For numeric and boolean labels, the larger value is positive. With
--groups, bags of one group (such as a patient) are held out together; name a column that has one
value per bag.

The exit status is 0 if the model was saved, 1 if it was saved but the fit did not converge or issued
a warning, 2 if it was not saved, 130 after Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=data_path, metavar="DATA", help="labeled bags: a file or folder")
    parser.add_argument(
        "-m", "--model", required=True, metavar="NAME", help="name of the model (see the list above)"
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="model file to write (.bagwise)"
    )
    add_data_arguments(parser)
    parser.add_argument("--positive", metavar="LABEL", help="label of the positive class")
    parser.add_argument("--groups", metavar="COLUMN", help="column with the group of each bag")
    parser.add_argument("--features", metavar="NAME,...", help="feature columns (default: all)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="set a parameter of the model; can be repeated",
    )
    parser.add_argument(
        "--cv",
        type=int,
        default=5,
        metavar="N",
        help="number of folds, or 0 for no cross-validation (default: %(default)s)",
    )
    parser.add_argument(
        "--scan", action="store_true", help="read instances from their files when needed, for large data"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    add_html_argument(parser)
    add_dask_argument(parser)
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read and check the data, evaluate and fit the model, and save it."""
    _check_arguments(arguments)
    with open_cluster(arguments) as move_to_cluster:
        return _run(arguments, screen, move_to_cluster)


def _run(arguments: argparse.Namespace, screen: Screen, move_to_cluster: Callable[[Any], Any]) -> int:
    model = make_model(arguments.model, arguments.settings, arguments.seed)
    with showing_warnings(screen) as of_data:
        bags, labels = read_training(arguments)
    takes_many = model.__sklearn_tags__().classifier_tags.multi_class
    y, class_names = choose_positive(labels, arguments.positive, takes_many=takes_many)
    groups = read_groups(bags, arguments.groups)
    screen.title(f"{arguments.model}: {arguments.file}")
    report = _inspect(bags, labels if class_names is None else class_names.of_labels(y), labels, arguments)
    local_bags, bags = bags, move_to_cluster(bags)
    show_report(report, screen, ("note", "warning"))
    if any(finding.level != "ok" for finding in report.findings):
        screen.line()

    evaluation = None
    with showing_warnings(screen) as of_fit:
        try:
            with screen.progress(arguments.cv + 1) as begin:
                held = _hold_out(model, bags, y, groups, arguments, begin) if arguments.cv else None
                begin("all bags")
                _fit(model, bags, y, groups)
            if held is not None:
                evaluation = _judge(model, bags, y, held, groups, class_names, arguments)
        except (ValueError, TypeError, MemoryError, ImportError) as error:
            raise CommandError(error) from error
    about = _about(arguments, class_names, evaluation)
    _save(model, arguments.out, about)
    if evaluation is not None:
        screen.table(evaluation.table())
    screen.line(f"written: {arguments.out}")
    if arguments.html is not None:
        options = {"groups": groups, "evaluation": evaluation, "inspection": report, "seed": arguments.seed}
        _write_page(model, local_bags, y, held, class_names, arguments, **options)
        screen.line(f"written: {arguments.html}")
    if arguments.json:
        screen.data(
            {
                "written": str(arguments.out),
                "html": None if arguments.html is None else str(arguments.html),
                "class": type(model).__name__,
                **about,
                **report_data(report),
                "warnings": of_data + of_fit,
                "converged": getattr(model, "converged_", None),
            }
        )
    return 1 if of_fit or getattr(model, "converged_", True) is False else 0


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Raise an error for invalid arguments before any computation."""
    if arguments.cv < 0 or arguments.cv == 1:
        raise CommandError(
            f"--cv is {arguments.cv}; expected at least 2 folds, or 0 for no cross-validation."
        )
    if not 0 <= arguments.seed < 2**32:
        raise CommandError(f"--seed must be between 0 and 2**32 - 1; got {arguments.seed}.")
    if not arguments.out.absolute().parent.is_dir():
        raise CommandError(f"there is no folder {str(arguments.out.parent)!r} for the model.")
    from bagwise._core.files.atomic import refuse_other_than_file

    try:
        refuse_other_than_file(arguments.out)
    except OSError as error:
        raise CommandError(error) from error
    check_page(arguments.html)
    if is_same_file(arguments.out, arguments.file):
        raise CommandError(
            f"-o {str(arguments.out)!r} is the input data and would be overwritten; choose another file."
        )
    from importlib.util import find_spec

    if find_spec("skops") is None:
        raise CommandError(
            "saving models needs skops, which is not installed: pip install 'bagwise[persist]'"
        )


def read_training(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Read labeled bags, or scan their files with ``--scan``."""
    from bagwise.io import load_bags, scan_bags

    options = data_options(arguments)
    features = getattr(arguments, "features", None)
    if features is not None:
        options["features"] = [name.strip() for name in features.split(",")]
    bags: Any
    with reading_data(arguments.file):
        if arguments.scan:
            _refuse_options(options, "labels", "sheet")
            bags = scan_bags(arguments.file, **options)
            y = bags.y
        else:
            bags, y = load_bags(arguments.file, **options)
    if y is None:
        raise CommandError(f"{str(arguments.file)!r} has no labels; name their column with --label.")
    if y.ndim != 1:
        raise CommandError(
            f"{str(arguments.file)!r} has {y.shape[1]} labels per bag; this command needs exactly one."
        )
    return bags, y


def _refuse_options(options: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in options:
            raise CommandError(f"--{name} cannot be combined with --scan; convert the data to Parquet first.")


def read_groups(bags: Any, column: str | None) -> np.ndarray | None:
    """Return the column with the group of each bag, or None."""
    if column is None:
        return None
    names = bags.bag_columns
    if column not in names:
        raise CommandError(
            f"--groups {column!r} is not a column with one value per bag{nearest(column, names)}; "
            f"{'such columns are ' + ', '.join(map(repr, names)) if names else 'there is no such column'}."
        )
    return names[column]


def _inspect(bags: Any, named: np.ndarray, labels: np.ndarray, arguments: argparse.Namespace) -> Any:
    """Inspect the data with the names of the two classes; the facts show the original labels.

    Findings that the arguments already address are left out.
    """
    from dataclasses import replace

    from bagwise.evaluation.checks import inspect_bags, inspect_scan
    from bagwise.evaluation.checks.report import Finding

    inspect = inspect_scan if arguments.scan else inspect_bags
    report = inspect(bags, named)
    # The folds are random, so the order of bags does not matter; with --groups, groups stay together.
    taken = {("note", "order"), ("ok", "order")} | ({("note", "groups")} if arguments.groups else set())
    findings = [finding for finding in report.findings if (finding.level, finding.topic) not in taken]
    if labels is named:
        return replace(report, findings=tuple(findings))
    chosen = Finding("ok", "labels", f"{arguments.positive!r} is the positive label.")
    findings = [
        chosen if (finding.level, finding.topic) == ("note", "labels") else finding for finding in findings
    ]
    report = replace(report, findings=tuple(findings))
    import numpy as np

    counts = ", ".join(
        f"{label!r}: {n:,}"
        for label, n in zip(*(a.tolist() for a in np.unique(labels, return_counts=True)), strict=True)
    )
    facts = tuple((name, counts if name == "labels" else value) for name, value in report.facts)
    return replace(report, facts=facts)


def _hold_out(
    model: Any, bags: Any, y: np.ndarray, groups: Any, arguments: argparse.Namespace, begin: Any
) -> Any:
    from bagwise.evaluation.held_out import predict_held_out

    return predict_held_out(
        model,
        bags,
        y,
        n_folds=arguments.cv,
        groups=groups,
        seed=arguments.seed,
        begin=begin,
        keep_models=arguments.html is not None,
    )


def _judge(
    model: Any,
    bags: Any,
    y: np.ndarray,
    held: Any,
    groups: Any,
    class_names: ClassNames | None,
    arguments: Any,
) -> Evaluation:
    from bagwise.evaluation.held_out import evaluate, evaluate_unlabeled

    if MODELS[arguments.model].from_unlabeled:
        return evaluate_unlabeled(model, bags, y, held, groups)
    return evaluate(
        held, groups, None if class_names is None else (class_names.negative, class_names.positive)
    )


def _fit(model: Any, bags: Any, y: np.ndarray, groups: Any) -> None:
    from bagwise.models.base.held_out import fit_in_groups

    fit_in_groups(model, bags, y, groups)


def _write_page(
    model: Any,
    bags: Any,
    y: np.ndarray,
    held: Any,
    class_names: ClassNames | None,
    arguments: Any,
    **options: Any,
) -> None:
    from bagwise.report.models import evaluated_subject

    names = None if class_names is None else (class_names.negative, class_names.positive)
    title = f"{type(model).__name__} of {Path(str(arguments.file)).name}"
    subject = evaluated_subject(
        model, bags, y, held, names=names, title=title, code=arguments.command_line, **options
    )
    write_page_of(subject, arguments.html)


def _about(
    arguments: argparse.Namespace, class_names: ClassNames | None, evaluation: Evaluation | None
) -> dict[str, Any]:
    """Return the metadata that is stored with the model: data columns, class names and scores."""
    data = {"file": str(arguments.file)}
    data |= {name: str(value) for name, value in data_options(arguments).items()}
    if arguments.groups:
        data["groups"] = arguments.groups
    about: dict[str, Any] = {"model": arguments.model, "data": data}
    if class_names is not None:
        about["labels"] = vars(class_names).copy()
    if evaluation is not None:
        about["folds"] = evaluation.held.n_folds
        about["scores"] = {
            name: {key: value if isfinite(value) else None for key, value in score.items()}
            for name, score in evaluation.scores.items()
        }
    return about


def _save(model: Any, path: Path, about: dict[str, Any]) -> None:
    from bagwise import save

    try:
        save(model, path, about=about)
    except (OSError, TypeError) as error:
        raise CommandError(f"cannot save {str(path)!r}: {error}") from error


COMMAND = Command(
    name="fit",
    summary="fit a model to labeled bags, evaluate it and save it",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
