"""``bagwise compare``: compare models on the same cross-validation folds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import (
    KINDS,
    add_data_arguments,
    add_json_argument,
    data_path,
    join_command,
    showing_warnings,
)
from bagwise.cli.fit import inspect_training, read_groups, read_training
from bagwise.cli.labels import Target, add_class_arguments, missing_labels, read_target
from bagwise.cli.models import MODELS, adapt, differing_settings, make_model, name_of_compared
from bagwise.cli.pages import add_html_argument, check_page, write_page_of
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    import numpy as np

    from bagwise.evaluation.comparison import Comparison

_DESCRIPTION = f"""\
Compare models on the same cross-validation folds, and see which model suits the data. The settings
of each model are chosen using only the training bags. Two baselines are included: the most frequent
label, and a model that only uses the size of the bag. The output also reports which assumption
about instances and bag labels the data support.

{KINDS}

  bagwise compare shapes.csv --bag molecule --label activity \\
      --positive active --groups batch --html shapes.html
  bagwise compare slides.parquet --models milr-cv,misvm,miboost --jobs 2

Without --models, one or two suitable models of each family are compared. The model names are those
of bagwise fit --model; the last line is the command that fits the best model. Two text labels need
--positive. Missing values are replaced by medians of the training bags. If some bags have no label
and all others have the same label, models for positive and unlabeled bags are compared.

The exit status is 0 if all models were compared, 1 if a model failed or a fit issued a warning, 2
if nothing was compared, and 130 after Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=data_path, metavar="DATA", help="labeled bags: a file or folder")
    add_data_arguments(parser)
    add_class_arguments(parser)
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
    if labels.ndim == 2:
        raise CommandError(
            f"the bags have {labels.shape[1]} labels each, but models are compared on one: choose "
            "it with --label."
        )
    from_unlabeled = from_unlabeled or (models is None and _has_unlabeled(labels))
    target = read_target(labels, arguments, from_unlabeled=from_unlabeled)
    if models is not None:
        models = {name: _suited(model, bags, target) for name, model in models.items()}
    groups = read_groups(bags, arguments.groups)
    screen.title(f"compare: {arguments.file}")
    for text in target.notes:
        screen.finding("note", "labels", text)
    if target.notes:
        screen.line()
    from bagwise.exceptions import ComparisonInterrupted

    try:
        comparison, plan = _compare(bags, target, groups, models, from_unlabeled, arguments, screen)
    except ComparisonInterrupted as stop:
        if stop.comparison is not None:
            show_comparison(stop.comparison, screen)
        raise
    except (ValueError, TypeError, MemoryError, OSError) as error:
        raise CommandError(error) from error
    show_comparison(comparison, screen)
    if arguments.html is not None:
        _write_page(comparison, bags, target, labels, arguments)
        screen.line(f"written: {arguments.html}")
    command = _next_command(comparison, plan, arguments)
    if command is not None:
        if arguments.html is not None:
            screen.line()
        screen.line("Fit and save the best model:")
        screen.line(f"  {command}")
    if arguments.json:
        written = None if arguments.html is None else str(arguments.html)
        content = comparison_data(comparison)
        screen.data(
            {"file": str(arguments.file), "html": written, "warnings": of_data, "next": command, **content}
        )
    return 1 if any(result.error is not None or result.warnings for result in comparison.rows) else 0


def _write_page(
    comparison: Comparison, bags: Any, target: Target, labels: np.ndarray, arguments: argparse.Namespace
) -> None:
    from bagwise.evaluation.checks.report import count
    from bagwise.models.wrappers.imputation import count_missing
    from bagwise.report.comparisons import comparison_subject

    n_missing, notes = count_missing(bags), []
    if n_missing:
        gaps = f"{count(n_missing, 'missing value')}, replaced by medians of the training bags"
        notes = [("values", f"{gaps} unless a model accepts them.")]
    inspection = inspect_training(bags, target, labels, notes, arguments)
    names = target.class_names
    texts = None if names is None else (names.negative, names.positive)
    write_page_of(comparison_subject(comparison, bags, names=texts, inspection=inspection), arguments.html)


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
    in_groups = arguments.groups is not None
    models = {name: make_model(name, [], arguments.seed, in_groups=in_groups) for name in names}
    from_unlabeled = {name for name in names if MODELS[name].from_unlabeled}
    if from_unlabeled and from_unlabeled != set(names):
        others = ", ".join(name for name in names if name not in from_unlabeled)
        raise CommandError(
            f"--models has {', '.join(sorted(from_unlabeled))} for positive and unlabeled bags, and "
            f"{others} for positive and negative bags; compare them separately."
        )
    return models, bool(from_unlabeled)


def _has_unlabeled(labels: Any) -> bool:
    """Return whether some bags have no label and all others have the same label."""
    import numpy as np

    missing = missing_labels(labels)
    return bool(missing.any()) and len(np.unique(labels[~missing])) == 1


def _suited(model: Any, bags: Any, target: Target) -> Any:
    """Extend a model of ``--models`` to several classes and missing values, as bagwise fit does."""
    from bagwise.models.wrappers.imputation import accepts_missing, count_missing

    imputes = not accepts_missing(model) and count_missing(bags) > 0
    return adapt(model, n_classes=target.n_classes, several_labels=False, impute=imputes)


def _compare(
    bags: Any,
    target: Target,
    groups: Any,
    models: dict[str, Any] | None,
    from_unlabeled: bool,
    arguments: argparse.Namespace,
    screen: Screen,
) -> tuple[Comparison, Any]:
    import numpy as np

    from bagwise.evaluation.comparison.perform import Plan, perform

    y = target.y
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
        name_of=name_of_compared,
        **options,
    )
    comparison = perform(
        plan,
        n_jobs=arguments.jobs,
        checkpoint=arguments.checkpoint,
        note=screen.note,
        progress=screen.progress,
    )
    return comparison, plan


def _next_command(comparison: Comparison, plan: Any, arguments: argparse.Namespace) -> str | None:
    """Return the command that fits the best model; None if no model finished."""
    best = comparison.best
    if best is None:
        return None
    estimator = next(entry.estimator for entry in plan.entries if entry.name == best.name)
    parts = ["bagwise", "fit", str(arguments.file)]
    for name in (
        "bag",
        "label",
        "labels",
        "missing",
        "sheet",
        "encoding",
        "positive",
        "positive_above",
        "groups",
        "features",
    ):
        value = getattr(arguments, name)
        if value is not None:
            parts += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    parts += ["--scan"] if arguments.scan else []
    parts += ["--model", best.name]
    for setting in differing_settings(best.name, estimator, arguments.seed):
        parts += ["--set", setting]
    parts += ["--seed", str(arguments.seed)] if arguments.seed else []
    stem = Path(str(arguments.file)).stem
    return join_command([*parts, "-o", f"{stem}.bagwise"])


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
    from bagwise.models.base.tags import can_use_absence

    assumption = comparison.assumption_
    return {
        "models": [
            {
                "model": result.name,
                "family": result.family,
                "can_use_absence": can_use_absence(result.estimator),
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
