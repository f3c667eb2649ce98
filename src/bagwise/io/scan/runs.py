"""Detection of the bags in a table with one row per instance, from a stream of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise.data.bags.parts import as_python
from bagwise.data.description import join
from bagwise.io._long import two_values


@dataclass
class ColumnOfBags:
    """Information about a column: whether the column describes bags and, if so, the value for each bag."""

    dtypes: set[np.dtype] = field(default_factory=set)
    varies: bool = False
    varies_inside: bool = False
    firsts: list[np.ndarray] = field(default_factory=list)
    last: np.ndarray | None = None

    def values(self) -> np.ndarray:
        """Return the value of every bag."""
        return join(self.firsts)

    @property
    def describes_bags(self) -> bool:
        """Whether the column varies between bags, but never inside a bag."""
        return self.varies and not self.varies_inside

    @property
    def dtype(self) -> np.dtype:
        """The common dtype of all values so far."""
        return np.result_type(*self.dtypes)


class BagComesBackError(ValueError):
    """The rows of a bag are not consecutive."""


class Runs:
    """The bags of a table that is read in batches; the rows of a bag must be consecutive.

    Parameters
    ----------
    bag : str
        The column with the bag id of every row.
    constant : collection of str
        Columns that must be constant inside a bag, such as the label.
    others : collection of str
        Columns for which to determine whether they vary inside a bag.
    numbered : bool
        Whether the bag ids are indices that can start at 0 again in every file.
    """

    columns: dict[str, ColumnOfBags]
    n_rows: int

    def __init__(self, bag: str, constant: list[str], others: list[str], *, numbered: bool = False):
        self._bag = bag
        self._constant = constant
        self._numbered = numbered
        self.columns = {name: ColumnOfBags() for name in (*constant, *others)}
        self._ids: list[np.ndarray] = []
        self._begins: list[np.ndarray] = []
        self._file_starts: list[tuple[str, int]] = []
        self._last: Any = None
        self._new_file = True
        self.n_rows = 0

    def begin_file(self, where: str) -> None:
        """Start a new file, which contains the following rows."""
        self._file_starts.append((where, self.n_rows))
        self._new_file = True

    def add(self, columns: Mapping[str, np.ndarray]) -> None:
        """Process a batch of rows."""
        ids = columns[self._bag]
        if not len(ids):
            return
        begins = np.append(self._begins_bag(ids[0]), ids[1:] != ids[:-1])
        firsts = np.flatnonzero(begins)
        self._ids.append(ids[firsts].copy())
        self._begins.append(firsts + self.n_rows)
        for name, column in self.columns.items():
            self._look_at(name, column, columns[name], begins, ids)
        self._last = ids[-1]
        self._new_file = False
        self.n_rows += len(ids)

    def _begins_bag(self, first: Any) -> bool:
        if self._last is None:
            return True
        # If the indices start at 0 again, they refer to different bags.
        begins_again = self._numbered and self._new_file and first == 0
        return bool(first != self._last) or begins_again

    def _look_at(
        self, name: str, column: ColumnOfBags, values: np.ndarray, begins: np.ndarray, ids: np.ndarray
    ) -> None:
        column.dtypes.add(values.dtype)
        if column.varies_inside:
            return
        before = values[:1] if column.last is None else column.last
        earlier = np.concatenate([before, values[:-1]])
        differs = values != earlier
        if name in self._constant:
            differs &= (values == values) | (earlier == earlier)
        if differs.ndim > 1:
            differs = differs.reshape(len(values), -1).any(axis=1)
        differs[0] &= column.last is not None
        column.varies = column.varies or bool(differs.any())
        inside = differs & ~begins
        if inside.any():
            if name in self._constant:
                row = int(np.argmax(inside))
                raise two_values(self.locate(self.n_rows + row)[0], ids[row], name, earlier[row], values[row])
            column.varies_inside = True
            column.firsts.clear()
        if not column.varies_inside:
            column.firsts.append(values[begins])
        column.last = values[-1:].copy()

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file of a row, and its index in the file."""
        starts = [start for _, start in self._file_starts]
        i = int(np.searchsorted(starts, row, side="right")) - 1
        return self._file_starts[i][0], row - starts[i]

    def ids_and_offsets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids and offsets of the bags; raise an error if the rows of a bag are not consecutive."""
        if not self.n_rows:
            raise ValueError(f"{self._file_starts[0][0]} has no bags.")
        ids, begins = join(self._ids), np.concatenate(self._begins)
        self._refuse_returns(ids, begins)
        return ids, np.append(begins, self.n_rows).astype(np.int64)

    def _refuse_returns(self, ids: np.ndarray, begins: np.ndarray) -> None:
        key = ids
        if self._numbered:  # the same index can refer to a different bag in every file
            starts = [start for _, start in self._file_starts]
            key = np.column_stack([ids, np.searchsorted(starts, begins, side="right")])
        _, first, inverse = np.unique(
            key, axis=0 if self._numbered else None, return_index=True, return_inverse=True
        )
        inverse = inverse.ravel()
        again = first[inverse] != np.arange(len(ids))
        if not again.any():
            return
        later = int(np.argmax(again))
        earlier_file, earlier_row = self.locate(int(begins[first[inverse[later]]]))
        file, row = self.locate(int(begins[later]))
        bag = as_python(ids[later])
        if file != earlier_file:
            raise BagComesBackError(
                f"{file}, row {row}: the bag {bag!r} is also in {earlier_file} (row {earlier_row}); only the "
                "last bag of a file can continue in the next; sort the rows with bagwise convert SRC DST."
            )
        raise BagComesBackError(
            f"{file}, row {row}: the bag {bag!r} starts again after other bags (its first row is "
            f"{earlier_row}); the rows of a bag must be consecutive; sort them with bagwise convert SRC DST."
        )
