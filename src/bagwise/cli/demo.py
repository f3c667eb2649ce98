"""``bagwise demo``: a demonstration on bags of handwritten digits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise._display.parts import Table
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import add_json_argument, check_picture
from bagwise.cli.pages import check_page, write_page_of
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    from bagwise.evaluation.comparison.with_truth import ModelScores

_DESCRIPTION = """\
Demonstrate multiple-instance learning on bags of handwritten digits. The demo cross-validates one
model of each family, draws a plot that shows which images a model considers responsible for the
label of their bag, and writes an HTML report about that model. The last line of the output is the
path of the report. The demo takes about 15 seconds, or 40 seconds the first time, because code is
compiled first. It needs no download.

  bagwise demo --out digits.html

The exit status is 0, or 2 if an argument is invalid."""

_FEWEST_BAGS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("--all", action="store_true", help="also compare variants of the models")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("bagwise-demo.html"),
        metavar="PATH",
        help="report to write (default: %(default)s); the plot is saved next to it",
    )
    parser.add_argument(
        "--bags", type=int, default=200, metavar="N", help="number of bags (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: %(default)s)")
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Show the comparison, draw the plot, write the report, and print its path."""
    can_draw = all(find_spec(name) is not None for name in ("matplotlib", "jinja2"))
    picture = arguments.out.with_suffix(".png")
    if arguments.bags < _FEWEST_BAGS:
        raise CommandError(f"--bags must be at least {_FEWEST_BAGS}; got {arguments.bags}.")
    if not 0 <= arguments.seed < 2**32:
        raise CommandError(f"--seed must be between 0 and 2**32 - 1; got {arguments.seed}.")
    with _doing("loading the digits and libraries", screen):
        if can_draw:
            check_page(arguments.out, "--out")
            check_picture(picture, "--out")
        from bagwise._core.threads import one_blas_thread
        from bagwise.datasets import load_digit_bags
        from bagwise.evaluation.comparison.portfolio import REPRESENTATIVES, VARIANTS
        from bagwise.evaluation.comparison.with_truth import make_folds

        try:
            data = load_digit_bags(arguments.bags, random_state=arguments.seed)
        except ValueError as error:
            raise CommandError(error) from None
    screen.title("Which image made the bag positive?")
    sizes = data.bags.sizes
    screen.paragraph(
        f"A bag is a set of {sizes.min()} to {sizes.max()} images of handwritten digits. It is positive if "
        f"at least one of them is a {data.target}. The models are fitted to bag labels, never to image "
        f"labels. They predict the labels of new bags, and which images are the {data.target}s."
    )
    folds = make_folds(data.bags, data.y, arguments.seed)
    models = REPRESENTATIVES + (VARIANTS if arguments.all else ())
    # For matrices this small, several threads are slower than one.
    with one_blas_thread():
        scores = _compare(models, data, folds, arguments.seed, screen)
        if can_draw:
            with _doing("drawing the plot", screen):
                _draw(data, folds[0], arguments.seed, picture)
            screen.line(f"plot: {picture}")
            with _doing("writing the report", screen):
                _write_page(data, scores, arguments)
            screen.line(f"report: {arguments.out}")
    if not can_draw:
        screen.note("Plots and reports need matplotlib and jinja2: pip install 'bagwise[report]'")
        screen.line("No report was written.")
    if arguments.json:
        rows = [
            {"model": score.model.name, "family": score.model.family}
            | {name: value for name, value in vars(score).items() if name != "model"}
            for score in scores
        ]
        written = (str(arguments.out), str(picture)) if can_draw else (None, None)
        screen.data({"scores": rows, "written": written[0], "picture": written[1]})
    return 0


@contextmanager
def _doing(task: str, screen: Screen) -> Iterator[None]:
    """Show the task that is running: on a terminal until the block ends, otherwise as a line of output."""
    if not screen.is_terminal:
        screen.line(f"{task} ...")
    with screen.progress(1) as begin:
        begin(task)
        yield


def _compare(models: Any, data: Any, folds: Any, seed: int, screen: Screen) -> list[ModelScores]:
    from bagwise.evaluation.comparison.with_truth import cross_validate

    scores = []
    with screen.progress(len(models) * (len(folds) + 1)) as begin:
        for index, model in enumerate(models, start=1):
            if not screen.is_terminal:
                screen.line(f"model {index} of {len(models)}: {model.name} ...")
            scores.append(cross_validate(model, data, folds, seed, begin))
    screen.table(_table(scores))
    screen.paragraph(
        f"{len(data.bags)} bags, {len(folds)}-fold stratified cross-validation; means over the folds, on "
        f"held-out bags. Instance AUC: how well a model ranks the images of the test bags, "
        f"{data.target}s against all other digits; a dash if the model does not predict instances. Seconds: "
        f"time to fit and predict all folds."
    )
    for score in scores:
        for message in score.warnings:
            screen.note(f"{score.model.name}: {message}")
    return scores


def _table(scores: list[ModelScores]) -> Table:
    heads = ["model", "family", "bag\naccuracy", "bag\nAUC", "instance\nAUC", "seconds"]
    rows = [
        [
            score.model.name,
            score.model.family,
            f"{score.bag_accuracy:.3f}",
            f"{score.bag_auc:.3f}",
            "-" if score.instance_auc is None else f"{score.instance_auc:.3f}",
            f"{score.seconds:.2f}",
        ]
        for score in scores
    ]
    return Table.of(heads, rows, n_text=2)


def _write_page(data: Any, scores: list[ModelScores], arguments: argparse.Namespace) -> None:
    """Write a report about logistic regression that also compares the other models."""
    from bagwise.evaluation.held_out import predict_held_out
    from bagwise.models.linear_model import MILogisticRegression
    from bagwise.report.models import evaluated_subject

    seed = arguments.seed
    model = MILogisticRegression(random_state=seed).fit(data.bags, data.y)
    held = predict_held_out(model, data.bags, data.y, n_folds=5, seed=seed, keep_models=True)
    note = "Means over the folds. Instance AUC: ranking of the images; no fit used their labels."
    compared = replace(_table(scores), note=note)
    title = f"Which image is the {data.target}?"
    names = (f"no {data.target}", f"with a {data.target}")
    subject = evaluated_subject(
        model, data.bags, data.y, held, names=names, seed=seed, title=title, compared=(compared,)
    )
    write_page_of(subject, arguments.out)


def _draw(data: Any, fold: Any, seed: int, path: Path) -> None:
    """Draw the first test bags, with predictions of a model fitted to the training bags."""
    import numpy as np

    from bagwise.evaluation.plotting import plot_bags
    from bagwise.models.linear_model import MILogisticRegression

    train, test = fold
    model = MILogisticRegression(random_state=seed).fit(data.bags[train], data.y[train])
    # The first bags, not selected for their appearance.
    chosen = np.concatenate([test[data.y[test] == 1][:5], test[data.y[test] == 0][:2]])
    bags, y = data.bags[chosen], data.y[chosen]
    display = plot_bags(
        bags,
        model.posterior_instances(bags, y),
        image_shape=(8, 8),
        y=y,
        probability=model.predict_proba(bags)[:, 1],
        truth=bags.instance_columns["digit"] == data.target,
        title="Which image made the bag positive?",
        subtitle=(
            f"Each row is a held-out bag of handwritten digits; it is positive if it contains "
            f"a {data.target}.\n"
            "The model was fitted only to the labels of other bags; image labels were not used."
        ),
        intensity_label=f"P(image is a {data.target}, given the bag's label)",
        truth_label=f"true {data.target} (not shown to the model)",
    )
    try:
        display.figure_.savefig(path)
    except OSError as error:
        raise CommandError(f"the plot could not be written: {error}") from None


COMMAND = Command(
    name="demo",
    summary="show a demonstration on bags of handwritten digits",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
