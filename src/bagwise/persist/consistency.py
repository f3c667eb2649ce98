"""Checks of attributes in restored models that compiled code of other libraries uses unchecked.

Our own compiled code checks its arrays before every use. The compiled code of scikit-learn and numpy does not
check fitted attributes, so a forged file could make it access arbitrary memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import cached_property, partial
from inspect import getattr_static
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.persist.known_types import name_in_files

_SCALED = {name: "p" for name in ("mean_", "var_", "scale_", "center_", "min_", "max_abs_")}
_SCALED |= {name: "p" for name in ("data_min_", "data_max_", "data_range_")}
_PROJECTED = {"components_": "kp", "mean_": "p", "var_": "p", "singular_values_": "k"}
_PROJECTED |= {"explained_variance_": "k", "explained_variance_ratio_": "k"}
# The axes of fitted attributes: "p" for features, another letter for an axis of equal length in all
# attributes of the model.
_AXES = {
    "sklearn.decomposition": ("IncrementalPCA PCA TruncatedSVD", _PROJECTED),
    "sklearn.preprocessing": ("MaxAbsScaler MinMaxScaler RobustScaler StandardScaler", _SCALED),
}
_CLUSTERERS = "KMeans MiniBatchKMeans"
_LINEAR = {
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis",
    "sklearn.linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars Lasso "
    "LassoCV LassoLars LinearRegression LogisticRegression LogisticRegressionCV Perceptron PoissonRegressor "
    "Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier SGDRegressor",
    "sklearn.svm": "LinearSVC LinearSVR",
}
_SVMS = "NuSVC NuSVR SVC SVR"
_SCALARS = (str, int, float, np.generic, type(None))
# The largest position in the state of numpy's generators: one after the last of the stored values.
_POSITIONS = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}


def refuse_inconsistent_parts(model: Any, trusted: Collection[str] = ()) -> None:
    """Raise an error if attributes of a restored model could crash compiled code.

    Types in `trusted` are not checked.
    """
    waiting, seen = [model], {id(model)}
    while waiting:
        item = waiting.pop()
        name = ".".join(name_in_files(type(item).__module__, type(item).__name__))
        check = _CHECKS.get(name)
        if check is not None and name not in trusted:
            try:
                _refuse_hidden_members(item)
                check(item)
            except Exception as error:  # attributes in a forged file may have unexpected types
                raise ValueError(f"its {type(item).__name__} is inconsistent: {error}") from error
        for part in _parts(item):
            if not isinstance(part, _SCALARS) and id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


def _parts(item: Any) -> list[Any]:
    """Return the elements or attributes of an object."""
    if isinstance(item, dict):
        return list(item.values())
    if isinstance(item, (list, tuple, set, frozenset)):
        return list(item)
    if isinstance(item, np.ndarray):
        return item.ravel().tolist() if item.dtype == object else []
    attributes = list(getattr(item, "__dict__", {}).values())
    return attributes + [getattr(item, slot, None) for slot in _slots(type(item))]


def _slots(cls: type) -> list[str]:
    """Return the names of the attributes that instances store outside their ``__dict__``."""
    slots = [vars(base).get("__slots__", ()) for base in cls.__mro__]
    return [name for names in slots for name in ((names,) if isinstance(names, str) else names)]


def _require(condition: Any, fault: str) -> None:
    if not condition:
        raise ValueError(fault)


def _refuse_hidden_members(model: Any) -> None:
    """Raise an error if an attribute hides a method of the class, such as the method that checks the input.

    The values of cached properties are stored under the name of the property.
    """
    for name in vars(model) if hasattr(model, "__dict__") else ():
        member = getattr_static(type(model), name, None)
        _require(
            member is None or isinstance(member, cached_property), f"the attribute {name!r} hides a method"
        )


def _has_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    _require(np.shape(value) == shape, f"{name} has shape {np.shape(value)}; expected {shape}")


def _is_array(name: str, value: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    """Check the dtype and shape of a finite array."""
    _require(isinstance(value, np.ndarray) and value.dtype == dtype, f"{name} is not an array of {dtype}")
    _has_shape(name, value, shape)
    _require(np.isfinite(value).all(), f"{name} has values that are not finite")


def _is_count(name: str, value: Any, least: int = 0) -> int:
    _require(isinstance(value, (int, np.integer)) and value >= least, f"{name} is {value!r}")
    return int(value)


def _check_axes(model: Any, axes: dict[str, str]) -> None:
    attributes = vars(model)
    lengths: dict[str, Any] = {"p": attributes.get("n_features_in_")}
    for name, letters in axes.items():
        value = attributes.get(name)
        if value is None:  # not fitted, or switched off by a parameter
            continue
        shape = np.shape(value)
        _require(len(shape) == len(letters), f"{name} has shape {shape}")
        for letter, length in zip(letters, shape, strict=True):
            _require(
                lengths.setdefault(letter, length) == length,
                f"{name} has shape {shape}; expected {lengths[letter]} along one axis",
            )
        _require(np.asarray(value).dtype.kind == "f", f"{name} is not a floating-point array")


def _check_linear(model: Any) -> None:
    attributes = vars(model)
    if "coef_" not in attributes:
        return
    coef, n_features = attributes["coef_"], attributes.get("n_features_in_")
    shape = np.shape(coef) if not sp.issparse(coef) else coef.shape
    _require(
        len(shape) in (1, 2) and shape[-1] == n_features, f"coef_ has shape {shape} for {n_features} features"
    )
    _require(coef.dtype.kind == "f", "coef_ is not a floating-point array")
    intercept = np.asarray(attributes.get("intercept_", 0.0))
    _require(
        intercept.dtype.kind in "fi" and intercept.size in (1, *shape[:-1]),
        "intercept_ has a wrong shape",
    )
    # Stochastic gradient descent resumes from these attributes.
    for other, size in (("coef", coef.size), ("intercept", intercept.size)):
        for name in (f"_standard_{other}", f"_average_{other}"):
            value = attributes.get(name)
            _require(value is None or value.size == size, f"{name} and {other}_ differ in size")


def _check_clusterer(model: Any) -> None:
    """Check the centers, and limit the number of threads to the number available on this computer."""
    attributes = vars(model)
    if "cluster_centers_" not in attributes:
        return
    centers = attributes["cluster_centers_"]
    _require(
        np.ndim(centers) == 2 and np.shape(centers)[1] == attributes.get("n_features_in_"),
        f"it has centers of shape {np.shape(centers)}, but n_features_in_={attributes.get('n_features_in_')}",
    )
    if "_counts" in attributes:
        _has_shape("_counts", attributes["_counts"], np.shape(centers)[:1])
    n_threads = _is_count("_n_threads", attributes.get("_n_threads", 1), 1)
    model._n_threads = min(n_threads, os.cpu_count() or 1)


def _check_svm(model: Any) -> None:
    """Check the arrays of libsvm, which computes all positions from the support vector counts per class."""
    attributes = vars(model)
    if "support_" not in attributes:
        return
    is_classifier = hasattr(type(model), "predict_proba")
    n_classes = len(model.classes_) if is_classifier else 2
    n_pairs = n_classes * (n_classes - 1) // 2
    n_features, shape_fit = _is_count("n_features_in_", model.n_features_in_, 1), model.shape_fit_
    _require(
        isinstance(shape_fit, tuple) and len(shape_fit) == 2 and shape_fit[1] == n_features,
        f"shape_fit_ is {shape_fit!r}",
    )
    n_training = _is_count("shape_fit_", shape_fit[0], 1)
    kernel, is_sparse = model.kernel, model._sparse
    _require(kernel in ("linear", "poly", "rbf", "sigmoid", "precomputed"), f"kernel is {kernel!r}")
    _require(n_classes >= 2 and isinstance(is_sparse, bool), f"n_classes={n_classes}, _sparse={is_sparse!r}")
    support, counts = model.support_, model._n_support
    n_support = len(support)
    _is_array("support_", support, np.int32, (n_support,))
    _require(
        ((support >= 0) & (support < n_training)).all(), "support_ has indices outside the training data"
    )
    _is_array("_n_support", counts, np.int32, (n_classes,))
    if is_classifier:
        _require(
            (counts >= 0).all() and counts.sum() == n_support, "_n_support is not the number in support_"
        )
    vectors, coefs = model.support_vectors_, [model.dual_coef_, model._dual_coef_]
    if is_sparse:
        _require(kernel != "precomputed", "a precomputed kernel is not sparse")
        for name, matrix in (
            ("support_vectors_", vectors),
            ("dual_coef_", coefs[0]),
            ("_dual_coef_", coefs[1]),
        ):
            _require(sp.issparse(matrix) and matrix.format == "csr", f"{name} is not a CSR matrix")
        _require(
            vectors.indices.dtype == vectors.indptr.dtype == np.int32, "support_vectors_ has long indices"
        )
        _is_array("support_vectors_", vectors.data, np.float64, (vectors.nnz,))
        _has_shape("support_vectors_.indptr", vectors.indptr, (n_support + 1,))
        _require(vectors.shape[1] == n_features or not n_support, "support_vectors_ has other features")
        coefs = [matrix.data.reshape(n_classes - 1, n_support) for matrix in coefs]
    elif kernel == "precomputed":
        _is_array("support_vectors_", vectors, np.float64, np.shape(vectors))
        _require(vectors.size == 0 and n_training == n_features, "a precomputed kernel has support vectors")
    else:
        _is_array("support_vectors_", vectors, np.float64, (n_support, n_features))
    for coef in coefs:
        _is_array("dual_coef_", coef, np.float64, (n_classes - 1, n_support))
    for name in ("intercept_", "_intercept_"):
        _is_array(name, getattr(model, name), np.float64, (n_pairs,))
    for name in ("_probA", "_probB"):
        _is_array(name, getattr(model, name), np.float64, (n_pairs,) if model._probA.size else (0,))
    for name in ("degree", "coef0", "_gamma"):
        value = getattr(model, name)
        _require(isinstance(value, Real) and np.isfinite(float(value)), f"{name} is {value!r}")
    if "class_weight_" in attributes:
        weights = model.class_weight_
        _is_array("class_weight_", weights, np.float64, np.shape(weights)[:1])


def _check_one_hot_encoder(model: Any) -> None:
    """Check that the columns that scikit-learn writes are inside the output matrix."""
    attributes = vars(model)
    if "categories_" not in attributes:
        return
    categories, outs = attributes["categories_"], attributes.get("_n_features_outs")
    n_features = len(categories)
    _require(attributes.get("n_features_in_") == n_features, f"it has categories of {n_features} features")
    _require(isinstance(outs, list) and len(outs) == n_features, f"_n_features_outs is {outs!r}")
    dropped = attributes.get("_drop_idx_after_grouping")
    dropped = [None] * n_features if dropped is None else dropped
    _has_shape("_drop_idx_after_grouping", dropped, (n_features,))
    groups = attributes.get("_default_to_infrequent_mappings", [None] * n_features)
    _require(len(groups) == n_features, "_default_to_infrequent_mappings has a wrong length")
    if not attributes.get("_infrequent_enabled"):  # scikit-learn does not group the categories then
        groups = [None] * n_features
    for values, out, drop, group in zip(categories, outs or (), dropped, groups, strict=True):
        _require(isinstance(values, np.ndarray) and values.ndim == 1, "categories_ are not arrays")
        n_out = len(values)
        if values.dtype.kind in "fiub":  # scikit-learn finds values by bisection
            usual = values[:-1] if n_out and np.isnan(values[-1]) else values
            _require((usual[1:] > usual[:-1]).all(), "categories_ are not in order")
        elif values.dtype.kind != "O":
            _require((values[1:] > values[:-1]).all(), "categories_ are not in order")
        if group is not None:
            _require(
                np.shape(group) == (n_out,) and group.dtype.kind == "i", "the groups of categories are wrong"
            )
            _require(group.min() >= 0, "the groups of categories are negative")
            n_out = int(group.max()) + 1
        if drop is not None:
            _require(_is_count("_drop_idx_after_grouping", drop) < n_out, "a category to drop is outside")
        _require(out == n_out - (drop is not None), f"_n_features_outs is {outs!r}")


def _check_label_sets(model: Any) -> None:
    cached = vars(model).get("_cached_dict")
    _require(
        cached is None or cached == dict(zip(model.classes_, range(len(model.classes_)), strict=True)),
        "_cached_dict differs from classes_",
    )


def _check_random_state(generator: Any) -> None:
    state = generator.get_state(legacy=False)
    _check_position(state["bit_generator"], state["state"])


def _check_generator(generator: Any) -> None:
    state = generator.bit_generator.state
    _check_position(state["bit_generator"], state | state["state"])


def _check_position(name: str, state: dict[str, Any]) -> None:
    """Check the position of the next stored value, because numpy does not check it."""
    if name in _POSITIONS:
        key, last = _POSITIONS[name]
        _require(0 <= state[key] <= last, f"the position {state[key]} is outside its state")


def _checks() -> dict[str, Callable[[Any], None]]:
    checks: dict[str, Callable[[Any], None]] = {
        "numpy.random.Generator": _check_generator,
        "numpy.random.mtrand.RandomState": _check_random_state,
        "sklearn.preprocessing.MultiLabelBinarizer": _check_label_sets,
        "sklearn.preprocessing.OneHotEncoder": _check_one_hot_encoder,
    }
    checks |= {f"sklearn.cluster.{name}": _check_clusterer for name in _CLUSTERERS.split()}
    checks |= {f"sklearn.svm.{name}": _check_svm for name in _SVMS.split()}
    for module, names in _LINEAR.items():
        checks |= {f"{module}.{name}": _check_linear for name in names.split()}
    for module, (names, axes) in _AXES.items():
        check = partial(_check_axes, axes=axes)
        checks |= {f"{module}.{name}": check for name in names.split()}
    return checks


_CHECKS = _checks()
