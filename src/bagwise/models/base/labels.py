"""Training data of a fit: validation of labels, regression targets and weights, and a digest."""

from __future__ import annotations

from hashlib import sha256
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from bagwise._core.precision import to_compute
from bagwise._core.sklearn_private import StrOptions
from bagwise._core.types import ClassWeight
from bagwise.data.bags import AnyBags, Bags, describes_bags
from bagwise.data.bags.parts import as_python, without_mask
from bagwise.data.blocks import is_large
from bagwise.data.scanned import ScannedBags
from bagwise.data.sequences import Sequences
from bagwise.data.types import BagsLike

# Between these bounds a weight, its powers and its products with features neither overflow nor underflow.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-50, 1e50

# Number of values from each end of the data that the digest includes: 256 KiB, hashed in less than a
# millisecond.
_END = 2**15

# Allowed values of `class_weight`, for `_parameter_constraints`.
CLASS_WEIGHT_CONSTRAINT: list[Any] = [dict, StrOptions({"balanced"}), None]


class UndecidedPositiveError(ValueError):
    """Error for text labels without `positive`; `validated_fit` catches it and fits both directions.

    Attributes
    ----------
    labels : list of two labels
        The labels, sorted.
    bags : Bags
        The validated bags.
    codes : array of shape (n_bags,)
        The index of every bag's label in `labels`.
    """

    def __init__(self, labels: list[Any], bags: Any, codes: np.ndarray):
        low, high = labels
        super().__init__(
            f"y has the text labels {low!r} and {high!r}; name the positive one: pass positive={low!r} or "
            f"positive={high!r}, or pass y == {low!r} or y == {high!r} instead of y."
        )
        self.labels, self.bags, self.codes = labels, bags, codes


class Training(NamedTuple):
    """Training data of a fit: bags, one label or target value per bag, and one weight per bag.

    Labels are 0 or 1 unless the estimator documents other values. Weights are >= 0.
    """

    bags: Bags
    y: np.ndarray
    weight: np.ndarray

    def that_count(self) -> Training:
        """Return the training data without the bags of weight zero."""
        kept = self.weight > 0
        return self if kept.all() else Training(self.bags[kept], self.y[kept], self.weight[kept])


def require_label_per_bag(y: Any, bags: AnyBags) -> None:
    """Raise an error if the number of labels differs from the number of bags."""
    if len(y) != len(bags):
        raise ValueError(f"X has {len(bags)} bags but y has {len(y)} labels; pass one label per bag.")


def _one_per_bag(estimator: Any, y: ArrayLike | None, X: BagsLike, bags: Bags) -> np.ndarray:
    name = type(estimator).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = without_mask(y)
    if not sp.issparse(y):
        y = np.asarray(y)  # scikit-learn would convert nullable integers and booleans to floats
        if y.dtype.kind in "OT" and not is_regressor(estimator):
            y = labels_of_objects(y, bags)
    shape = np.shape(y)
    if len(shape) == 2 and shape[1] > 1 and is_classifier(estimator):
        raise ValueError(
            f"y has {shape[1]} columns, but {name} learns one label per bag. For several labels per bag, use "
            "MultiLabelBagClassifier, which wraps a bag classifier, or MIMLLogisticRegression."
        )
    values: np.ndarray = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y", estimator_name=name)
    if len(values) != len(bags):
        if describes_bags(X):
            require_label_per_bag(values, bags)
        raise ValueError(
            f"X has {len(bags)} rows but y has {len(values)} labels; did you mean "
            "Bags.from_groups(X, bag_ids)?"
        )
    return values


def labels_of_objects(y: np.ndarray, bags: AnyBags) -> np.ndarray:
    """Convert labels that are Python objects or strings to a numpy type that represents all of them.

    Columns of data frames often contain Python objects, and so do columns of nullable types. Missing labels
    and text mixed with other labels raise an error.
    """
    values = y.astype(object).ravel().tolist()
    is_missing = [is_missing_value(value) for value in values]
    if any(is_missing):
        first = is_missing.index(True)
        where = f" (bag {as_python(bags.ids[first])!r})" if first < len(bags) else ""
        raise ValueError(
            f"Input y contains NaN: there is no label for {sum(is_missing)} of {len(values)} bags, the first "
            f"at index {first}{where}; remove these bags."
        )
    kinds = {_kind_of_label(value) for value in values}
    if kinds <= {"bool"} or kinds <= {"number"}:
        return np.array(values).reshape(y.shape) if values else y
    if kinds == {"text"}:
        return y.astype(object)
    if "other" not in kinds:
        examples = [
            next(value for value in values if _kind_of_label(value) == kind) for kind in sorted(kinds)
        ]
        raise ValueError(
            f"y mixes labels of different types, such as {' and '.join(map(repr, examples))}; use one type "
            "for all labels, for example y.astype(str)."
        )
    return y


def _kind_of_label(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    return "number" if isinstance(value, Real) else "text" if isinstance(value, str) else "other"


def is_missing_value(value: Any) -> bool:
    """Return whether a value is None, NaN or pandas.NA."""
    # Comparisons with pandas.NA do not return a boolean.
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def read_targets(estimator: Any, y: ArrayLike | None, X: BagsLike, bags: Bags) -> np.ndarray:
    """Validate the targets of a regressor and return them as float64: finite, one per bag."""
    y = _one_per_bag(estimator, y, X, bags)
    if y.dtype == object:  # Python objects, such as a data frame column; astype would convert text silently
        invalid = [value for value in y if not isinstance(value, Real)]
    else:
        invalid = [] if y.dtype.kind in "biuf" else y[:1].tolist()
    if invalid:
        name = type(estimator).__name__
        raise ValueError(f"y has the value {invalid[0]!r}; {name} needs a numeric target for every bag.")
    return y.astype(np.float64)


def encode_labels(
    estimator: Any,
    y: ArrayLike | None,
    X: BagsLike,
    bags: Bags,
    *,
    binary: bool | None = True,
    positive_alone: bool = False,
) -> np.ndarray:
    """Validate training labels, set ``classes_`` and ``positive_label_``, and return the labels as codes.

    The positive label of two classes is the parameter `positive`. By default it is the larger number, or
    True. For text labels, it depends on ``_text_labels`` of the estimator.

    Parameters
    ----------
    estimator : estimator
        The estimator whose attributes are set; error messages contain its name.
    y, X : array, collection of bags
        The arguments of `fit`.
    bags : Bags
        The validated `X`.
    binary : bool or None
        True for models of two classes: the codes are int8, and 1 is the positive class. None if two classes
        are encoded like this and more classes are also accepted. False if there is no positive class. The
        codes of more classes, or without a positive class, are indices into ``classes_``.
    positive_alone : bool
        Whether `y` can contain positive labels only, all 1 or True; ``classes_`` then has one label.

    Returns
    -------
    array of shape (n_bags,)
    """
    name = type(estimator).__name__
    y = _one_per_bag(estimator, y, X, bags)
    if type_of_target(y, input_name="y").startswith("continuous"):
        raise ValueError(
            f"Unknown label type: continuous. y is continuous, but {name} is a classifier. For regression, "
            "use make_pipeline with BagStatistics() or ClusterEmbedding() before any regressor; to classify "
            "high values, pass y > threshold."
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    earlier = estimator.__dict__.pop("positive_label_", None)
    if not getattr(estimator, "warm_start", False):
        earlier = None
    if len(classes) < 2:
        if positive_alone and classes.dtype.kind in "biuf" and classes[0] == 1:
            estimator.classes_, estimator.positive_label_ = classes, as_python(classes[0])
            return np.ones(len(y), dtype=np.int8)
        alone = ", or positive bags only, labeled 1 or True" if positive_alone else ""
        raise ValueError(
            f"y has only one class, {as_python(classes[0])!r}; {name} needs bags of two classes, positive "
            f"and negative{alone}."
        )
    estimator.classes_ = classes
    if binary is False:
        return codes
    if len(classes) > 2:
        if binary is None and estimator.positive is None:
            return codes
        if binary is None:
            raise ValueError(
                f"positive is {estimator.positive!r}, but y has {len(classes)} classes; a positive "
                "class requires exactly two classes. Use positive=None."
            )
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y "
            f"has {len(classes)} classes. Wrap {name} in sklearn.multiclass.OneVsRestClassifier or "
            "bagwise.OneVsOneBagClassifier."
        )
    labels = classes.tolist()
    chosen = estimator.__dict__.get("_direction") if estimator.positive is None else estimator.positive
    if chosen is None and classes.dtype.kind not in "biuf" and estimator._text_labels != "last":
        if estimator._text_labels == "refuse" or earlier not in labels:
            raise UndecidedPositiveError(labels, bags, codes)
        chosen = earlier
    positive = 1 if chosen is None else index_of_positive(chosen, labels)
    estimator.positive_label_ = labels[positive]
    return (codes == positive).astype(np.int8)


def index_of_positive(positive: Any, labels: list[Any]) -> int:
    """Return the index of the positive label among two labels, or raise an error."""
    matches = [index for index, label in enumerate(labels) if np.ndim(positive) == 0 and label == positive]
    if len(matches) == 1:
        return matches[0]
    raise ValueError(
        f"positive is {positive!r}, but y has the labels {labels[0]!r} and {labels[1]!r}. Pass one of them; "
        "estimators that encode labels, such as VotingClassifier, replace the labels by 0 and 1 in sorted "
        "order."
    )


def refuse_unknown_labels(y: np.ndarray, classes: np.ndarray, *, besides: str = "") -> None:
    """Raise an error for labels that are not in `classes`; `besides` lists further accepted values."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {as_python(y[np.argmax(unknown)])!r}, which is not among the training labels; "
            f"the classes are {np.asarray(classes).tolist()}{besides}."
        )


def refuse_lost_classes(estimator: Any, y: np.ndarray) -> None:
    """Raise an error if a class of ``classes_`` is missing in `y`, the codes of bags with positive weight."""
    lost = np.setdiff1d(np.arange(len(estimator.classes_)), y)
    if len(lost):
        label, name = as_python(estimator.classes_[lost[0]]), type(estimator).__name__
        raise ValueError(
            f"all bags of the class {label!r} have weight zero because of sample_weight or class_weight; "
            f"{name} needs bags of all {len(estimator.classes_)} classes."
        )


def is_positive(scores: np.ndarray) -> np.ndarray:
    """Return whether scores predict the positive class; a score of zero does. All classifiers use this."""
    return scores >= 0


def is_as_probable(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Return whether the positive class is at least as probable as the negative class.

    Ties are positive. A positive probability of at least 1/2 also counts as a tie, because the negative
    probability can be slightly larger by rounding.
    """
    return (positive >= negative) | (positive >= 0.5)


def bag_weights(bags: Bags, sample_weight: ArrayLike | None = None) -> np.ndarray:
    """Validate and return the bag weights; the default is a weight of 1 for every bag."""
    if sample_weight is None:
        return np.ones(len(bags))
    sample_weight = np.asarray(without_mask(sample_weight))
    if sample_weight.shape != (len(bags),):
        if sample_weight.shape == (bags.n_instances,):
            description = f"{bags.n_instances} values, one per instance"
        else:
            description = f"the shape {sample_weight.shape}"
        raise ValueError(
            f"sample_weight has {description}, but there are {len(bags)} bags; weights are per bag."
        )
    weight = check_array(
        sample_weight, dtype=np.float64, copy=True, ensure_2d=False, input_name="sample_weight"
    )
    if (weight < 0).any():
        where = int(np.argmax(weight < 0))
        raise ValueError(
            f"sample_weight is {weight[where]:g} for bag {as_python(bags.ids[where])!r}; weights must be "
            ">= 0."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every bag; at least one weight must be positive.")
    if not _LEAST_WEIGHT <= weight.max() <= _LARGEST_WEIGHT:
        raise ValueError(
            f"the largest sample_weight is {weight.max():g}, whose products can overflow or underflow; "
            f"expected a value between {_LEAST_WEIGHT:g} and {_LARGEST_WEIGHT:g}."
        )
    return weight


def class_factors(
    class_weight: ClassWeight, classes: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the weight factor of each of two classes, from labels 0 and 1 and bag weights.

    "balanced" uses the total weights of the classes, so that a weight of two equals two copies of a bag.
    """
    if class_weight is None:
        return np.ones(2)
    if isinstance(class_weight, str):
        total = np.bincount(y, weights=weight, minlength=2)
        return total.sum() / (2 * np.where(total > 0, total, 1.0))
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight has the key {unknown[0]!r}, which is not a class; the classes are "
            f"{classes.tolist()}."
        )
    for label, factor in class_weight.items():
        if not isinstance(factor, Real) or not 0.0 <= float(factor) < np.inf:
            raise ValueError(
                f"class_weight is {as_python(factor)!r} for the class {as_python(label)!r}; expected a "
                "finite number >= 0."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def training_digest(bags: Bags | ScannedBags, y: np.ndarray, weight: np.ndarray) -> str:
    """Return a digest of bag sizes, labels, weights, and the first and last instances: 32 hex digits.

    The digest includes the first and the last bags, with up to 2^15 values each, so that small data are
    covered completely. For large data (more than 2^23 values) it includes only the first and the last bag,
    because bags selected from a file can be stored far apart. The cost is small, and the digest is the same
    for data in memory and in files. It does not detect changes of instances in the middle of a large data
    set.

    Parameters
    ----------
    bags : Bags or ScannedBags
        Bags as returned by `BagEstimator._read`.
    y : array
        Labels or targets in the encoding that the model uses.
    weight : array of shape (n_bags,)
        Weights of the bags, without class weights.
    """
    state = sha256()
    sizes = np.asarray(bags.sizes, dtype=np.int64)
    for array in (np.array([len(sizes), bags.n_features]), sizes, y, weight):
        _add(state, array)
    offsets = np.append(0, np.cumsum(sizes))
    n_rows = 0 if is_large(int(offsets[-1]) * bags.n_features) else _END // max(1, bags.n_features)
    stop = max(1, int(np.searchsorted(offsets, n_rows, side="right")) - 1)
    start = min(len(sizes) - 1, int(np.searchsorted(offsets, offsets[-1] - n_rows)))
    ends = [bags[:stop], bags[start:]] if stop < start else [bags]
    for end in ends:
        if isinstance(end, ScannedBags):
            # Use the precision of the blocks, which is also that of bags in memory.
            _add(state, end.load().instances.astype(end.dtype, copy=False))
        else:
            X = end.instances
            _add(state, to_compute(X) if isinstance(X, np.ndarray) and X.dtype.itemsize == 2 else X)
    return state.hexdigest()[:32]


def _add(state: Any, values: Any) -> None:
    """Add arrays with their type and shape to the digest, so that the split between arrays affects it."""
    if isinstance(values, Sequences):
        parts = [values.symbols, values.offsets]
    elif sp.issparse(values):
        parts = [values.data, values.indices.astype(np.int64), values.indptr.astype(np.int64)]
    else:
        parts = [np.asarray(values)]
    for part in parts:
        state.update(f"{part.dtype.str}{part.shape}".encode())
        state.update(np.ascontiguousarray(part).data if part.size else b"")
