"""Checks and conversions of the parts of `Bags`: instances, offsets, ids and side columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise._core.compiled.arrays import readonly
from bagwise.data.sequences import Sequences

# Fourth powers of values up to this limit, and sums of such powers, do not overflow.
LARGEST = 1e60


def as_python(value: Any) -> Any:
    """Convert numpy scalars to Python scalars, which print without a type; return other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def read_only(array: Any) -> Any:
    """Return a read-only view of an array or a CSR matrix; `Sequences` are already read-only."""
    if isinstance(array, Sequences):
        return array
    if sp.issparse(array):
        parts = readonly(array.data, array.indices, array.indptr)
        view = type(array)(parts, shape=array.shape, copy=False)
        # `as_matrix` returns canonical matrices. Without the flag, scipy would check the format again or sort
        # in place.
        view.has_canonical_format = True
        return view
    return readonly(array)[0]


def as_matrix(X: Any) -> Any:
    """Check that `X` is 2-D; return a C-ordered array, a canonical CSR matrix, or `Sequences` unchanged."""
    if isinstance(X, Sequences):
        return X
    if sp.issparse(X):
        X = checked_sparse(X).tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return _with_short_indices(X)
    X = np.asarray(without_mask(X), order="C")
    if X.ndim != 2:
        raise ValueError(f"instances has shape {X.shape}; expected a 2-D array (n_instances, n_features).")
    return X


def _with_short_indices(X: Any) -> Any:
    """Return a CSR matrix, with 32-bit indices if possible: many scikit-learn estimators require these."""
    if X.indices.dtype == np.int32 or max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    short = type(X)((X.data, indices, indptr), shape=X.shape)
    short.has_canonical_format = True
    return short


def as_text(values: Sequence[str]) -> np.ndarray:
    """Return strings as a numpy array; raise an error for trailing NUL, which numpy would strip."""
    for value in values:
        if value.endswith("\0"):
            raise ValueError(
                f"the string {value!r} ends with a NUL character, which numpy strips, so that different "
                "strings would become equal; remove the trailing NUL."
            )
    return np.array(values, dtype=np.str_)


def without_mask(array: Any) -> Any:
    """Convert a masked array to a plain array with NaN for masked values; return other arrays unchanged."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if not np.ma.is_masked(array):
        return array.data
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"got a masked array of dtype {array.dtype}, which cannot store NaN for masked values; fill them "
            "first."
        )
    values = array.data.astype(array.dtype if array.dtype.kind == "f" else np.float64)
    values[np.ma.getmaskarray(array)] = np.nan
    return values


def checked_sparse(X: Any) -> Any:
    """Raise an error for an inconsistent sparse matrix; scipy checks only lengths."""
    if X.format not in ("csr", "csc", "bsr"):
        return X  # scipy checks the other formats, or they have no indices
    indptr, indices = X.indptr, X.indices
    block = X.blocksize if X.format == "bsr" else (1, 1)
    n_lines, n_minor = (n // size for n, size in zip(X.shape, block, strict=True))
    line, minor = ("row", "column") if X.format != "csc" else ("column", "row")
    if X.format == "csc":
        n_lines, n_minor = n_minor, n_lines
    n_values = min(len(indices), len(X.data))
    problem = None
    if len(indptr) != n_lines + 1 or indptr[0] != 0:
        problem = f"indptr must have {n_lines + 1} entries and start with 0"
    elif (falls := indptr[1:] < indptr[:-1]).any():
        first = int(np.argmax(falls))
        problem = f"indptr decreases at {line} {first}, from {indptr[first]} to {indptr[first + 1]}"
    elif indptr[-1] > n_values:
        problem = f"indptr ends at {indptr[-1]} but there are {n_values} values"
    elif (outside := (indices[: indptr[-1]] < 0) | (indices[: indptr[-1]] >= n_minor)).any():
        first = int(np.argmax(outside))
        where = int(np.searchsorted(indptr, first, side="right")) - 1
        problem = f"{line} {where} has a value in {minor} {indices[first]}, but there are {n_minor} {minor}s"
    if problem:
        raise ValueError(f"invalid {X.format.upper()} matrix: {problem}.")
    return X


def join(parts: list[Any]) -> Any:
    """Stack the instances of several parts."""
    if set(map(type, parts)) == {Sequences}:
        return Sequences.concat(parts)
    return sp.vstack(parts) if any(map(sp.issparse, parts)) else np.concatenate(parts)


def as_offsets(offsets: ArrayLike, n_instances: int) -> np.ndarray:
    """Return offsets as int64; raise an error if they are not valid for this number of instances."""
    values = np.asarray(offsets)
    if values.ndim != 1 or len(values) == 0 or not np.issubdtype(values.dtype, np.integer):
        raise ValueError(
            f"offsets must be a 1-D array of integers with n_bags + 1 entries; got {values.dtype} "
            f"of shape {values.shape}."
        )
    # Copy the offsets, so that later changes to the caller's array do not change the bags.
    offsets = values.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != n_instances:
        raise ValueError(
            f"offsets must start at 0 and end at the number of instances, {n_instances}; "
            f"they start at {offsets[0]} and end at {offsets[-1]}."
        )
    down = np.diff(offsets) < 0
    if down.any():
        i = int(np.argmax(down))
        raise ValueError(
            f"offsets must not decrease; they go from {offsets[i]} to {offsets[i + 1]} at bag {i}."
        )
    return offsets


def as_feature_names(names: Sequence[str] | np.ndarray | None, n_features: int) -> np.ndarray | None:
    """Return feature names as a string array, or None; raise an error if there are too many or too few."""
    if names is None:
        return None
    names = np.asarray([str(name) for name in names])
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names; expected {n_features}, one per feature.")
    return names


def as_column(name: str, values: Any, n: int, of: str) -> np.ndarray:
    """Return a side column as an array; raise an error unless it has one value per bag or instance."""
    is_text = isinstance(values, (list, tuple)) and all(isinstance(value, str) for value in values)
    values = as_text(values) if is_text and values else np.asarray(without_mask(values))
    if values.shape[:1] != (n,):
        raise ValueError(f"{name} has shape {values.shape}, but there are {n} {of}.")
    return values


def as_columns(argument: str, columns: Mapping[str, Any] | None, n: int, of: str) -> dict[str, np.ndarray]:
    """Return side columns by name, each checked by `as_column`."""
    if columns is None:
        return {}
    return {str(name): as_column(f"{argument}[{name!r}]", values, n, of) for name, values in columns.items()}


def as_bag_index(key: Any, n_bags: int) -> np.ndarray:
    """Convert an index array or a boolean mask to non-negative bag indices."""
    index = np.asarray(key)
    if index.ndim != 1:
        raise IndexError(f"Bags are indexed by an integer, a slice or a 1-D array; got {key!r}.")
    if index.dtype == bool:
        if len(index) != n_bags:
            raise IndexError(f"the mask has {len(index)} entries; expected {n_bags}, one per bag.")
        return np.flatnonzero(index)
    if len(index) == 0:
        return np.zeros(0, dtype=np.int64)
    if not np.issubdtype(index.dtype, np.integer):
        raise IndexError(f"Bags are indexed by integers or a boolean mask; got {index.dtype}.")
    index = index.astype(np.int64)
    outside = (index < -n_bags) | (index >= n_bags)
    if outside.any():
        raise IndexError(f"bag {index[np.argmax(outside)]} is out of range; there are {n_bags} bags.")
    return np.where(index < 0, index + n_bags, index)


def are_small(values: np.ndarray, largest: float) -> bool:
    """Return True only if all values are finite and at most `largest`, in one pass without temporary arrays.

    The check is cheap and conservative: the values may be valid even if it returns False.
    """
    values = values.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        # If the sum of squares is small, so is every value.
        return float(values @ values) <= min(largest, LARGEST) ** 2


def refuse_missing_values(
    instances: Any,
    offsets: np.ndarray,
    ids: np.ndarray,
    feature_names: np.ndarray | None,
    *,
    accept_nan: bool,
    largest: float = np.inf,
) -> None:
    """Raise an error for missing, infinite or too large values, with their bag, instance and feature."""
    values = (instances.data if sp.issparse(instances) else instances).ravel()
    if are_small(values, largest):
        return
    refused = np.isinf(values) if accept_nan else ~np.isfinite(values)
    if not refused.any():
        # Use a Python float: in single precision, `largest` would overflow in the comparison.
        largest_value = float(np.nanmax(np.abs(values), initial=0.0))
        if largest_value <= largest:
            return
        refused = np.abs(values) == largest_value
    position = int(np.argmax(refused))
    if sp.issparse(instances):
        row = int(np.searchsorted(instances.indptr, position, side="right")) - 1
        column = int(instances.indices[position])
    else:
        row, column = divmod(position, instances.shape[1])
    bag = int(np.searchsorted(offsets, row, side="right")) - 1
    feature = column if feature_names is None else repr(str(feature_names[column]))
    where = f"bag {as_python(ids[bag])!r}, instance {row - offsets[bag]}, feature {feature}"
    value = values[position]
    if np.isfinite(value):
        raise ValueError(
            f"X has values up to {abs(value):g} ({where}), and powers of values above {largest:g} overflow; "
            "rescale the features."
        )
    if np.isnan(value):
        raise ValueError(
            f"X contains NaN: {where}; remove or impute it, for instance with OnInstances(SimpleImputer()) "
            "in a pipeline."
        )
    raise ValueError(
        f"X contains infinity: {where}; replace infinite values by finite ones, such as the largest finite "
        "value of the feature, or by NaN, which OnInstances(SimpleImputer()) in a pipeline imputes."
    )


def group(bag_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group rows by id; return the ids by first appearance, the row indices bag by bag, and the offsets."""
    sorted_ids, first_rows, codes = np.unique(bag_ids, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first_rows, kind="stable")
    rank = np.empty_like(by_appearance)
    rank[by_appearance] = np.arange(len(by_appearance))
    codes = rank[codes]
    rows = np.argsort(codes, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(rank)))])
    return sorted_ids[by_appearance], rows, offsets


def group_of_each(groups: Any, n_bags: int, ids: np.ndarray | None = None) -> np.ndarray:
    """Check that `groups` has one non-missing value per bag, and return the values as an array.

    Missing values (NaN, None, NA, empty text) raise an error, because otherwise all bags without a group
    would form one group. Error messages contain the id of the bag, or its index if `ids` is None.
    """
    names = np.asarray(without_mask(groups))
    if names.shape != (n_bags,):
        raise ValueError(
            f"groups has the shape {names.shape}, but there are {n_bags} bags; pass one group per bag."
        )
    # In a list of text, numpy converts NaN to the text "nan", so the list itself is checked.
    values = groups if isinstance(groups, (list, tuple)) else names.tolist()
    missing = np.array([is_missing(value) or value == "" for value in values], dtype=bool)
    if missing.any():
        first = int(np.argmax(missing))
        bag = first if ids is None else as_python(ids[first])
        more = f" and {missing.sum() - 1} more" if missing.sum() > 1 else ""
        raise ValueError(
            f"groups has no value for bag {bag!r}{more}; every bag needs a group. If the group of a bag is "
            "unknown, remove the bag or make it a separate group."
        )
    if names.dtype == object:
        try:
            np.unique(names)
        except TypeError as error:
            kinds = sorted({type(as_python(value)).__name__ for value in names.tolist()})
            raise TypeError(
                f"groups has values of different types ({', '.join(kinds)}), which cannot be sorted; convert "
                "them, as in [str(group) for group in groups]."
            ) from error
    return names


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or NA or NaT of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def check_alike(parts: list[Any]) -> None:
    """Check that several `Bags` have the same features and side columns, so that they can be joined."""
    first = parts[0]
    for i, part in enumerate(parts):
        if part.n_features != first.n_features:
            raise ValueError(f"part {i} has {part.n_features} features but part 0 has {first.n_features}.")
        if not np.array_equal(part.feature_names, first.feature_names):
            raise ValueError(f"part {i} and part 0 have different feature names.")
        for kind in ("instance_columns", "bag_columns"):
            ours, theirs = getattr(part, kind), getattr(first, kind)
            if ours.keys() != theirs.keys():
                raise ValueError(
                    f"part {i} has {kind} {sorted(ours)} but part 0 has {sorted(theirs)}; all parts need the "
                    "same side columns."
                )


def feature_index(feature: int | str, bags: Any, model: Any) -> int:
    """Return the index of a feature; names are looked up in the bags or the model."""
    if not isinstance(feature, str):
        if not 0 <= feature < bags.n_features:
            raise ValueError(f"feature must be between 0 and {bags.n_features - 1}; got {feature!r}.")
        return int(feature)
    names = bags.feature_names if bags.feature_names is not None else getattr(model, "feature_names_in_", [])
    if feature not in list(names):
        raise ValueError(f"there is no feature {feature!r}; the features are {[str(n) for n in names]}.")
    return list(names).index(feature)
