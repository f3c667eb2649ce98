"""Content of a report: the data that its sections need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise.data.bags.parts import as_python
from bagwise.evaluation.checks.report import Report
from bagwise.evaluation.held_out import Evaluation
from bagwise.models.wrappers.instance_level import model_and_inside, positive_column

_LONGEST = 40


@dataclass(frozen=True)
class Subject:
    """Content of a report about a comparison, a fitted model or a data set; empty sections are omitted.

    Attributes
    ----------
    kicker, title, verdict : str
        Kind of report, its title, and a one-sentence summary.
    tiles : Mapping
        Key figures below the verdict: maps names to a text and a remark.
    bags : Bags or ScannedBags, optional
        The data.
    y : array of shape (n_bags,), optional
        Labels that the models are fitted to.
    names : tuple of str
        Names of the classes, in their order.
    groups : array of shape (n_bags,), optional
        Group of each bag.
    inspection : Report, optional
        Findings about the data.
    compared : tuple
        Tables and figures that compare models.
    evaluation : Evaluation, optional
        Held-out predictions and their scores.
    model : fitted estimator, optional
        A model fitted to all bags.
    called : str
        Name of the model.
    repeat : tuple
        Code and settings that reproduce the report.
    """

    kicker: str
    title: str
    verdict: str
    tiles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    bags: Any = None
    y: np.ndarray | None = None
    names: tuple[str, ...] = ()
    groups: np.ndarray | None = None
    inspection: Report | None = None
    compared: tuple[Any, ...] = ()
    evaluation: Evaluation | None = None
    model: Any = None
    called: str = "the model"
    repeat: tuple[Any, ...] = ()

    @property
    def codes(self) -> np.ndarray:
        """The index of every bag's label in `names`; the second of two names is the positive class."""
        codes = np.unique(np.asarray(self.y), return_inverse=True)[1]
        is_reversed = len(self.names) == 2 and self.model is not None and positive_column(self.model) == 0
        return 1 - codes if is_reversed else codes

    def inner(self, attribute: str) -> Any:
        """Return a fitted attribute of the model or of a model that it wraps; None if none of them has it."""
        if self.model is None:
            return None
        for inside in model_and_inside(self.model):
            if hasattr(inside, attribute):
                return getattr(inside, attribute)
        return None


def short(text: Any, longest: int = _LONGEST) -> str:
    """Shorten a long name in the middle, because file names and ids usually differ at their ends."""
    text = str(text)
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def names_of(classes: np.ndarray) -> tuple[str, ...]:
    """Return the names of the classes; labels 0 and 1, or -1 and 1, are called negative and positive."""
    labels = [as_python(label) for label in classes]
    if labels in ([0, 1], [-1, 1]):
        return ("negative", "positive")
    return tuple(map(str, labels))


def percent(value: float) -> str:
    """Format a proportion like "87 %", with more digits near 0 and 1 instead of rounding to 0 % or 100 %."""
    if value != value:
        return "-"
    if 0 < value < 0.0005 or 0.9995 < value < 1:
        return "<0.1\u00a0%" if value < 0.5 else ">99.9\u00a0%"
    digits = 1 if 0.99 < value < 1 or 0 < value < 0.01 else 0
    return f"{100 * value:.{digits}f}\u00a0%"


def with_interval(score: Mapping[str, float], write: Any = percent) -> str:
    """Format a score with its interval: "87 % (81 % to 91 %)"."""
    value, low, high = (score[key] for key in ("value", "low", "high"))
    return write(value) if low != low else f"{write(value)} ({write(low)} to {write(high)})"
