"""Model files from ``bagwise fit`` or `bagwise.save`, and new bags that match their features."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bagwise.cli.class_names import ClassNames, RelabelledModel
from bagwise.cli.command import CommandError
from bagwise.cli.data import (
    add_data_arguments,
    add_json_argument,
    data_options,
    data_path,
    load_labelled,
    options_of_scan,
    reading_data,
)
from bagwise.cli.models import core_of


@dataclass(frozen=True)
class SavedModel:
    """A model loaded from a file.

    Attributes
    ----------
    path : Path
        Path of the file.
    model : fitted estimator
        The saved model.
    about : dict
        Metadata of the fit; empty if the file was not written by ``bagwise fit``.
    """

    path: Path
    model: Any
    about: dict[str, Any]

    @property
    def class_names(self) -> ClassNames | None:
        """Names of the two classes if the model was fitted to True and False, otherwise None."""
        names = self.about.get("labels")
        return None if names is None else ClassNames(str(names["positive"]), str(names["negative"]))

    @property
    def with_class_names(self) -> Any:
        """The model, which predicts the original labels."""
        return self.model if self.class_names is None else RelabelledModel(self.model, self.class_names)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels of a model that predicts several labels per bag, otherwise an empty list."""
        from bagwise.models.wrappers.instance_level import label_names

        names = label_names(self.model)
        return [] if names is None else [str(name) for name in names.tolist()]

    def of_label(self, label: str | None) -> Any:
        """Return the model, or the model of one of its labels if it predicts several labels per bag."""
        if not self.label_names:
            return self.model
        if label not in self.label_names:
            chosen = "" if label is None else f"; got {label!r}"
            raise CommandError(
                f"the model predicts several labels per bag: choose one of {', '.join(self.label_names)} "
                f"with --label{chosen}."
            )
        from bagwise.models.wrappers.pipeline import BagPipeline

        model = core_of(self.model)
        if not hasattr(model, "estimators_"):
            raise CommandError(f"{type(model).__name__} has no separate model per label; use it in Python.")
        of_label = model.estimators_[self.label_names.index(label)]
        return of_label if model is self.model else BagPipeline([*self.model.steps[:-1], ("model", of_label)])

    @property
    def positive(self) -> str:
        """Name of the positive class."""
        from bagwise.models.wrappers.instance_level import positive_column

        if self.class_names is not None:
            return self.class_names.positive
        return str(self.model.classes_[positive_column(self.model)])


def add_model_arguments(parser: argparse.ArgumentParser, data: str) -> None:
    """Add the arguments for a model and its data; `data` is the help text of the data."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file, written by bagwise fit")
    parser.add_argument("file", type=data_path, metavar="DATA", help=data)
    add_data_arguments(parser)
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="full name of a type that you trust; bagwise show lists them (can be repeated)",
    )
    add_json_argument(parser)


def load_saved(arguments: argparse.Namespace) -> SavedModel:
    """Load the model file of the arguments."""
    from bagwise import load
    from bagwise.persist import read_card

    path = arguments.model
    try:
        about = read_card(path).get("about", {})
        return SavedModel(path, load(path, trusted=arguments.trust), about if isinstance(about, dict) else {})
    except OSError as error:
        raise CommandError(f"cannot read {str(path)!r}: {error.strerror or error}.") from error
    except ImportError as error:
        raise CommandError(error) from error
    except (ValueError, AttributeError) as error:
        raise CommandError(re.sub(r"pass trusted=\[(.*)\]", _as_trust_options, str(error))) from error


def _as_trust_options(match: re.Match[str]) -> str:
    """Convert the list of types in an error message to command-line options."""
    return "pass " + " ".join(f"--trust {name.strip()[1:-1]}" for name in match[1].split(","))


def read_new(
    arguments: argparse.Namespace, saved: SavedModel, *, labels: bool, scan: bool = False
) -> tuple[Any, Any]:
    """Read bags with the features of the model, matched by name, and optionally their labels.

    The columns of bags and labels are the same as in the fit, unless the arguments specify others.
    """
    from bagwise.io import load_bags, scan_bags

    options = data_options(arguments)
    with reading_data(arguments.file):
        header = _column_names(arguments.file, options.get("encoding"))
        if saved.label_names and options.get("label") not in header:
            labels = False  # --label selects a label of the model; the data have no such column
        for name in ("bag", "label"):
            column = saved.about.get("data", {}).get(name)
            if name not in options and column in header:
                options[name] = column
        if not labels:
            options["label"] = False
        if scan:
            return _scanned(scan_bags, arguments.file, options, header, saved.model), None
        if not labels:
            return load_bags(arguments.file, like=saved.model, **options)
    return load_labelled(arguments.file, options, like=saved.model)


def open_both(
    arguments: argparse.Namespace, begin: Callable[[str], None], *, labels: bool, scan: bool = False
) -> tuple[SavedModel, Any, Any]:
    """Load the model and read its bags with progress; return the model, the bags, and the labels or None."""
    begin("loading the model")
    saved = load_saved(arguments)
    begin("reading the bags")
    return saved, *read_new(arguments, saved, labels=labels, scan=scan)


def _column_names(path: Path, encoding: str | None) -> list[str]:
    """Return the column names of a table, or an empty list for other files."""
    from bagwise.io._remote import is_address
    from bagwise.io.files import format_of

    is_several = is_address(path) or "*" in str(path) or (path.is_dir() and any(path.glob("*.parquet")))
    kind = "parquet" if is_several else format_of(path)
    if kind in ("csv", "xlsx"):
        from bagwise.io._rows import TextTable
        from bagwise.io._table import read_header

        return read_header(path if kind == "xlsx" else TextTable(path, encoding))
    if kind == "parquet":
        import pyarrow.parquet as pq

        from bagwise.io.scan.scan_files import find_files

        first = find_files(path, "parquet")[0][0]
        with first.open() if is_address(first) else first.open("rb") as file:
            return pq.read_schema(file).names
    return []


def _scanned(scan_bags: Any, path: Path, options: dict[str, Any], header: list[str], model: Any) -> Any:
    options = options_of_scan(options)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and set(names) <= set(header):
        options["features"] = list(names)
    options.pop("label", None)
    return scan_bags(path, **options)


def describe_flat(model: Any, bag: Any) -> str:
    """Return a warning if a model predicts the same value for all instances of a bag, otherwise ""."""
    import numpy as np

    from bagwise.models.wrappers.instance_level import instance_predictions

    values = instance_predictions(model, bag)[1]
    if bag.n_instances < 2 or not np.allclose(values, values[:1], rtol=1e-6, atol=1e-12):
        return ""
    return (
        "The model predicts the same value for all instances of this bag, so it does not show which "
        "instances matter. It has learned nothing from instances, or it only predicts bags."
    )


def labels_for(saved: SavedModel, y: Any) -> Any:
    """Convert labels of the data to the classes of the model."""
    import numpy as np

    if y is None or saved.class_names is None:
        return y
    if "positive_above" in saved.about:
        return np.asarray(y > saved.about["positive_above"])
    return np.asarray([str(label) == saved.class_names.positive for label in y.tolist()])
