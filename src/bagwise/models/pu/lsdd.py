"""LSDD: the difference of the densities of instances in positive and in unlabeled bags, by least squares."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.sklearn_private import Interval
from bagwise._core.types import Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import block_rows, cut_rows
from bagwise.models.base import Training
from bagwise.models.pu.instances import DIFFERENCE_CONSTRAINTS, DifferenceClassifier, expand
from bagwise.similarity import InstanceKernel

CENTER_CONSTRAINTS: dict[str, Any] = {"n_centers": [Interval(Integral, 1, None, closed="left")]}


@dataclass(frozen=True)
class _Width:
    """Basis functions of one width: their weighted sums over the instances of every bag, and H's spectrum."""

    sums: np.ndarray
    values: np.ndarray
    axes: np.ndarray


@dataclass(frozen=True)
class _Parts:
    """The training bags, roots of the centers' weights, and the widths computed so far."""

    training: Training
    root: np.ndarray
    widths: dict[float, _Width] = field(default_factory=dict)

    def difference(self, width: _Width, chosen: np.ndarray) -> np.ndarray:
        """The vector h of some bags, a mask: the mean over positive bags less that over unlabeled ones."""
        bags, y, weight = self.training
        means = []
        for label in (1, 0):
            some = chosen & (y == label)
            means.append(width.sums[some].sum(axis=0) / (weight * bags.sizes)[some].sum())
        return means[0] - means[1]


class LSDDScore(DifferenceClassifier):
    """The score of LSDD, and its criterion.

    A subclass has the parameters `n_centers` and `random_state`.
    """

    centers_: Any
    coef_: np.ndarray

    def _gather(self, training: Training) -> _Parts:
        bags = training.bags
        rng = check_random_state(self.random_state)
        drawn = np.sort(rng.permutation(bags.n_instances)[: self.n_centers])
        self.centers_ = bags.instances[drawn]
        # A center of weight two is two centers. Of the bags only shares count, which do not overflow.
        root = np.sqrt(np.repeat(training.weight, bags.sizes)[drawn])
        return _Parts(training._replace(weight=training.weight / training.weight.max()), root)

    def _width(self, parts: _Parts, gamma: float) -> _Width:
        if gamma not in parts.widths:
            sums = self._sums(parts.training, gamma) * parts.root
            parts.widths[gamma] = _Width(sums, *self._spectrum(gamma, parts.root))
        return parts.widths[gamma]

    def _sums(self, training: Training, gamma: float) -> np.ndarray:
        """Weighted sum of the basis functions over the instances of every bag: shape (n_bags, n_centers)."""
        kernel, bags = InstanceKernel("rbf", gamma), training.bags
        values = np.empty((bags.n_instances, self.centers_.shape[0]))
        for rows in cut_rows(len(values), block_rows(values.shape[1])):
            values[rows] = kernel(bags.instances[rows], self.centers_)
        return np.add.reduceat(values, bags.offsets[:-1], axis=0) * training.weight[:, None]

    def _spectrum(self, gamma: float, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H = InstanceKernel("rbf", 0.5 * gamma)(self.centers_, self.centers_)
        values, axes = eigh(root[:, None] * H * root, check_finite=False)
        return np.maximum(values, 0.0), axes

    def _criterion(self, parts: _Parts, gammas: Any, alphas: Any, folds: Any) -> np.ndarray:
        rows = []
        for gamma in gammas:
            raise_if_stopped()
            width = self._width(parts, gamma)
            of_folds = [
                _held_out(width, alphas, *(parts.difference(width, part) for part in fold)) for fold in folds
            ]
            rows.append(np.mean(of_folds, axis=0))
        # The factor of each gamma that unit length left out, as a shift of the logarithm of the criterion's
        # size.
        shift = 0.5 * parts.training.bags.n_features * np.log(2.0 * np.array(gammas) / np.pi)
        return _signed_log(np.array(rows), shift[:, None])

    def _solve(self, parts: _Parts) -> None:
        width = self._width(parts, self.gamma_)
        h = parts.difference(width, np.ones(len(parts.training.y), dtype=bool))
        coef = width.axes @ ((h @ width.axes) / (width.values + self.alpha_))
        self.coef_ = (parts.root * coef)[None, :]

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        Z = self._scaled(bags).instances
        return expand(Z, self.centers_, self.gamma_, self.coef_[0])


class LSDDClassifier(LSDDScore):
    """Sign of the difference of two densities of instances: those of positive and of unlabeled bags.

    Positive instances are more frequent in positive bags than in unlabeled ones, and negative instances less.
    With p and p' the two densities and f(x) = sum_c coef_c k(x, center_c), k a Gaussian scaled to length one,
    the fit minimises an estimate of ::

        integral (f - (p - p'))^2 dx + alpha |coef|^2  =  coef'H coef - 2 coef'h + alpha |coef|^2 + constant

    with ``H_cd = exp(-gamma |center_c - center_d|^2 / 2)`` and h the mean of the basis functions over
    instances of positive bags less that over instances of unlabeled bags. An instance is positive where f >=
    0, and a bag if one of its instances is. Use it as a quick baseline in few dimensions; the class prior
    plays no part.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        Width of the Gaussian ``exp(-gamma |x - z|^2)``.
    alpha : float, default=1e-3
        The penalty. `LSDDClassifierCV` chooses it, and gamma.
    n_centers : int, default=300
        Instances drawn as centers. With fewer than there are, another draw gives another fit: also where a
        bag is repeated instead of weighted.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="minmax"
        How features are scaled.
    random_state : int, RandomState instance or None, default=None
        Draws centers.

    Attributes
    ----------
    gamma_, alpha_ : float
        The values used.
    centers_, coef_ : arrays of shape (n_centers, n_features) and (1, n_centers)
        The fit.
    scaler_, classes_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    The fit is a closed form, O(n_instances n_centers + n_centers^3): there are no iterations, so neither
    `n_iter_` and `converged_` nor `verbose`. Basis functions of length one leave out the factor
    (pi / (2 gamma)) ** (n_features / 2) of the printed H, which over- or underflows in 166 dimensions; it
    would only change what alpha means.

    References
    ----------
    Sugiyama et al. (2012), Density-difference estimation, NIPS 25. Bao et al. (2018), Neural Networks 105,
    section 3.4.

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
        random_state: Seed = None,
    ):
        self.gamma = gamma
        self.alpha = alpha
        self.n_centers = n_centers
        self.scale = scale
        self.random_state = random_state


def _held_out(width: _Width, alphas: Any, train: np.ndarray, held: np.ndarray) -> list[float]:
    """``coef'H coef - 2 coef'h`` with h of held-out bags, for every alpha."""
    inside, outside = train @ width.axes, held @ width.axes
    coefs = [inside / (width.values + alpha) for alpha in alphas]
    return [float((coef * coef) @ width.values - 2.0 * coef @ outside) for coef in coefs]


def _signed_log(values: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Numbers in the order of ``values * exp(shift)``, without overflow."""
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(values)) + shift
    # Any offset that makes all sizes positive keeps the order.
    floor = np.min(size[np.isfinite(size)], initial=0.0) - 1.0
    return np.sign(values) * np.where(np.isfinite(size), size - floor, 0.0)
