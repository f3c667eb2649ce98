"""`Bags`, and the ways to make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from bagwise.data.bags.parts import (
    as_column,
    as_columns,
    as_feature_names,
    as_matrix,
    as_offsets,
    check_alike,
    checked_sparse,
    group,
    join,
    without_mask,
)
from bagwise.data.bags.telling import TellingBags
from bagwise.data.sequences import Sequences


class Bags(TellingBags):
    """An immutable collection of bags, each a small matrix of instances.

    The instances of all bags lie in one matrix, bag after bag; bag ``i`` is
    ``instances[offsets[i]:offsets[i + 1]]``. Selecting bags, cross-validating over them and handing them
    to compiled code are then array operations, and scikit-learn's model selection tools take a `Bags`
    wherever they take a matrix: its `shape` is ``(n_bags, n_features)`` and an index selects bags.

    Parameters
    ----------
    instances : array of shape (n_instances, n_features), CSR matrix, or Sequences
        All instances, bag after bag. Kept in its dtype as a read-only view: no copy is made of a
        C-ordered array or a CSR matrix in canonical form.
    offsets : array of int, shape (n_bags + 1,)
        Where each bag starts; begins with 0 and ends with ``n_instances``.
    ids : array of shape (n_bags,), optional
        A name for each bag. Bags without names are numbered.
    feature_names : sequence of str, optional
        A name for each feature.
    instance_columns, bag_columns : mapping of str to array, optional
        Side columns, one value (or row) per instance such as coordinates or time, or per bag such as the
        patient. They are not features; they travel with every selection.

    See Also
    --------
    Bags.from_list : from a list of 2-D arrays, or a 3-D array.
    Bags.from_groups : from a matrix and a bag id for every row.
    Bags.from_frame : from a pandas or polars data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import Bags
    >>> bags = Bags(np.arange(10.0).reshape(5, 2), [0, 2, 5], ids=["a", "b"])
    >>> bags
    Bags(2 bags, 5 instances, 2 features)
    >>> bags[1]
    array([[4., 5.],
           [6., 7.],
           [8., 9.]])
    >>> bags[[1]].ids
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def __init__(
        self,
        instances: Any,
        offsets: ArrayLike,
        *,
        ids: Sequence[Any] | np.ndarray | None = None,
        feature_names: Sequence[str] | np.ndarray | None = None,
        instance_columns: Mapping[str, Any] | None = None,
        bag_columns: Mapping[str, Any] | None = None,
    ):
        instances = as_matrix(instances)
        offsets = as_offsets(offsets, instances.shape[0])
        n_bags = len(offsets) - 1
        self._fill(
            instances,
            offsets,
            ids=None if ids is None else as_column("ids", ids, n_bags, "bags"),
            feature_names=as_feature_names(feature_names, instances.shape[1]),
            instance_columns=as_columns(
                "instance_columns", instance_columns, instances.shape[0], "instances"
            ),
            bag_columns=as_columns("bag_columns", bag_columns, n_bags, "bags"),
        )

    # ------------------------------------------------------------------ ways in

    @classmethod
    def from_list(cls, arrays: Iterable[Any], **names: Any) -> Bags:
        """Join 2-D arrays, one per bag; a 3-D array is a list of bags of one size.

        Parameters
        ----------
        arrays : iterable of arrays or sparse matrices of shape (size, n_features), or a 3-D array
            The bags. A contiguous 3-D array is not copied.
        **names
            `ids`, `feature_names`, `instance_columns` and `bag_columns`, as in `Bags`.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> Bags.from_list([np.zeros((2, 3)), np.ones((4, 3))])
        Bags(2 bags, 6 instances, 3 features)
        """
        if isinstance(arrays, np.ndarray) and arrays.ndim == 3:
            n_bags, size, n_features = arrays.shape
            offsets = np.arange(n_bags + 1) * size
            return cls(arrays.reshape(n_bags * size, n_features), offsets, **names)
        parts = [
            checked_sparse(part)
            if sp.issparse(part)
            else part
            if isinstance(part, Sequences)
            else np.asarray(without_mask(part))
            for part in arrays
        ]
        if not parts:
            raise ValueError("from_list needs at least one bag; the list is empty.")
        for i, part in enumerate(parts):
            if part.ndim != 2:
                raise ValueError(
                    f"bag {i} has shape {part.shape}; every bag must be 2-D, (n_instances, n_features)."
                )
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"bag {i} has {part.shape[1]} features but bag 0 has {parts[0].shape[1]}; "
                    "all bags need the same features."
                )
        offsets = np.cumsum([0, *(part.shape[0] for part in parts)])
        return cls(join(parts), offsets, **names)

    @classmethod
    def from_groups(
        cls,
        X: Any,
        bag_ids: ArrayLike,
        *,
        feature_names: Sequence[str] | np.ndarray | None = None,
        instance_columns: Mapping[str, Any] | None = None,
    ) -> Bags:
        """Group the rows of a matrix into bags by an id for every row.

        Rows may come in any order. Bags stand in order of first appearance and keep the order of their
        rows; `ids` names the bags and `source_rows` says which input row each instance was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            One instance a row. Not copied if the rows of every bag are already together.
        bag_ids : array of shape (n_rows,)
            The bag of every row.
        feature_names, instance_columns
            As in `Bags`; columns are in the order of the rows of `X`.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags.from_groups(np.arange(8.0).reshape(4, 2), ["b", "a", "b", "a"])
        >>> bags.ids, bags.source_rows
        (array(['b', 'a'], dtype='<U1'), array([0, 2, 1, 3]))
        """
        X = as_matrix(X)
        bag_ids = np.asarray(bag_ids)
        if bag_ids.shape != X.shape[:1]:
            raise ValueError(
                f"bag_ids has shape {bag_ids.shape} but X has {X.shape[0]} rows; "
                "give one bag id for every row of X."
            )
        missing = bag_ids != bag_ids
        if bag_ids.dtype == object:
            missing = missing | np.array([value is None for value in bag_ids])
        if np.any(missing):
            raise ValueError(f"bag_ids has no value for row {int(np.argmax(missing))}.")
        ids, source_rows, offsets = group(bag_ids)
        in_order = bool((source_rows[1:] > source_rows[:-1]).all())
        columns = as_columns("instance_columns", instance_columns, X.shape[0], "rows")
        if not in_order:
            X = X[source_rows]
            columns = {name: column[source_rows] for name, column in columns.items()}
        bags = cls(X, offsets, ids=ids, feature_names=feature_names, instance_columns=columns)
        return bags._replace(source_rows=source_rows, n_source_rows=len(source_rows))

    @classmethod
    def from_frame(cls, frame: Any, *, bag: str, features: Sequence[str] | None = None) -> Bags:
        """Group the rows of a pandas or polars data frame into bags.

        Parameters
        ----------
        frame : data frame
            One instance a row, rows in any order.
        bag : str
            The column that names the bag of every row.
        features : sequence of str, optional
            The feature columns. By default every numeric column that varies inside some bag. What is
            constant inside every bag but differs between bags describes bags, not instances: such
            columns (the label, the patient) go to `bag_columns`, so a label never leaks into the
            features by accident. The other columns go to `instance_columns`.

        Examples
        --------
        >>> import pandas as pd
        >>> from bagwise import Bags
        >>> df = pd.DataFrame({"molecule": ["m1", "m2", "m1", "m2"], "active": [1, 0, 1, 0],
        ...                    "angle": [0.1, 0.2, 0.3, 0.4]})
        >>> bags = Bags.from_frame(df, bag="molecule")
        >>> bags.feature_names, bags.per_bag(df["active"])
        (array(['angle'], dtype='<U5'), array([1, 0]))
        """
        from bagwise.data.frames import bags_from_frame

        return bags_from_frame(frame, bag=bag, features=features)

    @classmethod
    def concat(cls, parts: Iterable[Bags]) -> Bags:
        """Join several `Bags` into one.

        Feature names must agree. Side columns must be present in all parts, names of bags are kept;
        bags without names are numbered anew.

        Parameters
        ----------
        parts : iterable of Bags
            What is joined, in this order.

        Returns
        -------
        Bags

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags(np.zeros((3, 2)), [0, 1, 3])
        >>> Bags.concat([bags, bags])
        Bags(4 bags, 6 instances, 2 features)
        """
        parts = list(parts)
        if not parts:
            raise ValueError("concat needs at least one Bags; the list is empty.")
        first = parts[0]
        for i, part in enumerate(parts):
            if not isinstance(part, Bags):
                raise TypeError(f"part {i} of concat is a {type(part).__name__}; expected Bags.")
        check_alike(parts)
        starts = np.cumsum([0, *(p.n_instances for p in parts)])
        offsets = np.concatenate(
            [[0], *(p._offsets[1:] + start for p, start in zip(parts, starts, strict=False))]
        )
        named = any(p._ids is not None for p in parts)
        return cls(
            join([p._instances for p in parts]),
            offsets,
            ids=np.concatenate([p.ids for p in parts]) if named else None,
            feature_names=first._feature_names,
            instance_columns={
                name: np.concatenate([p._instance_columns[name] for p in parts])
                for name in first._instance_columns
            },
            bag_columns={
                name: np.concatenate([p._bag_columns[name] for p in parts]) for name in first._bag_columns
            },
        )

    # ------------------------------------------------------------------ manners

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "Bags cannot become one array, because bags differ in size; use bags.instances for the flat "
            "matrix, or list(bags) for one array per bag. A transformer of matrices, such as StandardScaler, "
            "goes into a pipeline as OnInstances(StandardScaler()). What features are worth, and which to "
            "keep, say bag_permutation_importance, refit_selected and forward_selection, in place of "
            "permutation_importance, SelectFromModel and RFE."
        )

    def _of_parts(self, **parts: Any) -> Bags:
        return _rebuild(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._parts(),)

    # For files of models (`bagwise.save`), which anyone may have written: everything is checked anew.
    def __getstate__(self) -> dict[str, Any]:
        return {
            "instances": self._instances,
            "offsets": self._offsets,
            "ids": self._ids,
            "feature_names": self._feature_names,
            "instance_columns": self._instance_columns,
            "bag_columns": self._bag_columns,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)


def _rebuild(parts: dict[str, Any]) -> Bags:
    bags = object.__new__(Bags)
    bags._fill(**parts)
    return bags
