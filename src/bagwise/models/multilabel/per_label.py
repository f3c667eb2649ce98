"""`MultiLabelBagClassifier`: one bag model per label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import HasMethods, available_if
from bagwise._core.types import PositiveLabel
from bagwise.exceptions import warn_user
from bagwise.models.base import BagClassifier, BagsLike, validated_fit
from bagwise.models.base.streaming import learns_from_scans
from bagwise.models.base.tags import can_use_absence
from bagwise.models.multilabel.label_matrix import LabelMatrixClassifier
from bagwise.models.wrappers.multiclass import _estimator_has


class MultiLabelBagClassifier(LabelMatrixClassifier):
    """Multi-label classifier that fits a separate bag model for every label.

    A bag can have any number of labels: the species heard in a recording, the objects in a picture. For every
    label, a clone of `estimator` learns which bags have the label. Instances can be predicted as well if
    `estimator` predicts them. scikit-learn's `OneVsRestClassifier` and `MultiOutputClassifier` also accept
    bags. This class adds instance-level predictions and supports labels that no training bag has, which can
    occur in cross-validation.

    If every instance has at most one label (a segment of a recording has one singer), use
    `MIMLLogisticRegression`, which fits all labels together.

    Parameters
    ----------
    estimator : bag classifier
        The bag classifier, cloned for every label.
    n_jobs : int or None, default=None
        Number of labels fitted in parallel.
    positive : label or None, default=None
        Label of the positive class, if `y` is 1-D with two classes: see `MILogisticRegression`.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The column indices of `y`; for a 1-D `y`, its two classes.
    positive_label_ : label
        Label of the positive class, if there are two classes.
    estimators_ : list of n_labels classifiers
        Classifiers with the classes 0 and 1. If all training bags or none of them have a label, the
        classifier of this label is a constant, for bags and for instances. A warning reports the label.
    multilabel_ : bool
        Whether `y` was a matrix.
    label_names_ : array of shape (n_labels,)
        Column names of `y` if it was a data frame, otherwise column indices. Not set for a 1-D `y`.

    Notes
    -----
    `estimator` is fitted once for every label that is present in some training bags and absent in others.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import MILogisticRegression, MultiLabelBagClassifier, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> y = np.column_stack([data.y, data.bags.sizes > 8])  # two labels per bag
    >>> model = MultiLabelBagClassifier(MILogisticRegression(random_state=0)).fit(data.bags, y)
    >>> model.predict_proba(data.bags).shape
    (60, 2)
    >>> model.predict_proba_instances(data.bags).shape == (data.bags.n_instances, 2)
    True
    """

    estimators_: list[Any]

    _largest_value = np.inf  # the classifiers of the labels validate the bags
    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_jobs": [None, int],
        "positive": "no_validation",
    }

    def __init__(self, estimator: Any, *, n_jobs: int | None = None, positive: PositiveLabel = None):
        self.estimator = estimator
        self.positive = positive
        self.n_jobs = n_jobs

    @property
    def _streams(self) -> bool:
        return learns_from_scans(self.estimator)

    @property
    def _can_use_absence(self) -> bool:
        return can_use_absence(self.estimator)

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a model for every label.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The training bags.
        y : array of shape (n_bags, n_labels) or (n_bags,)
            Indicators: 1 if a bag has a label, 0 otherwise. A 1-D `y` contains two classes, as in any bag
            classifier.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags, passed to the models.

        Returns
        -------
        self
        """
        bags, labels, weight = self._read_label_matrix(X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": weight}

        def fit_label(column: np.ndarray) -> Any:
            if (column == column[0]).all():
                return _Always(int(column[0]))
            model = clone(self.estimator)
            if "_direction" in self.__dict__ and isinstance(model, BagClassifier):
                model._direction = 1  # `_direction_loss` of the model will be compared
            return model.fit(bags, column.astype(int), **weights)

        for label in np.flatnonzero((labels == labels[0]).all(axis=0)):
            quantifier = "every" if labels[0, label] else "no"
            warn_user(f"{quantifier} training bag has label {label}; its model predicts a constant.")
        with interruptible(at_once=True):
            self.estimators_ = Parallel(n_jobs=self.n_jobs)(delayed(fit_label)(column) for column in labels.T)
        return self

    def _direction_loss(self, X: BagsLike, y: ArrayLike, weight: np.ndarray) -> float:
        model = self.estimators_[0]
        if not isinstance(model, BagClassifier):
            return super()._direction_loss(X, y, weight)
        del model._direction
        return model._direction_loss(X, self._encode_label_matrix(y, self._read(X))[:, 0], weight)

    @property
    def _direction_criterion(self) -> str:
        model = self.estimators_[0]
        is_ours = isinstance(model, BagClassifier)
        return model._direction_criterion if is_ours else super()._direction_criterion

    def _columns(self, method: str, X: Any, *of_label: Any) -> np.ndarray:
        """Return the predictions of all models as columns: shape (n, n_labels).

        `of_label` are further arguments of `method`, with one column per label. If a model returns two
        columns, the second one is used.
        """
        bags = self._read(X, whole=False)
        answers = (
            getattr(model, method)(bags, *(argument[:, label] for argument in of_label))
            for label, model in enumerate(self.estimators_)
        )
        return np.column_stack([answer[:, 1] if answer.ndim == 2 else answer for answer in answers])

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the labels of every bag: indicators of shape (n_bags, n_labels)."""
        return self._as_labels(self._columns("predict", X))

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Return the probability of every label for every bag: shape (n_bags, n_labels)."""
        return self._as_proba(self._columns("predict_proba", X))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the score of every label for every bag: shape (n_bags, n_labels)."""
        return self._as_scores(self._columns("decision_function", X))

    @available_if(_estimator_has("predict_instances"))
    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the labels of every instance: indicators of shape (n_instances, n_labels)."""
        return self._as_labels(self._columns("predict_instances", X))

    @available_if(_estimator_has("predict_proba_instances"))
    def predict_proba_instances(self, X: BagsLike) -> np.ndarray:
        """Return the probability of every label for every instance: shape (n_instances, n_labels)."""
        return self._as_proba(self._columns("predict_proba_instances", X))

    @available_if(_estimator_has("decision_function_instances"))
    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Return the score of every label for every instance: shape (n_instances, n_labels)."""
        return self._as_scores(self._columns("decision_function_instances", X))

    @available_if(_estimator_has("posterior_instances"))
    def posterior_instances(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Return the probability of every label for every instance, given the labels `y` of the bags."""
        bags = self._read(X, whole=False)
        posterior = self._columns("posterior_instances", bags, self._encode_label_matrix(y, bags))
        return posterior if self.multilabel_ else posterior[:, 0]


class _Always:
    """Constant model of a label that all training bags (1) or no training bags (0) have."""

    def __init__(self, value: int):
        self.value = value

    def predict(self, bags: Any) -> Any:
        return np.full(len(bags), self.value)

    def predict_instances(self, bags: Any) -> Any:
        return np.full(bags.n_instances, self.value)

    def predict_proba(self, bags: Any) -> Any:
        return np.tile([1.0 - self.value, self.value], (len(bags), 1))

    def predict_proba_instances(self, bags: Any) -> Any:
        return np.tile([1.0 - self.value, self.value], (bags.n_instances, 1))

    def decision_function(self, bags: Any) -> Any:
        return np.full(len(bags), 2.0 * self.value - 1.0)

    def decision_function_instances(self, bags: Any) -> Any:
        return np.full(bags.n_instances, 2.0 * self.value - 1.0)

    def posterior_instances(self, bags: Any, y: Any) -> Any:
        return np.full(bags.n_instances, float(self.value))
