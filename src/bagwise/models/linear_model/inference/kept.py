"""What a fit keeps for inference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.models.base import Training
from bagwise.rules import Rule


@dataclass(frozen=True)
class Kept:
    """What a maximum likelihood fit keeps for `inference`: references, no copies.

    Attributes
    ----------
    training : Training or None
        The bags that count; None in a pickle, which is the model and not its bags.
    counted : array of bool, shape (n_bags given to fit,)
        Which bags have a weight.
    total : float
        The sum of the weights.
    tried : tuple of (Rule, float)
        Rules that were compared, where one of several was learned, with the objective of each.
    notes : tuple of str
        What a reader of tables must know first.
    """

    training: Training | None
    counted: np.ndarray
    total: float
    tried: tuple[tuple[Rule, float], ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, training: Training, sample_weight: Any, **more: tuple[Any, ...]) -> Kept:
        """Keep what a fit was given."""
        counted = np.ones(len(training.bags)) if sample_weight is None else np.asarray(sample_weight)
        return cls(training, counted > 0, float(training.weight.sum()), **more)

    def without_bags(self) -> Kept:
        """The same for a pickle."""
        return replace(self, training=None)
