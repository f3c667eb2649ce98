"""`Bags`, the one container of the library: flat instances, and offsets that cut them into bags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._bag_parts import (
    as_column,
    as_columns,
    as_feature_names,
    as_matrix,
    as_offsets,
    as_python,
    check_alike,
    checked_sparse,
    depth,
    group,
    join,
    read_only,
    refuse_empty_bags,
    selection,
    show_counts,
    without_mask,
)
from bagwise.blocks import Blocks, MemoryBlocks
from bagwise.sequences import Sequences


class Bags:
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

    __slots__ = (
        "_bag_columns",
        "_feature_names",
        "_ids",
        "_instance_columns",
        "_instances",
        "_n_source_rows",
        "_offsets",
        "_source_rows",
    )

    _instances: Any
    _offsets: np.ndarray
    _ids: np.ndarray | None
    _feature_names: np.ndarray | None
    _instance_columns: dict[str, np.ndarray]
    _bag_columns: dict[str, np.ndarray]
    _source_rows: np.ndarray | None
    _n_source_rows: int

    def __init__(
        self,
        instances,
        offsets,
        *,
        ids: Sequence | np.ndarray | None = None,
        feature_names: Sequence[str] | np.ndarray | None = None,
        instance_columns: Mapping[str, Any] | None = None,
        bag_columns: Mapping[str, Any] | None = None,
    ):
        instances = as_matrix(instances)
        offsets = as_offsets(offsets, instances.shape[0])
        n_bags = len(offsets) - 1
        _fill(
            self,
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
    def from_list(cls, arrays: Iterable, **names) -> Bags:
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
    def from_groups(cls, X, bag_ids, *, feature_names=None, instance_columns=None) -> Bags:
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
    def from_frame(cls, frame, *, bag: str, features: Sequence[str] | None = None) -> Bags:
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
        from bagwise.io.frames import bags_from_frame

        return bags_from_frame(frame, bag=bag, features=features)

    @classmethod
    def concat(cls, parts: Iterable[Bags]) -> Bags:
        """Join several `Bags` into one.

        Feature names must agree. Side columns must be present in all parts, names of bags are kept;
        bags without names are numbered anew.

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

    # ------------------------------------------------------------------ what it holds

    @property
    def instances(self):
        """All instances, bag after bag: a read-only array (n_instances, n_features) or CSR matrix."""
        return self._instances

    @property
    def offsets(self) -> np.ndarray:
        """Where each bag starts, and the end of the last: int64, shape (n_bags + 1,), read-only."""
        return self._offsets

    @property
    def sizes(self) -> np.ndarray:
        """The number of instances of every bag."""
        return np.diff(self._offsets)

    @property
    def bag_index(self) -> np.ndarray:
        """The number of its bag, for every instance."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def ids(self) -> np.ndarray:
        """The names of the bags; their numbers if they have none."""
        return np.arange(len(self)) if self._ids is None else self._ids

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the features, or None."""
        return self._feature_names

    @property
    def instance_columns(self) -> Mapping[str, np.ndarray]:
        """Side columns with a value per instance."""
        return MappingProxyType(self._instance_columns)

    @property
    def bag_columns(self) -> Mapping[str, np.ndarray]:
        """Side columns with a value per bag."""
        return MappingProxyType(self._bag_columns)

    @property
    def source_rows(self) -> np.ndarray | None:
        """The row of `from_groups`' or `from_frame`'s input that each instance was; else None."""
        return self._source_rows

    @property
    def n_instances(self) -> int:
        """The number of instances in all bags together."""
        return self._instances.shape[0]

    @property
    def n_features(self) -> int:
        """The number of features of an instance."""
        return self._instances.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_bags, n_features)``, what scikit-learn's tools count by."""
        return len(self), self.n_features

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self) -> Iterator:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        counts = show_counts(bags=len(self), instances=self.n_instances, features=self.n_features)
        return f"Bags({counts})"

    def per_bag(self, column) -> np.ndarray:
        """Turn a column with a value per row into one value per bag.

        Parameters
        ----------
        column : str or array
            The name of an instance column, or values in the order of the *input rows* of `from_groups`
            or `from_frame` (in the order of `instances` for `Bags` made in other ways).

        Returns
        -------
        array of shape (n_bags,)
            The value that all rows of a bag share. A bag with two values is refused.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags.from_groups(np.zeros((3, 1)), ["m1", "m2", "m1"])
        >>> bags.per_bag([True, False, True])
        array([ True, False])
        """
        if isinstance(column, str):
            if column in self._bag_columns:
                return self._bag_columns[column]
            if column not in self._instance_columns:
                raise KeyError(
                    f"there is no side column {column!r}; there are "
                    f"{sorted([*self._instance_columns, *self._bag_columns])}."
                )
            values = self._instance_columns[column]
        else:
            values = np.asarray(column)
            expected, what = (
                (self.n_instances, "instances")
                if self._source_rows is None
                else (self._n_source_rows, "input rows")
            )
            if values.shape != (expected,):
                raise ValueError(
                    f"column has shape {values.shape} but there are {expected} {what}; "
                    "give one value for each of them."
                )
            if self._source_rows is not None:
                values = values[self._source_rows]
        self._refuse_empty_bags()
        firsts = values[self._offsets[:-1]]
        differs = values != np.repeat(firsts, self.sizes)
        if np.any(differs):
            row = int(np.argmax(differs))
            bag = int(np.searchsorted(self._offsets, row, side="right")) - 1
            first, other = as_python(firsts[bag]), as_python(values[row])
            if other != other:
                raise ValueError(f"bag {as_python(self.ids[bag])!r} has a row without a label (NaN).")
            raise ValueError(
                f"bag {as_python(self.ids[bag])!r} has labels {first!r} and {other!r}; "
                "a column can only be taken per bag if all rows of a bag agree."
            )
        return firsts

    def _refuse_empty_bags(self) -> None:
        refuse_empty_bags(self.sizes, self._ids)

    # ------------------------------------------------------------------ selection

    def __getitem__(self, key):
        """Select one bag (a 2-D view) by its number, or several (`Bags`) by index, slice or mask."""
        chosen = selection(key, len(self))
        if isinstance(chosen, int):
            return self._instances[self._offsets[chosen] : self._offsets[chosen + 1]]
        if isinstance(chosen, slice):
            return self._run(chosen.start, chosen.stop)
        return self._gather(chosen)

    def _run(self, start: int, stop: int) -> Bags:
        """Select neighbouring bags: views, nothing is copied but the offsets."""
        rows = slice(self._offsets[start], self._offsets[stop])
        offsets = self._offsets[start : stop + 1] - self._offsets[start]
        return self._selected(self._instances[rows], offsets, slice(start, stop), rows)

    def _gather(self, index: np.ndarray) -> Bags:
        """Copy the bags of an index, in its order."""
        sizes = self._offsets[index + 1] - self._offsets[index]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1])
        rows += np.repeat(self._offsets[index] - offsets[:-1], sizes)
        instances = self._instances
        taken = instances[rows] if sp.issparse(instances) else instances.take(rows, axis=0)
        return self._selected(taken, offsets, index, rows)

    def _selected(self, instances, offsets, which_bags, which_rows) -> Bags:
        source_rows = self._source_rows
        return _fill(
            object.__new__(Bags),
            instances,
            offsets,
            # Numbered bags keep their number from here on: a fold's ids still point into the whole.
            ids=self.ids[which_bags],
            feature_names=self._feature_names,
            instance_columns={k: v[which_rows] for k, v in self._instance_columns.items()},
            bag_columns={k: v[which_bags] for k, v in self._bag_columns.items()},
            source_rows=None if source_rows is None else source_rows[which_rows],
            n_source_rows=self._n_source_rows,
        )

    def with_instances(self, instances, *, feature_names=None) -> Bags:
        """Replace the instances, keeping the bags: what a transformer of instances returns.

        Parameters
        ----------
        instances : array or CSR matrix of shape (n_instances, n_new_features)
            A row for each of the present instances, in their order.
        feature_names : sequence of str, optional
            Names of the new features. By default the present ones, if their number is unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags(np.zeros((3, 2)), [0, 1, 3])
        >>> bags.with_instances(bags.instances[:, :1])
        Bags(2 bags, 3 instances, 1 feature)
        """
        instances = as_matrix(instances)
        if instances.shape[0] != self.n_instances:
            raise ValueError(
                f"instances has {instances.shape[0]} rows but there are {self.n_instances} instances."
            )
        if feature_names is not None:
            feature_names = as_feature_names(feature_names, instances.shape[1])
        elif instances.shape[1] == self.n_features:
            feature_names = self._feature_names
        return self._replace(instances=instances, feature_names=feature_names)

    def blocks(self, y: np.ndarray | None = None, weight: np.ndarray | None = None) -> Blocks:
        """Give the bags in blocks, with what a model passes over them for.

        Parameters
        ----------
        y : array of shape (n_bags,), optional
            Labels as a rule reads them; unknown, -1, by default.
        weight : array of shape (n_bags,), optional
            Weights; ones by default.

        Returns
        -------
        MemoryBlocks
        """
        y = np.full(len(self), -1, dtype=np.int8) if y is None else y
        return MemoryBlocks(self.instances, self.offsets, y, np.ones(len(self)) if weight is None else weight)

    def _replace(self, **parts) -> Bags:
        """Give the same bags with some parts, already checked, in place of their own."""
        return _rebuild(self._parts() | parts)

    def _parts(self) -> dict[str, Any]:
        """All that these bags are made of, by the names that `_fill` knows."""
        return {slot.removeprefix("_"): getattr(self, slot) for slot in Bags.__slots__}

    # ------------------------------------------------------------------ manners

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "Bags cannot become one array, because bags differ in size; use bags.instances for the flat "
            "matrix, or list(bags) for one array per bag."
        )

    def __sklearn_clone__(self) -> Bags:
        # Data, not a parameter to be reset: clone(ByIndex(..., bags)) shares it.
        return self

    def __copy__(self) -> Bags:
        return self

    def __deepcopy__(self, memo) -> Bags:
        return self

    def __reduce__(self):
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


def as_bags(X) -> Bags:
    """Make `Bags` of anything that describes bags.

    `Bags` pass; `ScannedBags` are read if they are small; a list of 2-D arrays, an object array of them and a
    3-D array are bags; a plain 2-D array, data frame or sparse matrix stands for bags of one instance each.
    """
    if isinstance(X, Bags):
        return X
    if is_scan(X):
        return X.in_memory()
    if describes_bags(X):
        return Bags.from_list(X)
    X = as_matrix(X)
    return Bags(X, np.arange(X.shape[0] + 1))


def is_scan(X) -> bool:
    """Whether `X` is `ScannedBags`, which stand on this module."""
    return bool(getattr(type(X), "_lies_in_files", False))


def describes_bags(X) -> bool:
    """Whether `X` is `Bags`, a scan of them, a 3-D array, or a list or object array of 2-D items."""
    if isinstance(X, Bags) or is_scan(X):
        return True
    if isinstance(X, np.ndarray):
        if X.dtype != object or X.ndim != 1:
            return X.ndim == 3
    elif not isinstance(X, (list, tuple)):
        return False
    return len(X) > 0 and depth(X[0]) == 2


def _fill(
    bags,
    instances,
    offsets,
    *,
    ids=None,
    feature_names=None,
    instance_columns=None,
    bag_columns=None,
    source_rows=None,
    n_source_rows=0,
) -> Bags:
    """Set every slot of a new `Bags` from checked parts; the arrays become read-only views."""
    bags._instances = read_only(instances)
    bags._offsets = read_only(offsets)
    bags._ids = None if ids is None else read_only(ids)
    bags._feature_names = None if feature_names is None else read_only(feature_names)
    bags._instance_columns = {k: read_only(v) for k, v in (instance_columns or {}).items()}
    bags._bag_columns = {k: read_only(v) for k, v in (bag_columns or {}).items()}
    bags._source_rows = None if source_rows is None else read_only(source_rows)
    bags._n_source_rows = n_source_rows
    return bags


def _rebuild(parts: dict[str, Any]) -> Bags:
    return _fill(object.__new__(Bags), **parts)
