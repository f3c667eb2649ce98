"""MILES: a 1-norm machine that selects the instances to which bags are compared."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import ClassWeight, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import (
    CLASS_WEIGHT_CONSTRAINT,
    SCALE_CONSTRAINT,
    BagsLike,
    Scaled,
    ScoreClassifier,
    validated_fit,
)
from bagwise.models.prototypes.choosing import INSTANCE_KINDS, NUMBER_CONSTRAINT, choose_instances
from bagwise.solvers.l1_svm import minimize_l1_svm

if TYPE_CHECKING:
    from bagwise.models.prototypes.points import Prototypes


# Similarities are rounded to so many binary digits before the machine sees them, so that rounding in their
# last ones, which depends on the order of bags, does not choose between solutions that are equally good.
_DIGITS = 40
# Distances that differ by less are ties: both instances are the nearest.
_TIE = 1e-12


class MILESClassifier(Scaled, ScoreClassifier):
    """A bag's score is a sparse sum of its similarities to training instances.

    With prototypes t_k, by default all different training instances, and the distance d of scaled features,
    the fit minimises ::

        sum_k |w_k| + C sum_i c_i max(0, 1 - y_i f(X_i)),    f(X) = b + sum_k w_k s_k(X),
                                                             s_k(X) = max_j exp(-d(x_j, t_k)^2 / width^2)

    over w and b, for bags i with labels y_i = 1 or -1 and weights c_i: a linear program. Most w_k are zero,
    so a fit selects the instances that bags of one class have something like, and those of the other have
    not; these may speak for either class, and a bag may need several of them.

    Use it where a bag's label follows from the presence of several kinds of instances; the standard
    assumption is not needed.

    Parameters
    ----------
    C : float, default=2.0
        What errors cost against the 1-norm.
    prototypes : {"all", "sample", "kmeans"}, default="all"
        All different instances, a random sample of them, or centres of k-means.
    n_prototypes : int, default=100
        The most prototypes of a sample or of k-means.
    width : float or None, default=None
        Of the similarity, on the scale of ``scaler_``; None is the median distance from a bag to a prototype
        that it does not hold.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before the fit.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the bags.
    random_state : int, RandomState or None, default=None
        Seed of a sample or of k-means.

    Attributes
    ----------
    prototypes_ : Prototypes
        Those with a weight: ``points`` on the scale of ``scaler_``, and ``gamma`` = 1 / width^2.
    coef_ : array of shape (n_selected,)
        Their weights w.
    intercept_ : float
        b.
    objective_ : float
        The least value.
    scaler_ : transformer or None
        As used.
    classes_ : array of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    With "all", O(n_instances^2 * n_features) for distances, memory for n_bags * n_instances similarities, and
    a linear program of n_bags rows and twice as many columns as instances (HiGHS); take a sample or k-means
    where that is too much. The paper writes ``lambda |w|`` and weighs errors of positive bags by mu and those
    of negative ones by 1 - mu: that is C = 1 / (2 lambda) for mu = 1/2, and `class_weight` for others.

    References
    ----------
    Y. Chen, J. Bi and J. Z. Wang (2006), MILES: multiple-instance learning via embedded instance selection,
    IEEE Transactions on Pattern Analysis and Machine Intelligence 28.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import MILESClassifier, make_mixture_bags
    >>> data = make_mixture_bags(60, separation=4.0, random_state=0)
    >>> model = MILESClassifier().fit(data.bags, data.y)
    >>> credits = np.add.reduceat(model.instance_credits(data.bags), data.bags.offsets[:-1])
    >>> np.allclose(credits + model.intercept_, model.decision_function(data.bags))
    True
    """

    intercept_: float
    objective_: float
    prototypes_: Prototypes
    coef_: np.ndarray

    _parameter_constraints: dict[str, Any] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "prototypes": [StrOptions(INSTANCE_KINDS)],
        "n_prototypes": NUMBER_CONSTRAINT,
        "width": [Interval(Real, 0, None, closed="neither"), None],
        "scale": SCALE_CONSTRAINT,
        "class_weight": CLASS_WEIGHT_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C: float = 2.0,
        *,
        prototypes: Literal["all", "sample", "kmeans"] = "all",
        n_prototypes: int = 100,
        width: float | None = None,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        random_state: Seed = None,
    ):
        self.C = C
        self.prototypes = prototypes
        self.n_prototypes = n_prototypes
        self.width = width
        self.scale = scale
        self.class_weight = class_weight
        self.random_state = random_state

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        raw = self._read_training(X, y, sample_weight)
        bags, y, weight = self._fit_scaler(raw)
        found = choose_instances(self, raw.bags)
        squares = found.least(bags)
        found = found.with_width(self.width, squares, weight)
        similarities = np.round(np.ldexp(np.exp(-found.gamma * squares), _DIGITS)) * 2.0**-_DIGITS
        with interruptible(at_once=True):
            coef, self.intercept_, self.objective_ = minimize_l1_svm(
                similarities, np.where(y == 1, 1.0, -1.0), self.C * weight
            )
        selected = np.flatnonzero(np.abs(coef) > 1e-9 * np.abs(coef).max(initial=0.0))
        self.prototypes_, self.coef_ = found.some(selected), coef[selected]
        return self

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        return np.exp(-self.prototypes_.least(self._scaled(bags))) @ self.coef_ + self.intercept_

    def instance_credits(self, X: BagsLike) -> np.ndarray:
        """Share the score of every bag out to its instances: shape (n_instances,).

        What a prototype adds to the score goes to the instance that is nearest to it, in equal parts to all
        that are; so the credits of a bag and the intercept add up to its score. An instance that is
        nearest to no prototype has none.
        """
        return self._by_blocks(X, self._credits)

    def _credits(self, bags: Bags) -> np.ndarray:
        return self._shared_out(bags)[0]

    def _shared_out(self, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Give the credit of every instance, and whether it is the nearest to any prototype."""
        D = self.prototypes_.distances(self._scaled(bags).instances)
        least = np.minimum.reduceat(D, bags.offsets[:-1], axis=0)
        is_nearest = np.repeat(least, bags.sizes, axis=0) + _TIE >= D
        n_ties = np.add.reduceat(is_nearest, bags.offsets[:-1], axis=0, dtype=np.float64)
        share = np.exp(-least) * self.coef_ / n_ties
        credit = (is_nearest * np.repeat(share, bags.sizes, axis=0)).sum(axis=1)
        return credit, np.asarray(is_nearest.any(axis=1))

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        credit, is_used = self._shared_out(bags)
        n_used = np.add.reduceat(is_used, bags.offsets[:-1], dtype=np.float64)
        return credit + np.repeat(self.intercept_ / np.maximum(n_used, 1.0), bags.sizes)

    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Credit of every instance, and its share of the intercept: shape (n_instances,).

        The intercept is shared out to the instances that are nearest to some prototype, whose scores so add
        up to that of their bag; others have no credit, and are compared with the same share.
        """
        return self._by_blocks(X, self._instance_scores)

    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every instance, positive where its score is zero or more: (n_instances,)."""
        return self._labels_of(self._by_blocks(X, self._instance_scores))
