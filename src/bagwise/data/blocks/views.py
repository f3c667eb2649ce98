"""Views of blocks with transformed instances, other weights, additional arrays, or a subset of the bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.blocks.base import Block, Blocks, PerBag, PerBlock, with_parts


class BlocksView(Blocks):
    """Base class of views: blocks of another `Blocks` object that are changed when they are read.

    A subclass overrides `_inner_call`, which translates a call for the view into a call for the inner blocks.
    """

    def __init__(self, blocks: Blocks):
        self._blocks = blocks
        self.n_features, self.n_blocks = blocks.n_features, blocks.n_blocks
        self.offsets, self.y, self.weight = blocks.offsets, blocks.y, blocks.weight

    def _inner_call(self, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the function and arguments with which the inner blocks compute ``f(block, *args)``."""
        return (f, *args)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``f(block, *args)`` for every block, in order: one pass."""
        return self._blocks.each(*self._inner_call(f, args))

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(*self._inner_call(f, args))

    def as_seen(self, X: Any) -> Any:
        """Apply the transformers of the inner blocks to instances of `untransformed`."""
        return self._blocks.as_seen(X)

    def exclusive(self, f: Callable[..., Any], *args: Any) -> Any:
        """Return ``f(*args)``, computed while other concurrent runs are paused."""
        return self._blocks.exclusive(f, *args)

    @property
    def on_block(self) -> Callable[[int], None] | None:
        """Callback for progress bars, called with the number of bags of each finished block."""
        return self._blocks.on_block

    @on_block.setter
    def on_block(self, called: Callable[[int], None] | None) -> None:
        self._blocks.on_block = called

    @property
    def is_local(self) -> bool:  # type: ignore[override]
        """Whether passes run in this process."""
        return self._blocks.is_local

    @property
    def n_workers(self) -> int:
        """The number of cluster workers that compute the passes; 0 without a cluster."""
        return self._blocks.n_workers

    @property
    def n_values(self) -> int:
        """The number of instance values in the inner blocks, before any transformer."""
        return self._blocks.n_values

    @property
    def whole(self) -> Any:
        """All instances if they are in memory in this form, otherwise None."""
        return self._blocks.whole

    @property
    def n_passes(self) -> int:  # type: ignore[override]
        """The number of times the instances have been read."""
        return self._blocks.n_passes


class TransformedBlocks(BlocksView):
    """A view that transforms the instances of each block whenever it is read.

    Parameters
    ----------
    blocks : Blocks
        Blocks with the original instances.
    transform : callable
        Function of the instances of a block. It returns one row per instance, and each row depends only on
        that instance.
    n_features : int
        Number of features after the transformation.
    """

    def __init__(self, blocks: Blocks, transform: Callable[[Any], Any], n_features: int):
        super().__init__(blocks)
        self._transform = transform
        self.n_features = n_features

    @property
    def whole(self) -> Any:
        """None, because the instances are transformed when they are read."""
        return None

    @property
    def untransformed(self) -> Blocks:
        """The blocks without the transformers that the views apply."""
        return self._blocks.untransformed

    def as_seen(self, X: Any) -> Any:
        """Apply the transformers of this view to instances of `untransformed`."""
        return self._transform(self._blocks.as_seen(X))

    def _inner_call(self, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (_transformed, f, self._transform, *args)


def _transformed(block: Block, f: Callable[..., Any], transform: Callable[[Any], Any], *args: Any) -> Any:
    return f(block._replace(X=transform(block.X)), *args)


class SelectColumns:
    """Select columns of a matrix, after an optional transformer; can be pickled, unlike a lambda."""

    def __init__(self, columns: np.ndarray, transform: Callable[[Any], Any] | None = None):
        self._columns = columns
        self._transform = transform

    def __call__(self, X: Any) -> Any:
        """Return the selected columns of a matrix."""
        if self._transform is not None:
            X = self._transform(X)
        return X[:, self._columns] if sp.issparse(X) else np.ascontiguousarray(X[:, self._columns])


class ReweightedBlocks(BlocksView):
    """A view with different bag weights. Weight zero excludes a bag from every sum.

    With these weights, the folds of a cross-validation can share passes over all bags.
    """

    def __init__(self, blocks: Blocks, weight: np.ndarray):
        super().__init__(blocks)
        self.weight = weight

    @property
    def untransformed(self) -> Blocks:
        """The blocks without transformers, with these weights."""
        return ReweightedBlocks(self._blocks.untransformed, self.weight)

    def _inner_call(self, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (_reweighted, PerBag(self.weight), f, *args)


def _reweighted(block: Block, weight: np.ndarray, f: Callable[..., Any], *args: Any) -> Any:
    return f(block._replace(weight=weight), *args)


class ExtendedBlocks(BlocksView):
    """A view with additional arrays: instance weights, instance labels or bag features.

    Parameters
    ----------
    blocks : Blocks
        Blocks of bags in any storage.
    instance_weight, instance_y : array of shape (n_instances,) or None
        A value for every instance.
    bag_features : array of shape (n_bags, n) or None
        A row for every bag.
    """

    def __init__(
        self,
        blocks: Blocks,
        *,
        instance_weight: np.ndarray | None = None,
        instance_y: np.ndarray | None = None,
        bag_features: np.ndarray | None = None,
    ):
        super().__init__(blocks)
        by_instance = {"instance_weight": instance_weight, "instance_y": instance_y}
        self._more = _More(
            {name: values for name, values in by_instance.items() if values is not None},
            {} if bag_features is None else {"bag_features": bag_features},
            blocks.offsets,
        )

    def _inner_call(self, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (_extended, self._more, f, *args)


class _More(PerBlock):
    """The additional arrays of blocks; the field names are those of `Block`."""

    def __init__(
        self, by_instance: dict[str, np.ndarray], by_bag: dict[str, np.ndarray], offsets: np.ndarray
    ):
        self._by_instance = by_instance
        self._by_bag = by_bag
        self._offsets = offsets

    def part(self, block: Block) -> dict[str, np.ndarray]:
        rows = block.rows(block.part_of(self._offsets[:-1]))
        more = {name: values[rows] for name, values in self._by_instance.items()}
        return more | {name: block.part_of(values) for name, values in self._by_bag.items()}


def _extended(block: Block, more: dict[str, Any], f: Callable[..., Any], *args: Any) -> Any:
    return f(block._replace(**more), *args)


class PickedRows:
    """Selected rows of a matrix, or selected sequences, which are copied only when they are indexed.

    Attributes
    ----------
    matrix : array of shape (n, n_features), or Sequences
        All rows.
    rows : int64 array
        The indices of the selected rows.
    """

    def __init__(self, matrix: Any, rows: np.ndarray):
        self.matrix = matrix
        self.rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        """The number of selected rows, and the number of columns."""
        return len(self.rows), self.matrix.shape[1]

    @property
    def size(self) -> int:
        """The number of values (or symbols) in the selected rows."""
        if isinstance(self.matrix, np.ndarray):
            return len(self.rows) * self.matrix.shape[1]
        return int(self.matrix.lengths[self.rows].sum())

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: slice | np.ndarray) -> Any:
        return self.matrix[self.rows[key]]


class SelectedBlocks(BlocksView):
    """A view with a subset of the bags, which are selected from each block when it is read.

    The number of blocks stays the same, and a block can be empty. If the selected rows of a block are not
    consecutive, its instances are `PickedRows`, which are copied only when they are used.

    Parameters
    ----------
    blocks : Blocks
        Blocks of all bags.
    wanted : bool array of shape (n_bags,)
        Mask of the selected bags. The selected bags keep their order and are numbered consecutively.
    """

    def __init__(self, blocks: Blocks, wanted: np.ndarray):
        super().__init__(blocks)
        self._choice = _Choice(wanted)
        self.offsets = np.append(0, np.cumsum(np.diff(blocks.offsets)[wanted]))
        self.y, self.weight = blocks.y[wanted], blocks.weight[wanted]

    @property
    def whole(self) -> Any:
        """None, because the selected rows need not be consecutive."""
        return None

    def _inner_call(self, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        # Select the part of a block by the indices that its bags have in this view.
        renumbered = with_parts(args, lambda argument: _OfChosen(argument, self._choice))
        return (_selected, self._choice, f, *renumbered)


class _Choice(PerBlock):
    """A bag selection; a part contains the mask of a block's bags and their indices in the selection."""

    def __init__(self, wanted: np.ndarray):
        self._wanted = wanted
        self._new_indices = np.append(0, np.cumsum(wanted))

    def part(self, block: Block) -> tuple[np.ndarray, dict[str, Any]]:
        chosen = block.part_of(self._wanted)
        if block.first is not None:
            return chosen, {"first": int(self._new_indices[block.first])}
        return chosen, {"indices": self._new_indices[np.asarray(block.bags)[chosen]]}


class _OfChosen(PerBlock):
    """A `PerBlock` argument for selected bags; each block receives the part for its selected bags."""

    def __init__(self, argument: PerBlock, choice: _Choice):
        self._argument = argument
        self._choice = choice

    def part(self, block: Block) -> Any:
        chosen, changes = self._choice.part(block)
        offsets = np.append(0, np.cumsum(np.diff(block.offsets)[chosen]))
        return self._argument.part(block._replace(X=None, offsets=offsets, **changes))


def _selected(
    block: Block, choice: tuple[np.ndarray, dict[str, Any]], f: Callable[..., Any], *args: Any
) -> Any:
    chosen, changes = choice
    if not chosen.all():
        sizes = np.diff(block.offsets)
        rows = _as_slice(np.flatnonzero(np.repeat(chosen, sizes)))
        changes = changes | {
            "X": _rows_of(block.X, rows),
            "offsets": np.append(0, np.cumsum(sizes[chosen])),
            "y": block.y[chosen],
            "weight": block.weight[chosen],
        }
        for name, selected in (("instance_weight", rows), ("instance_y", rows), ("bag_features", chosen)):
            if (values := getattr(block, name)) is not None:
                changes[name] = values[selected]
    return f(block._replace(**changes), *args)


def _rows_of(X: Any, rows: slice | np.ndarray) -> Any:
    if isinstance(rows, slice) or sp.issparse(X):
        return X[rows]
    return PickedRows(X, rows)


def _as_slice(rows: np.ndarray) -> slice | np.ndarray:
    """Convert consecutive rows to a slice, which avoids a copy."""
    if len(rows) == 0:
        return slice(0, 0)
    is_run = rows[-1] - rows[0] == len(rows) - 1
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_run else rows
