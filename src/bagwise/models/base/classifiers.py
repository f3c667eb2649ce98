"""Base classes of bag classifiers: training labels, and predictions from bag or instance scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d

from bagwise.data.bags import Bags
from bagwise.data.types import BagsLike
from bagwise.models.base.estimators import BagEstimator
from bagwise.models.base.labels import (
    Training,
    class_factors,
    encode_labels,
    is_as_probable,
    is_positive,
    refuse_lost_classes,
    refuse_unknown_labels,
    require_label_per_bag,
)


class BagClassifier(ClassifierMixin, BagEstimator):
    """Base class of bag classifiers; for two classes, ``classes_[1]`` is the positive class."""

    classes_: np.ndarray

    # Whether `fit` accepts `y` with positive labels only; ``classes_`` then contains only this label.
    _learns_from_positives_only = False
    # Whether the classifier supports more than two classes.
    _takes_many_classes = False

    def _read_training(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        binary: bool | None = True,
        with_class_weight: bool = True,
        drop: bool = True,
    ) -> Training:
        """Validate the arguments of `fit`; set ``classes_`` and ``training_digest_``.

        Parameters
        ----------
        X, y, sample_weight : collection of bags, arrays
            The arguments of `fit`.
        binary : bool or None
            True if the model supports two classes only, otherwise None or False: see `encode_labels`.
        with_class_weight : bool
            Whether the weights include `class_weight` (binary models only). Without it, the weights are the
            numbers of copies of each bag, which some models need.
        drop : bool
            Whether bags of weight zero are dropped.

        Returns
        -------
        Training
        """
        bags = self._read(X, reset=True)
        codes = encode_labels(
            self, y, X, bags, binary=binary, positive_alone=self._learns_from_positives_only
        )
        training = self._training(bags, codes, sample_weight)
        class_weight = getattr(self, "class_weight", None)
        if class_weight is not None and with_class_weight:
            factors = class_factors(class_weight, self.classes_, codes, training.weight)
            training = training._replace(weight=training.weight * factors[codes])
        if training.weight.all():
            return training
        if len(self.classes_) > 1:
            refuse_lost_classes(self, codes[training.weight > 0])
        return training.that_count() if drop else training

    def _encode_known(self, y: ArrayLike, bags: Bags) -> np.ndarray:
        """Encode labels passed to a fitted model: int8, 1 for the positive class."""
        labels: np.ndarray = column_or_1d(y)
        require_label_per_bag(labels, bags)
        refuse_unknown_labels(labels, self.classes_)
        return (labels == self.classes_[-1]).astype(np.int8)

    def _labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels predicted by scores: one score per row, or one score per class.

        All predictions from scores use this method. Predictions from probabilities use `_more_probable`.
        """
        chosen = is_positive(scores).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def _more_probable(self, proba: np.ndarray) -> np.ndarray:
        """Return the most probable labels, from one column per class; a tie of two classes is positive."""
        if proba.shape[1] > 2:
            return self.classes_[proba.argmax(axis=1)]
        return self._two_labels[is_as_probable(proba[:, 1], proba[:, 0]).astype(int)]

    @property
    def _two_labels(self) -> np.ndarray:
        """The negative and the positive label."""
        return self.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_many_classes
        return tags


class ScoreClassifier(BagClassifier):
    """Base class of classifiers whose `decision_function` and `predict` use one score per bag.

    Subclasses define `fit` and `_bag_scores`.
    """

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        """Return bag scores: shape (n_bags,), positive for ``classes_[1]``, or (n_bags, n_classes)."""
        raise NotImplementedError

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the score of every bag; scores are positive for the positive class.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
            With more than two classes, shape (n_bags, n_classes).
        """
        return self._by_blocks(X, self._bag_scores)

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every bag: the positive label if the score is >= 0.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return self._labels_of(self._by_blocks(X, self._bag_scores))


class InstanceScoreClassifier(ScoreClassifier):
    """Base class of classifiers with instance scores; a bag's score is the largest score of its instances.

    Subclasses define `fit` and `_instance_scores`. If an instance has several scores, one per column, the
    largest score of a bag is taken per column, and `_joined` combines the columns.
    """

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        """Return instance scores: shape (n_instances,), or (n_instances, n_columns) for `_joined`."""
        raise NotImplementedError

    def _joined(self, scores: np.ndarray) -> np.ndarray:
        """Combine the columns of `_instance_scores` into one score, or into one score per class."""
        return scores

    def _joined_instance_scores(self, bags: Bags) -> np.ndarray:
        return self._joined(self._instance_scores(bags))

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        return self._joined(np.maximum.reduceat(self._instance_scores(bags), bags.offsets[:-1], axis=0))

    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Return the scores of all instances as one-instance bags: (n_instances,) or (.., n_classes)."""
        return self._by_blocks(X, self._joined_instance_scores)

    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every instance as a one-instance bag: shape (n_instances,)."""
        return self._labels_of(self._by_blocks(X, self._joined_instance_scores))
