"""One model of bags per label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import HasMethods, available_if
from bagwise.exceptions import warn_user
from bagwise.models.base import BagsLike, validated_fit
from bagwise.models.base.streaming import learns_from_scans
from bagwise.models.multilabel.label_matrix import LabelMatrixClassifier
from bagwise.models.wrappers.multiclass import _estimator_has


class MultiLabelBagClassifier(LabelMatrixClassifier):
    """One model of bags per label, each fitted as if there were no other labels.

    A bag may have any number of labels: the species heard in a recording, the things seen in a picture.
    For every label a clone of `estimator` learns which bags have it, and says so of instances too where it
    can. scikit-learn's `OneVsRestClassifier` and `MultiOutputClassifier` take bags as they are; this one
    adds instance-level predictions, and labels that no training bag has, as happens in folds.

    Labels that exclude each other in an instance (a segment of a recording has one singer) are better
    learned together: `MIMLLogisticRegression`.

    Parameters
    ----------
    estimator : classifier of bags
        Cloned for every label.
    n_jobs : int or None, default=None
        Labels fitted at the same time.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The numbers of the columns of `y`; for a 1-D `y`, its two classes.
    estimators_ : list of n_labels classifiers
        Fitted with the classes 0 and 1. A label that all training bags have, or none, has no model but a
        constant: it is predicted, or not, for bags and instances alike. A warning names it.
    multilabel_ : bool
        Whether `y` was a matrix.
    label_names_ : array of shape (n_labels,)
        If so: the names of its columns, if it was a data frame, or else their numbers.

    Notes
    -----
    A fit costs one of `estimator` for every label that some training bags have and others have not.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import MILogisticRegression, MultiLabelBagClassifier, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> y = np.column_stack([data.y, data.bags.sizes > 8])  # two labels a bag
    >>> model = MultiLabelBagClassifier(MILogisticRegression(random_state=0)).fit(data.bags, y)
    >>> model.predict_proba(data.bags).shape
    (60, 2)
    >>> model.predict_proba_instances(data.bags).shape == (data.bags.n_instances, 2)
    True
    """

    estimators_: list[Any]

    _largest_value = np.inf  # the classifiers of labels read the bags, too
    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_jobs": [None, int],
    }

    def __init__(self, estimator: Any, *, n_jobs: int | None = None):
        self.estimator = estimator
        self.n_jobs = n_jobs

    @property
    def _streams(self) -> bool:
        return learns_from_scans(self.estimator)

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a model for every label.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The training bags.
        y : array of shape (n_bags, n_labels) or (n_bags,)
            1 where a bag has a label, 0 elsewhere; or two classes, as for any classifier of bags.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags, handed to the models.

        Returns
        -------
        self
        """
        bags, labels, weight = self._read_label_matrix(X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": weight}

        def fit_label(column: np.ndarray) -> Any:
            if (column == column[0]).all():
                return _Always(int(column[0]))
            return clone(self.estimator).fit(bags, column.astype(int), **weights)

        for label in np.flatnonzero((labels == labels[0]).all(axis=0)):
            who = "every" if labels[0, label] else "no"
            warn_user(f"label {label} is that of {who} training bag; it has no model.")
        with interruptible(at_once=True):
            self.estimators_ = Parallel(n_jobs=self.n_jobs)(delayed(fit_label)(column) for column in labels.T)
        return self

    def _columns(self, method: str, X: Any, *of_label: Any) -> np.ndarray:
        """Ask the model of every label, and put the answers side by side: shape (n, n_labels).

        `of_label` are further arguments, with a column per label. Of two classes the second is taken.
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
        """Probability of every label, for every bag: shape (n_bags, n_labels)."""
        return self._as_proba(self._columns("predict_proba", X))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Score of every label, for every bag: shape (n_bags, n_labels)."""
        return self._scores("decision_function", X)

    @available_if(_estimator_has("predict_instances"))
    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the labels of every instance: indicators of shape (n_instances, n_labels)."""
        return self._as_labels(self._columns("predict_instances", X))

    @available_if(_estimator_has("predict_proba_instances"))
    def predict_proba_instances(self, X: BagsLike) -> np.ndarray:
        """Probability of every label, for every instance: shape (n_instances, n_labels)."""
        return self._as_proba(self._columns("predict_proba_instances", X))

    @available_if(_estimator_has("decision_function_instances"))
    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Score of every label, for every instance: shape (n_instances, n_labels)."""
        return self._scores("decision_function_instances", X)

    @available_if(_estimator_has("posterior_instances"))
    def posterior_instances(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Probability of every label, for every instance, given the labels `y` of the bags."""
        bags = self._read(X, whole=False)
        posterior = self._columns("posterior_instances", bags, self._encode_label_matrix(y, bags))
        return posterior if self.multilabel_ else posterior[:, 0]

    def _scores(self, method: str, X: Any) -> np.ndarray:
        scores = self._columns(method, X)
        return scores if self.multilabel_ else scores[:, 0]


class _Always:
    """Stands for the model of a label that all training bags have (1) or none (0)."""

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
