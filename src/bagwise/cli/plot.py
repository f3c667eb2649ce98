"""``bagwise plot``: plots of a model."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import KINDS, check_picture, showing_warnings
from bagwise.cli.models import unwrap
from bagwise.cli.saved import SavedModel, add_model_arguments, describe_flat, labels_for, open_both
from bagwise.cli.screen import Screen

_DESCRIPTION = f"""\
Draw a plot of a model that bagwise fit saved.

  path         coefficients along the penalty path, fitted to DATA (milr and
               milr-cv)
  rule         how many positive instances make a bag positive, as learned by
               softor from DATA; for other models, the rules that DATA support
  calibration  predicted probabilities compared with observed frequencies; by
               cross-validation if DATA are the training data
  heatmap      predictions for the instances of one bag (--id) at their
               coordinates, for example the patches of a slide; drawn over a
               thumbnail if --image is passed

{KINDS}

  bagwise plot shapes.bagwise shapes.csv --what calibration -o calibration.png

The exit status is 0 if the plot was written, and 2 otherwise."""

_FOLDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_model_arguments(parser, "labeled bags: a file or folder")
    parser.add_argument("--what", required=True, choices=list(_PICTURES), help="the plot to draw")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="image file to write (.png, .pdf, .svg)"
    )
    parser.add_argument("--id", metavar="ID", help="id of the bag for a heatmap")
    parser.add_argument(
        "--coords",
        default="x,y",
        metavar="X,Y",
        help="two coordinate columns, or one column with both (default: x,y, or coords if they are missing)",
    )
    parser.add_argument("--image", type=Path, metavar="FILE", help="background image for a heatmap")


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Load the model and the data, and write the plot."""
    check_picture(arguments.out, "-o")
    with showing_warnings(screen) as messages, screen.progress(3) as begin:
        saved, bags, y = open_both(arguments, begin, labels=True)
        begin("drawing the plot")
        try:
            drawn, remark = _PICTURES[arguments.what](saved, bags, labels_for(saved, y), arguments)
            getattr(drawn, "figure_", drawn).savefig(arguments.out, dpi=200)
        except (ValueError, TypeError, OSError, AttributeError) as error:
            raise CommandError(error) from error
    if remark:
        screen.paragraph(remark)
    screen.line(f"written: {arguments.out}")
    if arguments.json:
        screen.data({"written": str(arguments.out), "remark": remark, "warnings": messages})
    return 0


def _labels(y: Any, arguments: argparse.Namespace) -> Any:
    if y is None:
        raise CommandError(
            f"{str(arguments.file)!r} has no labels, but the plot needs them; name their column with --label."
        )
    return y


def _path(saved: SavedModel, bags: Any, y: Any, arguments: argparse.Namespace) -> tuple[Any, str]:
    from bagwise import MILogisticRegression, MILogisticRegressionCV, milr_path, plot_path

    model, bags = unwrap(saved.model, bags)
    if not isinstance(model, (MILogisticRegression, MILogisticRegressionCV)):
        raise CommandError(f"{type(model).__name__} has no penalty path; only milr and milr-cv have one.")
    parameters = model.get_params()
    names = ("rule", "l1_ratio", "fit_intercept", "scale", "class_weight", "tol", "max_iter")
    path = milr_path(bags, _labels(y, arguments), **{name: parameters[name] for name in names})
    alpha = float(getattr(model, "alpha_", parameters.get("alpha")))
    # A penalty outside the path cannot be marked on it.
    shown = alpha if path.alphas.min() <= alpha <= path.alphas.max() else None
    remark = "" if shown is not None else f"The penalty of the model, {alpha:g}, is outside the path."
    return plot_path(path, feature_names=bags.feature_names, alpha=shown), remark


def _rule(saved: SavedModel, bags: Any, y: Any, arguments: argparse.Namespace) -> tuple[Any, str]:
    from bagwise import diagnose_rule

    y = _labels(y, arguments)
    model, filled = unwrap(saved.model, bags)
    if getattr(model, "labeler_", None) is not None:
        if not _is_of_fit(saved, bags, y, arguments.file):
            raise CommandError(
                "the band of a learned rule is computed from the training bags; pass them as DATA."
            )
        from sklearn.base import clone

        # The band is computed from the likelihood, but model files do not contain the training bags.
        return clone(model).fit(filled, y).labeler_.plot(), ""
    diagnosis = diagnose_rule(filled, y, random_state=0)
    return diagnosis.plot(), diagnosis.sentence


def _calibration(saved: SavedModel, bags: Any, y: Any, arguments: argparse.Namespace) -> tuple[Any, str]:
    from sklearn.model_selection import StratifiedKFold

    from bagwise import plot_calibration

    y = _labels(y, arguments)
    name = saved.about.get("model", saved.path.name)
    if not _is_of_fit(saved, bags, y, arguments.file):
        return plot_calibration({name: saved.model}, bags, y), "The model was not fitted to these bags."
    cv = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    remark = f"These are the training bags, so the plot shows held-out predictions from {_FOLDS} folds."
    return plot_calibration({name: saved.model}, bags, y, cv=cv), remark


def _is_of_fit(saved: SavedModel, bags: Any, y: Any, path: Path) -> bool:
    """Return whether a model was fitted to these bags: by its digest, or without one by the file name."""
    import numpy as np

    from bagwise.models.base.labels import training_digest
    from bagwise.models.wrappers.instance_level import positive_column

    model, filled = unwrap(saved.model, bags)
    digest = getattr(model, "training_digest_", None)
    if digest is None or not hasattr(model, "_read"):
        training_file = saved.about.get("data", {}).get("file")
        return (
            training_file is not None and Path(training_file).exists() and Path(training_file).samefile(path)
        )
    codes = (y == model.classes_[positive_column(model)]).astype(np.int8)
    return training_digest(model._read(filled), codes, np.ones(len(codes))) == digest


def _heatmap(saved: SavedModel, bags: Any, y: Any, arguments: argparse.Namespace) -> tuple[Any, str]:
    from bagwise import plot_heatmap
    from bagwise.data.bags import index_of

    if arguments.id is None and len(bags) != 1:
        raise CommandError(f"there are {len(bags)} bags; choose the one to draw with --id.")
    image = None
    if arguments.image is not None:
        from matplotlib.image import imread

        image = imread(arguments.image)
    named = arguments.coords.split(",")
    coords = named[0] if len(named) == 1 else tuple(named)
    index = 0 if arguments.id is None else index_of(bags.ids, arguments.id)
    label = arguments.label if saved.label_names else None
    flat = describe_flat(saved.of_label(arguments.label), bags[[index]])
    model, bag = saved.with_class_names, bags.ids[index]
    return plot_heatmap(model, bags, bag, coords=coords, image=image, label=label), flat


_PICTURES: dict[str, Callable[..., tuple[Any, str]]] = {
    "path": _path,
    "rule": _rule,
    "calibration": _calibration,
    "heatmap": _heatmap,
}

COMMAND = Command(
    name="plot",
    summary="draw plots: path, rule, calibration, heatmap",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
