"""What bags say of themselves wherever they lie: in memory, or in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from typing import Any, Self

import numpy as np

from bagwise.data.bags.parts import as_python, show_counts
from bagwise.data.blocks import Blocks

_FIRST_BAGS, _FIRST_COLUMNS = 8, 6  # that a notebook shows


class AnyBags(ABC):
    """The base of `Bags` and `ScannedBags`: sizes, names, blocks, and manners among estimators."""

    __slots__ = ()

    _lies_in_files = False  # for those that cannot know the class of scans

    @property
    @abstractmethod
    def offsets(self) -> np.ndarray:
        """Where each bag starts, and the end of the last: int64, shape (n_bags + 1,), read-only."""

    @property
    @abstractmethod
    def ids(self) -> np.ndarray:
        """The names of the bags; their numbers if they have none."""

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
        """The number of features of an instance."""

    @property
    def sizes(self) -> np.ndarray:
        """The number of instances of every bag."""
        return np.diff(self.offsets)

    @property
    def bag_index(self) -> np.ndarray:
        """The number of its bag, for every instance."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def n_instances(self) -> int:
        """The number of instances in all bags together."""
        return int(self.offsets[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_bags, n_features)``, what scikit-learn's tools count by."""
        return len(self), self.n_features

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        counts = show_counts(bags=len(self), instances=self.n_instances, features=self.n_features)
        return f"{'ScannedBags' if self._lies_in_files else 'Bags'}({counts})"

    def _repr_html_(self) -> str:
        """Show the first bags in a notebook: ids, sizes and columns of bags."""
        first = min(len(self), _FIRST_BAGS)
        columns = {"id": self.ids[:first], "instances": self.sizes[:first]}
        for name, column in list(self.bag_columns.items())[:_FIRST_COLUMNS]:
            columns[name] = column[:first]
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(str(as_python(cell)))}</td>" for cell in row) + "</tr>"
            for row in zip(*columns.values(), strict=True)
        )
        rest = f"<p>and {len(self) - first:,} more</p>" if first < len(self) else ""
        title = f"<p><b>{escape(repr(self))}</b></p>"
        return f"<div>{title}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}</div>"

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
        MemoryBlocks; FileBlocks for a scan of more than 2**23 numbers
        """
        y = np.full(len(self), -1, dtype=np.int8) if y is None else y
        return self._blocks(y, np.ones(len(self)) if weight is None else weight)

    @abstractmethod
    def _blocks(self, y: np.ndarray, weight: np.ndarray) -> Blocks:
        """Give the bags in blocks."""

    @abstractmethod
    def _refuse_empty_bags(self) -> None:
        """Refuse bags without instances, naming the first."""

    # Data, not a parameter to be reset: clone(ByIndex(..., bags)) shares it. Nobody can change it.
    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
