"""`Bags`, the in-memory container, and the conversion of other inputs to bags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from bagwise.data.bags.common import AnyBags
from bagwise.data.bags.parts import (
    as_column,
    as_columns,
    as_feature_names,
    as_matrix,
    as_offsets,
    as_python,
    check_alike,
    checked_sparse,
    group,
    group_of_each,
    join,
    read_only,
    without_mask,
)
from bagwise.data.blocks import Blocks, MemoryBlocks
from bagwise.data.sequences import Sequences

# Number of values that `describe` converts to double precision at a time.
_AT_ONCE = 4_000_000


class Bags(AnyBags):
    """An immutable collection of bags; each bag is a small matrix of instances.

    The instances of all bags are stored in one matrix, bag after bag; bag ``i`` is
    ``instances[offsets[i]:offsets[i + 1]]``. Selecting bags, cross-validation and calls to compiled code
    therefore work on plain arrays. scikit-learn's model selection tools accept `Bags` in place of a matrix:
    the `shape` is ``(n_bags, n_features)`` and indexing selects bags.

    Parameters
    ----------
    instances : array of shape (n_instances, n_features), CSR matrix, or Sequences
        All instances, bag after bag. The dtype is preserved. The bags keep a read-only view: a C-ordered
        array or a CSR matrix in canonical form is not copied.
    offsets : array of int, shape (n_bags + 1,)
        The start index of each bag, then ``n_instances``; the first entry is 0.
    ids : array of shape (n_bags,), optional
        An id for each bag. By default the index of the bag.
    feature_names : sequence of str, optional
        A name for each feature.
    instance_columns, bag_columns : mapping of str to array, optional
        Side columns with one value (or row) per instance, such as coordinates or time, or per bag, such as
        the patient. They are not features. Selecting bags selects their rows as well.

    See Also
    --------
    Bags.from_list : Make bags from a list of 2-D arrays, or from a 3-D array.
    Bags.from_groups : Make bags from a matrix and a bag id for every row.
    Bags.from_frame : Make bags from a pandas or polars data frame.

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
        n_instances, n_bags = instances.shape[0], len(offsets) - 1
        self._set(
            instances,
            offsets,
            ids=None if ids is None else as_column("ids", ids, n_bags, "bags"),
            feature_names=as_feature_names(feature_names, instances.shape[1]),
            instance_columns=as_columns("instance_columns", instance_columns, n_instances, "instances"),
            bag_columns=as_columns("bag_columns", bag_columns, n_bags, "bags"),
        )

    def _set(
        self,
        instances: Any,
        offsets: np.ndarray,
        *,
        ids: np.ndarray | None,
        feature_names: np.ndarray | None,
        instance_columns: Mapping[str, np.ndarray],
        bag_columns: Mapping[str, np.ndarray],
        source_rows: np.ndarray | None = None,
        n_source_rows: int = 0,
    ) -> None:
        """Set all slots from validated parts; the arrays become read-only views."""
        self._instances = read_only(instances)
        self._offsets = read_only(offsets)
        self._ids = None if ids is None else read_only(ids)
        self._feature_names = None if feature_names is None else read_only(feature_names)
        self._instance_columns = {k: read_only(v) for k, v in instance_columns.items()}
        self._bag_columns = {k: read_only(v) for k, v in bag_columns.items()}
        self._source_rows = None if source_rows is None else read_only(source_rows)
        self._n_source_rows = n_source_rows

    @staticmethod
    def _of_checked(parts: dict[str, Any]) -> Bags:
        """Make `Bags` from a dict of validated parts; the keys are the slot names without underscore."""
        bags = object.__new__(Bags)
        bags._set(**parts)
        return bags

    def _replace(self, **parts: Any) -> Bags:
        """Return a copy of the bags with replaced parts; the new parts are not checked."""
        return self._of_checked(self._parts() | parts)

    def _parts(self) -> dict[str, Any]:
        return {slot.removeprefix("_"): getattr(self, slot) for slot in Bags.__slots__}

    # ------------------------------------------------------------------ constructors

    @classmethod
    def from_list(cls, arrays: Iterable[Any], **names: Any) -> Bags:
        """Make bags from a list of 2-D arrays, or from a 3-D array of bags with equal sizes.

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
            return cls(arrays.reshape(n_bags * size, n_features), np.arange(n_bags + 1) * size, **names)
        parts: list[Any] = []
        offsets = [0]
        for i, part in enumerate(arrays):
            if sp.issparse(part):
                part = checked_sparse(part)
            elif not isinstance(part, Sequences):
                part = np.asarray(without_mask(part))
            if part.ndim != 2:
                raise ValueError(
                    f"bag {i} has shape {part.shape}; every bag must be 2-D, (n_instances, n_features)."
                )
            parts.append(part)
            offsets.append(offsets[-1] + part.shape[0])
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"bag {i} has {part.shape[1]} features but bag 0 has {parts[0].shape[1]}; "
                    "all bags need the same features."
                )
        if not parts:
            raise ValueError("from_list needs at least one bag; the list is empty.")
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

        Rows may be in any order. Bags are in the order of first appearance, and the rows of each bag keep
        their order. `ids` contains the bag ids, and `source_rows` the input row of each instance.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            One instance per row. Not copied if the rows of every bag are already contiguous.
        bag_ids : array of shape (n_rows,)
            The bag id of every row.
        feature_names, instance_columns
            As in `Bags`; column values are in the same order as the rows of `X`.

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
                "pass one bag id for every row of X."
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
            A table with one instance per row. Rows may be in any order.
        bag : str
            The column with the bag id of every row.
        features : sequence of str, optional
            The feature columns. By default, these are the numeric columns that vary within at least one bag.
            A column that is constant within every bag but differs between bags, such as the label or the
            patient, describes bags and becomes one of the `bag_columns`. Therefore a label column never
            becomes a feature by accident. The other columns become `instance_columns`.

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

        All parts must have the same feature names and the same side columns. Ids are kept. If no part has
        ids, the result has bag indices as ids.

        Parameters
        ----------
        parts : iterable of Bags
            The bags to join, in this order.

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

    # ------------------------------------------------------------------ attributes

    @property
    def instances(self) -> Any:
        """All instances, bag after bag: a read-only array (n_instances, n_features) or CSR matrix."""
        return self._instances

    @property
    def offsets(self) -> np.ndarray:
        """Start index of each bag, then ``n_instances``: int64, shape (n_bags + 1,), read-only."""
        return self._offsets

    @property
    def ids(self) -> np.ndarray:
        """The bag ids, or the bag indices if the bags have no ids."""
        return np.arange(len(self)) if self._ids is None else self._ids

    @property
    def _has_ids(self) -> bool:
        """Whether the bags have ids; if not, `ids` contains bag indices."""
        return self._ids is not None

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
        """The input row of each instance, for bags from `from_groups` or `from_frame`; otherwise None."""
        return self._source_rows

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._instances.shape[1]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def per_bag(self, column: str | ArrayLike) -> np.ndarray:
        """Convert a column with one value per row to one value per bag.

        Parameters
        ----------
        column : str or array
            The name of an instance column, or values in the order of the *input rows* of `from_groups` or
            `from_frame` (for other `Bags`, in the order of `instances`).

        Returns
        -------
        array of shape (n_bags,)
            The value that all rows of a bag share. An error is raised if the rows of a bag have different
            values.

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
                    f"there is no side column {column!r}; the side columns are "
                    f"{sorted([*self._instance_columns, *self._bag_columns])}."
                )
            values = self._instance_columns[column]
        else:
            values = np.asarray(column)
            expected, rows_name = (
                (self.n_instances, "instances")
                if self._source_rows is None
                else (self._n_source_rows, "input rows")
            )
            if values.shape != (expected,):
                raise ValueError(
                    f"column has shape {values.shape}, but there are {expected} {rows_name}; "
                    "pass one value for each of them."
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
                "all rows of a bag must have the same value."
            )
        return firsts

    # ------------------------------------------------------------------ selection

    def __getitem__(self, key: Any) -> Any:
        """Select one bag (a 2-D view) by index or text id, or several (`Bags`) by a list, slice or mask."""
        chosen = self._chosen(key)
        if isinstance(chosen, int):
            return self._instances[self._offsets[chosen] : self._offsets[chosen + 1]]
        instances, source_rows = self._instances, self._source_rows
        rows: slice | np.ndarray
        if isinstance(chosen, slice):  # these are views: only the offsets are copied
            rows = slice(self._offsets[chosen.start], self._offsets[chosen.stop])
            offsets = self._offsets[chosen.start : chosen.stop + 1] - rows.start
            instances = instances[rows]
        else:
            sizes = self._offsets[chosen + 1] - self._offsets[chosen]
            offsets = np.concatenate([[0], np.cumsum(sizes)])
            rows = np.arange(offsets[-1])
            rows += np.repeat(self._offsets[chosen] - offsets[:-1], sizes)
            instances = instances[rows] if sp.issparse(instances) else instances.take(rows, axis=0)
        parts = {
            "instances": instances,
            "offsets": offsets,
            # Bags without ids use their index as id, so that ids in a fold still refer to the full data.
            "ids": self.ids[chosen],
            "feature_names": self._feature_names,
            "instance_columns": {k: v[rows] for k, v in self._instance_columns.items()},
            "bag_columns": {k: v[chosen] for k, v in self._bag_columns.items()},
            "source_rows": None if source_rows is None else source_rows[rows],
            "n_source_rows": self._n_source_rows,
        }
        return self._of_checked(parts)

    def with_instances(
        self, instances: Any, *, feature_names: Sequence[str] | np.ndarray | None = None
    ) -> Bags:
        """Replace the instances but keep the bags, for example after transforming the instances.

        Parameters
        ----------
        instances : array or CSR matrix of shape (n_instances, n_new_features)
            One row for each current instance, in the same order.
        feature_names : sequence of str, optional
            Names of the new features. By default the current names, if the number of features is unchanged.

        Returns
        -------
        Bags

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
                f"instances has {instances.shape[0]} rows; expected {self.n_instances}, one per instance."
            )
        if feature_names is not None:
            feature_names = as_feature_names(feature_names, instances.shape[1])
        elif instances.shape[1] == self.n_features:
            feature_names = self._feature_names
        return self._replace(instances=instances, feature_names=feature_names)

    # ------------------------------------------------------------------ frames and groups

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return a data frame with one row per instance, which `Bags.from_frame(frame, bag="bag")` can read.

        Parameters
        ----------
        backend : "pandas" or "polars", optional
            The library of the data frame; by default pandas if it is installed, else polars.

        Returns
        -------
        data frame
            Columns: `bag` (the bag id), bag columns, instance columns, and features. A side column with
            several values per instance becomes several columns. Unnamed features are called x0, x1, ....

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags(np.zeros((3, 2)), [0, 1, 3], ids=["a", "b"], feature_names=["u", "v"])
        >>> list(bags.to_frame().columns), len(bags.to_frame())
        (['bag', 'u', 'v'], 3)
        """
        import narwhals as nw

        from bagwise.data.frames import frame_backend, instance_columns_of

        self._refuse_sequences("to_frame")
        columns = {"bag": self.ids[self.bag_index]}
        for name, column in instance_columns_of(self, features=True).items():
            while name in columns:
                name += "_"
            columns[name] = column
        return nw.from_dict(columns, backend=frame_backend(backend)).to_native()

    def describe(self, *, backend: str | None = None) -> Any:
        """Summarize every feature in a data frame with one row per feature.

        Parameters
        ----------
        backend : str, optional
            The library of the data frame, such as "pandas" or "polars"; by default one that is installed.

        Returns
        -------
        data frame
            Columns: `feature`, `missing` (number of NaN), `mean`, `std`, `min`, `max`, and `between`.
            `between` is the fraction of the variance that is between bags: 0 if all bags have the same mean,
            1 if the feature is constant within every bag. A feature with the value 1 describes whole bags and
            may leak their labels.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags(np.array([[1.0, 0.0], [1.0, 4.0], [3.0, 2.0]]), [0, 2, 3], feature_names=["u", "v"])
        >>> bags.describe()["between"].round(2).tolist()
        [1.0, 0.0]
        """
        import narwhals as nw

        from bagwise.data.frames import feature_names_of, frame_backend

        self._refuse_sequences("describe")
        step = max(1, _AT_ONCE // max(1, self.n_instances))
        parts = [self._describe(slice(k, k + step)) for k in range(0, self.n_features, step)]
        names = ("missing", "mean", "std", "min", "max", "between")
        values = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.empty(0)] * 6
        table = {"feature": feature_names_of(self), **dict(zip(names, values, strict=True))}
        return nw.from_dict(table, backend=frame_backend(backend)).to_native()

    def _describe(self, columns: slice) -> tuple[np.ndarray, ...]:
        selected = self._instances[:, columns]
        X = np.asarray(selected.toarray() if sp.issparse(selected) else selected, dtype=np.float64)
        is_present = ~np.isnan(X)
        n = is_present.sum(axis=0)
        with np.errstate(
            all="ignore"
        ):  # the result is NaN for features with no values or with infinite values
            mean = np.where(is_present, X, 0.0).sum(axis=0) / n
            centred = np.where(is_present, X - mean, 0.0)
            square = np.square(centred).sum(axis=0)
            full = np.flatnonzero(self.sizes)
            starts = self._offsets[:-1][full]
            n_each = (
                np.add.reduceat(is_present, starts, axis=0, dtype=np.float64) if len(full) else is_present
            )
            sums = np.add.reduceat(centred, starts, axis=0) if len(full) else centred
            between = np.where(n_each > 0, np.square(sums) / n_each, 0.0).sum(axis=0) / square
            low, high = (
                reduce(np.where(is_present, X, fill), axis=0, initial=fill)
                for reduce, fill in ((np.min, np.inf), (np.max, -np.inf))
            )
            std = np.sqrt(square / n)
        nothing = n == 0
        low, high = np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)
        return len(X) - n, mean, std, low, high, between

    def merge(self, groups: Any, *, column: str = "bag") -> Bags:
        """Merge the bags of each group into one bag, such as all slides of a patient.

        Parameters
        ----------
        groups : str, or array of shape (n_bags,)
            The name of a bag column, such as "patient", or the group of every bag. The groups become the ids
            of the new bags, in order of first appearance.
        column : str, default="bag"
            The name of a new instance column with the id of the original bag.

        Returns
        -------
        Bags
            The merged bags. Bag columns that are constant within every group stay bag columns; the others
            become instance columns.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> slides = Bags(np.arange(5.0)[:, None], [0, 2, 3, 5], ids=["s1", "s2", "s3"],
        ...               bag_columns={"patient": ["p1", "p2", "p1"]})
        >>> patients = slides.merge("patient")
        >>> patients.ids.tolist(), patients.sizes.tolist(), patients.instance_columns["bag"].tolist()
        (['p1', 'p2'], [4, 1], ['s1', 's1', 's3', 's3', 's2'])
        """
        of_bag = self._groups(groups)
        names, order, offsets = group(of_bag)
        sorted_bags = self[order]
        index = sorted_bags.bag_index
        firsts = np.repeat(offsets[:-1], np.diff(offsets))
        kept, spread = {}, {}
        for name, values in sorted_bags.bag_columns.items():
            if _equal(values, values[firsts]):
                kept[name] = values[offsets[:-1]]
            else:
                spread[name] = values[index]
        columns = {**sorted_bags.instance_columns, **spread}
        while column in columns:
            column += "_"
        columns[column] = sorted_bags.ids[index]
        parts = {
            "instances": sorted_bags.instances,
            "offsets": sorted_bags.offsets[offsets],
            "ids": names,
            "feature_names": self._feature_names,
            "instance_columns": columns,
            "bag_columns": kept,
        }
        return self._of_checked(parts)

    def _groups(self, groups: Any) -> np.ndarray:
        if isinstance(groups, str):
            if groups not in self._bag_columns:
                names = sorted(self._bag_columns)
                raise KeyError(f"there is no bag column {groups!r}; the bag columns are {names}.")
            groups = self._bag_columns[groups]
        return group_of_each(groups, len(self), self.ids)

    def _refuse_sequences(self, method: str) -> None:
        if isinstance(self._instances, Sequences):
            raise TypeError(f"{method} requires vector instances; these bags contain Sequences.")

    # ------------------------------------------------------------------ numpy and pickle protocols

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "Bags cannot be converted to a single array because bags differ in size; use bags.instances for "
            "the flat matrix, or list(bags) for one array per bag. In a pipeline, wrap a transformer that "
            "expects a matrix: OnInstances(StandardScaler()). Instead of permutation_importance, "
            "SelectFromModel and RFE, use bag_permutation_importance, refit_selected and forward_selection."
        )

    def _blocks(self, y: np.ndarray, weight: np.ndarray) -> Blocks:
        return MemoryBlocks(self._instances, self._offsets, y, weight)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bags._of_checked, (self._parts(),)

    # Model files (`bagwise.save`) use this method and may come from untrusted sources, so `__init__`
    # validates all parts.
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


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two columns are equal; NaN equals NaN."""
    same = (a == b) | ((a != a) & (b != b))
    return bool(np.all(same))


def as_bags(X: Any) -> Bags:
    """Convert any representation of bags to `Bags`.

    `Bags` are returned unchanged, and small `ScannedBags` are read into memory. Lists and object arrays of
    2-D arrays, and 3-D arrays, are converted. Each row of a 2-D array, data frame or sparse matrix becomes a
    bag with one instance.
    """
    if isinstance(X, Bags):
        return X
    if isinstance(X, AnyBags):
        scan: Any = X
        return scan.in_memory()
    if describes_bags(X):
        return Bags.from_list(X)
    check_container(X)
    X = as_matrix(X)
    return Bags(X, np.arange(X.shape[0] + 1))


def check_container(X: Any) -> None:
    """Raise an error for empty lists, and for containers of other libraries that are often passed as bags."""
    if isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError("X is an empty list; expected at least one bag, such as [X] for one 2-D array X.")
    name = type(X).__name__
    if isinstance(X, Mapping) and not sp.issparse(X):  # dok_array is a dict
        remedy = "pass Bags.from_list(X.values(), ids=list(X)), with the labels in the order of X"
    elif hasattr(X, "groupings") or hasattr(X, "ngroups"):
        remedy = "pass Bags.from_frame(frame, bag=NAME) with the column that groups the frame"
    elif hasattr(X, "obs") and hasattr(X, "X"):
        remedy = "pass Bags.from_groups(X.X, X.obs[NAME]) with the column that contains the bag ids"
    else:
        return
    raise TypeError(f"X has type {name}, which cannot be converted to bags; {remedy}.")


def is_scan(X: Any) -> bool:
    """Return whether `X` is `ScannedBags`, which this module cannot import."""
    return isinstance(X, AnyBags) and not isinstance(X, Bags)


def describes_bags(X: Any) -> bool:
    """Return whether `X` is `Bags`, `ScannedBags`, a 3-D array, or a list or object array of 2-D items."""
    if isinstance(X, AnyBags):
        return True
    if isinstance(X, np.ndarray):
        if X.dtype != object or X.ndim != 1:
            return X.ndim == 3
    elif not isinstance(X, (list, tuple)):
        return False
    return len(X) > 0 and depth(X[0]) == 2


def depth(item: Any) -> int:
    """Return the number of dimensions of an array or of nested, possibly ragged lists."""
    if hasattr(item, "ndim"):
        return item.ndim
    if hasattr(item, "shape"):
        return len(item.shape)
    return 1 + depth(item[0]) if isinstance(item, (list, tuple)) and len(item) else 0
