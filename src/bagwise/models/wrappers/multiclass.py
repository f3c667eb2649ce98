"""One-vs-one classification of bags, and bags for scikit-learn tools that only accept a matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import HasMethods, available_if, votes_and_scores
from bagwise.data.bags import Bags
from bagwise.data.scanned import ScannedBags
from bagwise.exceptions import PositiveClassWarning
from bagwise.models.base import BagClassifier, BagsLike, ScoreClassifier, is_positive, validated_fit
from bagwise.models.base.streaming import learns_from_scans
from bagwise.models.base.tags import can_use_absence
from bagwise.models.wrappers.instance_level import instance_model

# Scores count as equal if their relative difference is at most this: solvers are not more precise.
_EQUAL = 1e-9


def _pairs_predict_instances(model: Any) -> bool:
    return instance_model(getattr(model, "estimators_", [model.estimator])[0]) is not None


class OneVsOneBagClassifier(ScoreClassifier):
    """Multi-class classification by a vote of binary bag classifiers, one for each pair of classes.

    The score of a bag for a class is the number of pairs in which the class wins, plus the confidence of
    these pairs, scaled to less than half a vote. scikit-learn's `OneVsOneClassifier` uses the same score but
    does not accept bags. scikit-learn's `OneVsRestClassifier` accepts bags without a wrapper.

    In each pair, one class is the positive one. This matters in multiple-instance learning: under the
    noisy-OR rule, only bags of the negative class are assumed to be free of positive instances. If the labels
    are text, the classifier of a pair chooses the positive class by its objective, as it does for two classes
    (see `positive` of `MILogisticRegression`). Predictions then do not depend on the class names. Of two
    numeric labels, the larger one is positive. With `both_ways`, each class of a pair is the positive class
    once, and the difference of the two scores determines the winner.

    If the binary classifiers score instances, `decision_function_instances` and `predict_instances` count
    their votes in the same way. With `OneVsRestClassifier`, ``estimators_`` contains one model per class;
    `instance_frame` and `key_instances` return the instance predictions of these models as columns.

    Parameters
    ----------
    estimator : bag classifier
        The binary classifier, cloned for every pair.
    both_ways : bool, default=False
        Whether each pair is fitted twice, with each class as the positive one. This is useful if the bags of
        both classes contain similar instances (pictures of beaches and of mountains both show sky).
    n_jobs : int or None, default=None
        Number of pairs fitted in parallel.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    estimators_ : list of n_classes * (n_classes - 1) / 2 classifiers
        Classifiers of the pairs (0, 1), (0, 2), ..., (1, 2), ... With `both_ways`, they are followed by
        the same number of classifiers in which the first class of the pair is the positive one.

    Notes
    -----
    With k classes there are k (k - 1) / 2 fits, each to the bags of two classes. There are twice as many with
    `both_ways`, and for text labels if the classifier must choose the positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import MILogisticRegression, OneVsOneBagClassifier, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> y = data.y + (np.arange(60) % 2)
    >>> model = OneVsOneBagClassifier(MILogisticRegression(random_state=0)).fit(data.bags, y)
    >>> model.decision_function(data.bags).shape
    (60, 3)
    """

    estimators_: list[Any]

    _takes_many_classes = True
    _text_labels = "last"  # the classifiers of the pairs choose
    _largest_value = np.inf  # the binary classifiers validate the bags
    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "both_ways": ["boolean"],
        "n_jobs": [None, int],
    }

    def __init__(self, estimator: Any, *, both_ways: bool = False, n_jobs: int | None = None):
        self.estimator = estimator
        self.both_ways = both_ways
        self.n_jobs = n_jobs

    @property
    def _streams(self) -> bool:
        return learns_from_scans(self.estimator)

    @property
    def _can_use_absence(self) -> bool:
        # Evidence for one class is evidence against the other classes.
        return self.both_ways or len(getattr(self, "classes_", ())) > 2 or can_use_absence(self.estimator)

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a classifier for every pair of classes.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The training bags.
        y : array of shape (n_bags,)
            Labels of two or more classes.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags, passed to the classifiers.

        Returns
        -------
        self
        """
        bags, codes, weight = self._read_training(X, y, sample_weight, binary=False)

        def fit_pair(low: Any, high: Any) -> Any:
            members = np.flatnonzero((codes == low) | (codes == high))
            weights = {} if sample_weight is None else {"sample_weight": weight[members]}
            estimator = clone(self.estimator)
            labels = self.classes_[codes[members]] if by_name else (codes[members] == high).astype(int)
            class_weight = getattr(estimator, "class_weight", None)
            if isinstance(class_weight, dict):  # the keys are labels of all classes
                pair = self.classes_[[low, high]].tolist()
                keys = pair if by_name else [0, 1]
                weight_of = {key: class_weight.get(label, 1.0) for key, label in zip(keys, pair, strict=True)}
                estimator.set_params(class_weight=weight_of)
            with warnings.catch_warnings():
                # The choice in each pair is an attribute of its classifier.
                warnings.simplefilter("ignore", PositiveClassWarning)
                return estimator.fit(bags[members], labels, **weights)

        pairs = list(combinations(range(len(self.classes_)), 2))
        is_text = self.classes_.dtype.kind not in "biuf"
        by_name = is_text and not self.both_ways and chooses_direction(self.estimator)
        if self.both_ways:
            pairs += [(high, low) for low, high in pairs]
        with interruptible(at_once=True):
            self.estimators_ = Parallel(n_jobs=self.n_jobs)(delayed(fit_pair)(*p) for p in pairs)
        return self

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        scores = np.column_stack([_confidence(e, bags) for e in self.estimators_])
        votes = None
        if not self.both_ways:
            votes = np.column_stack(
                [e.predict(bags) == getattr(e, "classes_", (0, 1))[1] for e in self.estimators_]
            )
        return count_votes(scores, len(self.classes_), votes)

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the votes for each class: (n_bags, n_classes), or (n_bags,) scores for two classes."""
        return super().decision_function(X)

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the class with the most votes: shape (n_bags,)."""
        return super().predict(X)

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        scores = np.column_stack(
            [_confidence(instance_model(e), bags, "_instances") for e in self.estimators_]
        )
        return count_votes(scores, len(self.classes_))

    @available_if(_pairs_predict_instances)
    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Return the votes for each class and instance: shape (n_instances, n_classes) or (n_instances,)."""
        return self._by_blocks(X, self._instance_scores)

    @available_if(_pairs_predict_instances)
    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the class with the most votes for every instance: shape (n_instances,)."""
        return self._labels_of(self._by_blocks(X, self._instance_scores))


def chooses_direction(estimator: Any) -> bool:
    """Return whether a classifier, or the one in a pipeline or a search, compares both directions."""
    if hasattr(estimator, "steps") and estimator.steps:
        return chooses_direction(estimator.steps[-1][1])
    if isinstance(estimator, BagClassifier):
        return estimator._text_labels == "compare"
    return hasattr(estimator, "estimator") and chooses_direction(estimator.estimator)


def count_votes(scores: np.ndarray, n_classes: int, votes: np.ndarray | None = None) -> np.ndarray:
    """Convert the scores of all pairs into class scores.

    Parameters
    ----------
    scores : array of shape (n, n_pairs), or (n, 2 * n_pairs) if every pair was fitted both ways
        Scores for the positive class of each pair.
    n_classes : int
        The number of classes.
    votes : array of shape (n, n_pairs), optional
        The winning class of each pair, 0 or 1; by default 1 if the score is >= 0.

    Returns
    -------
    array of shape (n, n_classes), or (n,) for two classes
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    if scores.shape[1] > n_pairs:
        forth, back = scores[:, :n_pairs], scores[:, n_pairs:]
        scores = 0.5 * (forth - back)
        # The difference of two scores that are equal up to rounding must not determine the winner of a pair.
        scores[np.abs(scores) <= _EQUAL * np.maximum(np.abs(forth), np.abs(back))] = 0.0
    if n_classes == 2:
        return scores[:, 0]
    return votes_and_scores(is_positive(scores) if votes is None else votes, scores, n_classes)


def _confidence(classifier: Any, bags: Bags, of: str = "") -> np.ndarray:
    """Return scores for the second class of bags, or of instances if `of` is "_instances"; 0 is a tie."""
    if hasattr(classifier, f"decision_function{of}"):
        return getattr(classifier, f"decision_function{of}")(bags)
    return getattr(classifier, f"predict_proba{of}")(bags)[:, 1] - 0.5


def _estimator_has(method: str) -> Callable[[Any], bool]:
    def check(adapter: Any) -> bool:
        getattr(getattr(adapter, "estimator_", adapter.estimator), method)
        return True

    return check


class ByIndex(ClassifierMixin, BaseEstimator):
    """Wrap a bag classifier so that it accepts a column of bag indices, for tools that only accept a matrix.

    scikit-learn's `BaggingClassifier`, `AdaBoostClassifier`, `SelfTrainingClassifier` and others check that
    ``X`` is a numeric matrix before they call the bag estimator. Pass them `index`, the column of bag
    indices; the adapter selects the bags with these indices.

    Parameters
    ----------
    estimator : bag classifier
        The classifier to wrap.
    bags : Bags or ScannedBags
        All training and test bags. Clones share these bags without copies.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from bagwise import ByIndex, MILogisticRegression, load_digit_bags
    >>> data = load_digit_bags(40, random_state=0)
    >>> adapter = ByIndex(MILogisticRegression(random_state=0), data.bags)
    >>> model = BaggingClassifier(adapter, n_estimators=3, random_state=0).fit(adapter.index, data.y)
    >>> model.predict_proba(adapter.index[:5]).shape
    (5, 2)
    """

    estimator_: Any
    classes_: np.ndarray

    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "bags": [Bags, ScannedBags],
    }

    def __init__(self, estimator: Any, bags: Bags | ScannedBags):
        self.estimator = estimator
        self.bags = bags

    @property
    def index(self) -> np.ndarray:
        """The column of bag indices that represents the bags: shape (n_bags, 1)."""
        return np.arange(len(self.bags))[:, None]

    def _look_up(self, X: Any, *, reset: bool = False) -> Bags:
        if not reset:
            check_is_fitted(self)
        indices = validate_data(self, X, reset=reset, dtype=np.int64)
        if indices.shape[1] != 1:
            raise ValueError(
                f"ByIndex expects one column of bag indices, such as adapter.index; X has "
                f"{indices.shape[1]} columns."
            )
        return self.bags[indices[:, 0]]

    @validated_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to the bags with the indices `X`, shape (n, 1)."""
        bags = self._look_up(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        with interruptible(at_once=True):
            self.estimator_ = clone(self.estimator).fit(bags, y, **weights)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the labels of the bags with the indices `X`."""
        return self.estimator_.predict(self._look_up(X))

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the class probabilities of the bags with the indices `X`."""
        return self.estimator_.predict_proba(self._look_up(X))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the scores of the bags with the indices `X`."""
        return self.estimator_.decision_function(self._look_up(X))
