"""Base class of bags in memory and in files: sizes, ids, and selection by index or id."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Self

import numpy as np

from bagwise._display.notebook import as_html
from bagwise._display.parts import Table
from bagwise.data.bags.parts import as_bag_index, as_python
from bagwise.data.blocks import Blocks

_FIRST_BAGS, _FIRST_COLUMNS = 8, 6  # shown in a notebook


class AnyBags(ABC):
    """Base class of `Bags` and `ScannedBags`: sizes, ids, blocks, and the parts of the scikit-learn API."""

    __slots__ = ()

    @property
    @abstractmethod
    def offsets(self) -> np.ndarray:
        """Start index of each bag, then ``n_instances``: int64, shape (n_bags + 1,), read-only."""

    @property
    @abstractmethod
    def ids(self) -> np.ndarray:
        """The bag ids, or the bag indices if the bags have no ids."""

    @property
    @abstractmethod
    def _has_ids(self) -> bool:
        """Whether the bags have ids; if not, `ids` contains bag indices."""

    @property
    @abstractmethod
    def feature_names(self) -> np.ndarray | None:
        """The names of the features, or None."""

    @property
    @abstractmethod
    def bag_columns(self) -> Mapping[str, np.ndarray]:
        """Side columns with a value per bag."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features."""

    @property
    def sizes(self) -> np.ndarray:
        """The number of instances of every bag."""
        return np.diff(self.offsets)

    @property
    def bag_index(self) -> np.ndarray:
        """The index of each instance's bag."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def n_instances(self) -> int:
        """The total number of instances."""
        return int(self.offsets[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_bags, n_features)``, so that scikit-learn's tools count bags as samples."""
        return len(self), self.n_features

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        counts = {"bag": len(self), "instance": self.n_instances, "feature": self.n_features}
        shown = ", ".join(f"{n:,} {noun}{'s' if n != 1 else ''}" for noun, n in counts.items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        """Show the first bags in a notebook: their ids, sizes and bag columns."""
        first = min(len(self), _FIRST_BAGS)
        columns = {"id": self.ids[:first], "instances": self.sizes[:first]}
        for name, column in list(self.bag_columns.items())[:_FIRST_COLUMNS]:
            columns[name] = column[:first]
        rows = [list(map(as_python, row)) for row in zip(*columns.values(), strict=True)]
        rest = f"and {len(self) - first:,} more" if first < len(self) else ""
        return as_html([repr(self), Table.of(list(columns), rows, note=rest)])

    def blocks(self, y: np.ndarray | None = None, weight: np.ndarray | None = None) -> Blocks:
        """Return the bags as blocks with labels and weights, which models use to pass over the data.

        Parameters
        ----------
        y : array of shape (n_bags,), optional
            Labels in the encoding that bag models use. By default -1 (unknown) for every bag.
        weight : array of shape (n_bags,), optional
            Bag weights; ones by default.

        Returns
        -------
        MemoryBlocks; FileBlocks for a scan of more than 2**23 values
        """
        y = np.full(len(self), -1, dtype=np.int8) if y is None else y
        return self._blocks(y, np.ones(len(self)) if weight is None else weight)

    @abstractmethod
    def _blocks(self, y: np.ndarray, weight: np.ndarray) -> Blocks:
        """Return the bags as blocks."""

    def _refuse_empty_bags(self) -> None:
        """Raise an error if a bag has no instances; the message contains the first such bag."""
        empty = self.sizes == 0
        if empty.any():
            index = int(np.argmax(empty))
            id_ = as_python(self.ids[index])
            name = "" if np.array_equal(id_, index) else f" ({id_!r})"
            raise ValueError(f"bag {index}{name} is empty; every bag needs at least one instance.")

    def _chosen(self, key: Any) -> int | slice | np.ndarray:
        """Convert a key to the index of one bag, a slice with step 1, or an array of bag indices."""
        if isinstance(key, tuple):
            # scikit-learn indexes all objects that have a shape with X[key, ...].
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError(
                    "Bags are indexed by bag only; to select features, use bags.with_instances("
                    "bags.instances[:, columns]). Instead of partial_dependence, use "
                    "rate_change(model, bags, feature, change)."
                )
            key = key[0]
        elif isinstance(key, str) or (
            isinstance(key, (list, np.ndarray)) and np.ndim(key) == 1 and len(key) and isinstance(key[0], str)
        ):
            key = _indices_of(self.ids, key)
        n_bags = len(self)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if not -n_bags <= key < n_bags:
                raise IndexError(f"bag {key} is out of range; there are {n_bags} bags.")
            return int(key) % n_bags
        if isinstance(key, slice):
            start, stop, step = key.indices(n_bags)
            if step == 1:
                return slice(start, max(start, stop))
            key = np.arange(start, stop, step)
        index = as_bag_index(key, n_bags)
        if len(index) and (np.diff(index) == 1).all():
            return slice(int(index[0]), int(index[-1]) + 1)
        return index

    # Bags are immutable, so clone(ByIndex(..., bags)) shares them instead of copying them.
    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def index_of(ids: np.ndarray, wanted: Any) -> int:
    """Return the index of the bag with this id, or with this id as text; the error lists similar ids."""
    values = [as_python(value) for value in ids]
    wanted = as_python(wanted)
    matches = [i for i, value in enumerate(values) if value == wanted]
    if not matches:
        matches = [i for i, value in enumerate(values) if str(value) == str(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ValueError(f"{len(matches)} bags have the id {wanted!r}; select one by index.")
    texts = list(map(str, values))
    near = [text for text in texts if str(wanted) in text][:3] or get_close_matches(str(wanted), texts)
    few = ", ".join(map(repr, near or texts[:3]))
    raise ValueError(f"there is no bag {wanted!r}; {'similar ids:' if near else 'ids start with'} {few}.")


def _indices_of(ids: np.ndarray, wanted: Any) -> Any:
    """Return the index of the bag with this text id, or an array of indices for several ids."""
    try:
        if isinstance(wanted, str):
            return index_of(ids, wanted)
        texts = [str(as_python(value)) for value in ids]
        positions = dict(zip(texts, range(len(texts)), strict=True))
        # Repeated or missing ids are looked up one by one, so that the error message contains the id.
        is_plain = len(positions) == len(texts) and all(each in positions for each in wanted)
        return np.array([positions[each] if is_plain else index_of(ids, each) for each in wanted])
    except ValueError as error:
        raise KeyError(str(error)) from None
