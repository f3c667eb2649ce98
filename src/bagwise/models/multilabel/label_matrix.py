"""Bag labels as indicator matrices, including bags with at most one of several labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from bagwise.data.bags import Bags
from bagwise.data.bags.parts import without_mask
from bagwise.models.base import (
    BagClassifier,
    BagsLike,
    Training,
    encode_labels,
    refuse_lost_classes,
    refuse_unknown_labels,
)
from bagwise.models.base.labels import is_missing_value


class LabelMatrixClassifier(BagClassifier):
    """Base class of bag classifiers that accept one label per bag or an indicator matrix of labels.

    `fit` sets ``multilabel_``. With an indicator matrix, ``classes_`` contains its column indices,
    ``label_names_`` contains the column names of a data frame, and predictions have one column per label.
    With a 1-D `y` of two classes, predictions have the shapes of a binary classifier. If `_takes_one_label`
    is set, a 1-D `y` can contain more classes, and bags without a label: ``classes_`` then contains these
    classes, and predictions have one column per class.
    """

    multilabel_: bool
    classes_: np.ndarray
    label_names_: np.ndarray | None

    # Whether a 1-D `y` can contain more than two labels, one per bag. After the fit, `_shows_one` is True if
    # it did, and `_shows_none` is True if there were also bags without a label.
    _takes_one_label = False
    _shows_one = False
    _shows_none = False

    def _read_label_matrix(
        self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Training:
        """Validate the arguments of `fit`; the labels become int8 of shape (n_bags, n_labels)."""
        bags = self._read(X, reset=True)
        self.multilabel_ = _is_matrix(y)
        self.__dict__.pop("positive_label_", None)  # set by an earlier fit to two classes
        single_label = None
        if self._takes_one_label and not self.multilabel_ and np.asarray(y).shape[:1] == (len(bags),):
            single_label = read_one_label(y)
        self._shows_one, self._shows_none = single_label is not None, False
        if single_label is not None:
            column_or_1d(y, warn=True)  # warns about a matrix with one column, like other estimators
            self.classes_, labels = single_label
            self._shows_none = bool((labels.sum(axis=1) == 0).any())
        elif self.multilabel_:
            labels = _indicator(y, bags)
            self.classes_ = np.arange(labels.shape[1])
            self.label_names_ = self.classes_
            if hasattr(y, "columns"):
                self.label_names_ = np.asarray([str(name) for name in y.columns])
        else:
            labels = encode_labels(self, y, X, bags)[:, None]
        if not self.multilabel_:
            self.__dict__.pop("label_names_", None)
        training = self._training(bags, labels, sample_weight).that_count()
        if not self._has_columns:
            refuse_lost_classes(self, training.y)
        return training

    def _encode_label_matrix(self, y: Any, bags: Bags) -> np.ndarray:
        """Encode labels passed to a fitted model: int8 of shape (n_bags, n_labels)."""
        if not self._has_columns:
            return self._encode_known(y, bags)[:, None]
        if self._shows_one and len(np.shape(y)) == 1 and len(y) == len(bags):
            return encode_one_label(y, self.classes_)
        if np.shape(y) != (len(bags), len(self.classes_)):
            raise ValueError(
                f"y has the shape {np.shape(y)}; expected a row for each of {len(bags)} bags and a column "
                f"for each of {len(self.classes_)} labels."
            )
        return _indicator(y, bags)

    @property
    def _has_columns(self) -> bool:
        """Whether predictions have one column per label instead of the shapes of a binary classifier."""
        return self.multilabel_ or self._shows_one

    def _as_labels(self, is_positive: np.ndarray) -> np.ndarray:
        """Convert decisions of shape (n, n_labels) into an indicator matrix or, for one label, classes."""
        if self.multilabel_:
            return is_positive.astype(np.int64)
        return self._two_labels[is_positive[:, 0].astype(int)]

    def _as_proba(self, positive: np.ndarray) -> np.ndarray:
        """Return probabilities of shape (n, n_labels); for one label, the probabilities of both classes."""
        if self._has_columns:
            return positive
        return self._in_class_order(np.column_stack([1.0 - positive[:, 0], positive[:, 0]]))

    def _as_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return scores of shape (n, n_labels) or, for one label, the scores of ``classes_[1]``."""
        return scores if self._has_columns else self._signed(scores[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _is_matrix(y: Any) -> bool:
    shape = (y if sp.issparse(y) else np.asarray(y)).shape
    return len(shape) == 2 and shape[1] != 1


def _indicator(y: Any, bags: Bags) -> np.ndarray:
    y = check_array(y.toarray() if sp.issparse(y) else y, dtype=None, input_name="y", ensure_min_features=0)
    if len(y) != len(bags):
        raise ValueError(f"X has {len(bags)} bags but y has {len(y)} rows; pass one row per bag.")
    if y.shape[1] == 0 or not np.isin(y, (0, 1)).all():
        raise ValueError(
            "y has two dimensions but is not an indicator matrix; expected 1 if a bag (row) has a label "
            "(column) and 0 otherwise. Use sklearn.preprocessing.MultiLabelBinarizer to convert label lists."
        )
    return np.ascontiguousarray(y, dtype=np.int8)


def read_one_label(y: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Read a column of labels; return the distinct labels and indicators of shape (n_bags, n_labels).

    None and NaN represent a bag without a label. The function returns None if `y` is not of this kind: if it
    contains fewer than three classes and no missing labels, continuous values, or no labels.
    """
    values, missing = _column(y)
    present = values[~missing]
    if len(present) == 0 or (not missing.any() and len(present) < 3):
        return None
    if present.dtype == object:
        present = np.asarray(present.tolist())
    is_finite = present.dtype.kind != "f" or bool(np.isfinite(present).all())
    if not is_finite or type_of_target(present).startswith(("continuous", "unknown")):
        return None
    classes = np.unique(present)
    if not missing.any() and len(classes) < 3:
        return None
    return classes, _indicators(values, missing, classes)


def encode_one_label(y: Any, classes: np.ndarray) -> np.ndarray:
    """Encode labels passed to a fitted model as indicators; None and NaN are bags without a label."""
    values, missing = _column(y)
    refuse_unknown_labels(values[~missing], classes, besides=", and None for bags without a label")
    return _indicators(values, missing, classes)


def _column(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a column, and a mask of the missing values."""
    values = np.ravel(np.asarray(without_mask(y)))
    if values.dtype == object:
        return values, np.array([is_missing_value(value) for value in values], dtype=bool)
    return values, np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _indicators(values: np.ndarray, missing: np.ndarray, classes: np.ndarray) -> np.ndarray:
    labels = np.zeros((len(values), len(classes)), dtype=np.int8)
    labels[~missing] = values[~missing][:, None] == classes
    return labels
