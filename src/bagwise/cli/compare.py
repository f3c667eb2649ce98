"""``bagwise compare``: compare models on the same cross-validation folds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.class_names import ClassNames, choose_positive
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import (
    KINDS,
    add_data_arguments,
    add_json_argument,
    data_path,
    showing_warnings,
)
from bagwise.cli.fit import read_groups, read_training
from bagwise.cli.models import MODELS, make_model
from bagwise.cli.pages import add_html_argument, check_page, write_page_of
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    from bagwise.evaluation.comparison import Comparison

_DESCRIPTION = f"""\
Compare models on the same cross-validation folds, and see which model suits the data. The settings
of each model are chosen within the training bags. Two baselines are included: the most frequent
label, and a model that only uses the size of the bag. The output also reports which assumption about
instances and bag labels the data support.

{KINDS}

  bagwise compare shapes.csv --bag molecule --label activity \\
      --positive active --groups batch --html shapes.html
  bagwise compare slides.parquet --models milr-cv,misvm,miboost --jobs 2

Without --models, one or two suitable models of each family are compared. The model names are the
same as in bagwise fit. Text labels need --positive, unless there are more than two classes.

The exit status is 0 if all models were compared, 1 if a model failed or a fit issued a warning, 2 if
nothing was compared, 130 after Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=data_path, metavar="DATA", help="labeled bags: a file or folder")
    add_data_arguments(parser)
    parser.add_argument("--positive", metavar="LABEL", help="label of the positive class")
    parser.add_argument("--groups", metavar="COLUMN", help="column with the group of each bag")
    parser.add_argument("--features", metavar="NAME,...", help="feature columns (default: all)")
    parser.add_argument(
        "--models", metavar="NAME,...", help="models, by their names in bagwise fit (default: a selection)"
    )
    parser.add_argument(
        "--scoring",
        metavar="NAME,...",
        help="scikit-learn scorers; the first one ranks the models (default: accuracy,roc_auc,neg_log_loss)",
    )
    parser.add_argument(
        "--cv", type=int, default=5, metavar="N", help="number of folds (default: %(default)s)"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="number of times to repeat the cross-validation with new folds (default: 1)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="number of processes, or -1 for one per processor (default: 1)",
    )
    parser.add_argument(
        "--scan", action="store_true", help="read instances from their files when needed, for large data"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="checkpoint file; an interrupted comparison resumes from it",
    )
    add_html_argument(parser)
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read the data, compare the models, and show the results."""
    _check_arguments(arguments)
    models, from_unlabeled = _read_models(arguments)
    with showing_warnings(screen) as of_data:
        bags, labels = read_training(arguments)
    takes_many = models is None or all(
        model.__sklearn_tags__().classifier_tags.multi_class for model in models.values()
    )
    y, class_names = choose_positive(labels, arguments.positive, takes_many=takes_many)
    groups = read_groups(bags, arguments.groups)
    screen.title(f"compare: {arguments.file}")
    from bagwise.exceptions import ComparisonInterrupted

    try:
        comparison = _compare(bags, y, groups, models, from_unlabeled, arguments, screen)
    except ComparisonInterrupted as stop:
        if stop.comparison is not None:
            show_comparison(stop.comparison, screen)
        raise
    except (ValueError, TypeError, MemoryError, OSError) as error:
        raise CommandError(error) from error
    show_comparison(comparison, screen)
    if arguments.html is not None:
        _write_page(comparison, bags, class_names, arguments.html)
        screen.line(f"written: {arguments.html}")
    if arguments.json:
        written = None if arguments.html is None else str(arguments.html)
        content = comparison_data(comparison)
        screen.data({"file": str(arguments.file), "html": written, "warnings": of_data, **content})
    return 1 if any(result.error is not None or result.warnings for result in comparison.rows) else 0


def _write_page(comparison: Comparison, bags: Any, class_names: ClassNames | None, path: Path) -> None:
    from bagwise.report.comparisons import comparison_subject

    names = None if class_names is None else (class_names.negative, class_names.positive)
    write_page_of(comparison_subject(comparison, bags, names=names), path)


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Raise an error for invalid arguments before any computation."""
    check_page(arguments.html)
    for name, least in (("cv", 2), ("repeats", 1)):
        if getattr(arguments, name) < least:
            raise CommandError(f"--{name} is {getattr(arguments, name)}; expected at least {least}.")
    if not 0 <= arguments.seed < 2**32:
        raise CommandError(f"--seed must be between 0 and 2**32 - 1; got {arguments.seed}.")
    if arguments.jobs == 0:
        raise CommandError("--jobs is 0; expected a number of processes, or -1 for one per processor.")


def _read_models(arguments: argparse.Namespace) -> tuple[dict[str, Any] | None, bool]:
    """Return the models of ``--models``, and whether they are fitted to positive and unlabeled bags."""
    if arguments.models is None:
        return None, False
    names = [name.strip() for name in arguments.models.split(",")]
    models = {name: make_model(name, [], arguments.seed) for name in names}
    from_unlabeled = {name for name in names if MODELS[name].from_unlabeled}
    if from_unlabeled and from_unlabeled != set(names):
        others = ", ".join(name for name in names if name not in from_unlabeled)
        raise CommandError(
            f"--models has {', '.join(sorted(from_unlabeled))} for positive and unlabeled bags, and "
            f"{others} for positive and negative bags; compare them separately."
        )
    return models, bool(from_unlabeled)


def _compare(
    bags: Any,
    y: Any,
    groups: Any,
    models: dict[str, Any] | None,
    from_unlabeled: bool,
    arguments: argparse.Namespace,
    screen: Screen,
) -> Comparison:
    import numpy as np

    from bagwise.evaluation.comparison.perform import Plan, perform

    if from_unlabeled:
        y = np.where(y == np.unique(y)[-1], 1.0, np.nan)
    options = {} if arguments.scoring is None else {"scoring": arguments.scoring.split(",")}
    plan = Plan(
        bags,
        y,
        "default" if models is None else models,
        groups=groups,
        cv=arguments.cv,
        repeats=arguments.repeats,
        random_state=arguments.seed,
        **options,
    )
    return perform(
        plan,
        n_jobs=arguments.jobs,
        checkpoint=arguments.checkpoint,
        note=screen.note,
        progress=screen.progress,
    )


def show_comparison(comparison: Comparison, screen: Screen) -> None:
    """Show the table of a comparison, its remarks and its warnings."""
    from bagwise.evaluation.comparison.table import as_table, remarks

    screen.line()  # after the notes about the plan
    screen.table(as_table(comparison))
    for text in remarks(comparison):
        screen.paragraph(text)
    for result in comparison.rows:
        for message in result.warnings:
            screen.finding("warning", result.name, message)


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as a dictionary, for ``--json``."""
    assumption = comparison.assumption_
    return {
        "models": [
            {
                "model": result.name,
                "family": result.family,
                "scores": {
                    name: {
                        "value": result.mean[name],
                        "low": result.interval[name][0],
                        "high": result.interval[name][1],
                        "splits": result.scores[name],
                    }
                    for name in comparison.scoring
                },
                "fit_seconds": result.fit_seconds,
                "predict_seconds": result.predict_seconds,
                "choices": result.choices,
                "error": result.error,
                "warnings": result.warnings,
            }
            for result in comparison.rows
        ],
        "differences": [vars(difference) for difference in comparison.differences()],
        "assumption": None
        if assumption is None
        else {"kind": assumption.kind, "sentence": assumption.sentence, "evidence": assumption.evidence},
        "notes": comparison.notes_,
        "seed": comparison.seed_,
        "digest": comparison.digest_,
        "versions": comparison.versions_,
    }


COMMAND = Command(
    name="compare",
    summary="compare models on the same cross-validation folds",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
