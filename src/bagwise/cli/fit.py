"""``bagwise fit``: from a file of labelled bags to a file with a model."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.check import report_data, show_report
from bagwise.cli.class_names import ClassNames, choose_positive
from bagwise.cli.cluster import add_dask_argument, shared_out
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import (
    KINDS,
    add_data_arguments,
    add_json_argument,
    data_options,
    data_path,
    is_same_file,
    reading_data,
    telling_warnings,
)
from bagwise.cli.models import MODELS, list_models, make_model, nearest
from bagwise.cli.pages import add_html_argument, check_page, write_page_of
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    import numpy as np

    from bagwise.evaluation.held_out import Evaluation

_DESCRIPTION = f"""\
Fit a model to labelled bags: look the data over, judge the model by cross-validation, fit it to
all bags and save it, for bagwise predict, explain, plot and show, or bagwise.load in Python.

{KINDS}

Models, and the settings that matter most:
{list_models()}

  bagwise fit shapes.csv --bag molecule --label activity --positive active \\
      --model milr --set alpha=3 --groups batch -o shapes.bagwise \\
      --html shapes.html

Labels that are text need --positive; of numbers and truth values the greater is positive. With
--groups, a column that describes bags, those of one group (a patient) are held out together.

The exit status is 0 if the model was saved, 1 if it was saved but its fit did not converge or
warned, 2 if not, 130 after Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=data_path, metavar="DATA", help="the labelled bags: a file or folder")
    parser.add_argument("-m", "--model", required=True, metavar="NAME", help="one of the models above")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="where the model goes (.bagwise)"
    )
    add_data_arguments(parser)
    parser.add_argument("--positive", metavar="LABEL", help="the label of the positive class")
    parser.add_argument("--groups", metavar="COLUMN", help="the column with groups of bags")
    parser.add_argument("--features", metavar="NAME,...", help="the columns to learn from; all by default")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="a setting of the model; may be given several times",
    )
    parser.add_argument(
        "--cv", type=int, default=5, metavar="N", help="folds, or 0 for none (default: %(default)s)"
    )
    parser.add_argument("--scan", action="store_true", help="leave instances in their files: large data")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of random choices (default: 0)")
    add_html_argument(parser)
    add_dask_argument(parser)
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read, look, evaluate, fit, save."""
    _check_arguments(arguments)
    with shared_out(arguments) as place:
        return _run(arguments, screen, place)


def _run(arguments: argparse.Namespace, screen: Screen, place: Callable[[Any], Any]) -> int:
    model = make_model(arguments.model, arguments.settings, arguments.seed)
    with telling_warnings(screen) as of_data:
        bags, labels = read_training(arguments)
    takes_many = model.__sklearn_tags__().classifier_tags.multi_class
    y, words = choose_positive(labels, arguments.positive, takes_many=takes_many)
    groups = read_groups(bags, arguments.groups)
    screen.title(f"{arguments.model}: {arguments.file}")
    report = _look(bags, labels if words is None else words.of_labels(y), labels, arguments)
    here, bags = bags, place(bags)
    show_report(report, screen, ("note", "warning"))
    if any(finding.level != "ok" for finding in report.findings):
        screen.line()

    evaluation = None
    with telling_warnings(screen) as of_fit:
        try:
            with screen.progress(arguments.cv + 1) as begin:
                held = _hold_out(model, bags, y, groups, arguments, begin) if arguments.cv else None
                begin("all bags")
                _fit(model, bags, y, groups)
            if held is not None:
                evaluation = _judge(model, bags, y, held, groups, words, arguments)
        except (ValueError, TypeError, MemoryError, ImportError) as error:
            raise CommandError(error) from error
    about = _about(arguments, words, evaluation)
    _save(model, arguments.out, about)
    if evaluation is not None:
        screen.table(evaluation.table())
    screen.line(f"written: {arguments.out}")
    if arguments.html is not None:
        known = {"groups": groups, "evaluation": evaluation, "inspection": report, "seed": arguments.seed}
        _write_page(model, here, y, held, words, arguments, **known)
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
    """Refuse what cannot work before any work is done."""
    if arguments.cv < 0 or arguments.cv == 1:
        raise CommandError(f"--cv is {arguments.cv}; expected 2 folds or more, or 0 for none.")
    if not 0 <= arguments.seed < 2**32:
        raise CommandError(f"--seed must be a number from 0 to 2**32 - 1; got {arguments.seed}.")
    if not arguments.out.absolute().parent.is_dir():
        raise CommandError(f"there is no folder {str(arguments.out.parent)!r} for the model.")
    check_page(arguments.html)
    if is_same_file(arguments.out, arguments.file):
        raise CommandError(f"-o {str(arguments.out)!r} is the data, which would be overwritten.")
    from importlib.util import find_spec

    if find_spec("skops") is None:
        raise CommandError(
            "models are saved by skops, which is not installed: pip install 'bagwise[persist]'"
        )


def read_training(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Read labelled bags, or look through their files."""
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
        raise CommandError(f"{str(arguments.file)!r} has no labels; name their column by --label.")
    if y.ndim != 1:
        raise CommandError(f"{str(arguments.file)!r} has {y.shape[1]} labels a bag; the program takes one.")
    return bags, y


def _refuse_options(options: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in options:
            raise CommandError(f"--{name} and --scan do not go together; convert the data to Parquet first.")


def read_groups(bags: Any, column: str | None) -> np.ndarray | None:
    """Give the column of bags that names their groups."""
    if column is None:
        return None
    known = bags.bag_columns
    if column not in known:
        raise CommandError(
            f"--groups {column!r} is no column that describes bags{nearest(column, known)}; there "
            f"{'are ' + ', '.join(map(repr, known)) if known else 'is none'}."
        )
    return known[column]


def _look(bags: Any, named: np.ndarray, labels: np.ndarray, arguments: argparse.Namespace) -> Any:
    """Inspect the data by the names of the two classes; facts show the labels as they came.

    Advice that is taken is left out.
    """
    from dataclasses import replace

    from bagwise.evaluation.checks import inspect_bags, inspect_scan
    from bagwise.evaluation.checks.report import Finding

    inspect = inspect_scan if arguments.scan else inspect_bags
    report = inspect(bags, named)
    # Folds are drawn at random here, so the order of bags does not matter; groups stay together if named.
    taken = {("note", "order"), ("ok", "order")} | ({("note", "groups")} if arguments.groups else set())
    findings = [found for found in report.findings if (found.level, found.topic) not in taken]
    if labels is named:
        return replace(report, findings=tuple(findings))
    chosen = Finding("ok", "labels", f"{arguments.positive!r} is the positive one.")
    findings = [chosen if (found.level, found.topic) == ("note", "labels") else found for found in findings]
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
    model: Any, bags: Any, y: np.ndarray, held: Any, groups: Any, words: ClassNames | None, arguments: Any
) -> Evaluation:
    from bagwise.evaluation.held_out import evaluate, evaluate_unlabeled

    if MODELS[arguments.model].from_unlabeled:
        return evaluate_unlabeled(model, bags, y, held, groups)
    return evaluate(held, groups, None if words is None else (words.negative, words.positive))


def _fit(model: Any, bags: Any, y: np.ndarray, groups: Any) -> None:
    from bagwise.models.base.held_out import fit_in_groups

    fit_in_groups(model, bags, y, groups)


def _write_page(
    model: Any, bags: Any, y: np.ndarray, held: Any, words: ClassNames | None, arguments: Any, **known: Any
) -> None:
    from bagwise.report.models import evaluated_subject

    names = None if words is None else (words.negative, words.positive)
    title = f"{type(model).__name__} of {Path(str(arguments.file)).name}"
    subject = evaluated_subject(
        model, bags, y, held, names=names, title=title, code=arguments.command_line, **known
    )
    write_page_of(subject, arguments.html)


def _about(
    arguments: argparse.Namespace, words: ClassNames | None, evaluation: Evaluation | None
) -> dict[str, Any]:
    """What the file says of the fit: what predict needs to read new bags, and to answer in words."""
    data = {"file": str(arguments.file)}
    data |= {name: str(value) for name, value in data_options(arguments).items()}
    if arguments.groups:
        data["groups"] = arguments.groups
    about: dict[str, Any] = {"model": arguments.model, "data": data}
    if words is not None:
        about["labels"] = vars(words).copy()
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
    summary="fit a model to labelled bags, judge it and save it",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
