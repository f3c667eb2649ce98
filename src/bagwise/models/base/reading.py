"""The one door through which bags come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from bagwise.data.bags import Bags, as_bags, describes_bags, refuse_empty_list
from bagwise.data.bags.parts import checked_sparse, refuse_missing_values, without_mask
from bagwise.data.blocks import is_large
from bagwise.data.scanned import ScannedBags
from bagwise.data.sequences import Sequences
from bagwise.data.types import BagsLike
from bagwise.exceptions import warn_user

_FLOATS = (np.float64, np.float32)


def read_bags(
    estimator: Any,
    X: BagsLike,
    *,
    reset: bool = False,
    accept_sparse: bool = True,
    accept_missing: bool = False,
    accept_sequences: bool = False,
    streams: bool = False,
    whole: bool = True,
) -> Bags:
    """Read the argument `X` of a method: the one door through which bags come in.

    Parameters
    ----------
    estimator : estimator
        Whose method was called; ``n_features_in_`` and ``feature_names_in_`` are set on it (`reset`) or
        compared with it.
    X : Bags, ScannedBags, list of 2-D arrays, 3-D array, or 2-D array (bags of one instance)
        The argument.
    reset : bool
        True in `fit`.
    accept_sparse : bool
        Whether the estimator can work on CSR instances.
    accept_missing : bool
        Whether it can work on NaN.
    accept_sequences : bool
        Whether it works on `Sequences`, and then on nothing else.
    streams : bool
        Whether it passes over blocks, so that `ScannedBags` stay what they are.
    whole : bool
        False if blocks of the bags will be read one by one: instances of large ones are then left as they
        lie, and scans, too.

    Returns
    -------
    Bags, or ScannedBags where an estimator streams
        Instances are C-ordered float32 or float64 (integers become float64) or CSR, finite, and no bag is
        empty.
    """
    if accept_sequences or isinstance(getattr(X, "instances", None), Sequences):
        return _read_sequences(estimator, X, reset=reset, accept=accept_sequences)
    if isinstance(X, ScannedBags):
        return _read_scan(
            estimator, X, reset=reset, accept_missing=accept_missing, stays=streams or not whole
        )
    if not describes_bags(X):
        refuse_empty_list(X)
        # Two dimensions: scikit-learn's own door, its messages and its handling of data frames; but it knows
        # no masks, and does not look into sparse matrices.
        X = checked_sparse(X) if sp.issparse(X) else without_mask(X)
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
    return bags if lie_large(bags) and not whole else _read_instances(bags, accept_missing=accept_missing)


def warn_of_rows(name: str, X: BagsLike, bags: Bags) -> None:
    """Say that a model of bags with several instances was asked about rows, each as a bag of its own."""
    n_rows = len(bags)
    if n_rows > 1 and not describes_bags(X):
        warn_user(
            f"X is one matrix and was read as {n_rows} bags of one instance, but {name} learned from bags of "
            f"several; for one bag of {n_rows} instances pass [X]. If you mean {n_rows} bags, pass "
            "Bags(X, np.arange(len(X) + 1))."
        )


def lie_large(X: BagsLike) -> bool:
    """Whether bags are so large that they are better looked at block by block, wherever they lie."""
    if isinstance(X, ScannedBags):
        return not X.fits
    array = X.instances if isinstance(X, Bags) else X
    return isinstance(array, np.ndarray) and is_large(array.size)


def _read_instances(bags: Bags, *, accept_missing: bool) -> Bags:
    instances = check_array(
        bags.instances, dtype=_FLOATS, order="C", accept_sparse="csr", ensure_all_finite=False
    )
    refuse_missing_values(instances, bags.offsets, bags.ids, bags.feature_names, accept_nan=accept_missing)
    return bags if instances is bags.instances else bags.with_instances(instances)


def _read_sequences(estimator: Any, X: Any, *, reset: bool, accept: bool) -> Bags:
    name = type(estimator).__name__
    if not accept:
        raise TypeError(f"{name} works on vectors, not on Sequences; give it a matrix of features.")
    bags = as_bags(X)
    if not isinstance(bags.instances, Sequences):
        raise TypeError(f"this {name} works on Sequences; pass Bags(Sequences(...), offsets).")
    bags._refuse_empty_bags()
    _compare_features(estimator, bags, reset=reset)
    return bags


def _read_scan(estimator: Any, scan: ScannedBags, *, reset: bool, accept_missing: bool, stays: bool) -> Any:
    name = type(estimator).__name__
    if reset and not stays:
        raise ValueError(
            f"{name} needs all instances in memory and does not learn from a scan; pass scan.load() if its "
            f"{scan.shown_bytes} fit, or take an estimator that learns from it as it is, such as "
            "MILogisticRegression."
        )
    if len(scan) == 0:
        raise ValueError(f"{name} needs at least one bag; X has none.")
    scan._refuse_empty_bags()
    _compare_features(estimator, scan, reset=reset)
    scan = scan.accepting(missing=accept_missing)
    return scan if stays else _read_instances(scan.in_memory(), accept_missing=accept_missing)


def _compare_features(estimator: Any, bags: Bags | ScannedBags, *, reset: bool) -> None:
    names = bags.feature_names
    if reset:
        estimator.n_features_in_ = bags.n_features
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    who = type(estimator).__name__
    fitted = getattr(estimator, "feature_names_in_", None)
    if bags.n_features != estimator.n_features_in_:
        by_name = names is not None and fitted is not None
        raise ValueError(
            f"X has {bags.n_features} features, but {who} is expecting "
            f"{estimator.n_features_in_} features as input."
            + (" Of a file load_bags(..., like=model) reads those of the model." if by_name else "")
        )
    if names is not None and fitted is not None and not np.array_equal(names, fitted):
        i = int(np.argmax(names != fitted))
        raise ValueError(
            f"X has other features than {who} was fitted on: feature {i} is {str(names[i])!r} but was "
            f"{fitted[i]!r}; pass the same features in the same order, such as load_bags(..., like=model) or "
            "Bags.from_frame(..., features=list(model.feature_names_in_))."
        )
