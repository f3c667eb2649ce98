"""What a page is about: everything that its sections may need, whoever brings it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise.data.bags.parts import as_python
from bagwise.evaluation.checks.report import Report
from bagwise.evaluation.held_out import Evaluation
from bagwise.models.wrappers.instance_level import model_and_inside

_LONGEST = 40


@dataclass(frozen=True)
class Subject:
    """A comparison, a fitted model or a data set, taken apart; what is None has no section.

    Attributes
    ----------
    kicker, title, verdict : str
        The kind of report, what it is about, and what came out in a sentence.
    tiles : Mapping
        Few numbers below the verdict, by name: text and a remark.
    bags : Bags or ScannedBags, optional
        The data.
    y : array of shape (n_bags,), optional
        Labels as models learn them.
    names : tuple of str
        What the classes are called, in order.
    groups : array of shape (n_bags,), optional
        Bags that belong together.
    inspection : Report, optional
        What is to be known of the data.
    compared : tuple
        Parts that compare models.
    evaluation : Evaluation, optional
        Predictions of bags by models that were fitted without them, and their scores.
    model : fitted estimator, optional
        Fitted to all bags.
    called : str
        What the model is called.
    repeat : tuple
        Parts that say how to do it again.
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

    def inner(self, attribute: str) -> Any:
        """Give what the model, or what it wraps, has learned under a name; None if nobody has."""
        if self.model is None:
            return None
        for inside in model_and_inside(self.model):
            if hasattr(inside, attribute):
                return getattr(inside, attribute)
        return None


def short(text: Any, longest: int = _LONGEST) -> str:
    """Cut a long name in its middle, where names of files and ids differ least."""
    text = str(text)
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def names_of(classes: np.ndarray) -> tuple[str, ...]:
    """What labels are called: those that only mean yes and no, so."""
    known = [as_python(label) for label in classes]
    if known in ([0, 1], [-1, 1]):
        return ("negative", "positive")
    return tuple(map(str, known))


def percent(value: float) -> str:
    """Write a share: "87 %"; near 0 and 1 with a digit more, and never as what it is not quite."""
    if value != value:
        return "-"
    if 0 < value < 0.0005 or 0.9995 < value < 1:
        return "<0.1\u00a0%" if value < 0.5 else ">99.9\u00a0%"
    digits = 1 if 0.99 < value < 1 or 0 < value < 0.01 else 0
    return f"{100 * value:.{digits}f}\u00a0%"


def with_interval(score: Mapping[str, float], write: Any = percent) -> str:
    """Write a score and its interval: "87 % (81 % to 91 %)"."""
    value, low, high = (score[key] for key in ("value", "low", "high"))
    return write(value) if low != low else f"{write(value)} ({write(low)} to {write(high)})"
