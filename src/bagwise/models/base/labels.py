"""What a fit learns from: labels or numbers of bags, their weights, and a digest of all three."""

from __future__ import annotations

from hashlib import sha256
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from bagwise._core.sklearn_private import StrOptions
from bagwise._core.types import ClassWeight
from bagwise.data.bags import AnyBags, Bags, describes_bags
from bagwise.data.bags.parts import as_python, without_mask
from bagwise.data.blocks import is_large
from bagwise.data.scanned import ScannedBags
from bagwise.data.sequences import Sequences
from bagwise.data.types import BagsLike
from bagwise.exceptions import PositiveClassWarning, warn_user

# Between these a weight, its powers and its products with features are numbers.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-50, 1e50

# So many numbers at either end are looked at: a quarter of a megabyte, which takes a fraction of a
# millisecond.
_END = 2**15

# What `class_weight` may be, for `_parameter_constraints`.
CLASS_WEIGHT_CONSTRAINT: list[Any] = [dict, StrOptions({"balanced"}), None]


class Training(NamedTuple):
    """What a fit learns from: bags, a label or number for each, and a weight per bag, all positive.

    Labels are 0 or 1, where an estimator does not say otherwise.
    """

    bags: Bags
    y: np.ndarray
    weight: np.ndarray

    def that_count(self) -> Training:
        """Leave out the bags of weight zero."""
        kept = self.weight > 0
        return self if kept.all() else Training(self.bags[kept], self.y[kept], self.weight[kept])


def require_label_per_bag(y: Any, bags: AnyBags) -> None:
    """Refuse labels that are not as many as bags."""
    if len(y) != len(bags):
        raise ValueError(f"X has {len(bags)} bags but y has {len(y)} labels; give one per bag.")


def _one_per_bag(estimator: Any, y: ArrayLike | None, X: BagsLike, bags: Bags) -> np.ndarray:
    name = type(estimator).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = without_mask(y)
    shape = np.shape(y) if sp.issparse(y) else np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1 and is_classifier(estimator):
        raise ValueError(
            f"y has {shape[1]} columns, but {name} learns one label per bag. For several labels a bag there "
            "are MultiLabelBagClassifier, which wraps a classifier of bags, and MIMLLogisticRegression."
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


def read_numbers(estimator: Any, y: ArrayLike | None, X: BagsLike, bags: Bags) -> np.ndarray:
    """Check the numbers that a regressor learns from: float64, finite, one per bag."""
    y = _one_per_bag(estimator, y, X, bags)
    if y.dtype == object:  # of Python's numbers, such as a column of a frame; text would be read as numbers
        strange = [value for value in y if not isinstance(value, Real)]
    else:
        strange = [] if y.dtype.kind in "biuf" else y[:1].tolist()
    if strange:
        name = type(estimator).__name__
        raise ValueError(f"y has the value {strange[0]!r}; {name} needs a number for every bag.")
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
    """Check the labels of a fit, set ``classes_``, and return the index of every label in it.

    Parameters
    ----------
    estimator : estimator
        Its ``classes_`` is set, and messages name it.
    y, X : array, collection of bags
        The arguments of `fit`.
    bags : Bags
        What was read of `X`.
    binary : bool or None
        True for models of two classes: the indices are int8, and 1 is the positive class. None if two classes
        are read in this way, and more are taken too. False if no class is the positive one.
    positive_alone : bool
        Whether positive bags alone are taken, all marked 1 or True; ``classes_`` then has one label.

    Returns
    -------
    array of shape (n_bags,)
    """
    name = type(estimator).__name__
    y = _one_per_bag(estimator, y, X, bags)
    if type_of_target(y, input_name="y").startswith("continuous"):
        raise ValueError(
            f"Unknown label type: continuous. y has numbers that are no classes, and {name} is a classifier. "
            "To learn a number for every bag, put BagStatistics() or ClusterEmbedding() before any regressor "
            "in make_pipeline; to learn whether it is high, pass y > threshold."
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        if positive_alone and classes.dtype.kind in "biuf" and classes[0] == 1:
            estimator.classes_ = classes
            return np.ones(len(y), dtype=np.int8)
        alone = ", or positive ones alone, marked 1 or True" if positive_alone else ""
        raise ValueError(
            f"y has one class only, {as_python(classes[0])!r}; {name} needs bags of two classes, positive "
            f"and negative{alone}."
        )
    estimator.classes_ = classes
    if binary is False or (binary is None and len(classes) > 2):
        return codes
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y "
            f"has {len(classes)} classes. Wrap {name} in sklearn.multiclass.OneVsRestClassifier or "
            "bagwise.OneVsOneBagClassifier."
        )
    if classes.dtype.kind not in "biuf":
        low, high = map(as_python, classes)
        warn_user(
            f"y has the labels {low!r} and {high!r}; {high!r} sorts last and is taken as the positive "
            f"class. If you mean {low!r}, pass y == {low!r}.",
            PositiveClassWarning,
            once=True,
        )
    return codes.astype(np.int8)


def refuse_unknown_labels(y: np.ndarray, classes: np.ndarray, *, besides: str = "") -> None:
    """Refuse labels given after a fit that it did not see; `besides` is what else is taken."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {as_python(y[np.argmax(unknown)])!r}, which the fit did not see; the "
            f"classes are {np.asarray(classes).tolist()}{besides}."
        )


def refuse_lost_classes(estimator: Any, y: np.ndarray) -> None:
    """Refuse encoded labels of the bags that count unless every class of ``classes_`` is among them."""
    lost = np.setdiff1d(np.arange(len(estimator.classes_)), y)
    if len(lost):
        label, name = as_python(estimator.classes_[lost[0]]), type(estimator).__name__
        raise ValueError(
            f"sample_weight or class_weight gives every bag of the class {label!r} the weight zero; {name} "
            f"needs bags of all {len(estimator.classes_)} classes."
        )


def is_positive(scores: np.ndarray) -> np.ndarray:
    """Whether scores speak for the positive class, as a score of zero does; the one place that says so."""
    return scores >= 0


def is_as_probable(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Whether the positive class is at least as probable as the negative one, by either's probability.

    Probabilities that rounding made equal, or one of them a half, are a tie as well, and a tie is positive.
    """
    return (positive >= negative) | (positive >= 0.5)


def bag_weights(bags: Bags, sample_weight: ArrayLike | None = None) -> np.ndarray:
    """Check the weights of bags; ones by default."""
    if sample_weight is None:
        return np.ones(len(bags))
    sample_weight = np.asarray(without_mask(sample_weight))
    if sample_weight.shape != (len(bags),):
        if sample_weight.shape == (bags.n_instances,):
            what = f"{bags.n_instances} values, one per instance"
        else:
            what = f"the shape {sample_weight.shape}"
        raise ValueError(f"sample_weight has {what}, but there are {len(bags)} bags; weights are per bag.")
    weight = check_array(
        sample_weight, dtype=np.float64, copy=True, ensure_2d=False, input_name="sample_weight"
    )
    if (weight < 0).any():
        where = int(np.argmax(weight < 0))
        raise ValueError(
            f"sample_weight is {weight[where]:g} for bag {as_python(bags.ids[where])!r}; weights are zero "
            "or positive."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every bag; give those that are to count a weight above.")
    if not _LEAST_WEIGHT <= weight.max() <= _LARGEST_WEIGHT:
        raise ValueError(
            f"the largest sample_weight is {weight.max():g}, of which products are no numbers any more; "
            f"expected one between {_LEAST_WEIGHT:g} and {_LARGEST_WEIGHT:g}."
        )
    return weight


def class_factors(
    class_weight: ClassWeight, classes: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> np.ndarray:
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
    for label, factor in class_weight.items():
        if not isinstance(factor, Real) or not 0.0 <= float(factor) < np.inf:
            raise ValueError(
                f"class_weight is {as_python(factor)!r} for the class {as_python(label)!r}; expected a "
                "number, zero or positive."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def training_digest(bags: Bags | ScannedBags, y: np.ndarray, weight: np.ndarray) -> str:
    """Digest all sizes, labels and weights of bags, and the instances at both ends: 32 hexadecimal digits.

    The ends are the first and the last bags with up to 2^15 numbers each, so that small data are covered
    whole; of large ones (more than 2^23 numbers) they are the first and the last bag, because bags
    that were selected from a file in any order may lie anywhere. So this costs next to nothing, and is the
    same in memory and in files; what it does not see is a change of instances in the middle of much data.

    Parameters
    ----------
    bags : Bags or ScannedBags
        As `BagEstimator._read` gives them.
    y : array
        Labels as the model reads them, with their classes or without.
    weight : array of shape (n_bags,)
        Weights of the bags, without those of classes.
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
            # In the precision in which its blocks are read, which is that of bags in memory.
            _add(state, end.load().instances.astype(end.dtype, copy=False))
        else:
            _add(state, end.instances)
    return state.hexdigest()[:32]


def _add(state: Any, values: Any) -> None:
    """Add arrays with their kind and shape, so that one cannot be taken for two."""
    if isinstance(values, Sequences):
        parts = [values.symbols, values.offsets]
    elif sp.issparse(values):
        parts = [values.data, values.indices.astype(np.int64), values.indptr.astype(np.int64)]
    else:
        parts = [np.asarray(values)]
    for part in parts:
        state.update(f"{part.dtype.str}{part.shape}".encode())
        state.update(np.ascontiguousarray(part).data if part.size else b"")
