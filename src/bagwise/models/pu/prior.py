"""Estimation of the class prior, the share of positive bags among the unlabeled bags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import Folds, PositiveLabel, Scale, Seed
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


# Widths of the Gaussian basis to compare at level="instance", as multiples of gamma="scale".
_WIDTHS = (0.25, 1.0, 4.0)
# With fewer positive bags than this among the unlabeled ones, bootstrap draws underestimate the error.
_FEW = 5.0


class ClassPriorEstimator(SetKernelEstimator):
    """Estimate the share of positive bags among the unlabeled bags by the smaller of two upper estimates.

    **"tail"** compares the upper tails of bag scores. For every score c, the class prior is at most ::

        (share of unlabeled bags that score c or more) / (share of positive bags that do)

    and equal to this ratio if no negative bag scores c or more. The scores are out-of-fold log-odds of
    positive against unlabeled bags. They come from a logistic regression on the minimum, mean and maximum of
    every feature. The cut c minimizes the ratio plus its confidence margin. The cut is chosen on one part of
    the bags, and the tails are counted in the other part.

    **"ratio"** models the density of positive bags divided by the density of unlabeled bags as ``r(X) = a +
    sum_c coef_c k(X, center_c)`` and fits r by least squares. It maximizes ::

        2 mean_P(r) - mean_U(r^2) - ridge |coef|^2

    The estimate is the reciprocal of the first two terms at the optimum. It is the prior with the lowest
    Pearson divergence between ``prior * p_+`` and p. The ratio r is clipped to the range of the true density
    ratio, 0 to 1 / prior. The constant a is not penalized. Degree and ridge are chosen by leave-one-out with
    a bounded criterion (`PriorPath`), so that a few positive outliers cannot determine the choice.

    **"least"**, the default, is the smaller of the two. A fit always computes both. A warning is issued if
    they differ by more than sampling error explains, or if the scores show that the classes overlap.

    **Both are upper estimates.** With many bags, "ratio" converges to prior / E_+[P(positive | X)], and
    "tail" to the lowest ratio of the tails of its scores. Both limits equal the prior only if no negative bag
    looks like a positive one; otherwise they are larger. No method can do better without an assumption,
    because all unlabeled bags that look positive could be positive. If the scores show that the classes
    overlap, `interval` therefore starts at 0, and a `ClassPriorWarning` reports it: the prior cannot be
    estimated. If you know the prior, pass it to the classifier.

    The unlabeled bags must be a sample of the population, including its positive bags. The positive bags must
    be a sample of all positive bags.

    Parameters
    ----------
    kernel : {"minimax", "mean", "set"} or callable, default="minimax"
        The bag kernel, as in `PUSetKernelClassifier`. Only "ratio" uses a named kernel. With a callable,
        "tail" uses the kernel matrix of bags and centers as features.
    method : {"least", "tail", "ratio"}, default="least"
        Method whose estimate becomes `class_prior_`; the other estimate is `check_`. "least" is the smaller
        estimate, with the larger of the two standard errors.
    level : {"bag", "instance"}, default="bag"
        "instance" treats every instance as a separate row with the label of its bag. It estimates the share
        of unlabeled instances that are in positive bags. This is the class prior of bags if positive and
        negative bags have the same size. It is an upper estimate and usually a poor one, because positive
        bags also contain negative instances. With bags of one instance, it is the method of the paper's
        appendix. The basis functions are Gaussians at no more than `n_centers` instances; `kernel` and
        `degree` are ignored.
    degree : int or sequence of int, default=(1, 2, 3)
        Degree of the polynomial, or several degrees to choose from. "tail" ignores it.
    ridge : float or None, default=None
        The ridge of "ratio". By default, it is chosen by leave-one-out. For the paper's estimate and ridge,
        see `pearson_class_prior`.
    cv : int, splitter or iterable of (train, test), default=5
        Folds for the scores of "tail". With an integer, bags are assigned to folds by their values, so that
        equal bags share a fold. Noisy copies of a bag must also share a fold: pass splits that keep them
        together.
    centers, n_centers, scale, random_state
        As in `PUSetKernelClassifier`.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.

    Attributes
    ----------
    class_prior_ : float
        The estimate, in (0, 1].
    estimate_, check_ : PriorEstimate
        The estimate, and the estimate of the other method. They have the attributes `class_prior` and
        `overlap` (whether the scores show that negative bags look like positive ones), and the method
        `interval(level=0.9)`, a fast approximation.
    ridge_, degree_ : float, int
        Ridge and degree of "ratio". Instances and callable kernels have no degree; `degree_` is then None.
    path_ : PriorPath
        The ridges of "ratio", the estimate at each ridge, and the criterion by which they were compared; None
        if `ridge` was passed. If the estimate changes strongly near the best ridge, it is not reliable.
    scores_ : array of shape (n_bags,) or (n_instances,)
        The scores of "tail" for bags with non-zero weight; NaN for bags that are not held out in any fold.
    scaler_, classes_, positive_label_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    "tail" fits fifteen logistic regressions. "ratio" computes one eigendecomposition per degree, which costs
    O(min(n_unlabeled, n_centers)^3). Every ridge costs O(n_bags * n_centers), because leaving out a bag is a
    change of rank one.

    Garg et al. choose the cut on the same bags in which they count the tails. This lowers the estimate,
    because it is the minimum of many ratios. Here, the cut for one half of the folds is chosen on the other
    half, and the result is averaged over all halves. In the paper of Bao et al., the two samples are swapped
    (section 3.3 and appendix A): H averages over positive bags, and h over unlabeled bags. This form
    estimates a prior of 0.3 as 0.000; `pearson_class_prior` computes both forms. Their r has no constant and
    no bounds, and their estimate can exceed 1. They do not explain the choice of the ridge. With the usual
    criterion, leave-one-out ``2 mean_P(r) - mean_U(r^2)``, the estimate is sometimes a tenth of the prior.
    ``make reproduce NAME=pu-prior`` in a checkout compares the methods.

    References
    ----------
    Garg, Wu, Smola, Balakrishnan and Lipton (2021), Mixture proportion estimation and PU learning: a modern
    approach, NeurIPS 34. Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance
    learning from positive and unlabeled bags, Neural Networks 105, section 3.3 and appendix A. du Plessis and
    Sugiyama (2014), Class prior estimation from positive and unlabeled data, IEICE Transactions E97-D.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import ClassPriorEstimator, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(600, coef=[8.0, -8.0], intercept=-11.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=60, n_unlabeled=200, class_prior=0.3, random_state=0
    ... )
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the classes overlap
    ...     estimator = ClassPriorEstimator().fit(data.bags, data.y)
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
        "method": [StrOptions({"least", "tail", "ratio"})],
        "level": [StrOptions({"bag", "instance"})],
        "degree": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
        "cv": ["cv_object"],
        "positive": "no_validation",
    }
    # Use the labels and weights of a classifier, although this is not a classifier.
    _read_training = BagClassifier._read_training
    _two_labels, _is_reversed = BagClassifier._two_labels, BagClassifier._is_reversed
    _learns_from_positives_only = BagClassifier._learns_from_positives_only
    _text_labels = "refuse"
    positive: Any = None  # models of older versions

    def __init__(
        self,
        kernel: Literal["minimax", "mean", "set"] | Callable[..., Any] = "minimax",
        *,
        method: Literal["least", "tail", "ratio"] = "least",
        level: Literal["bag", "instance"] = "bag",
        degree: int | Sequence[int] = (1, 2, 3),
        ridge: float | None = None,
        cv: Folds = 5,
        centers: Literal["all", "random", "kmeans"] | Bags = "all",
        n_centers: int = 500,
        scale: Scale = "minmax",
        positive: PositiveLabel = None,
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
        self.positive = positive
        self.random_state = random_state

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the class prior.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            Positive and unlabeled bags.
        y : array of shape (n_bags,)
            Labels: 1 or True for positive bags; 0, -1 or False for unlabeled ones.
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
        """Return basis functions by degree, or by width at level="instance"."""
        if self.level == "bag":
            degrees = check_degrees(self.degree, "degree") if isinstance(self.kernel, str) else [1]
            chosen = self._choose_centers(training)
            return {degree: self._make_basis(training, chosen, degree) for degree in degrees}
        if isinstance(self.centers, str):
            singles = Bags(training.bags.instances, np.arange(training.bags.n_instances + 1))
            rng = check_random_state(self.random_state)
            selection = "random" if self.centers == "all" else self.centers
            centers = singles.instances[choose_centers(selection, self.n_centers, singles, "mean", rng)]
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
        """Compute a bootstrap interval of the class prior by resampling positive and unlabeled bags.

        Every choice is repeated for every sample: the cut for "tail", and degree and ridge for "ratio". The
        scores of "tail" are those of the fit. Samples with repeated bags are fitted too closely, which lowers
        their estimates. The interval therefore uses quantiles of the estimates relative to their median.

        If the scores show that the classes overlap (`estimate_.overlap`), the lower limit is 0, because the
        data then only limit the prior from above. No method can detect overlap that no score shows, such as
        negative bags among the highest scores.

        Parameters
        ----------
        X, y, sample_weight
            Bags, labels and weights that were passed to `fit`.
        level : float, default=0.95
            Confidence level of the interval.
        n_bootstrap : int, default=200
            Number of bootstrap samples.
        random_state : int, RandomState instance or None, default=None
            Seed or generator of the samples.

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
                f"X, y and sample_weight do not match the training data, which had {len(sample.y)} rows; "
                "pass the bags, labels and weights that were passed to fit."
            )
        if self.method != "tail":
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
        estimates = []
        if self.method != "ratio":
            estimates.append(sample.tail(weight).class_prior)
        if self.method != "tail":
            _, path = sample.ratio(self.ridge, weight)
            estimates.append(float(path.class_priors[path.best]))
        return min(estimates)


def check_degrees(degrees: int | Sequence[int], name: str) -> list[int]:
    """Return one or several degrees as a sorted list of distinct values."""
    result = sorted({int(degree) for degree in np.atleast_1d(degrees)})
    if not result or result[0] < 1:
        raise ValueError(f"{name} must be one or more integers >= 1; got {degrees!r}.")
    return result
