"""What the instance-level methods for positive and unlabeled bags share: folds and grids."""

from __future__ import annotations

from itertools import product
from numbers import Real

import numpy as np

from bagwise._sklearn import Interval, StrOptions
from bagwise.base import SCALE_CONSTRAINT, InstanceScoreClassifier, Training
from bagwise.kernels import InstanceKernel, blocks, resolve_gamma
from bagwise.pu.base import PUClassifier, pu_splits

GRID_CONSTRAINTS: dict = {
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
    "alpha": [Interval(Real, 0, None, closed="neither"), "array-like"],
    "cv": ["cv_object"],
    "scale": SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}


class GridDifferenceClassifier(PUClassifier, InstanceScoreClassifier):
    """A score of instances with a Gaussian kernel, whose `gamma` and `alpha` may be lists to choose from."""

    def _grid(self, instances, weight) -> tuple[list[float], list[float]]:
        """The widths, and the penalties from the strongest; each a number for every one that was given."""
        given = [self.gamma] if isinstance(self.gamma, str) else np.atleast_1d(self.gamma).tolist()
        gammas = [resolve_gamma(value, instances, weight) for value in given]
        alphas = sorted(np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)).tolist(), reverse=True)
        if not gammas or not alphas or min(*gammas, *alphas, np.inf) <= 0:
            raise ValueError(
                f"gamma and alpha must be positive numbers, or lists of them; got gamma={self.gamma!r} and "
                f"alpha={self.alpha!r}."
            )
        return gammas, alphas

    def _choose(self, training: Training, gammas, alphas, compare) -> None:
        """Set `gamma_` and `alpha_`; of several, those of least criterion over folds of bags.

        ``compare(folds)`` gives the criterion of every gamma and alpha, shape (n_gammas, n_alphas); `folds`
        says in which fold a bag is held out.
        """
        self.criterion_: np.ndarray | None = None
        best = (0, 0)
        if len(gammas) * len(alphas) > 1:
            splits = pu_splits(self.cv, training, self.random_state, "Give one value of gamma and of alpha.")
            numbers = np.arange(len(training.y))
            folds = [tuple(np.isin(numbers, part) for part in split) for split in splits]
            criterion = np.asarray(compare(folds))
            best = min(product(range(len(gammas)), range(len(alphas))), key=lambda at: criterion[at])
            self.criterion_ = criterion
        self.gamma_, self.alpha_ = float(gammas[best[0]]), float(alphas[best[1]])


def expand(Z, centers, gamma: float, coef: np.ndarray) -> np.ndarray:
    """``sum_c coef_c exp(-gamma |z - center_c|^2)`` for the rows z of Z, block by block."""
    kernel = InstanceKernel("rbf", gamma)
    scores = np.empty(Z.shape[0])
    for rows in blocks(Z.shape[0], centers.shape[0]):
        scores[rows] = kernel(Z[rows], centers) @ coef
    return scores
