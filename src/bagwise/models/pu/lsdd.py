"""LSDD: the difference of instance densities in positive and in unlabeled bags, by least squares."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.sklearn_private import Interval
from bagwise._core.types import PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import block_rows, cut_rows
from bagwise.models.base import Training
from bagwise.models.pu.instances import DIFFERENCE_CONSTRAINTS, DifferenceClassifier, expand
from bagwise.similarity import InstanceKernel

CENTER_CONSTRAINTS: dict[str, Any] = {"n_centers": [Interval(Integral, 1, None, closed="left")]}


@dataclass(frozen=True)
class _Width:
    """Basis functions of one width: weighted sums over the instances of each bag, and the spectrum of H."""

    sums: np.ndarray
    values: np.ndarray
    axes: np.ndarray


@dataclass(frozen=True)
class _TrainingBags:
    """Training bags, square roots of the centers' weights, and a cache of the basis functions by width."""

    training: Training
    root: np.ndarray
    widths: dict[float, _Width] = field(default_factory=dict)

    def difference(self, width: _Width, chosen: np.ndarray) -> np.ndarray:
        """Return the vector h for a mask of bags: mean over positive bags minus mean over unlabeled bags."""
        bags, y, weight = self.training
        means = []
        for label in (1, 0):
            mask = chosen & (y == label)
            means.append(width.sums[mask].sum(axis=0) / (weight * bags.sizes)[mask].sum())
        return means[0] - means[1]


class LSDDScore(DifferenceClassifier):
    """Score and model-selection criterion of LSDD.

    Subclasses have the parameters `n_centers` and `random_state`.
    """

    centers_: Any
    coef_: np.ndarray

    def _gather(self, training: Training) -> _TrainingBags:
        bags = training.bags
        rng = check_random_state(self.random_state)
        drawn = np.sort(rng.permutation(bags.n_instances)[: self.n_centers])
        self.centers_ = bags.instances[drawn]
        # A center of weight two counts as two centers. Bag weights are normalized to avoid overflow.
        root = np.sqrt(np.repeat(training.weight, bags.sizes)[drawn])
        return _TrainingBags(training._replace(weight=training.weight / training.weight.max()), root)

    def _width(self, parts: _TrainingBags, gamma: float) -> _Width:
        if gamma not in parts.widths:
            sums = self._sums(parts.training, gamma) * parts.root
            parts.widths[gamma] = _Width(sums, *self._spectrum(gamma, parts.root))
        return parts.widths[gamma]

    def _sums(self, training: Training, gamma: float) -> np.ndarray:
        """Return weighted sums of the basis functions over the instances of each bag: (n_bags, n_centers)."""
        kernel, bags = InstanceKernel("rbf", gamma), training.bags
        values = np.empty((bags.n_instances, self.centers_.shape[0]))
        for rows in cut_rows(len(values), block_rows(values.shape[1])):
            values[rows] = kernel(bags.instances[rows], self.centers_)
        return np.add.reduceat(values, bags.offsets[:-1], axis=0) * training.weight[:, None]

    def _spectrum(self, gamma: float, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H = InstanceKernel("rbf", 0.5 * gamma)(self.centers_, self.centers_)
        values, axes = eigh(root[:, None] * H * root, check_finite=False)
        return np.maximum(values, 0.0), axes

    def _criterion(self, parts: _TrainingBags, gammas: Any, alphas: Any, folds: Any) -> np.ndarray:
        rows = []
        for gamma in gammas:
            raise_if_stopped()
            width = self._width(parts, gamma)
            of_folds = [
                _held_out(width, alphas, *(parts.difference(width, part) for part in fold)) for fold in folds
            ]
            rows.append(np.mean(of_folds, axis=0))
        # The scaling of the basis functions omits a factor that depends on gamma. Here it is a shift of the
        # logarithm of the criterion.
        shift = 0.5 * self._n_varying(parts.training.bags) * np.log(2.0 * np.array(gammas) / np.pi)
        return _signed_log(np.array(rows), shift[:, None])

    def _solve(self, parts: _TrainingBags) -> None:
        width = self._width(parts, self.gamma_)
        h = parts.difference(width, np.ones(len(parts.training.y), dtype=bool))
        coef = width.axes @ ((h @ width.axes) / (width.values + self.alpha_))
        self.coef_ = (parts.root * coef)[None, :]

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        Z = self._scaled(bags).instances
        return expand(Z, self.centers_, self.gamma_, self.coef_[0])


class LSDDClassifier(LSDDScore):
    """Classify instances by the sign of the difference of their densities in positive and unlabeled bags.

    Positive instances are more frequent in positive bags than in unlabeled ones, and negative instances are
    less frequent. Let p and p' be the two densities, and f(x) = sum_c coef_c k(x, center_c) with a Gaussian k
    of unit norm. The fit minimizes an estimate of ::

        integral (f - (p - p'))^2 dx + alpha |coef|^2  =  coef'H coef - 2 coef'h + alpha |coef|^2 + constant

    with ``H_cd = exp(-gamma |center_c - center_d|^2 / 2)``. The vector h is the mean of the basis functions
    over instances of positive bags minus the mean over instances of unlabeled bags. An instance is positive
    if f >= 0, and a bag is positive if one of its instances is. The class prior is not used. LSDD is a fast
    baseline for data with few features.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        Parameter of the Gaussian ``exp(-gamma |x - z|^2)``.
    alpha : float, default=1e-3
        Weight of the penalty. `LSDDClassifierCV` chooses alpha and gamma by cross-validation.
    n_centers : int, default=300
        Number of training instances that are drawn as centers. If there are more instances, the fit depends
        on the draw; repeating a bag is then not equivalent to increasing its weight.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="minmax"
        How features are scaled.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the centers.

    Attributes
    ----------
    gamma_, alpha_ : float
        The values used in the fit.
    centers_, coef_ : arrays of shape (n_centers, n_features) and (1, n_centers)
        Centers and coefficients of the basis functions.
    scaler_, classes_, positive_label_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    The fit has a closed form and costs O(n_instances n_centers + n_centers^3). There are no iterations, and
    therefore no `n_iter_`, `converged_` or `verbose`. Basis functions of unit norm omit the factor (pi / (2
    gamma)) ** (n_features / 2) of the paper's H, which overflows or underflows in 166 dimensions. This factor
    would only change the meaning of alpha.

    References
    ----------
    Sugiyama et al. (2012), Density-difference estimation, NIPS 25. Bao et al. (2018), Neural Networks 105,
    section 3.4.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import LSDDClassifier, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=60, n_unlabeled=200, class_prior=0.3, random_state=0
    ... )
    >>> model = LSDDClassifier(gamma=10.0, random_state=0).fit(data.bags, data.y)
    >>> model.decision_function_instances(data.bags).shape == (data.bags.n_instances,)
    True
    """

    _parameter_constraints: dict[str, Any] = {**DIFFERENCE_CONSTRAINTS, **CENTER_CONSTRAINTS}

    def __init__(
        self,
        *,
        gamma: float | str = "scale",
        alpha: float = 1e-3,
        n_centers: int = 300,
        scale: Scale = "minmax",
        positive: PositiveLabel = None,
        random_state: Seed = None,
    ):
        self.gamma = gamma
        self.alpha = alpha
        self.n_centers = n_centers
        self.scale = scale
        self.positive = positive
        self.random_state = random_state


def _held_out(width: _Width, alphas: Any, train: np.ndarray, held: np.ndarray) -> list[float]:
    """Return ``coef'H coef - 2 coef'h`` with h of the held-out bags, for every alpha."""
    inside, outside = train @ width.axes, held @ width.axes
    coefs = [inside / (width.values + alpha) for alpha in alphas]
    return [float((coef * coef) @ width.values - 2.0 * coef @ outside) for coef in coefs]


def _signed_log(values: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return values in the same order as ``values * exp(shift)``, without overflow."""
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(values)) + shift
    # Any offset that makes all sizes positive keeps the order.
    floor = np.min(size[np.isfinite(size)], initial=0.0) - 1.0
    return np.sign(values) * np.where(np.isfinite(size), size - floor, 0.0)
