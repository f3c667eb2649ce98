"""Shared code of the instance-level methods for positive and unlabeled bags: base class and parameters."""

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
    "positive": "no_validation",
    # Lists pass this check, so that `_choose` can refer to the class with cross-validation.
    "gamma": [StrOptions({"scale", "auto"}), _POSITIVE, "array-like"],
    "alpha": [_POSITIVE, "array-like"],
    "scale": SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}


class DifferenceClassifier(PUClassifier, InstanceScoreClassifier):
    """Classifier by the sign of a difference of two instance densities, with a Gaussian kernel.

    Subclasses implement `_gather`, `_solve` and `_criterion`. The last two receive the result of `_gather` as
    `parts`.
    """

    gamma_: float
    alpha_: float

    def _gather(self, training: Training) -> Any:
        """Draw the random samples, and compute everything that does not depend on width and penalty."""
        raise NotImplementedError

    def _solve(self, parts: Any) -> None:
        """Set the fitted attributes of the score, for the width `gamma_` and the penalty `alpha_`."""
        raise NotImplementedError

    def _criterion(self, parts: Any, gammas: Any, alphas: Any, folds: Any) -> np.ndarray:
        """Return the criterion to minimize, shape (n_gammas, n_alphas).

        A fold consists of two masks of the bags: training bags and held-out bags.
        """
        raise NotImplementedError

    def _learn(self, training: Training, sample_weight: ArrayLike | None) -> None:
        training = self._fit_scaler(training)
        parts = self._gather(training)
        self.gamma_, self.alpha_ = self._choose(training, sample_weight, parts)
        self._solve(parts)

    def _choose(self, training: Training, sample_weight: Any, parts: Any) -> tuple[float, float]:
        """Return the width and the penalty of the fit."""
        name = type(self).__name__
        for parameter, value in (("gamma", self.gamma), ("alpha", self.alpha)):
            if np.ndim(value):
                raise ValueError(
                    f"{parameter} of {name} must be a single value; got {value!r}. "
                    f"To choose among several values, use {name}CV({parameter}s=...)."
                )
        return resolve_width(self.gamma, training), float(self.alpha)


def resolve_width(gamma: float | str, training: Training) -> float:
    """Return the numeric value of `gamma` for the instances of scaled bags."""
    bags = training.bags
    return resolve_gamma(gamma, bags.instances, np.repeat(training.weight, bags.sizes))


def expand(Z: Any, centers: Any, gamma: float, coef: np.ndarray) -> np.ndarray:
    """Return ``sum_c coef_c exp(-gamma |z - center_c|^2)`` for the rows z of Z, block by block."""
    kernel = InstanceKernel("rbf", gamma)
    scores = np.empty(Z.shape[0])
    for rows in cut_rows(Z.shape[0], block_rows(centers.shape[0])):
        scores[rows] = kernel(Z[rows], centers) @ coef
    return scores
