"""Estimating the class prior, the share of positive bags among the unlabeled ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import Folds, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import BagClassifier, BagsLike, Training, bag_weights, validated_fit
from bagwise.models.pu.base import BASIS_CONSTRAINTS, SetKernelEstimator
from bagwise.models.pu.features import InstanceBasis, choose_centers
from bagwise.models.pu.instances import resolve_width
from bagwise.models.pu.losses import check_pu_labels
from bagwise.models.pu.ratio import PriorPath
from bagwise.models.pu.sample import (
    PriorSample,
    compared_estimates,
    prior_splits,
    sample_bags,
    sample_instances,
)

if TYPE_CHECKING:
    from bagwise.models.pu.estimates import PriorEstimate


# Widths of the Gaussian basis of instances that are compared, as factors of gamma="scale".
_WIDTHS = (0.25, 1.0, 4.0)
# With fewer unlabeled bags in the tail than this, draws of them tell too little of its error.
_FEW = 5.0


class ClassPriorEstimator(SetKernelEstimator):
    """Share of positive bags among unlabeled ones, by two methods that check each other.

    **"tail"** scores bags, and compares upper tails. For every score c the class prior is at most ::

        (share of unlabeled bags that score c or more) / (share of positive bags that do)

    and equal to it if no negative bag scores c. Scores are the log-odds of positive against unlabeled bags by
    a logistic regression of each feature's minimum, mean and maximum, for bags that it did not learn from;
    the cut c is where the ratio and its confidence margin are least, chosen on other bags than those counted.

    **"ratio"** models the ratio of the density of positive bags to that of unlabeled ones as ``r(X) = a +
    sum_c coef_c k(X, center_c)``, and fits it by least squares: it maximises ::

        2 mean_P(r) - mean_U(r^2) - ridge |coef|^2

    The estimate is 1 over the first two terms at the fit (the prior of least Pearson divergence between
    ``prior * p_+`` and p), with r kept between 0 and 1 / prior, where the ratio of the densities must lie.
    The constant a is not penalised. Degree and ridge are chosen by leaving out one bag after another, by a
    bounded criterion (`PriorPath`), so that a few positive bags which lie apart decide nothing.

    A fit computes both. It warns where they differ by more than the sampling of bags explains.

    **Both are upper estimates.** With many bags "ratio" tends to prior / E_+[P(positive | X)], and "tail" to
    the least ratio of two tails of its scores: that is the prior only if no negative bag looks like a
    positive one; else it is larger. No method can do better without an assumption: unlabeled bags that look
    positive may all be. Where the scores show that classes overlap, `interval` therefore begins at 0. If you
    know the prior, pass it to the classifier.

    The unlabeled bags must be a sample of the population, with its positive bags in it, and the positive bags
    a sample of all positive ones.

    Parameters
    ----------
    kernel : {"minimax", "mean", "set"} or callable, default="minimax"
        The kernel of bags, as in `PUSetKernelClassifier`. Of its values only "ratio" makes use, but a
        callable's matrix of bags and centers is what "tail" learns its scores from.
    method : {"tail", "ratio"}, default="tail"
        Which of the two becomes `class_prior_`; the other is `check_`.
    level : {"bag", "instance"}, default="bag"
        "instance" takes every instance for itself, with the label of its bag, and estimates which share of
        the unlabeled instances lies in positive bags: the class prior of bags, if positive and negative ones
        are of one size. As positive bags hold negative instances too, it is an upper estimate, and mostly a
        poor one; with bags of one instance it is the method of the paper's appendix. Basis functions are
        Gaussian, of at most `n_centers` instances; `kernel` and `degree` do nothing.
    degree : int or sequence of int, default=(1, 2, 3)
        Degree of the polynomial, or those to choose from. It does nothing for "tail".
    ridge : float or None, default=None
        The ridge of "ratio"; by default it is chosen.
    cv : int, splitter or iterable of (train, test), default=5
        Folds for the scores of "tail". A number deals bags out by what they hold, so that equal bags share a
        fold. Noisy copies of a bag must do so too: give splits that keep them together.
    centers, n_centers, scale, random_state
        As in `PUSetKernelClassifier`.

    Attributes
    ----------
    class_prior_ : float
        The estimate, in (0, 1].
    estimate_, check_ : PriorEstimate
        The estimate and that of the other method: `class_prior`, `overlap` (whether negative bags are seen to
        look like positive ones) and `interval(level=0.9)`, an approximation that costs nothing.
    ridge_, degree_ : float, int
        The ridge and the degree of "ratio"; the degree is None for instances and for callables.
    path_ : PriorPath
        Its ridges, the estimate at each, and the criterion they were compared by; None if `ridge` was given.
        Look at it: where the estimate moves much near the best ridge, do not rely on it.
    scores_ : array of shape (n_bags,) or (n_instances,)
        The scores of "tail", for bags of non-zero weight; NaN where no fold held a bag out.
    scaler_, classes_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    "tail": fifteen logistic regressions. "ratio": one eigendecomposition, O(min(n_unlabeled, n_centers)^3),
    for each degree, and O(n_bags * n_centers) for each ridge: leaving out a bag is a change of rank one.

    Garg et al. choose the cut on the bags that they count, which lowers the estimate: the least of many
    ratios is too small. Here halves of the folds choose for each other, and the mean over all halves is
    taken. Bao et al. print the two samples exchanged (section 3.3 and appendix A): there H averages over
    positive and h over unlabeled bags, which estimates a prior of 0.3 as 0.000. Their r has no constant and
    no bounds, their estimate may exceed 1, and they do not say how the ridge is chosen; by the usual
    criterion, ``2 mean_P(r) - mean_U(r^2)`` of bags left out, it is a tenth of the prior now and then.
    ``make reproduce NAME=pu-prior`` in a checkout compares the methods.

    References
    ----------
    Garg, Wu, Smola, Balakrishnan and Lipton (2021), Mixture proportion estimation and PU learning: a modern
    approach, NeurIPS 34. Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance
    learning from positive and unlabeled bags, Neural Networks 105, section 3.3 and appendix A. du Plessis and
    Sugiyama (2014), Class prior estimation from positive and unlabeled data, IEICE Transactions E97-D.

    Examples
    --------
    >>> from bagwise import ClassPriorEstimator, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(600, coef=[8.0, -8.0], intercept=-11.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=60, n_unlabeled=200, class_prior=0.3, random_state=0
    ... )
    >>> estimator = ClassPriorEstimator().fit(data.bags, data.y)
    >>> 0.3 < estimator.class_prior_ <= 1.0, estimator.estimate_.overlap
    (True, True)
    >>> low, high = estimator.interval(data.bags, data.y, random_state=0)
    """

    estimate_: PriorEstimate
    check_: PriorEstimate
    path_: PriorPath | None
    basis_: Any
    class_prior_: float
    ridge_: float
    degree_: int | None
    scores_: np.ndarray

    _parameter_constraints: dict[str, Any] = {
        **BASIS_CONSTRAINTS,
        "method": [StrOptions({"tail", "ratio"})],
        "level": [StrOptions({"bag", "instance"})],
        "degree": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
        "cv": ["cv_object"],
    }
    # Labels and weights are those of a classifier.
    _read_training = BagClassifier._read_training
    _learns_from_positives_only = BagClassifier._learns_from_positives_only

    def __init__(
        self,
        kernel: Literal["minimax", "mean", "set"] | Callable[..., Any] = "minimax",
        *,
        method: Literal["tail", "ratio"] = "tail",
        level: Literal["bag", "instance"] = "bag",
        degree: int | Sequence[int] = (1, 2, 3),
        ridge: float | None = None,
        cv: Folds = 5,
        centers: Literal["all", "random", "kmeans"] | Bags = "all",
        n_centers: int = 500,
        scale: Scale = "minmax",
        random_state: Seed = None,
    ):
        self.kernel = kernel
        self.method = method
        self.level = level
        self.degree = degree
        self.ridge = ridge
        self.cv = cv
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
        splits = prior_splits(self.cv, training, sample_weight, type(self).__name__)
        self._bases = self._make_bases(training)
        matrices = self._features(training.bags)
        if self.level == "instance":
            sample = sample_instances(training, matrices, splits)
        else:
            sample = sample_bags(training, matrices, splits, named_kernel=isinstance(self.kernel, str))
        self.estimate_, self.check_, setting, path = compared_estimates(sample, self.method, self.ridge)
        self.class_prior_ = self.estimate_.class_prior
        self.path_ = path if self.ridge is None else None
        self.ridge_ = float(path.ridges[path.best])
        self.basis_ = self._bases[setting]
        self.degree_ = int(setting) if self.level == "bag" and isinstance(self.kernel, str) else None
        self.scores_ = sample.score
        self._sample = sample.without_features()
        return self

    def _make_bases(self, training: Training) -> Mapping[float, Callable[[Bags], np.ndarray]]:
        """Basis functions by degree, or by width for instances."""
        if self.level == "bag":
            degrees = check_degrees(self.degree, "degree") if isinstance(self.kernel, str) else [1]
            chosen = self._choose_centers(training)
            return {degree: self._make_basis(training, chosen, degree) for degree in degrees}
        if isinstance(self.centers, str):
            singles = Bags(training.bags.instances, np.arange(training.bags.n_instances + 1))
            rng = check_random_state(self.random_state)
            how = "random" if self.centers == "all" else self.centers
            centers = singles.instances[choose_centers(how, self.n_centers, singles, "mean", rng)]
        else:
            centers = self._scaled(self.centers).instances
        middle = resolve_width("scale", training)
        return {factor: InstanceBasis(factor * middle, centers) for factor in _WIDTHS}

    def _features(self, bags: Bags) -> dict[float, np.ndarray]:
        return {setting: basis(bags) for setting, basis in self._bases.items()}

    def interval(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        level: float = 0.95,
        n_bootstrap: int = 200,
        random_state: Seed = None,
    ) -> tuple[float, float]:
        """Bootstrap interval of the class prior, by drawing positive and unlabeled bags again.

        Whatever was chosen is chosen again for every draw: the cut for "tail", whose scores stay those of the
        fit, degree and ridge for "ratio". A sample that holds bags twice is fitted too closely, which lowers
        its estimate; so the quantiles are those of the estimates' ratio to their median.

        Where the scores show that the classes overlap (`estimate_.overlap`), the lower end is 0: the estimate
        is an upper one, and what is certain is that the prior does not exceed the upper end. Overlap that no
        score shows, such as negative bags among the highest scores, cannot be seen by any method.

        Parameters
        ----------
        X, y, sample_weight
            The bags of the fit, their labels and weights.
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
        codes = BagClassifier._encode_known(self, y, bags)
        training = Training(bags, codes, bag_weights(bags, sample_weight)).that_count()
        sample = self._sample
        per_row = training.bags.bag_index if self.level == "instance" else np.arange(len(training.y))
        if not (
            np.array_equal(training.y[per_row], sample.y)
            and np.array_equal(training.weight[per_row], sample.weight)
        ):
            raise ValueError(
                f"X, y and sample_weight are not those of the fit, which had {len(sample.y)} rows; pass the "
                "bags, labels and weights that were given to fit."
            )
        if self.method == "ratio":
            sample = sample.with_rotated_features(self._features(self._scaled(training.bags)))
        rng = check_random_state(random_state)
        drawn = [self._estimate_again(sample, sample.draw(rng)) for _ in range(n_bootstrap)]
        low, middle, high = np.quantile(drawn, [0.5 - 0.5 * level, 0.5, 0.5 + 0.5 * level])
        below, above = self.class_prior_ * low / middle, min(1.0, self.class_prior_ * high / middle)
        if self.class_prior_ * np.sum(sample.y == 0) < _FEW:
            less, more = self.estimate_.interval(level)
            below, above = min(below, less), max(above, more)
        return (0.0 if self.estimate_.overlap else float(below)), float(above)

    def _estimate_again(self, sample: PriorSample, weight: np.ndarray) -> float:
        if self.method == "tail":
            return sample.tail(weight).class_prior
        _, path = sample.ratio(self.ridge, weight)
        return float(path.class_priors[path.best])


def check_degrees(degrees: int | Sequence[int], name: str) -> list[int]:
    """Read one degree or several: rising, each once."""
    found = sorted({int(degree) for degree in np.atleast_1d(degrees)})
    if not found or found[0] < 1:
        raise ValueError(f"{name} must be whole numbers from 1; got {degrees!r}.")
    return found
