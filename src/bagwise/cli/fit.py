"""``bagwise fit``: fit a model to a file of labeled bags and save it."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise._display.parts import Table
from bagwise.cli.check import report_data, show_report
from bagwise.cli.class_names import ClassNames
from bagwise.cli.cluster import add_dask_argument, open_cluster
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import (
    KINDS,
    add_data_arguments,
    add_json_argument,
    data_options,
    data_path,
    is_same_file,
    load_labelled,
    showing_warnings,
)
from bagwise.cli.interpretation import interpret, state_absence, suggest_ridge
from bagwise.cli.labels import Target, add_class_arguments, read_target
from bagwise.cli.models import MODELS, adapt, core_of, list_models, make_model, nearest, unwrap
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

Two text labels need --positive. For numeric and boolean labels, the larger value is positive;
--positive-above divides a measurement into two classes. With more than two labels, binary models
are trained once per class (one-vs-rest). With --label A,B,..., one model is fitted per 0/1 column.
Models for positive and unlabeled bags also accept bags without a label. With --groups, bags of one
group (such as a patient) are held out together; name a column that has one value per bag. Missing
values are replaced by medians, which are stored in the model file.

The exit status is 0 if the model was saved, 1 if it was saved but the fit did not converge or issued
a warning, 2 if it was not saved, and 130 after Ctrl-C."""


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
    add_class_arguments(parser)
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
        "--impute",
        choices=["median", "none"],
        help="replace missing values by the median of the feature, in training and new data (median), or "
        "reject missing values (none); default: median if values are missing",
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
    import numpy as np

    plain = make_model(
        arguments.model, arguments.settings, arguments.seed, in_groups=arguments.groups is not None
    )
    with showing_warnings(screen) as of_data:
        bags, labels = read_training(arguments)
    target = read_target(labels, arguments, from_unlabeled=MODELS[arguments.model].from_unlabeled)
    y, class_names = target.y, target.class_names
    if y.ndim == 2 and arguments.html is not None:
        raise CommandError("--html needs one label per bag; fit one label at a time, with --label NAME.")
    groups = read_groups(bags, arguments.groups)
    imputes, note = _plan_imputation(plain, bags, arguments)
    model = adapt(plain, n_classes=target.n_classes, several_labels=y.ndim == 2, impute=imputes)
    screen.title(f"{arguments.model}: {arguments.file}")
    notes = [*(("labels", text) for text in target.notes), *([("values", note)] if note else [])]
    report = inspect_training(bags, target, labels, notes, arguments)
    local_bags, bags = bags, move_to_cluster(bags)
    show_report(report, screen, ("note", "warning"))
    if any(finding.level != "ok" for finding in report.findings):
        screen.line()

    evaluations: dict[str, Evaluation] = {}
    with showing_warnings(screen) as of_fit:
        try:
            n_labels = y.shape[1] if y.ndim == 2 else 1
            with screen.progress(n_labels * arguments.cv + 1) as begin:
                held = _hold_out(model, plain, bags, y, groups, arguments, begin) if arguments.cv else []
                begin("all bags")
                _fit(model, bags, y, groups)
                if y.ndim == 2:
                    core_of(model).label_names_ = np.array(_label_names(y, arguments))
            if held:
                evaluations = _judge(model, bags, y, held, groups, class_names, arguments)
        except (ValueError, TypeError, MemoryError, ImportError) as error:
            raise CommandError(_without_imputation(error) if arguments.scan else error) from error
    about = _about(arguments, class_names, evaluations)
    _save(model, arguments.out, about)
    sentences = _show_scores(evaluations, model, local_bags, screen)
    screen.line(f"written: {arguments.out}")
    trusted = _types_to_trust(arguments.out)
    if trusted:
        screen.paragraph(
            "This model file contains types that are unsafe in files from unknown sources. You created this "
            "file, so pass these options to bagwise predict, explain and plot:"
        )
        screen.line("  " + " ".join(f"--trust {name}" for name in trusted))
    if arguments.html is not None:
        evaluation = next(iter(evaluations.values()), None)
        options = {"groups": groups, "evaluation": evaluation, "inspection": report, "seed": arguments.seed}
        page_of = held[0] if held else None
        _write_page(model, plain, local_bags, y, page_of, class_names, arguments, **options)
        screen.line(f"written: {arguments.html}")
    converged = _converged(model)
    if arguments.json:
        screen.data(
            {
                "written": str(arguments.out),
                "html": None if arguments.html is None else str(arguments.html),
                "class": type(plain).__name__,
                **about,
                **report_data(report),
                "interpretation": sentences,
                "warnings": of_data + of_fit,
                "converged": converged,
            }
        )
    return 1 if of_fit or converged is False else 0


def _plan_imputation(model: Any, bags: Any, arguments: argparse.Namespace) -> tuple[bool, str]:
    """Return whether missing values are imputed, and a note; raise an error with ``--impute none``."""
    from bagwise.models.wrappers.imputation import accepts_missing, count_missing

    n_missing = count_missing(bags)
    n_values = bags.n_instances * bags.n_features
    counted = f"{n_missing:,} of {n_values:,} values ({n_missing / max(1, n_values):.1%}) are missing"
    if accepts_missing(model):
        return False, f"{counted}, which {arguments.model} accepts." if n_missing else ""
    if arguments.impute == "none":
        if n_missing:
            raise CommandError(
                f"the features have {n_missing:,} missing values, which {arguments.model} does not support; "
                "fill them, or replace them by medians with --impute median."
            )
        return False, ""
    if arguments.scan:
        if arguments.impute == "median":
            raise CommandError(
                "--impute median cannot be combined with --scan: medians need the data in memory."
            )
        return False, ""
    if not n_missing:
        return arguments.impute == "median", ""
    return True, (
        f"{counted} and replaced by the median of the feature in the training bags. The model file stores "
        "the medians for new data. --impute none rejects missing values."
    )


def _without_imputation(error: Exception) -> str:
    """Return the message about missing values of scanned files, for which there is no imputation."""
    return str(error).replace(
        "remove or impute it, for instance with OnInstances(SimpleImputer()) in a pipeline",
        "fill the gaps in the files, or omit --scan, so that missing values are replaced by medians",
    )


def _label_names(y: np.ndarray, arguments: argparse.Namespace) -> list[str]:
    if y.ndim == 1:
        return []
    names = [] if arguments.label is None else [name.strip() for name in arguments.label.split(",")]
    return names if len(names) == y.shape[1] else [str(index) for index in range(y.shape[1])]


def _show_scores(evaluations: dict[str, Evaluation], model: Any, bags: Any, screen: Screen) -> list[str]:
    """Show the scores and what they mean; return the sentences."""
    core = core_of(model)
    sentences = []
    if len(evaluations) > 1:
        screen.table(_table_of_labels(evaluations))
    for name, evaluation in evaluations.items():
        if len(evaluations) == 1:
            screen.table(evaluation.table())
        sentences += [f"{name}: {text}" if name else text for text in interpret(evaluation, core)]
    sentences += suggest_ridge(core, len(bags), bags.n_features)
    if len(getattr(core, "classes_", ())) == 2:
        sentences += state_absence(core)
    for sentence in sentences:
        screen.paragraph(sentence)
    return sentences


def _table_of_labels(evaluations: dict[str, Evaluation]) -> Table:
    """Return a table with a row per label."""
    names = ("accuracy", "recall_1", "auc")
    first = next(iter(evaluations.values()))
    heads = [f"{first.held.n_folds}-fold cross-validation", "bags", "baseline", "accuracy", "recall", "AUC"]
    rows = [
        [
            label,
            f"{int(evaluation.held.codes.sum()):,}",
            f"{evaluation.base_rate:.3f}",
            *(
                f"{evaluation.scores[name]['value']:.3f}" if name in evaluation.scores else "-"
                for name in names
            ),
        ]
        for label, evaluation in evaluations.items()
    ]
    return Table.of(
        heads, rows, note="Bags: number with the label. Baseline: accuracy of the more frequent value."
    )


def _converged(model: Any) -> bool | None:
    """Return whether the model converged, or None if unknown; with several models, whether all converged."""
    core = core_of(model)
    parts = [core, *(getattr(core, "estimators_", []) if not hasattr(core, "converged_") else [])]
    states = [bool(part.converged_) for part in parts if hasattr(part, "converged_")]
    return all(states) if states else None


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Raise an error for invalid arguments before any computation."""
    if arguments.cv < 0 or arguments.cv == 1:
        raise CommandError(
            f"--cv is {arguments.cv}; expected at least 2 folds, or 0 for no cross-validation."
        )
    if not 0 <= arguments.seed < 2**32:
        raise CommandError(f"--seed must be between 0 and 2**32 - 1; got {arguments.seed}.")
    from bagwise._core.files.atomic import refuse_other_than_file, refuse_unwritable_folder

    try:
        refuse_unwritable_folder(arguments.out)
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
    """Read labeled bags, or scan their files with ``--scan``; labels can be missing, or form a matrix."""
    options = data_options(arguments)
    features = getattr(arguments, "features", None)
    if features is not None:
        options["features"] = [name.strip() for name in features.split(",")]
    bags, y = load_labelled(arguments.file, options, scan=arguments.scan)
    if y is None:
        raise CommandError(
            f"{str(arguments.file)!r} has no labels; name their column with --label, or their table "
            "with --labels."
        )
    return bags, y


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


def inspect_training(
    bags: Any,
    target: Target,
    labels: np.ndarray,
    notes: list[tuple[str, str]],
    arguments: argparse.Namespace,
) -> Any:
    """Inspect the data with the names of the two classes; the facts show the original labels.

    Findings that the arguments already address are left out, and notes about the fit are added.
    """
    from dataclasses import replace

    import numpy as np

    from bagwise.evaluation.checks import inspect_bags, inspect_scan
    from bagwise.evaluation.checks.report import Finding

    names, y = target.class_names, target.y
    inspect = inspect_scan if arguments.scan else inspect_bags
    report = inspect(bags, y if names is None else names.of_labels(y))
    # The folds are random, so the order of bags does not matter; with --groups, groups stay together.
    taken = {("note", "order"), ("ok", "order")} | ({("note", "groups")} if arguments.groups else set())
    noted = {topic for topic, _ in notes}
    taken |= {("note", "labels")} if "labels" in noted or names is not None or target.n_classes > 2 else set()
    taken |= {("warning", "values")} if "values" in noted else set()
    # The note about many features suggests a penalty.
    taken |= {("note", "features")} if _has_setting("l1_ratio", arguments) else set()
    findings = [finding for finding in report.findings if (finding.level, finding.topic) not in taken]
    if names is not None:
        findings.append(Finding("ok", "labels", f"{names.positive!r} is the positive label."))
    findings += [Finding("note", topic, text) for topic, text in notes]
    report = replace(report, findings=tuple(findings))
    if names is None or arguments.positive_above is not None:
        return report
    texts = np.array(["no label" if label is None else repr(label) for label in labels.tolist()])
    counts = zip(*(part.tolist() for part in np.unique(texts, return_counts=True)), strict=True)
    shown = ", ".join(f"{label}: {n:,}" for label, n in counts)
    facts = tuple((name, shown if name == "labels" else value) for name, value in report.facts)
    return replace(report, facts=facts)


def _has_setting(name: str, arguments: argparse.Namespace) -> bool:
    return any(setting.startswith(f"{name}=") for setting in getattr(arguments, "settings", ()))


def _hold_out(
    model: Any,
    plain: Any,
    bags: Any,
    y: np.ndarray,
    groups: Any,
    arguments: argparse.Namespace,
    begin: Any,
) -> list[Any]:
    """Return the held-out predictions; with several labels, there is one set per label."""
    from bagwise.evaluation.held_out import predict_held_out
    from bagwise.models.wrappers.imputation import impute_median

    options = {"n_folds": arguments.cv, "groups": groups, "seed": arguments.seed}
    if y.ndim == 1:
        keeps = arguments.html is not None
        return [predict_held_out(model, bags, y, begin=begin, keep_models=keeps, **options)]
    of_label = plain if core_of(model) is model else impute_median(plain)
    held = []
    for name, column in zip(_label_names(y, arguments), y.T, strict=True):

        def begin_fold(text: str, name: str = name) -> None:
            begin(f"{name}, {text}")

        held.append(predict_held_out(of_label, bags, column, begin=begin_fold, **options))
    return held


def _judge(
    model: Any,
    bags: Any,
    y: np.ndarray,
    held: list[Any],
    groups: Any,
    class_names: ClassNames | None,
    arguments: Any,
) -> dict[str, Evaluation]:
    """Return the scores of every label; its name is empty if there is one label per bag."""
    from bagwise.evaluation.held_out import evaluate, evaluate_unlabeled

    if MODELS[arguments.model].from_unlabeled and y.ndim == 1:
        return {"": evaluate_unlabeled(*unwrap(model, bags), y, held[0], groups)}
    names = None if class_names is None else (class_names.negative, class_names.positive)
    labels = _label_names(y, arguments) or [""]
    return {label: evaluate(part, groups, names) for label, part in zip(labels, held, strict=True)}


def _fit(model: Any, bags: Any, y: np.ndarray, groups: Any) -> None:
    from bagwise.models.base.held_out import fit_in_groups

    fit_in_groups(model, bags, y, groups)


def _write_page(
    model: Any,
    plain: Any,
    bags: Any,
    y: np.ndarray,
    held: Any,
    class_names: ClassNames | None,
    arguments: Any,
    **options: Any,
) -> None:
    from bagwise.report.models import evaluated_subject

    names = None if class_names is None else (class_names.negative, class_names.positive)
    title = f"{type(plain).__name__} of {Path(str(arguments.file)).name}"
    subject = evaluated_subject(
        model, bags, y, held, names=names, title=title, code=arguments.command_line, **options
    )
    write_page_of(subject, arguments.html)


def _about(
    arguments: argparse.Namespace, class_names: ClassNames | None, evaluations: dict[str, Evaluation]
) -> dict[str, Any]:
    """Return the metadata that is stored with the model: data columns, class names and scores."""
    data = {"file": str(arguments.file)}
    data |= {name: str(value) for name, value in data_options(arguments).items()}
    if arguments.groups:
        data["groups"] = arguments.groups
    about: dict[str, Any] = {"model": arguments.model, "data": data}
    if class_names is not None:
        about["labels"] = vars(class_names).copy()
    if arguments.positive_above is not None:
        about["positive_above"] = arguments.positive_above
    for label, evaluation in evaluations.items():
        about["folds"] = evaluation.held.n_folds
        scores = {
            name: {key: value if isfinite(value) else None for key, value in score.items()}
            for name, score in evaluation.scores.items()
        }
        about["scores"] = scores if not label else {**about.get("scores", {}), label: scores}
    return about


def _save(model: Any, path: Path, about: dict[str, Any]) -> None:
    from bagwise import save

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about types to trust, which `run` names as options
            save(model, path, about=about)
    except (OSError, TypeError) as error:
        raise CommandError(f"cannot save {str(path)!r}: {error}") from error


def _types_to_trust(path: Path) -> list[str]:
    from bagwise.persist import read_card

    return list(read_card(path).get("trusted", []))


COMMAND = Command(
    name="fit",
    summary="fit a model to labeled bags, evaluate it and save it",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
