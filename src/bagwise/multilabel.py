"""Bags with several labels each: labels as an indicator matrix, and one model per label."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array

from bagwise._sklearn import HasMethods
from bagwise.bags import Bags
from bagwise.base import BagClassifier, Training, bag_weights, encode_labels, validated_fit
from bagwise.multiclass import _estimator_has


class LabelMatrixClassifier(BagClassifier):
    """A classifier of bags that takes one label per bag, or a matrix of several.

    `fit` sets ``multilabel_``. With an indicator matrix, ``classes_`` numbers its columns and predictions
    have a column per label. With a 1-D `y` of two classes everything has the shapes of a binary classifier.
    """

    def _read_label_matrix(self, X, y, sample_weight=None) -> Training:
        """Read the arguments of `fit`; the labels are int8 of shape (n_bags, n_labels)."""
        bags = self._read(X, reset=True)
        self.multilabel_ = _is_matrix(y)
        if self.multilabel_:
            labels = _indicator(y, bags)
            self.classes_ = np.arange(labels.shape[1])
        else:
            labels = encode_labels(self, y, X, bags)[:, None]
        weight = bag_weights(bags, sample_weight)
        kept = weight > 0
        if not kept.all():
            bags, labels, weight = bags[kept], labels[kept], weight[kept]
            if not self.multilabel_ and len(np.unique(labels)) < 2:
                raise ValueError(
                    "the bags of non-zero sample_weight belong to one class only; "
                    f"{type(self).__name__} needs positive and negative bags, that is, two classes."
                )
        return Training(bags, labels, weight)

    def _encode_label_matrix(self, y, bags: Bags) -> np.ndarray:
        """Encode labels given after the fit: int8 of shape (n_bags, n_labels)."""
        if not self.multilabel_:
            return self._encode_known(y, bags)[:, None]
        if np.shape(y) != (len(bags), len(self.classes_)):
            raise ValueError(
                f"y has the shape {np.shape(y)}; expected a row for each of {len(bags)} bags and a column "
                f"for each of {len(self.classes_)} labels."
            )
        return _indicator(y, bags)

    def _as_labels(self, is_positive: np.ndarray) -> np.ndarray:
        """Turn decisions of shape (n, n_labels) into an indicator matrix or, for one label, classes."""
        if self.multilabel_:
            return is_positive.astype(np.int64)
        return self.classes_[is_positive[:, 0].astype(int)]

    def _as_proba(self, positive: np.ndarray) -> np.ndarray:
        """Lay out probabilities of shape (n, n_labels); for one label, of both classes."""
        return positive if self.multilabel_ else np.column_stack([1.0 - positive[:, 0], positive[:, 0]])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _is_matrix(y) -> bool:
    shape = (y if sp.issparse(y) else np.asarray(y)).shape
    return len(shape) == 2 and shape[1] != 1


def _indicator(y, bags: Bags) -> np.ndarray:
    y = check_array(y.toarray() if sp.issparse(y) else y, dtype=None, input_name="y", ensure_min_features=0)
    if len(y) != len(bags):
        raise ValueError(f"X has {len(bags)} bags but y has {len(y)} rows; give one per bag.")
    if y.shape[1] == 0 or not np.isin(y, (0, 1)).all():
        raise ValueError(
            "y has two dimensions but is no indicator matrix; expected 1 where a bag (row) has a label "
            "(column) and 0 elsewhere. sklearn.preprocessing.MultiLabelBinarizer makes one from lists."
        )
    return np.ascontiguousarray(y, dtype=np.int8)


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

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_jobs": [None, int],
    }

    def __init__(self, estimator, *, n_jobs=None):
        self.estimator = estimator
        self.n_jobs = n_jobs

    @validated_fit
    def fit(self, X, y, sample_weight=None):
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

        def fit_label(column):
            if (column == column[0]).all():
                return _Always(int(column[0]))
            return clone(self.estimator).fit(bags, column.astype(int), **weights)

        for label in np.flatnonzero((labels == labels[0]).all(axis=0)):
            who = "every" if labels[0, label] else "no"
            warnings.warn(f"label {label} is that of {who} training bag; it has no model.", stacklevel=3)
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(delayed(fit_label)(column) for column in labels.T)
        return self

    def _columns(self, method: str, X, *of_label) -> np.ndarray:
        """Ask the model of every label, and put the answers side by side: shape (n, n_labels).

        `of_label` are further arguments, with a column per label. Of two classes the second is taken.
        """
        bags = self._read(X)
        answers = (
            getattr(model, method)(bags, *(argument[:, label] for argument in of_label))
            for label, model in enumerate(self.estimators_)
        )
        return np.column_stack([answer[:, 1] if answer.ndim == 2 else answer for answer in answers])

    def predict(self, X) -> np.ndarray:
        """Predict the labels of every bag: indicators of shape (n_bags, n_labels)."""
        return self._as_labels(self._columns("predict", X))

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X) -> np.ndarray:
        """Probability of every label, for every bag: shape (n_bags, n_labels)."""
        return self._as_proba(self._columns("predict_proba", X))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X) -> np.ndarray:
        """Score of every label, for every bag: shape (n_bags, n_labels)."""
        return self._scores("decision_function", X)

    @available_if(_estimator_has("predict_instances"))
    def predict_instances(self, X) -> np.ndarray:
        """Predict the labels of every instance: indicators of shape (n_instances, n_labels)."""
        return self._as_labels(self._columns("predict_instances", X))

    @available_if(_estimator_has("predict_proba_instances"))
    def predict_proba_instances(self, X) -> np.ndarray:
        """Probability of every label, for every instance: shape (n_instances, n_labels)."""
        return self._as_proba(self._columns("predict_proba_instances", X))

    @available_if(_estimator_has("decision_function_instances"))
    def decision_function_instances(self, X) -> np.ndarray:
        """Score of every label, for every instance: shape (n_instances, n_labels)."""
        return self._scores("decision_function_instances", X)

    @available_if(_estimator_has("posterior_instances"))
    def posterior_instances(self, X, y) -> np.ndarray:
        """Probability of every label, for every instance, given the labels `y` of the bags."""
        bags = self._read(X)
        posterior = self._columns("posterior_instances", bags, self._encode_label_matrix(y, bags))
        return posterior if self.multilabel_ else posterior[:, 0]

    def _scores(self, method: str, X) -> np.ndarray:
        scores = self._columns(method, X)
        return scores if self.multilabel_ else scores[:, 0]


class _Always:
    """Stands for the model of a label that all training bags have (1) or none (0)."""

    def __init__(self, value: int):
        self.value = value

    def predict(self, bags):
        return np.full(len(bags), self.value)

    def predict_instances(self, bags):
        return np.full(bags.n_instances, self.value)

    def predict_proba(self, bags):
        return np.tile([1.0 - self.value, self.value], (len(bags), 1))

    def predict_proba_instances(self, bags):
        return np.tile([1.0 - self.value, self.value], (bags.n_instances, 1))

    def decision_function(self, bags):
        return np.full(len(bags), 2.0 * self.value - 1.0)

    def decision_function_instances(self, bags):
        return np.full(bags.n_instances, 2.0 * self.value - 1.0)

    def posterior_instances(self, bags, y):
        return np.full(bags.n_instances, float(self.value))
