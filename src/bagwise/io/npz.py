"""Read and write npz files, which contain bags, names, side columns and labels in compressed form."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise._core.files.atomic import replacing
from bagwise._core.files.damage import reading, refuse_false_sizes
from bagwise._core.precision import with_dtype
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.data.bags.parts import checked_sparse
from bagwise.data.description import checked_labels, text_array

# A file contains `X` (or the arrays of a CSR matrix), `offsets`, optionally `y`, `bag_ids` and
# `feature_names`, and side columns with these prefixes.
_INSTANCE, _BAG = "instance_columns/", "bag_columns/"
_NAMES = ("X", "X_data", "X_indices", "X_indptr", "X_shape", "offsets", "y", "bag_ids", "feature_names")


def save_npz(path: FilePath, bags: Bags, y: ArrayLike | None = None) -> Path:
    """Write bags and their labels to an npz file.

    Writing is atomic: the file is written under a temporary name and then renamed.

    Parameters
    ----------
    path : path
        The file to write; ".npz" is appended if it is missing.
    bags : Bags
        The bags to write: instances (dense or CSR), offsets, ids, feature names and side columns.
    y : array of shape (n_bags, ...), optional
        Labels of the bags.

    Returns
    -------
    pathlib.Path
        The path of the written file.

    See Also
    --------
    load_npz : Read the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from bagwise import make_noisy_or_bags, save_npz
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_npz(pathlib.Path(folder) / "five", data.bags, data.y)
    ...     file.name, np.load(file)["y"].tolist() == data.y.tolist()
    ('five.npz', True)
    """
    path = Path(path)
    if path.suffix != ".npz":
        path = path.with_name(path.name + ".npz")
    arrays: dict[str, Any] = {"offsets": bags.offsets}
    X = bags.instances
    if sp.issparse(X):
        arrays |= {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr}
        arrays["X_shape"] = np.asarray(X.shape)
    else:
        arrays["X"] = X
    if bags._ids is not None:
        arrays["bag_ids"] = bags.ids
    if bags.feature_names is not None:
        arrays["feature_names"] = bags.feature_names
    if y is not None:
        arrays["y"] = checked_labels(y, len(bags))
    arrays |= {_INSTANCE + name: column for name, column in bags.instance_columns.items()}
    arrays |= {_BAG + name: column for name, column in bags.bag_columns.items()}
    arrays = {name: text_array(name, array) for name, array in arrays.items()}
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return path


def load_npz(path: FilePath) -> tuple[Bags, Labels]:
    """Read bags and their labels from an npz file.

    Reads files written by `save_npz`, and any npz file with arrays `X` and `offsets` (and optionally `y`,
    `bag_ids` and `feature_names`). Other arrays are ignored.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    bags : Bags
        The bags.
    y : array or None
        The labels; None if there are none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import load_npz, make_noisy_or_bags, save_npz
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_npz(pathlib.Path(folder) / "five.npz", data.bags, data.y)
    ...     bags, y = load_npz(file)
    >>> bags
    Bags(5 bags, 15 instances, 3 features)
    """
    return bags_of_arrays(read_arrays(path), path)


def read_arrays(path: Any, *, but: Collection[str] = ()) -> dict[str, Any]:
    """Read the arrays of a file; unknown arrays and the arrays in `but` have the value None."""
    with reading(path, "npz file"), open(path, "rb") as raw:
        refuse_false_sizes(raw)
        # The file is opened above, because np.load does not close damaged files.
        with np.load(raw, allow_pickle=False) as file:
            return {name: file[name] if _is_ours(name) and name not in but else None for name in file.files}


def _is_ours(name: str) -> bool:
    return name in _NAMES or name.startswith((_INSTANCE, _BAG))


def bags_of_arrays(arrays: dict[str, Any], path: Any) -> tuple[Bags, np.ndarray | None]:
    """Build bags and labels from the arrays of a file."""
    if "X_data" in arrays:
        X = _csr(arrays, path)
    elif "X" in arrays:
        X = with_dtype(arrays["X"])
    else:
        raise ValueError(f"{str(path)!r} has no array 'X'; it has {sorted(arrays)}.")
    if "offsets" not in arrays:
        raise ValueError(
            f"{str(path)!r} has no array 'offsets', which divides X into bags; it has {sorted(arrays)}."
        )
    with reading(path, "npz file of bags"):
        bags = Bags(
            X,
            arrays["offsets"],
            ids=arrays.get("bag_ids"),
            feature_names=arrays.get("feature_names"),
            instance_columns=_with_prefix(arrays, _INSTANCE),
            bag_columns=_with_prefix(arrays, _BAG),
        )
    y = arrays.get("y")
    if y is not None and y.shape[:1] != (len(bags),):
        raise ValueError(f"{str(path)!r} has {len(bags)} bags but y of shape {y.shape}.")
    return bags, y


def _csr(arrays: dict[str, Any], path: Any) -> sp.csr_array:
    """Build a CSR matrix; raise an error if its arrays are inconsistent."""
    for name in ("X_indices", "X_indptr", "X_shape"):
        if name not in arrays:
            raise ValueError(f"{str(path)!r} has an array 'X_data' but no {name!r}; it has {sorted(arrays)}.")
    with reading(path, "npz file, arrays 'X_...'"):
        shape = tuple(map(int, arrays["X_shape"]))
        parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        return checked_sparse(sp.csr_array(parts, shape=shape))


def _with_prefix(arrays: Any, prefix: str) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
