"""Base class of bag estimators: validation, the decorator of `fit`, block-wise predictions, tags, pickles.

The module also defines the base classes of transformers and regressors; `classifiers` defines those of
classifiers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from bagwise._core.interrupt import interruptible
from bagwise._core.precision import is_half, to_compute
from bagwise._core.sklearn_private import validated
from bagwise._version import __version__
from bagwise.data.bags import AnyBags, Bags, aligned, as_bags, check_container, describes_bags
from bagwise.data.bags.parts import LARGEST, checked_sparse, refuse_missing_values, without_mask
from bagwise.data.blocks import Block, PerBag, is_large
from bagwise.data.scanned import ScannedBags
from bagwise.data.sequences import Sequences
from bagwise.data.types import BagsLike
from bagwise.exceptions import VersionWarning, warn_user
from bagwise.models.base.direction import fit_both_directions
from bagwise.models.base.labels import (
    Training,
    UndecidedPositiveError,
    bag_weights,
    read_targets,
    training_digest,
)
from bagwise.solvers.reporting import shared_live_line

_Fit = TypeVar("_Fit", bound=Callable[..., Any])
_FLOATS = (np.float64, np.float32)
# Errors that numpy and compiled code raise if memory runs out.
_NO_MEMORY = ("Unable to allocate", "Allocation failed")
# Positional arguments of `fit` after the bags.
_PER_BAG = ("y", "sample_weight", "groups")


def validated_fit(fit: _Fit) -> _Fit:
    """Decorate `fit`: validate parameters, align labels, stop after the current step on Ctrl-C.

    Labels, weights and groups with an index of bag ids are put into the order of the bags. Text labels
    without `positive` are fitted in both directions (`bagwise.models.base.direction`).

    After Ctrl-C, the fitted attributes contain the current state, and KeyboardInterrupt is raised at the end
    (`bagwise._core.interrupt`). The live line of ``verbose=1`` (`bagwise.solvers.reporting`) ends with the
    fit. A numerically singular matrix or an objective of NaN raises a ValueError; an allocation that fails
    raises a MemoryError that contains the name of the model.
    """

    @functools.wraps(fit)
    def checked_fit(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        with interruptible(), shared_live_line():
            if isinstance(X, AnyBags) and X._has_ids:
                args = tuple(aligned(_PER_BAG[min(i, 2)], value, X) for i, value in enumerate(args))
                kwargs = {name: aligned(name, value, X) for name, value in kwargs.items()}
            undecided = None
            try:
                try:
                    fitted = fit(self, X, *args, **kwargs)
                except UndecidedPositiveError as error:
                    if self._text_labels == "refuse":
                        raise
                    undecided = error
                if undecided is not None:  # not inside `except`, so that errors do not refer to this one
                    fitted = fit_both_directions(fit, self, undecided, X, *args, **kwargs)
            except np.linalg.LinAlgError as error:
                raise ValueError(
                    f"the matrix that {type(self).__name__} builds from X is numerically singular ({error}); "
                    "scale the features (BagPipeline with OnInstances(StandardScaler())), remove redundant "
                    "features, and use bag weights of similar size."
                ) from error
            except OverflowError as error:
                raise _overflow(self) from error
            except MemoryError as error:
                reason = str(error).rstrip(".")
                if not reason.startswith(_NO_MEMORY):  # raised by `require_memory`
                    raise
                raise MemoryError(
                    f"{type(self).__name__} needs more memory than is available ({reason}); use fewer "
                    "features or bags, or a model with fewer parameters."
                ) from error
            if np.isnan(getattr(self, "objective_", 0.0)):
                raise _overflow(self)
        return fitted

    return validated(cast(_Fit, checked_fit))


def _overflow(model: Any) -> ValueError:
    return ValueError(
        f"{type(model).__name__} overflows on these values of X: they are far from the training values or "
        "from each other; scale the features."
    )


class BagEstimator(BaseEstimator):
    """Base class of estimators whose ``X`` is a collection of bags."""

    training_digest_: str

    # Supported kinds of instances; meta-estimators return the properties of the wrapped estimator.
    @property
    def _accepts_sparse(self) -> bool:
        return True

    @property
    def _accepts_missing(self) -> bool:
        return False

    @property
    def _accepts_sequences(self) -> bool:
        return False

    # The largest absolute value that is accepted; infinite if the estimator only ranks or compares values.
    @property
    def _largest_value(self) -> float:
        scale = getattr(self, "scale", None)
        return np.inf if isinstance(scale, str) and scale == "rank" else LARGEST

    # Whether fitted estimators also accept a plain matrix, because they process every row separately.
    _takes_rows = False

    # Whether `fit` reads the bags block by block, so that it can also learn from bags in files.
    @property
    def _streams(self) -> bool:
        return False

    def _read(self, X: BagsLike, *, reset: bool = False, whole: bool = True) -> Bags:
        """Validate the argument `X` of a method and return it as bags; all estimators use this method.

        Parameters
        ----------
        X : Bags, ScannedBags, list of 2-D arrays, 3-D array, or 2-D array (bags of one instance)
            The argument.
        reset : bool
            True in `fit`: ``n_features_in_`` and ``feature_names_in_`` are set. Otherwise, they are compared
            with those of the fit.
        whole : bool
            False if the bags will be read block by block: the instances of large bags are then neither
            converted nor checked, and scans are not loaded.

        Returns
        -------
        Bags, or ScannedBags in `fit` if the estimator reads blocks
            Instances are C-ordered float32 or float64 (16-bit floats become float32, integers float64) or
            CSR. They are finite, their absolute values are at most ``_largest_value``, and no bag is empty.
        """
        name = type(self).__name__
        if not reset:
            check_is_fitted(self)
        bags: Any
        is_matrix = False
        if self._accepts_sequences or isinstance(getattr(X, "instances", None), Sequences):
            if not self._accepts_sequences:
                raise TypeError(f"{name} accepts feature vectors, not Sequences; pass a matrix of features.")
            bags = as_bags(X)
            if not isinstance(bags.instances, Sequences):
                raise TypeError(f"this {name} accepts only Sequences; pass Bags(Sequences(...), offsets).")
        elif isinstance(X, ScannedBags):
            bags = X
            if reset and not self._streams:
                raise ValueError(
                    f"{name} needs all instances in memory and cannot be fitted to a scan; pass scan.load() "
                    f"if its {X.shown_bytes} fit in memory, or use an estimator that can be fitted to scans, "
                    "such as MILogisticRegression."
                )
        elif describes_bags(X):
            bags = as_bags(X)
        else:
            is_matrix = True
            check_container(X)
            # scikit-learn supports data frames, but ignores masks and does not validate sparse structure.
            X = checked_sparse(X) if sp.issparse(X) else without_mask(X)
            kinds = "csr" if self._accepts_sparse else False
            X = validate_data(
                self,
                X,
                reset=reset,
                dtype=None if _has_halves(X) else _FLOATS,
                order="C",
                accept_sparse=kinds,
                ensure_all_finite=False,
            )
            bags = as_bags(X)
        if len(bags) == 0:
            raise ValueError(f"{name} needs at least one bag; X has none.")
        bags._refuse_empty_bags()
        if not is_matrix:
            self._compare_features(bags, reset=reset)
        if isinstance(bags, ScannedBags):
            bags = bags.accepting(missing=self._accepts_missing, largest=self._largest_value)
            if whole and not reset:
                bags = self._checked(bags.in_memory())
        elif (whole or not needs_blocks(bags)) and not isinstance(bags.instances, Sequences):
            bags = self._checked(bags)
        if reset:
            self._learned_from_several = bags.n_instances > len(bags)
        elif is_matrix and not self._takes_rows and getattr(self, "_learned_from_several", False):
            warn_about_rows(name, X, bags)
        return bags

    def _checked(self, bags: Bags) -> Bags:
        """Convert the instances to a supported type; reject missing, infinite and too large values.

        Large 16-bit floats are not converted if the estimator reads blocks.
        """
        if sp.issparse(bags.instances) and not self._accepts_sparse:
            raise TypeError(
                f"{type(self).__name__} does not support sparse instances; pass "
                "bags.with_instances(bags.instances.toarray()) if that fits in memory."
            )
        refuse = partial(
            refuse_missing_values,
            feature_names=bags.feature_names,
            accept_nan=self._accepts_missing,
            largest=self._largest_value,
        )
        instances = bags.instances
        if instances.dtype not in _FLOATS and is_half(instances.dtype):
            if self._streams and needs_blocks(bags):  # every pass of the fit converts it block by block
                for _ in bags.blocks().each(_check_block, refuse, PerBag(bags.ids)):
                    pass
                return bags
            instances = to_compute(instances)
        is_array = isinstance(instances, np.ndarray) and instances.flags.c_contiguous and instances.size
        if not (is_array and instances.dtype in _FLOATS):  # otherwise there is nothing to convert
            instances = check_array(
                instances, dtype=_FLOATS, order="C", accept_sparse="csr", ensure_all_finite=False
            )
        refuse(instances, bags.offsets, bags.ids)
        return bags if instances is bags.instances else bags.with_instances(instances)

    def _compare_features(self, bags: Bags | ScannedBags, *, reset: bool) -> None:
        names = bags.feature_names
        if reset:
            self.n_features_in_ = bags.n_features
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return
        model_name = type(self).__name__
        fitted = getattr(self, "feature_names_in_", None)
        if bags.n_features != self.n_features_in_:
            by_name = names is not None and fitted is not None
            raise ValueError(
                f"X has {bags.n_features} features, but {model_name} is expecting "
                f"{self.n_features_in_} features as input."
                + (" load_bags(..., like=model) loads the features of the model." if by_name else "")
            )
        if names is not None and fitted is not None and not np.array_equal(names, fitted):
            i = int(np.argmax(names != fitted))
            raise ValueError(
                f"the features of X do not match those that {model_name} was fitted to: feature {i} is "
                f"{str(names[i])!r}, expected {fitted[i]!r}; pass the same features in the same order, for "
                "example with load_bags(..., like=model) or "
                "Bags.from_frame(..., features=list(model.feature_names_in_))."
            )

    def _training(self, bags: Bags, y: np.ndarray, sample_weight: ArrayLike | None = None) -> Training:
        """Combine bags, encoded labels and validated weights; set ``training_digest_``."""
        weight = bag_weights(bags, sample_weight)
        self.training_digest_ = training_digest(bags, y, weight)
        return Training(bags, y, weight)

    def _by_blocks(
        self, X: BagsLike, f: Callable[..., Any], labels: Callable[[Bags], np.ndarray] | None = None
    ) -> Any:
        """Return ``f(bags)``, computed block by block if the bags are large or read from files.

        All predictions use this method. `f` returns one row per bag or one row per instance. If `labels` is
        set, it is called with the bags and returns their labels, and `f` is called with bags and labels.
        """
        bags = self._read(X, whole=not needs_blocks(X))
        bag_labels = None if labels is None else labels(bags)
        if not needs_blocks(bags):
            return self._compute(bags, f, bag_labels)
        return bags.blocks().joined(
            self._of_block, f, PerBag(bags.ids), None if bag_labels is None else PerBag(bag_labels)
        )

    def _of_block(
        self, block: Block, f: Callable[..., Any], ids: np.ndarray, labels: np.ndarray | None
    ) -> Any:
        return self._compute(self._read(Bags(block.X, block.offsets, ids=ids)), f, labels)

    def _compute(self, bags: Bags, f: Callable[..., Any], labels: np.ndarray | None) -> Any:
        """Return ``f(bags)``; raise an error for NaN or infinite features, unless the bags contain NaN."""
        computed = f(bags) if labels is None else f(bags, labels)
        values = computed.data if sp.issparse(computed) else computed
        if getattr(values, "dtype", np.dtype(object)).kind == "f":
            is_wrong = ~np.isfinite(values) if isinstance(self, BagTransformer) else np.isnan(values)
            instances = bags.instances.data if sp.issparse(bags.instances) else bags.instances
            if is_wrong.any() and (isinstance(instances, Sequences) or not np.isnan(instances).any()):
                raise _overflow(self)
        return computed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.three_d_array = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_bagwise_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        written_by = state.pop("_bagwise_version", None)
        if written_by != __version__:
            warn_user(
                f"this {type(self).__name__} was pickled with bagwise {written_by} but loaded with "
                f"{__version__}; predictions can differ. Fit it again to be safe.",
                VersionWarning,
            )
        super().__setstate__(state)


class BagTransformer(TransformerMixin, BagEstimator):
    """Base class of bag transformers."""


class BagRegressor(RegressorMixin, BagEstimator):
    """Base class of bag regressors, which predict a real value for every bag.

    Subclasses define `fit`, which uses the result of `_read_training`, and `_bag_values`.
    """

    def _read_training(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Training:
        """Validate the arguments of `fit`; targets become float64, bags of weight zero are dropped."""
        bags = self._read(X, reset=True)
        return self._training(bags, read_targets(self, y, X, bags), sample_weight).that_count()

    def _bag_values(self, bags: Bags) -> np.ndarray:
        """Return the predicted value of every bag: shape (n_bags,)."""
        raise NotImplementedError

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the target value of every bag.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return self._by_blocks(X, self._bag_values)


def warn_about_rows(name: str, X: BagsLike, bags: Bags) -> None:
    """Warn that the rows of a matrix are read as bags, although the training bags had several instances."""
    n_rows = len(bags)
    if n_rows > 1 and not describes_bags(X):
        warn_user(
            f"X is a matrix and was read as {n_rows} bags of one instance, but {name} was fitted to bags of "
            f"several instances; for one bag of {n_rows} instances pass [X]. If you mean {n_rows} bags, pass "
            "Bags(X, np.arange(len(X) + 1))."
        )


def _check_block(block: Block, refuse: Callable[..., None], ids: np.ndarray) -> None:
    refuse(block.X, block.offsets, ids)


def _has_halves(X: Any) -> bool:
    """Return whether a matrix or all columns of a data frame are 16-bit floats."""
    dtypes = [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", ()))
    return len(dtypes) > 0 and all(map(is_half, dtypes))


def needs_blocks(X: BagsLike) -> bool:
    """Return whether bags are so large that they are read block by block, in memory or from files."""
    if isinstance(X, ScannedBags):
        return not X.fits
    array = X.instances if isinstance(X, Bags) else X
    return isinstance(array, np.ndarray) and is_large(array.size)
