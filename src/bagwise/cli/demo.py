"""``bagwise demo``: multiple-instance learning at work on handwritten digits."""

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
    from bagwise.evaluation.comparison.with_truth import Score

_DESCRIPTION = """\
See multiple-instance learning at work on bags of handwritten digits, in about a quarter of a
minute (the first time, while code is compiled, two thirds of one) and without a download: one model
of every family is cross-validated, a picture shows which images a model holds responsible for the
label of their bag, and a page tells all there is to know of that model. The last line is its path.

  bagwise demo --out digits.html

The exit status is 0, or 2 if an argument is wrong."""

_FEWEST_BAGS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("--all", action="store_true", help="compare the variants of the models too")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("bagwise-demo.html"),
        metavar="PATH",
        help="where the page goes (default: %(default)s in the current folder), the picture beside it",
    )
    parser.add_argument(
        "--bags", type=int, default=200, metavar="N", help="how many bags (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of all random choices (default: %(default)s)"
    )
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Show the comparison, draw the picture, write the page, and end with its path."""
    can_draw = all(find_spec(name) is not None for name in ("matplotlib", "jinja2"))
    picture = arguments.out.with_suffix(".png")
    if arguments.bags < _FEWEST_BAGS:
        raise CommandError(f"--bags must be at least {_FEWEST_BAGS}; got {arguments.bags}.")
    if not 0 <= arguments.seed < 2**32:
        raise CommandError(f"--seed must be a number from 0 to 2**32 - 1; got {arguments.seed}.")
    with _doing("loading the digits, and what draws and computes", screen):
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
        f"A bag is a handful of handwritten digits, {sizes.min()} to {sizes.max()} of them. It is "
        f"positive if there is a {data.target} among them. A model is told the labels of bags, never "
        f"that of an image. It is asked for the labels of new bags, and which images are the "
        f"{data.target}s."
    )
    folds = make_folds(data.bags, data.y, arguments.seed)
    models = REPRESENTATIVES + (VARIANTS if arguments.all else ())
    # Of matrices as small as these, several threads only wait for each other.
    with one_blas_thread():
        scores = _compare(models, data, folds, arguments.seed, screen)
        if can_draw:
            with _doing("drawing the picture", screen):
                _draw(data, folds[0], arguments.seed, picture)
            screen.line(f"picture: {picture}")
            with _doing("writing the page", screen):
                _write_page(data, scores, arguments)
            screen.line(f"page: {arguments.out}")
    if not can_draw:
        screen.note("Pictures and pages need matplotlib and jinja2: pip install 'bagwise[report]'")
        screen.line("No page was written.")
    if arguments.json:
        found = [
            {"model": score.model.name, "family": score.model.family}
            | {name: value for name, value in vars(score).items() if name != "model"}
            for score in scores
        ]
        written = (str(arguments.out), str(picture)) if can_draw else (None, None)
        screen.data({"scores": found, "written": written[0], "picture": written[1]})
    return 0


@contextmanager
def _doing(what: str, screen: Screen) -> Iterator[None]:
    """Say what takes a while: on a terminal for as long as it does, elsewhere by a line that stays."""
    if not screen.is_terminal:
        screen.line(f"{what} ...")
    with screen.progress(1) as begin:
        begin(what)
        yield


def _compare(models: Any, data: Any, folds: Any, seed: int, screen: Screen) -> list[Score]:
    from bagwise.evaluation.comparison.with_truth import cross_validate

    scores = []
    with screen.progress(len(models) * (len(folds) + 1)) as begin:
        for number, model in enumerate(models, start=1):
            if not screen.is_terminal:
                screen.line(f"model {number} of {len(models)}: {model.name} ...")
            scores.append(cross_validate(model, data, folds, seed, begin))
    screen.table(_table(scores))
    screen.paragraph(
        f"{len(data.bags)} bags, {len(folds)}-fold stratified cross-validation; means over the folds, on "
        f"bags that were not in training. Instance AUC: how well a model ranks the images of the test "
        f"bags, {data.target}s against the rest; a dash where it says nothing of instances. Seconds: "
        f"fits and predictions of all folds."
    )
    for score in scores:
        for message in score.warnings:
            screen.note(f"{score.model.name}: {message}")
    return scores


def _table(scores: list[Score]) -> Table:
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


def _write_page(data: Any, scores: list[Score], arguments: argparse.Namespace) -> None:
    """Write all that is to be known of logistic regression, and the other models beside it."""
    from bagwise.evaluation.held_out import predict_held_out
    from bagwise.models.linear_model import MILogisticRegression
    from bagwise.report.models import evaluated_subject

    seed = arguments.seed
    model = MILogisticRegression(random_state=seed).fit(data.bags, data.y)
    held = predict_held_out(model, data.bags, data.y, n_folds=5, seed=seed, keep_models=True)
    note = (
        "Means over the folds. Instance AUC: how well the images are ranked, whose labels no model was told."
    )
    compared = replace(_table(scores), note=note)
    title = f"Which image is the {data.target}?"
    names = (f"no {data.target}", f"with a {data.target}")
    subject = evaluated_subject(
        model, data.bags, data.y, held, names=names, seed=seed, title=title, compared=(compared,)
    )
    write_page_of(subject, arguments.out)


def _draw(data: Any, fold: Any, seed: int, path: Path) -> None:
    """Draw the first test bags, by a model that was trained without them."""
    import numpy as np

    from bagwise.evaluation.plotting import plot_bags
    from bagwise.models.linear_model import MILogisticRegression

    train, test = fold
    model = MILogisticRegression(random_state=seed).fit(data.bags[train], data.y[train])
    # The first ones, not the most beautiful ones.
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
            f"Each row is a bag of handwritten digits that the model has not seen; it is positive if it "
            f"holds a {data.target}.\n"
            "The model has learned from the labels of other bags alone: it was never told what an image "
            "shows."
        ),
        intensity_label=f"P(image is a {data.target}, given the bag's label)",
        truth_label=f"really a {data.target} (hidden from the model)",
    )
    try:
        display.figure_.savefig(path)
    except OSError as error:
        raise CommandError(f"the picture could not be written: {error}") from None


COMMAND = Command(
    name="demo",
    summary="see it at work on bags of handwritten digits",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
