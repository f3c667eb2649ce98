"""Bags in memory: what they hold, and selection among them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise.data.bags.common import AnyBags
from bagwise.data.bags.parts import (
    as_feature_names,
    as_matrix,
    as_python,
    read_only,
    refuse_empty_bags,
    selection,
)
from bagwise.data.bags.places import numbers_of
from bagwise.data.blocks import Blocks, MemoryBlocks

if TYPE_CHECKING:
    from bagwise.data.bags.collection import Bags


class HeldBags(AnyBags):
    """The checked parts of bags in memory, and what is done with them."""

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

    def _fill(
        self,
        instances: Any,
        offsets: np.ndarray,
        *,
        ids: np.ndarray | None = None,
        feature_names: np.ndarray | None = None,
        instance_columns: Mapping[str, np.ndarray] | None = None,
        bag_columns: Mapping[str, np.ndarray] | None = None,
        source_rows: np.ndarray | None = None,
        n_source_rows: int = 0,
    ) -> None:
        """Set every slot from checked parts; the arrays become read-only views."""
        self._instances = read_only(instances)
        self._offsets = read_only(offsets)
        self._ids = None if ids is None else read_only(ids)
        self._feature_names = None if feature_names is None else read_only(feature_names)
        self._instance_columns = {k: read_only(v) for k, v in (instance_columns or {}).items()}
        self._bag_columns = {k: read_only(v) for k, v in (bag_columns or {}).items()}
        self._source_rows = None if source_rows is None else read_only(source_rows)
        self._n_source_rows = n_source_rows

    @abstractmethod
    def _of_parts(self, **parts: Any) -> Bags:
        """Make `Bags` of checked parts, by the names that `_fill` knows."""

    def _replace(self, **parts: Any) -> Bags:
        """Give the same bags with some parts, already checked, in place of their own."""
        return self._of_parts(**(self._parts() | parts))

    def _parts(self) -> dict[str, Any]:
        """All that these bags are made of, by the names that `_fill` knows."""
        return {slot.removeprefix("_"): getattr(self, slot) for slot in HeldBags.__slots__}

    # ------------------------------------------------------------------ what they hold

    @property
    def instances(self) -> Any:
        """All instances, bag after bag: a read-only array (n_instances, n_features) or CSR matrix."""
        return self._instances

    @property
    def offsets(self) -> np.ndarray:
        """Where each bag starts, and the end of the last: int64, shape (n_bags + 1,), read-only."""
        return self._offsets

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
    def n_features(self) -> int:
        """The number of features of an instance."""
        return self._instances.shape[1]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def per_bag(self, column: str | ArrayLike) -> np.ndarray:
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

    def __getitem__(self, key: Any) -> Any:
        """Select one bag (a 2-D view) by number or text id; several (`Bags`) by a list, slice or mask."""
        chosen = selection(numbers_of(self, key), len(self))
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

    def _selected(self, instances: Any, offsets: np.ndarray, which_bags: Any, which_rows: Any) -> Bags:
        source_rows = self._source_rows
        return self._of_parts(
            instances=instances,
            offsets=offsets,
            # Numbered bags keep their number from here on: a fold's ids still point into the whole.
            ids=self.ids[which_bags],
            feature_names=self._feature_names,
            instance_columns={k: v[which_rows] for k, v in self._instance_columns.items()},
            bag_columns={k: v[which_bags] for k, v in self._bag_columns.items()},
            source_rows=None if source_rows is None else source_rows[which_rows],
            n_source_rows=self._n_source_rows,
        )

    def with_instances(
        self, instances: Any, *, feature_names: Sequence[str] | np.ndarray | None = None
    ) -> Bags:
        """Replace the instances, keeping the bags: what a transformer of instances returns.

        Parameters
        ----------
        instances : array or CSR matrix of shape (n_instances, n_new_features)
            A row for each of the present instances, in their order.
        feature_names : sequence of str, optional
            Names of the new features. By default the present ones, if their number is unchanged.

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
                f"instances has {instances.shape[0]} rows but there are {self.n_instances} instances."
            )
        if feature_names is not None:
            feature_names = as_feature_names(feature_names, instances.shape[1])
        elif instances.shape[1] == self.n_features:
            feature_names = self._feature_names
        return self._replace(instances=instances, feature_names=feature_names)

    def _blocks(self, y: np.ndarray, weight: np.ndarray) -> Blocks:
        return MemoryBlocks(self.instances, self.offsets, y, weight)
