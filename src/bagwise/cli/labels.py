"""Conversion of bag labels to the form that models are fitted to."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bagwise.cli.class_names import ClassNames
from bagwise.cli.command import CommandError
from bagwise.cli.data import find_label

if TYPE_CHECKING:
    import numpy as np

# With more distinct values than this, and more than one per five bags, a numeric label is a measurement.
_MOST_CLASSES = 10
_BAGS_OF_A_CLASS = 5
# Text labels that mean that the label is unknown.
_UNKNOWN = {
    *("unknown", "unlabeled", "unlabelled", "not labeled", "untested", "not tested", "missing", "undefined"),
    *("unbekannt", "inconnu", "desconocido", "sconosciuto", "?", "na", "n/a", "none", "null", "u"),
}


@dataclass(frozen=True)
class Target:
    """Labels to which a model is fitted.

    Attributes
    ----------
    y : array of shape (n_bags,) or (n_bags, n_labels)
        The labels; True and False if `class_names` are set.
    class_names : ClassNames or None
        Names of the two classes; None if the labels are fitted as they are.
    notes : tuple of str
        Notes about the meaning of the labels.
    """

    y: np.ndarray
    class_names: ClassNames | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes; 2 if there are several labels per bag."""
        import numpy as np

        return 2 if self.y.ndim == 2 else len(np.unique(self.y))


def add_class_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose the positive class."""
    parser.add_argument("--positive", metavar="LABEL", help="label of the positive class")
    parser.add_argument(
        "--positive-above",
        type=float,
        metavar="VALUE",
        help="divide a numeric label into two classes: positive if it is larger than VALUE",
    )


def read_target(labels: np.ndarray, arguments: argparse.Namespace, *, from_unlabeled: bool) -> Target:
    """Return the labels to fit.

    Two text labels need ``--positive``, because their alphabetical order has no meaning. For numeric and
    boolean labels, the larger one is positive. Bags without a label are accepted for models of positive and
    unlabeled bags.

    Parameters
    ----------
    labels : array
        Labels as they were read; missing ones are None or NaN.
    arguments : argparse.Namespace
        The arguments of `add_class_arguments`.
    from_unlabeled : bool
        Whether the model is fitted to positive and unlabeled bags.
    """
    import numpy as np

    if labels.ndim == 2:
        if arguments.positive is not None or arguments.positive_above is not None:
            raise CommandError("--positive and --positive-above need one label per bag.")
        return Target(labels, None, (f"{labels.shape[1]} labels per bag: one model is fitted per label.",))
    missing = missing_labels(labels)
    if missing.any():
        if from_unlabeled:
            return _of_unlabeled(labels, missing, arguments)
        raise CommandError(_without_label(labels, missing))
    if arguments.positive_above is not None:
        return _above(labels, arguments)
    classes = np.unique(labels)
    if arguments.positive is not None:
        label = find_label(labels, arguments.positive)
        others = [str(other) for other in classes.tolist() if other != label]
        negative = others[0] if len(others) == 1 else f"not {label}"
        return Target(labels == label, ClassNames(str(label), negative), _if_unknown(others, from_unlabeled))
    if is_measurement(labels):
        raise CommandError(describe_measurement(labels, arguments.label))
    shown = ", ".join(repr(label) for label in classes[:8].tolist())
    if len(classes) > 2:
        if from_unlabeled:
            raise CommandError(
                f"there are {len(classes)} labels, {shown}, but this model learns from positive and "
                "unlabeled bags: choose the positive label with --positive."
            )
        return Target(labels, None, _if_grades(classes))
    if classes.dtype.kind not in "biuf":
        raise CommandError(f"the labels are {shown}: choose the positive one with --positive.")
    return Target(labels)


def missing_labels(labels: np.ndarray) -> np.ndarray:
    """Return a mask of the missing labels, which are None or NaN."""
    import numpy as np

    return np.array([label is None or label != label for label in labels.tolist()], dtype=bool)


def name_unlabeled(labels: np.ndarray | None) -> np.ndarray | None:
    """Return labels with "no label" for the missing ones if all others are equal, for checks."""
    import numpy as np

    if labels is None or labels.ndim != 1 or not (missing := missing_labels(labels)).any():
        return labels
    if len({str(label) for label in labels[~missing].tolist()}) != 1:
        return labels
    return np.where(missing, "no label", labels.astype(str))


def is_measurement(labels: np.ndarray) -> bool:
    """Return whether numeric labels have too many distinct values to be classes."""
    import numpy as np

    if labels.ndim != 1 or labels.dtype.kind not in "iuf":
        return False
    n = len(np.unique(labels))
    return n > _MOST_CLASSES and n * _BAGS_OF_A_CLASS > len(labels)


def describe_measurement(labels: np.ndarray, column: str | None) -> str:
    """Return what to do with a label that is a measurement."""
    import numpy as np

    name = "the label" if column is None else f"the label {column!r}"
    return (
        f"{name} looks like a measurement, not a class: {len(np.unique(labels))} different values in "
        f"{len(labels)} bags, from {labels.min():g} to {labels.max():g}. Divide it into two classes "
        f"with --positive-above, for example --positive-above {np.median(labels):g} (the median). Regression "
        "is possible in Python: BagStatistics with a scikit-learn regressor."
    )


def _above(labels: np.ndarray, arguments: argparse.Namespace) -> Target:
    if arguments.positive is not None:
        raise CommandError("--positive and --positive-above cannot be combined; pass only one of them.")
    if labels.dtype.kind not in "iuf":
        raise CommandError(
            "--positive-above needs a numeric label; choose the positive label with --positive."
        )
    value = arguments.positive_above
    y = labels > value
    if y.all() or not y.any():
        raise CommandError(
            f"--positive-above {value:g} leaves one class: the labels are between {labels.min():g} and "
            f"{labels.max():g}."
        )
    return Target(y, ClassNames(f"above {value:g}", f"at most {value:g}"))


def _of_unlabeled(labels: np.ndarray, missing: np.ndarray, arguments: argparse.Namespace) -> Target:
    import numpy as np

    labeled = labels[~missing]
    distinct = np.unique(labeled).tolist()
    if not distinct:
        raise CommandError("no bag has a label; label the positive bags.")
    if arguments.positive is not None:
        label = find_label(labeled, arguments.positive)
    elif len(distinct) == 1:
        label = distinct[0]
    else:
        shown = ", ".join(map(repr, distinct[:8]))
        raise CommandError(
            f"the labels are {shown}, and {missing.sum():,} are missing: choose the positive label with "
            "--positive; all other bags are treated as unlabeled."
        )
    y = np.array([value == label for value in labels.tolist()])
    note = f"{y.sum():,} bags are labeled {str(label)!r}; the other {(~y).sum():,} are treated as unlabeled."
    return Target(y, ClassNames(str(label), f"not {label}"), (note,))


def _without_label(labels: np.ndarray, missing: np.ndarray) -> str:
    """Return the error for bags without a label, with both remedies."""
    import numpy as np

    n, distinct = int(missing.sum()), np.unique(labels[~missing]).tolist()
    text = f"{n:,} of {len(labels):,} bags have no label: leave them out with --missing skip"
    if len(distinct) == 1:
        return (
            f"{n:,} of {len(labels):,} bags have no label, and all others are labeled {str(distinct[0])!r}: "
            "choose a model for positive and unlabeled bags, such as --model pu."
        )
    return f"{text}."


def _if_unknown(others: list[str], from_unlabeled: bool) -> tuple[str, ...]:
    unknown = next((other for other in others if other.strip().lower() in _UNKNOWN), None)
    if unknown is None or from_unlabeled:
        return ()
    return (
        f"bags labeled {unknown!r} are treated as negative. If some of them may be positive, choose a model "
        "for positive and unlabeled bags, such as --model pu.",
    )


def _if_grades(classes: np.ndarray) -> tuple[str, ...]:
    if classes.dtype.kind not in "iuf":
        return ()
    middle = classes.tolist()[len(classes) // 2 - 1]
    return (
        f"the {len(classes)} numeric labels are treated as classes without an order. If they are grades, "
        f"--positive-above {middle:g} divides them into two classes.",
    )


def looks_unlabeled(labels: np.ndarray) -> str | None:
    """Return the label that marks unlabeled bags if there is one other label, otherwise None."""
    distinct = {str(label) for label in labels.tolist()}
    unknown = [label for label in distinct if label.strip().lower() in _UNKNOWN]
    return unknown[0] if len(distinct) == 2 and len(unknown) == 1 else None
