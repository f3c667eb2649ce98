"""What is known of bags in files without reading their instances."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from bagwise._core.types import Labels
from bagwise.data.bags import AnyBags, Bags
from bagwise.data.bags.parts import as_feature_names, read_only, refuse_empty_bags
from bagwise.data.blocks import is_large
from bagwise.data.scanned.steps import Step

if TYPE_CHECKING:
    from bagwise.data.cluster import Cluster
    from bagwise.data.scanned.source import FileSource


class KnownBags(AnyBags):
    """Some bags of a source: sizes, ids, labels and columns, by the names that they have in `Bags`."""

    _lies_in_files = True

    def __init__(
        self,
        source: FileSource,
        numbers: np.ndarray | None = None,
        *,
        steps: tuple[Step, ...] = (),
        accept_missing: bool = False,
        memory: dict[str, Bags] | None = None,
        cluster: Cluster | None = None,
    ):
        self._source = source
        self._numbers = numbers
        self._steps = steps
        self._accept_missing = accept_missing
        # Shared by all selections of one scan that is small enough to be held.
        self._memory: dict[str, Bags] = {} if memory is None else memory
        self._cluster = cluster
        sizes = np.diff(source.offsets)
        sizes = sizes if numbers is None else sizes[numbers]
        self._offsets = read_only(np.append(0, np.cumsum(sizes)))

    @property
    def offsets(self) -> np.ndarray:
        """Where each bag starts among all instances, and the end of the last."""
        return self._offsets

    @property
    def ids(self) -> np.ndarray:
        """The names of the bags; their numbers in the files if they have none."""
        return self._source.named(self._all_numbers)

    @property
    def y(self) -> Labels:
        """The labels of the bags, or None."""
        return None if self._source.y is None else self._of_bags(self._source.y)

    @property
    def bag_columns(self) -> Mapping[str, np.ndarray]:
        """Side columns with a value per bag."""
        columns = self._source.bag_columns
        return MappingProxyType({name: self._of_bags(values) for name, values in columns.items()})

    def _of_bags(self, values: np.ndarray) -> np.ndarray:
        return read_only(values if self._numbers is None else values[self._numbers])

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the features, or None."""
        if self._steps:
            return self._steps[-1].feature_names
        return as_feature_names(self._source.feature_names, self._source.n_features)

    @property
    def n_features(self) -> int:
        """The number of features of an instance."""
        return self._steps[-1].n_features if self._steps else self._source.n_features

    @property
    def nbytes(self) -> int:
        """How much memory the instances would take."""
        return self.n_instances * self.n_features * self._source.dtype.itemsize

    @property
    def shown_bytes(self) -> str:
        """How much memory the instances would take, for a reader."""
        units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))
        unit, size = next((u, s) for u, s in units if self.nbytes >= s or s == 1.0)
        return f"{self.nbytes / size:.3g} {unit}"

    @property
    def dtype(self) -> np.dtype:
        """The dtype of instances in blocks: single precision stays, all else is double."""
        return np.dtype(np.float32 if self._source.dtype == np.float32 else np.float64)

    @property
    def in_order(self) -> bool:
        """Whether the bags stand in the order of the files, each once."""
        return bool((np.diff(self._all_numbers) > 0).all())

    @property
    def file_order(self) -> np.ndarray:
        """The order in which the bags stand in the files."""
        return np.argsort(self._all_numbers, kind="stable")

    @property
    def fits(self) -> bool:
        """Whether there are so few numbers that they are held in memory after the first read."""
        return not is_large(self.n_instances * max(self.n_features, self._source.n_features))

    def _refuse_empty_bags(self) -> None:
        refuse_empty_bags(self.sizes, self.ids)

    @cached_property
    def _all_numbers(self) -> np.ndarray:
        return np.arange(len(self)) if self._numbers is None else self._numbers

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "ScannedBags cannot become one array; scan.load() reads them into Bags, and its `instances` are "
            "the flat matrix. A transformer of matrices, such as StandardScaler, goes into a pipeline as "
            "OnInstances(StandardScaler())."
        )

    def __getstate__(self) -> dict[str, Any]:
        # Whoever gets it reads for itself.
        return {**self.__dict__, "_memory": {}, "_cluster": None}
