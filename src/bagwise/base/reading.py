"""The one door through which bags come in."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from bagwise._bag_parts import refuse_missing_values
from bagwise.bags import Bags, as_bags, describes_bags
from bagwise.sequences import Sequences

# What an estimator takes as `X`: a list of 2-D arrays and a 3-D array are array-like, and so is a frame.
BagsLike: TypeAlias = Bags | ArrayLike | sp.sparray | sp.spmatrix

_FLOATS = (np.float64, np.float32)


def read_bags(
    estimator,
    X: BagsLike,
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
    refuse_missing_values(instances, bags.offsets, bags.ids, bags.feature_names, accept_nan=accept_missing)
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
