"""Estimating the class prior, the share of positive bags among the unlabeled ones."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._sklearn import Interval, StrOptions
from bagwise.bags import Bags
from bagwise.base import (
    SCALE_CONSTRAINT,
    BagClassifier,
    BagEstimator,
    BagsLike,
    Scaled,
    Training,
    validated_fit,
)
from bagwise.pu.features import BagBasis, PUFeatures, choose_centers
from bagwise.pu.losses import check_pu_labels
from bagwise.pu.ratio import DensityRatio, PriorPath, prior_at

BASIS_CONSTRAINTS: dict = {
    "kernel": [StrOptions({"minimax", "mean", "set"}), callable],
    "centers": [StrOptions({"all", "random", "kmeans"}), Bags],
    "n_centers": [Interval(Integral, 1, None, closed="left")],
    "scale": SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}
DEGREE_CONSTRAINT = [Interval(Integral, 1, None, closed="left")]


class SetKernelEstimator(Scaled, BagEstimator):
    """An estimator with basis functions of bags: `kernel`, `centers`, `n_centers`, `random_state`."""

    def _choose_centers(self, training: Training) -> np.ndarray | None:
        """Numbers of the training bags, scaled, that are centers; None if the user gave centers."""
        if not isinstance(self.centers, str):
            return None
        rng = check_random_state(self.random_state)
        return choose_centers(self.centers, self.n_centers, training.bags, self.kernel, rng)

    def _make_basis(self, training: Training, chosen: np.ndarray | None, degree: int) -> BagBasis:
        if chosen is None:
            given = self._scaled(self.centers)
            return BagBasis(self.kernel, degree, given, np.ones(len(given)))
        return BagBasis(self.kernel, degree, training.bags[chosen], training.weight[chosen])


def split_features(matrix: np.ndarray, training: Training) -> PUFeatures:
    """Features of the positive and of the unlabeled bags among the rows of a matrix."""
    positive = training.y == 1
    weight = training.weight
    return PUFeatures(matrix[positive], matrix[~positive], weight[positive], weight[~positive])


def estimate_prior(features: PUFeatures, name: str) -> tuple[PriorPath, float]:
    """Estimates along a grid of ridges, and the one at the ridge that cross-validation prefers."""
    few = min(features.n_positive, features.n_unlabeled)
    if few < 2:
        raise ValueError(
            f"{name} cannot estimate the class prior from fewer than two positive or unlabeled bags; here "
            f"one class has {few:g}. Pass class_prior, a number between 0 and 1."
        )
    path = DensityRatio(features).path()
    return path, float(path.class_priors[path.best])


class ClassPriorEstimator(SetKernelEstimator):
    """Share of positive bags among unlabeled ones, from the ratio of two densities.

    The ratio of the density of positive bags to that of unlabeled ones is modelled as
    ``r(X) = a + sum_c coef_c k(X, center_c)``, and fitted by least squares: it maximises ::

        2 mean_P(r) - mean_U(r^2) - ridge |coef|^2

    The estimate is 1 over the first two terms at the fit (the prior of least Pearson divergence between
    ``prior * p_+`` and p). The constant a is not penalised, so the estimate lies in (0, 1] for every ridge,
    and the ridge is chosen by leaving out one bag after another.

    **It is an upper estimate.** With many bags it tends to prior / E_+[P(positive | X)], which is the prior
    only if no negative bag looks like a positive one: where the classes overlap it is too large, and on Musk1
    as a whole, of whose bags 0.375 were positive in one sample, it says 0.73. No method can do better without
    an assumption: unlabeled bags that look positive may all be. If you know the prior, pass it to the
    classifier.

    The unlabeled bags must be a sample of the population, with its positive bags in it, and the positive bags
    a sample of all positive ones.

    Parameters
    ----------
    kernel : {"minimax", "mean", "set"} or callable, default="minimax"
        The kernel of bags, as in `PUSetKernelClassifier`. A plain matrix is bags of one instance, so the
        share of positive *instances* is estimated by passing instances.
    degree : int, default=1
        Degree of the polynomial.
    centers, n_centers, scale, random_state
        As in `PUSetKernelClassifier`.
    ridge : float or None, default=None
        The ridge; by default it is chosen.

    Attributes
    ----------
    class_prior_ : float
        The estimate, in (0, 1].
    ridge_ : float
        The ridge used.
    path_ : PriorPath
        Ridges, the estimate at each, and the criterion they were compared by; None if `ridge` was given. Look
        at it: where the estimate moves much near the best ridge, do not rely on it.
    scaler_, classes_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    One eigendecomposition, O(min(n_unlabeled, n_centers)^3), and O(n_bags * n_centers) for each ridge:
    leaving out a bag is a change of rank one. The paper prints the two samples exchanged (its section 3.3 and
    appendix A): there H averages over positive and h over unlabeled bags, which estimates a prior of 0.3 as
    0.000. It has no constant, and its estimate is not bounded by 1.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance learning from positive and
    unlabeled bags, Neural Networks 105, section 3.3. du Plessis and Sugiyama (2014), Class prior estimation
    from positive and unlabeled data, IEICE Transactions E97-D.

    Examples
    --------
    >>> from bagwise import ClassPriorEstimator, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(600, coef=[8.0, -8.0], intercept=-11.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=60, n_unlabeled=200, class_prior=0.3, random_state=0
    ... )
    >>> estimator = ClassPriorEstimator(degree=2).fit(data.bags, data.y)
    >>> 0.0 < estimator.class_prior_ <= 1.0
    True
    >>> low, high = estimator.interval(data.bags, data.y, random_state=0)
    """

    _parameter_constraints: dict = {
        **BASIS_CONSTRAINTS,
        "degree": DEGREE_CONSTRAINT,
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
    }
    # Labels and weights are those of a classifier.
    _read_training = BagClassifier._read_training

    def __init__(
        self,
        kernel="minimax",
        *,
        degree=1,
        ridge=None,
        centers="all",
        n_centers=500,
        scale="minmax",
        random_state=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.ridge = ridge
        self.centers = centers
        self.n_centers = n_centers
        self.scale = scale
        self.random_state = random_state

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the class prior.

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
        self.basis_ = self._make_basis(training, self._choose_centers(training), self.degree)
        features = split_features(self.basis_(training.bags), training)
        self.path_: PriorPath | None = None
        if self.ridge is None:
            self.path_, self.class_prior_ = estimate_prior(features, type(self).__name__)
            self.ridge_ = float(self.path_.ridges[self.path_.best])
        else:
            self.ridge_ = float(self.ridge)
            self.class_prior_ = prior_at(features, self.ridge_)
        return self

    def interval(
        self, X: BagsLike, y: ArrayLike, *, level=0.95, n_bootstrap=200, random_state=None
    ) -> tuple[float, float]:
        """Bootstrap interval of the estimate, by drawing positive and unlabeled bags again.

        Basis functions and ridge are those of the fit. A sample that holds bags twice is fitted too closely,
        which lowers its estimate; so the quantiles are those of the estimates' ratio to their median. The
        interval is about the sampling of bags alone: that the estimate is an upper one where classes overlap,
        it does not know.

        Parameters
        ----------
        X, y
            The bags and labels of the fit.
        level : float, default=0.95
            Its probability.
        n_bootstrap : int, default=200
            How many samples are drawn.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        low, high : float
        """
        bags = self._read(X)
        rng = check_random_state(random_state)
        codes = BagClassifier._encode_known(self, y, bags)
        matrix = self.basis_(self._scaled(bags))
        drawn = []
        for _ in range(n_bootstrap):
            weight = np.zeros(len(bags))
            for label in (0, 1):
                members = np.flatnonzero(codes == label)
                weight[members] = np.bincount(
                    rng.randint(len(members), size=len(members)), minlength=len(members)
                )
            kept = weight > 0
            sample = Training(bags[kept], codes[kept], weight[kept])
            drawn.append(prior_at(split_features(matrix[kept], sample), self.ridge_))
        tail = 50.0 * (1.0 - level)
        low, middle, high = np.percentile(drawn, [tail, 50.0, 100.0 - tail])
        return self.class_prior_ * float(low / middle), min(1.0, self.class_prior_ * float(high / middle))
