"""What the instance-level methods for positive and unlabeled bags share: one fit, and its settings."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise.data.blocks import block_rows, cut_rows
from bagwise.models.base import SCALE_CONSTRAINT, InstanceScoreClassifier, Training
from bagwise.models.pu.base import PUClassifier
from bagwise.similarity import InstanceKernel, resolve_gamma

_POSITIVE = Interval(Real, 0, None, closed="neither")

DIFFERENCE_CONSTRAINTS: dict[str, Any] = {
    # Lists are refused by a sentence that says where they belong.
    "gamma": [StrOptions({"scale", "auto"}), _POSITIVE, "array-like"],
    "alpha": [_POSITIVE, "array-like"],
    "scale": SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}


class DifferenceClassifier(PUClassifier, InstanceScoreClassifier):
    """The sign of the difference of two densities of instances, through a Gaussian kernel.

    A subclass gives three methods. What `_gather` returns, the other two receive as `parts`.
    """

    gamma_: float
    alpha_: float

    def _gather(self, training: Training) -> Any:
        """Draw what is drawn, and compute what all widths and penalties share."""
        raise NotImplementedError

    def _solve(self, parts: Any) -> None:
        """Set the fitted attributes of the score, for the width `gamma_` and the penalty `alpha_`."""
        raise NotImplementedError

    def _criterion(self, parts: Any, gammas: Any, alphas: Any, folds: Any) -> np.ndarray:
        """What is least at the best width and penalty: shape (n_gammas, n_alphas).

        A fold is two masks of the bags: those that learn, and those that are held out.
        """
        raise NotImplementedError

    def _learn(self, training: Training, sample_weight: ArrayLike | None) -> None:
        training = self._fit_scaler(training)
        parts = self._gather(training)
        self.gamma_, self.alpha_ = self._choose(training, sample_weight, parts)
        self._solve(parts)

    def _choose(self, training: Training, sample_weight: Any, parts: Any) -> tuple[float, float]:
        """The width and the penalty to be used."""
        name = type(self).__name__
        for parameter, value in (("gamma", self.gamma), ("alpha", self.alpha)):
            if np.ndim(value):
                raise ValueError(
                    f"{parameter} of {name} must be one value, not {value!r}; "
                    f"{name}CV({parameter}s=...) chooses the best of several."
                )
        return resolve_width(self.gamma, training), float(self.alpha)


def resolve_width(gamma: float | str, training: Training) -> float:
    """The number that a `gamma` means, for the instances of scaled bags."""
    bags = training.bags
    return resolve_gamma(gamma, bags.instances, np.repeat(training.weight, bags.sizes))


def expand(Z: Any, centers: Any, gamma: float, coef: np.ndarray) -> np.ndarray:
    """``sum_c coef_c exp(-gamma |z - center_c|^2)`` for the rows z of Z, block by block."""
    kernel = InstanceKernel("rbf", gamma)
    scores = np.empty(Z.shape[0])
    for rows in cut_rows(Z.shape[0], block_rows(centers.shape[0])):
        scores[rows] = kernel(Z[rows], centers) @ coef
    return scores
