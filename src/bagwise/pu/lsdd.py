"""LSDD: the difference of the densities of instances in positive and in unlabeled bags, by least squares."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from bagwise._sklearn import Interval
from bagwise.bags import Bags
from bagwise.base import validated_fit
from bagwise.kernels import InstanceKernel, blocks
from bagwise.pu.instances import GRID_CONSTRAINTS, GridDifferenceClassifier, expand
from bagwise.pu.losses import check_pu_labels


class LSDDClassifier(GridDifferenceClassifier):
    """Sign of the difference of two densities of instances: those of positive and of unlabeled bags.

    Positive instances are more frequent in positive bags than in unlabeled ones, and negative instances less.
    With p and p' the two densities and f(x) = sum_c coef_c k(x, center_c), k a Gaussian scaled to length one,
    the fit minimises an estimate of ::

        integral (f - (p - p'))^2 dx + alpha |coef|^2  =  coef'H coef - 2 coef'h + alpha |coef|^2 + constant

    with ``H_cd = exp(-gamma |center_c - center_d|^2 / 2)`` and h the mean of the basis functions over
    instances of positive bags less that over instances of unlabeled bags. An instance is positive where f >
    0, and a bag if one of its instances is. Use it as a quick baseline in few dimensions; the class prior
    plays no part.

    Parameters
    ----------
    gamma : float, "scale", "auto" or a list of numbers, default="scale"
        Width of the Gaussian ``exp(-gamma |x - z|^2)``. Of a list the best is chosen.
    alpha : float or a list of numbers, default=1e-3
        The penalty. Of a list the best is chosen.
    n_centers : int, default=300
        Instances drawn as centers.
    cv : int or splitter, default=5
        Folds of bags for the choice, by the criterion above on what is held out.
    scale : {"standard", "minmax"}, transformer or None, default="minmax"
        How features are scaled.
    random_state : int, RandomState instance or None, default=None
        Draws centers and folds.

    Attributes
    ----------
    gamma_, alpha_ : float
        The values used.
    criterion_ : array of shape (n_gammas, n_alphas) or None
        What was compared: the criterion of held-out bags, as the logarithm of its size with its sign turned
        (see Notes); the least is best.
    centers_, coef_ : arrays of shape (n_centers, n_features) and (1, n_centers)
        The fit.
    scaler_, classes_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    O(n_instances n_centers) for each gamma, and an eigendecomposition of H that serves all alphas and folds.
    Basis functions of length one leave out the factor (pi / (2 gamma)) ** (n_features / 2) of the printed H,
    which over- or underflows in 166 dimensions; it would only change what alpha means, except when values of
    gamma are compared. There it counts, in logarithms: in many dimensions it lets the narrowest Gaussian win
    that is any good.

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
    >>> model = LSDDClassifier(gamma=[1.0, 10.0], alpha=[1.0, 1e-3], random_state=0).fit(data.bags, data.y)
    >>> model.gamma_, model.decision_function_instances(data.bags).shape == (data.bags.n_instances,)
    (10.0, True)
    """

    _parameter_constraints: dict = {
        **GRID_CONSTRAINTS,
        "n_centers": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, gamma="scale", alpha=1e-3, n_centers=300, cv=5, scale="minmax", random_state=None):
        self.gamma = gamma
        self.alpha = alpha
        self.n_centers = n_centers
        self.cv = cv
        self.scale = scale
        self.random_state = random_state

    @validated_fit
    def fit(self, X, y, sample_weight=None):
        """Learn from positive and unlabeled bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            Positive and unlabeled bags.
        y : array of shape (n_bags,)
            1 or True marks positive bags; 0, -1 or False unlabeled ones.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        check_pu_labels(y, type(self).__name__)
        training = self._fit_scaler(self._read_training(X, y, sample_weight))
        bags = training.bags
        weight = np.repeat(training.weight, bags.sizes)
        gammas, alphas = self._grid(bags.instances, weight)
        rng = check_random_state(self.random_state)
        drawn = np.sort(rng.permutation(bags.n_instances)[: self.n_centers])
        self.centers_ = bags.instances[drawn]
        root = np.sqrt(weight[drawn])  # a center of weight two is two centers
        sums = {gamma: self._sums(training, gamma) * root for gamma in gammas}
        spectra = {gamma: self._spectrum(gamma, root) for gamma in gammas}
        totals = np.array([training.weight * bags.sizes * (training.y == label) for label in (1, 0)])

        def difference(gamma, chosen):
            parts = [sums[gamma][chosen & (training.y == label)].sum(axis=0) for label in (1, 0)]
            return parts[0] / totals[0, chosen].sum() - parts[1] / totals[1, chosen].sum()

        def compare(folds):
            rows = [
                np.mean(
                    [
                        _held_out(spectra[gamma], alphas, *(difference(gamma, part) for part in fold))
                        for fold in folds
                    ],
                    axis=0,
                )
                for gamma in gammas
            ]
            # The factor of each gamma that unit length left out, as a shift of the logarithm of the
            # criterion's size.
            shift = 0.5 * bags.n_features * np.log(2.0 * np.array(gammas) / np.pi)
            return _signed_log(np.array(rows), shift[:, None])

        self._choose(training, gammas, alphas, compare)
        values, axes = spectra[self.gamma_]
        h = difference(self.gamma_, np.ones(len(bags), dtype=bool))
        self.coef_ = root * (axes @ ((h @ axes) / (values + self.alpha_)))[None, :]
        return self

    def _sums(self, training, gamma: float) -> np.ndarray:
        """Weighted sum of the basis functions over the instances of every bag: shape (n_bags, n_centers)."""
        kernel, bags = InstanceKernel("rbf", gamma), training.bags
        values = np.empty((bags.n_instances, self.centers_.shape[0]))
        for rows in blocks(*values.shape):
            values[rows] = kernel(bags.instances[rows], self.centers_)
        return np.add.reduceat(values, bags.offsets[:-1], axis=0) * training.weight[:, None]

    def _spectrum(self, gamma: float, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H = InstanceKernel("rbf", 0.5 * gamma)(self.centers_, self.centers_)
        values, axes = eigh(root[:, None] * H * root, check_finite=False)
        return np.maximum(values, 0.0), axes

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        return expand(self._scaled(bags).instances, self.centers_, self.gamma_, self.coef_[0])


def _held_out(spectrum, alphas, train: np.ndarray, held: np.ndarray) -> list[float]:
    """``coef'H coef - 2 coef'h`` with h of held-out bags, for every alpha."""
    values, axes = spectrum
    inside, outside = train @ axes, held @ axes
    coefs = [inside / (values + alpha) for alpha in alphas]
    return [float((coef * coef) @ values - 2.0 * coef @ outside) for coef in coefs]


def _signed_log(values: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Numbers in the order of ``values * exp(shift)``, without overflow."""
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(values)) + shift
    # Any offset that makes all sizes positive keeps the order.
    floor = np.min(size[np.isfinite(size)], initial=0.0) - 1.0
    return np.sign(values) * np.where(np.isfinite(size), size - floor, 0.0)
