"""Base classes of bag classifiers: training labels, and predictions from bag or instance scores."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d

from bagwise.data.bags import Bags, aligned
from bagwise.data.bags.parts import as_python
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
from bagwise.models.base.tags import BagClassifierTags


class BagClassifier(ClassifierMixin, BagEstimator):
    """Base class of bag classifiers; for two classes, ``positive_label_`` is the positive class.

    Inside a model, codes, scores and columns refer to the negative and the positive class, in this order. The
    public methods return them in the order of ``classes_`` (`_signed`, `_in_class_order`).
    """

    classes_: np.ndarray
    positive_label_: Any

    # The parameter `positive`; None for classes without it and for models saved by older versions.
    positive: Any = None

    # What a fit does if there are two text labels and `positive` is None. "compare" fits both directions and
    # keeps the one with the smaller `_direction_loss`. "last" uses the label that sorts last, for models that
    # predict the same labels after the classes are swapped, except for ties. "refuse" raises an error.
    _text_labels: Literal["compare", "last", "refuse"] = "compare"

    # Whether `fit` accepts `y` with positive labels only; ``classes_`` then contains only this label.
    _learns_from_positives_only = False
    # Whether the classifier supports more than two classes.
    _takes_many_classes = False

    @property
    def _can_use_absence(self) -> bool:
        """Whether adding an instance to a bag can lower the score of the positive class; see `tags`."""
        return True

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
            Whether the weights include `class_weight` (binary models only). Otherwise, the weight of a bag is
            its number of copies, which some models need.
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
            factors = class_factors(class_weight, self._two_labels, codes, training.weight)
            training = training._replace(weight=training.weight * factors[codes])
        if training.weight.all():
            return training
        if len(self.classes_) > 1:
            refuse_lost_classes(self, codes[training.weight > 0])
        return training.that_count() if drop else training

    def _encode_known(self, y: ArrayLike, bags: Bags) -> np.ndarray:
        """Encode labels passed to a fitted model: int8, 1 for the positive class."""
        labels: np.ndarray = column_or_1d(np.asarray(aligned("y", y, bags)))
        require_label_per_bag(labels, bags)
        refuse_unknown_labels(labels, self.classes_)
        return (labels == self._two_labels[-1]).astype(np.int8)

    @property
    def _is_reversed(self) -> bool:
        """Whether ``classes_[0]`` is the positive class; False for models of older versions."""
        classes = self.classes_
        return len(classes) == 2 and getattr(self, "positive_label_", classes[1]) == classes[0]

    def _direction_loss(self, X: BagsLike, y: ArrayLike, weight: np.ndarray) -> float:
        """Return the loss by which fits with each label as the positive class are compared.

        By default, it is ``objective_``. For a model without an objective, it is the share of training labels
        that the model predicts incorrectly. `weight` contains the bag weights.
        """
        return float(self.objective_) if hasattr(self, "objective_") else 1.0 - self.score(X, y, weight)

    @property
    def _direction_criterion(self) -> str:
        """The name of `_direction_loss` in the warning."""
        return "objective" if hasattr(self, "objective_") else "training error"

    def _signed(self, scores: np.ndarray) -> np.ndarray:
        """Return scores of the positive class as scores of ``classes_[1]``."""
        return -scores if self._is_reversed else scores

    def _in_class_order(self, columns: np.ndarray) -> np.ndarray:
        """Return columns of the negative and the positive class in the order of ``classes_``."""
        return columns[:, ::-1] if self._is_reversed else columns

    def score(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of the predicted labels.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,)
            True labels of the bags.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        float
        """
        return super().score(X, aligned("y", y, X), aligned("sample_weight", sample_weight, X))

    def _labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels predicted by scores: one score of the positive class, or one score per class.

        All predictions from scores use this method. Predictions from probabilities use `_more_probable`.
        """
        if scores.ndim > 1:
            return self.classes_[scores.argmax(axis=1)]
        return self._two_labels[is_positive(scores).astype(int)]

    def _more_probable(self, proba: np.ndarray) -> np.ndarray:
        """Return the most probable labels; a tie of two classes is positive.

        Two columns are the negative and the positive class, more columns are ``classes_``.
        """
        if proba.shape[1] > 2:
            return self.classes_[proba.argmax(axis=1)]
        return self._two_labels[is_as_probable(proba[:, 1], proba[:, 0]).astype(int)]

    @property
    def _two_labels(self) -> np.ndarray:
        """The negative and the positive label."""
        return self.classes_[::-1] if self._is_reversed else self.classes_

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        is_older = "positive" not in state and "positive" in inspect.signature(type(self)).parameters
        if is_older and len(state.get("classes_", ())) in (1, 2) and not state.get("multilabel_", False):
            self.positive_label_ = as_python(self.classes_[-1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = BagClassifierTags(
            **asdict(tags.classifier_tags) | {"multi_class": self._takes_many_classes},
            can_use_absence=self._can_use_absence,
        )
        return tags


class ScoreClassifier(BagClassifier):
    """Base class of classifiers whose `decision_function` and `predict` use one score per bag.

    Subclasses define `fit` and `_bag_scores`.
    """

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        """Return bag scores: shape (n_bags,), high for the positive class, or (n_bags, n_classes)."""
        raise NotImplementedError

    def _positive_scores(self, X: BagsLike) -> np.ndarray:
        """Return the score of the positive class for every bag, or one score per class."""
        return self._by_blocks(X, self._bag_scores)

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the score of every bag; scores are positive for ``classes_[1]``.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
            With more than two classes, shape (n_bags, n_classes).
        """
        return self._signed(self._positive_scores(X))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every bag; a score of 0 is predicted as positive.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return self._labels_of(self._positive_scores(X))


class InstanceScoreClassifier(ScoreClassifier):
    """Base class of classifiers with instance scores; a bag's score is the largest score of its instances.

    Subclasses define `fit` and `_instance_scores`. If an instance has several scores, one per column, the
    largest score of a bag is taken per column, and `_joined` combines the columns.
    """

    @property
    def _can_use_absence(self) -> bool:
        # A subclass can define different bag scores.
        return type(self)._bag_scores is not InstanceScoreClassifier._bag_scores

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
        return self._signed(self._by_blocks(X, self._joined_instance_scores))

    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every instance as a one-instance bag: shape (n_instances,)."""
        return self._labels_of(self._by_blocks(X, self._joined_instance_scores))
