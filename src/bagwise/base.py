"""What every estimator shares: the one door for input, labels, scaling, and the predictions.

An estimator of bags is a scikit-learn estimator whose ``X`` may be a `Bags`, a list of 2-D arrays, a 3-D
array, or a plain 2-D array (bags of one instance). `BagEstimator` reads it, `BagClassifier` adds labels
and weights, and `WaistClassifier` derives every prediction of a bag or an instance from two things:
instance log-odds and a rule.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, _fit_context, clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils import assert_all_finite, check_array, column_or_1d, gen_batches
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from bagwise._bag_parts import as_python
from bagwise._version import __version__
from bagwise.bags import Bags, as_bags, describes_bags
from bagwise.exceptions import PositiveClassWarning, VersionWarning
from bagwise.rules import RULES, Rule, make_rule
from bagwise.sequences import Sequences

# Checks `_parameter_constraints` before a fit. scikit-learn keeps the decorator private; if it moves,
# this is the one line to change.
validated_fit = _fit_context(prefer_skip_nested_validation=True)

# What several estimators ask of parameters that mean the same, for `_parameter_constraints`.
RULE_CONSTRAINT = [StrOptions(set(RULES)), Rule]
SCALE_CONSTRAINT = [StrOptions({"standard", "minmax"}), HasMethods(["fit", "transform"]), None]

_FLOATS = (np.float64, np.float32)
# Numbers that a scaler looks at together.
_SCALED_AT_A_TIME = 2_000_000


def read_bags(
    estimator,
    X,
    *,
    reset: bool = False,
    accept_sparse: bool = True,
    accept_missing: bool = False,
    accept_sequences: bool = False,
) -> Bags:
    """Read the argument `X` of a method: the one door through which bags come in.

    Parameters
    ----------
    estimator : estimator
        Whose method was called; ``n_features_in_`` and ``feature_names_in_`` are set on it (`reset`) or
        compared with it.
    X : Bags, list of 2-D arrays, 3-D array, or 2-D array (bags of one instance)
        The argument.
    reset : bool
        True in `fit`.
    accept_sparse : bool
        Whether the estimator can work on CSR instances.
    accept_missing : bool
        Whether it can work on NaN.
    accept_sequences : bool
        Whether it works on `Sequences`, and then on nothing else.

    Returns
    -------
    Bags
        Instances are C-ordered float32 or float64 (integers become float64) or CSR, finite, and no bag is
        empty.
    """
    if accept_sequences or isinstance(getattr(X, "instances", None), Sequences):
        return _read_sequences(estimator, X, reset=reset, accept=accept_sequences)
    if not describes_bags(X):
        # Two dimensions: scikit-learn's own door, its messages and its handling of data frames.
        X = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=_FLOATS,
            order="C",
            accept_sparse="csr" if accept_sparse else False,
            ensure_all_finite="allow-nan" if accept_missing else True,
        )
        return as_bags(X)

    bags = as_bags(X)
    name = type(estimator).__name__
    if len(bags) == 0:
        raise ValueError(f"{name} needs at least one bag; X has none.")
    bags._refuse_empty_bags()
    if sp.issparse(bags.instances) and not accept_sparse:
        raise TypeError(
            f"{name} does not take sparse instances; pass "
            "bags.with_instances(bags.instances.toarray()) if that fits in memory."
        )
    _compare_features(estimator, bags, reset=reset)
    instances = check_array(
        bags.instances, dtype=_FLOATS, order="C", accept_sparse="csr", ensure_all_finite=False
    )
    _refuse_missing_values(instances, bags, accept_nan=accept_missing)
    return bags if instances is bags.instances else bags.with_instances(instances)


def _read_sequences(estimator, X, *, reset: bool, accept: bool) -> Bags:
    name = type(estimator).__name__
    if not accept:
        raise TypeError(f"{name} works on vectors, not on Sequences; give it a matrix of features.")
    bags = as_bags(X)
    if not isinstance(bags.instances, Sequences):
        raise TypeError(f"this {name} works on Sequences; pass Bags(Sequences(...), offsets).")
    bags._refuse_empty_bags()
    _compare_features(estimator, bags, reset=reset)
    return bags


def _refuse_missing_values(instances, bags: Bags, *, accept_nan: bool) -> None:
    values = instances.data if sp.issparse(instances) else instances
    # The sum is finite whenever all is well (one read, no temporary), barring overflow.
    refused = np.isinf if accept_nan else lambda numbers: ~np.isfinite(numbers)
    if np.isfinite(np.sum(values)) or not refused(values).any():
        return
    bad = refused(instances.toarray() if sp.issparse(instances) else instances)
    row, column = (int(i) for i in np.argwhere(bad)[0])
    number = int(np.searchsorted(bags.offsets, row, side="right")) - 1
    feature = column if bags.feature_names is None else repr(str(bags.feature_names[column]))
    what = "NaN" if np.isnan(instances[row, column]) else "infinity"
    raise ValueError(
        f"X contains {what}: bag {as_python(bags.ids[number])!r}, instance {row - bags.offsets[number]}, "
        f"feature {feature}; remove or impute it, for instance with "
        "OnInstances(SimpleImputer()) in a pipeline."
    )


def _compare_features(estimator, bags: Bags, *, reset: bool) -> None:
    names = bags.feature_names
    if reset:
        estimator.n_features_in_ = bags.n_features
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    who = type(estimator).__name__
    if bags.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {bags.n_features} features, but {who} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is not None and not np.array_equal(names, fitted):
        i = int(np.argmax(names != fitted))
        raise ValueError(
            f"X has other features than {who} was fitted on: feature {i} is {str(names[i])!r} but was "
            f"{fitted[i]!r}; pass the same features in the same order, such as "
            "Bags.from_frame(..., features=list(model.feature_names_in_))."
        )


# ---------------------------------------------------------------------- labels and weights


class Training(NamedTuple):
    """What a classifier learns from: bags, labels 0 or 1, and a weight per bag, all positive."""

    bags: Bags
    y: np.ndarray
    weight: np.ndarray


def encode_labels(estimator, y, X, bags: Bags, *, binary: bool = True) -> np.ndarray:
    """Check the labels of a fit, set ``classes_``, and give every label's place in it.

    For the binary models that is int8 with 1 for ``classes_[1]``, the positive class.
    """
    name = type(estimator).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y", estimator_name=name)
    check_classification_targets(y)
    if len(y) != len(bags):
        if describes_bags(X):
            raise ValueError(f"X has {len(bags)} bags but y has {len(y)} labels; give one per bag.")
        raise ValueError(
            f"X has {len(bags)} rows but y has {len(y)} labels; did you mean Bags.from_groups(X, bag_ids)?"
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {as_python(classes[0])!r}; {name} needs bags of two classes, positive "
            "and negative."
        )
    estimator.classes_ = classes
    if not binary:
        return codes
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y "
            f"has {len(classes)} classes. Wrap {name} in sklearn.multiclass.OneVsRestClassifier or "
            "bagwise.multiclass.OneVsOneBagClassifier."
        )
    if classes.dtype.kind not in "biuf":
        low, high = map(as_python, classes)
        warnings.warn(
            f"y has the labels {low!r} and {high!r}; {high!r} sorts last and is taken as the positive "
            f"class. If you mean {low!r}, pass y == {low!r}.",
            PositiveClassWarning,
            stacklevel=5,  # the line that called fit
        )
    return codes.astype(np.int8)


def bag_weights(bags: Bags, sample_weight=None) -> np.ndarray:
    """Check the weights of bags; ones by default."""
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)
    if np.shape(sample_weight) == (bags.n_instances,) != (len(bags),):
        raise ValueError(
            f"sample_weight has {bags.n_instances} values, one per instance, but there are {len(bags)} "
            "bags; weights are per bag."
        )
    return _check_sample_weight(sample_weight, bags, dtype=np.float64, copy=True, ensure_non_negative=True)


def class_factors(class_weight, classes, y, weight) -> np.ndarray:
    """Factor of each of two classes, for labels `y` in 0, 1 and bag weights.

    "balanced" counts weighted bags, so that a weight of two still equals a bag that is there twice.
    """
    if class_weight is None:
        return np.ones(2)
    if isinstance(class_weight, str):
        total = np.bincount(y, weights=weight, minlength=2)
        return total.sum() / (2 * np.where(total > 0, total, 1.0))
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown[0]!r}, which is not a class; the classes are {classes.tolist()}."
        )
    return np.array([class_weight.get(label, 1.0) for label in classes.tolist()])


# ---------------------------------------------------------------------- scale=


def fit_scaler(scale, bags: Bags, weight: np.ndarray | None = None):
    """Fit the transformer that ``scale=`` asks for on the instances; None for None.

    Every instance counts with the weight of its bag. CSR instances stay sparse: "standard" then divides
    only, and "minmax" divides by the largest absolute value.
    """
    if scale is None:
        return None
    sparse = sp.issparse(bags.instances)
    if isinstance(scale, str):
        scaler = {
            ("standard", False): StandardScaler,
            ("standard", True): lambda: StandardScaler(with_mean=False),
            ("minmax", False): MinMaxScaler,
            ("minmax", True): MaxAbsScaler,
        }[scale, sparse]()
    else:
        scaler = clone(scale)
    how = {}
    if weight is not None and (weight != weight[0]).any() and has_fit_parameter(scaler, "sample_weight"):
        how["sample_weight"] = np.repeat(weight, bags.sizes)
    if sparse or not isinstance(scale, str):
        return scaler.fit(bags.instances, **how)
    # A fit of all at once would need a copy of all.
    for rows in gen_batches(bags.n_instances, max(1, _SCALED_AT_A_TIME // bags.n_features)):
        scaler.partial_fit(bags.instances[rows], **{name: values[rows] for name, values in how.items()})
    return scaler


def affine_map(scaler) -> tuple[np.ndarray | float, np.ndarray | float] | None:
    """Write ``scaler.transform(x)`` as ``x * factor + shift``; None if it is not one of ours."""
    match scaler:
        case None:
            return 1.0, 0.0
        case StandardScaler(mean_=mean, scale_=scale):
            shift = 0.0 if mean is None or not scaler.with_mean else -mean / scale
            return 1.0 / scale, shift
        case MinMaxScaler():
            return scaler.scale_, scaler.min_
        case MaxAbsScaler():
            return 1.0 / scaler.scale_, 0.0
    return None


# ---------------------------------------------------------------------- estimators


class BagEstimator(BaseEstimator):
    """An estimator whose ``X`` is a collection of bags."""

    # What the estimator can work on; a meta-estimator asks the estimator inside.
    @property
    def _accepts_sparse(self) -> bool:
        return True

    @property
    def _accepts_missing(self) -> bool:
        return False

    @property
    def _accepts_sequences(self) -> bool:
        return False

    def _read(self, X, *, reset: bool = False) -> Bags:
        if not reset:
            check_is_fitted(self)
        return read_bags(
            self,
            X,
            reset=reset,
            accept_sparse=self._accepts_sparse,
            accept_missing=self._accepts_missing,
            accept_sequences=self._accepts_sequences,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.three_d_array = True
        return tags

    def __getstate__(self):
        return {**super().__getstate__(), "_bagwise_version": __version__}

    def __setstate__(self, state):
        state = dict(state)
        written_by = state.pop("_bagwise_version", None)
        if written_by != __version__:
            warnings.warn(
                f"this {type(self).__name__} was pickled by bagwise {written_by} and is read by "
                f"{__version__}; predictions may differ. Fit it again to be safe.",
                VersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)


class BagTransformer(TransformerMixin, BagEstimator):
    """A transformer of bags."""


class BagClassifier(ClassifierMixin, BagEstimator):
    """A binary classifier of bags; ``classes_[1]`` is the positive class."""

    def _read_training(self, X, y, sample_weight=None, *, with_class_weight: bool = True) -> Training:
        """Read the arguments of `fit` and set ``classes_``; bags of weight zero are left out.

        Without class weights the weights say how often a bag is there, which some models must count.
        """
        bags = self._read(X, reset=True)
        y = encode_labels(self, y, X, bags)
        weight = bag_weights(bags, sample_weight)
        class_weight = getattr(self, "class_weight", None) if with_class_weight else None
        weight *= class_factors(class_weight, self.classes_, y, weight)[y]
        kept = weight > 0
        if not kept.all():
            bags, y, weight = bags[kept], y[kept], weight[kept]
            if len(np.unique(y)) < 2:
                raise ValueError(
                    "the bags of non-zero sample_weight belong to one class only; "
                    f"{type(self).__name__} needs positive and negative bags, that is, two classes."
                )
        return Training(bags, y, weight)

    def _encode_known(self, y, bags: Bags) -> np.ndarray:
        """Encode labels given after the fit: int8, 1 for the positive class."""
        y = column_or_1d(y)
        if len(y) != len(bags):
            raise ValueError(f"X has {len(bags)} bags but y has {len(y)} labels.")
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y has the label {as_python(y[np.argmax(unknown)])!r}, which the fit did not see; the "
                f"classes are {self.classes_.tolist()}."
            )
        return (y == self.classes_[1]).astype(np.int8)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _has_posterior(estimator) -> bool:
    """Whether the rule has latent instance labels; else the method is absent."""
    rule = getattr(estimator, "rule_", None) or make_rule(estimator.rule)
    return rule.has_latent_labels


class WaistClassifier(BagClassifier):
    """A classifier made of instance log-odds and a rule: every prediction follows from the two.

    A subclass fits, sets ``rule_``, and gives `_log_odds`: the log-odds that an instance is positive.
    """

    def _log_odds(self, bags: Bags) -> np.ndarray:
        """Give the log-odds of every instance, shape (n_instances,)."""
        raise NotImplementedError

    def _bag_log_proba(self, X) -> np.ndarray:
        bags = self._read(X)
        return self.rule_.log_proba(self._log_odds(bags), bags.offsets)

    def predict_log_proba(self, X) -> np.ndarray:
        """Log probability of the negative and the positive class, for every bag.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags, 2)
        """
        return self._bag_log_proba(X)

    def predict_proba(self, X) -> np.ndarray:
        """Probability of the negative and the positive class, for every bag: shape (n_bags, 2)."""
        return np.exp(self._bag_log_proba(X))

    def decision_function(self, X) -> np.ndarray:
        """Log-odds that a bag is positive: shape (n_bags,)."""
        log_proba = self._bag_log_proba(X)
        return log_proba[:, 1] - log_proba[:, 0]

    def predict(self, X) -> np.ndarray:
        """Predict the more probable label of every bag: shape (n_bags,)."""
        log_proba = self._bag_log_proba(X)
        return self.classes_[(log_proba[:, 1] > log_proba[:, 0]).astype(int)]

    def decision_function_instances(self, X) -> np.ndarray:
        """Log-odds that an instance is positive: shape (n_instances,), in the order of the bags."""
        return self._log_odds(self._read(X))

    def predict_proba_instances(self, X) -> np.ndarray:
        """Probability that an instance is negative, positive: shape (n_instances, 2)."""
        log_odds = self._log_odds(self._read(X))
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict_instances(self, X) -> np.ndarray:
        """Predict the more probable label of every instance: shape (n_instances,)."""
        return self.classes_[(self._log_odds(self._read(X)) > 0).astype(int)]

    @available_if(_has_posterior)
    def posterior_instances(self, X, y) -> np.ndarray:
        """Probability that an instance is positive, given the label of its bag.

        This answers who made a bag positive: under the or-rule the instances of a negative bag have 0,
        and those of a positive bag share at least 1.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,)
            Their labels, in terms of ``classes_``.

        Returns
        -------
        array of shape (n_instances,)
        """
        bags = self._read(X)
        labels = self._encode_known(y, bags)
        return self.rule_.estep(self._log_odds(bags), bags.offsets, labels).posterior
