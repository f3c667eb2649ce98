"""Data that a fit stores for inference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.models.base import Training
from bagwise.rules import Rule


@dataclass(frozen=True)
class Kept:
    """Data that a maximum likelihood fit stores for `inference`, as references without copies.

    Attributes
    ----------
    training : Training or None
        The bags with nonzero weight; None in a pickle, which does not contain the bags.
    counted : array of bool, shape (n_bags passed to fit,)
        Which bags have a nonzero weight.
    total : float
        Sum of the weights.
    tried : tuple of (Rule, float)
        The compared rules with their objectives, if the rule was selected among several.
    notes : tuple of str
        Warnings to show above tables.
    """

    training: Training | None
    counted: np.ndarray
    total: float
    tried: tuple[tuple[Rule, float], ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, training: Training, sample_weight: Any, **more: tuple[Any, ...]) -> Kept:
        """Store the training data of a fit."""
        counted = np.ones(len(training.bags)) if sample_weight is None else np.asarray(sample_weight)
        return cls(training, counted > 0, float(training.weight.sum()), **more)

    def without_bags(self) -> Kept:
        """Return a copy without the bags, for pickles."""
        return replace(self, training=None)
