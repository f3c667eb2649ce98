"""MILES: a 1-norm SVM that selects the instances with which bags are compared."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import ClassWeight, PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import (
    CLASS_WEIGHT_CONSTRAINT,
    SCALE_CONSTRAINT,
    BagsLike,
    Scaled,
    ScoreClassifier,
    validated_fit,
)
from bagwise.models.prototypes.choosing import COUNT_CONSTRAINT, INSTANCE_KINDS, choose_instances
from bagwise.solvers.l1_svm import minimize_l1_svm

if TYPE_CHECKING:
    from bagwise.models.prototypes.points import Prototypes


# Similarities are rounded to this many binary digits. Otherwise rounding errors in the last digits, which
# depend on the order of bags, would select one of several equally good solutions.
_DIGITS = 40
# Distances that differ by less are ties: both instances count as nearest.
_TIE = 1e-12


class MILESClassifier(Scaled, ScoreClassifier):
    """MILES: a linear classifier of a bag's similarities to a sparse selection of training instances.

    With prototypes t_k, by default all distinct training instances, and the distance d of scaled features,
    the fit minimizes ::

        sum_k |w_k| + C sum_i c_i max(0, 1 - y_i f(X_i)),    f(X) = b + sum_k w_k s_k(X),
                                                             s_k(X) = max_j exp(-d(x_j, t_k)^2 / width^2)

    over w and b, for bags i with labels y_i = 1 or -1 and weights c_i. This is a linear program. Most w_k are
    zero: the fit selects prototypes that are close to instances of bags of one class, but not of the other.
    Prototypes may support either class, and a bag may need several of them.

    Use it when a bag's label depends on the presence of several kinds of instances. The standard assumption
    (a bag is positive if one of its instances is) is not needed.

    Parameters
    ----------
    C : float, default=2.0
        Weight of the errors relative to the 1-norm.
    prototypes : {"all", "sample", "kmeans"}, default="all"
        "all" uses all distinct instances, "sample" a random sample of them, and "kmeans" k-means centers.
    n_prototypes : int, default=100
        Maximum number of prototypes for "sample" and "kmeans".
    width : float or None, default=None
        Width of the similarity, on the scale of ``scaler_``. None is the median distance from a bag to a
        prototype that is not an instance of the bag.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        Scaling of the instances before the fit.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied by the bag weights.
    positive : label or None, default=None
        Label of the positive class, which is predicted at ties. By default it is the label that sorts last.
        Apart from ties, the two classes are treated alike.
    random_state : int, RandomState or None, default=None
        Seed or generator for "sample" and "kmeans".

    Attributes
    ----------
    prototypes_ : Prototypes
        The prototypes with a nonzero weight: ``points`` on the scale of ``scaler_``, and ``gamma`` = 1 /
        width^2.
    coef_ : array of shape (n_selected,)
        Weights w of the prototypes.
    intercept_ : float
        The intercept b.
    objective_ : float
        The minimum of the objective.
    scaler_ : transformer or None
        The fitted `scale`.
    classes_ : array of shape (2,)
        Class labels.
    positive_label_ : label
        Label of the positive class.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    With "all", a fit needs O(n_instances^2 * n_features) time for distances, memory for n_bags * n_instances
    similarities, and the solution of a linear program (HiGHS) with n_bags rows and twice as many columns as
    instances. If this is too much, use "sample" or "kmeans". The paper writes ``lambda |w|`` and weights
    errors of positive bags by mu and those of negative bags by 1 - mu. For mu = 1/2 this is C = 1 / (2
    lambda); for other values, also set `class_weight`.

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

    # Exchanging the classes changes the sign of the score.
    _text_labels = "last"
    _parameter_constraints: dict[str, Any] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "prototypes": [StrOptions(INSTANCE_KINDS)],
        "n_prototypes": COUNT_CONSTRAINT,
        "width": [Interval(Real, 0, None, closed="neither"), None],
        "scale": SCALE_CONSTRAINT,
        "class_weight": CLASS_WEIGHT_CONSTRAINT,
        "random_state": ["random_state"],
        "positive": "no_validation",
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
        positive: PositiveLabel = None,
        random_state: Seed = None,
    ):
        self.C = C
        self.prototypes = prototypes
        self.n_prototypes = n_prototypes
        self.width = width
        self.scale = scale
        self.class_weight = class_weight
        self.positive = positive
        self.random_state = random_state

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Labels of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        raw = self._read_training(X, y, sample_weight)
        bags, y, weight = self._fit_scaler(raw)
        prototypes = choose_instances(self, raw.bags)
        squares = prototypes.least(bags)
        prototypes = prototypes.with_width(self.width, squares, weight)
        similarities = np.round(np.ldexp(np.exp(-prototypes.gamma * squares), _DIGITS)) * 2.0**-_DIGITS
        with interruptible(at_once=True):
            coef, self.intercept_, self.objective_ = minimize_l1_svm(
                similarities, np.where(y == 1, 1.0, -1.0), self.C * weight
            )
        selected = np.flatnonzero(np.abs(coef) > 1e-9 * np.abs(coef).max(initial=0.0))
        self.prototypes_, self.coef_ = prototypes.select(selected), coef[selected]
        return self

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        return np.exp(-self.prototypes_.least(self._scaled(bags))) @ self.coef_ + self.intercept_

    def instance_credits(self, X: BagsLike) -> np.ndarray:
        """Return the contribution of every instance to the score of its bag: shape (n_instances,).

        The contribution of a prototype to the score is assigned to the instance nearest to it, or in equal
        parts to all nearest instances. The contributions of a bag's instances and the intercept add up to its
        score. An instance that is not the nearest to any prototype contributes 0.
        """
        return self._by_blocks(X, self._credits)

    def _credits(self, bags: Bags) -> np.ndarray:
        return self._shared_out(bags)[0]

    def _shared_out(self, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Return the contribution of every instance, and whether it is the nearest to any prototype."""
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
        """Return the contribution of every instance plus a share of the intercept: shape (n_instances,).

        The intercept is divided evenly among the instances that are nearest to some prototype, so that their
        scores add up to the score of the bag. The score of any other instance is this share alone.
        """
        return self._signed(self._by_blocks(X, self._instance_scores))

    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every instance; scores >= 0 are positive: shape (n_instances,)."""
        return self._labels_of(self._by_blocks(X, self._instance_scores))
