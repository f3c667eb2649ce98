"""Symbol sequences, which `Bags` can contain instead of a feature matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.compiled.arrays import readonly


class Sequences:
    """An immutable collection of symbol sequences of any length, used as instances instead of vectors.

    Symbols are the integers 0, 1, ... n_symbols - 1; sequence ``i`` is
    ``symbols[offsets[i]:offsets[i + 1]]``. ``Bags(sequences, offsets)`` groups the sequences into bags.

    Parameters
    ----------
    symbols : array of int, shape (total length,)
        All sequences, one after another.
    offsets : array of int, shape (n_sequences + 1,)
        The start index of each sequence, then the total length; the first entry is 0.
    n_symbols : int, optional
        Size of the alphabet, by default one more than the largest symbol. Set it if the training data or new
        data may not contain all symbols, because the alphabet size is used as the number of features.

    Examples
    --------
    >>> from bagwise import Bags, Sequences
    >>> sequences = Sequences.from_list([[0, 1, 1], [2], [0, 2]])
    >>> sequences
    Sequences(3 sequences, 6 symbols long, alphabet of 3)
    >>> Bags(sequences, [0, 1, 3])[1][0]
    array([2])
    """

    n_symbols: int
    offsets: np.ndarray
    symbols: np.ndarray

    __slots__ = ("n_symbols", "offsets", "symbols")

    ndim = 2

    def __init__(self, symbols: ArrayLike, offsets: ArrayLike, *, n_symbols: int | None = None):
        symbols, offsets = np.asarray(symbols), np.asarray(offsets)
        if symbols.ndim != 1 or (len(symbols) and not np.issubdtype(symbols.dtype, np.integer)):
            raise ValueError(
                f"symbols must be a 1-D array of integers; got {symbols.dtype} of shape {symbols.shape}."
            )
        if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(symbols):
            raise ValueError(
                f"offsets must start at 0 and end at the number of symbols, {len(symbols)}; got {offsets!r}."
            )
        short = np.diff(offsets) < 1
        if short.any():
            raise ValueError(
                f"sequence {int(np.argmax(short))} is empty; every sequence needs at least one symbol."
            )
        largest = int(symbols.max(initial=-1))
        if n_symbols is None:
            n_symbols = largest + 1
        if symbols.min(initial=0) < 0 or largest >= n_symbols:
            raise ValueError(
                f"symbols must be between 0 and n_symbols - 1 = {n_symbols - 1}; they range from "
                f"{symbols.min(initial=0)} to {largest}."
            )
        # Copy the arrays, so that later changes to the caller's arrays do not change the sequences.
        self.symbols, self.offsets = readonly(symbols.astype(np.int64), offsets.astype(np.int64))
        self.n_symbols = int(n_symbols)

    @classmethod
    def from_list(cls, sequences: Iterable[Any], *, n_symbols: int | None = None) -> Sequences:
        """Join sequences of integers."""
        parts = [np.asarray(part, dtype=np.int64) for part in sequences]
        symbols = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return cls(symbols, np.cumsum([0, *map(len, parts)]), n_symbols=n_symbols)

    @classmethod
    def concat(cls, parts: Iterable[Sequences]) -> Sequences:
        """Join several `Sequences` with the same alphabet."""
        parts = list(parts)
        starts = np.cumsum([0, *(len(part.symbols) for part in parts)])
        offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
        symbols = np.concatenate([part.symbols for part in parts])
        return cls(symbols, np.concatenate([[0], *offsets]), n_symbols=parts[0].n_symbols)

    @property
    def lengths(self) -> np.ndarray:
        """The length of every sequence."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_sequences, n_symbols)``: the alphabet size is used as the number of features."""
        return len(self), self.n_symbols

    @property
    def size(self) -> int:
        """The total number of symbols in all sequences."""
        return len(self.symbols)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """Select one sequence (an array) by its index, or several by a slice or an index array."""
        if isinstance(key, (int, np.integer)):
            i = range(len(self))[key]
            return self.symbols[self.offsets[i] : self.offsets[i + 1]]
        if isinstance(key, slice) and key.step in (None, 1):
            return self._run(*key.indices(len(self))[:2])
        return self.take(np.arange(len(self))[key])

    def _run(self, begin: int, end: int) -> Sequences:
        """Return consecutive sequences without copying their symbols."""
        offsets = self.offsets[begin : max(begin, end) + 1]
        part = object.__new__(Sequences)
        part.symbols = self.symbols[offsets[0] : offsets[-1]]
        (part.offsets,) = readonly(offsets - offsets[0])
        part.n_symbols = self.n_symbols
        return part

    def take(self, rows: ArrayLike, axis: int = 0) -> Sequences:
        """Select sequences by index, like numpy's `take` for rows."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Sequences(self.symbols[positions], offsets, n_symbols=self.n_symbols)

    def project(self, rng: np.random.RandomState) -> np.ndarray:
        """Return one random projection value per sequence, which depends only on its symbols and the seed."""
        position = np.arange(len(self.symbols)) - np.repeat(self.offsets[:-1], self.lengths)
        by_position = rng.standard_normal(int(self.lengths.max(initial=1)))
        by_symbol = rng.standard_normal(self.n_symbols)
        owner = np.repeat(np.arange(len(self)), self.lengths)
        return np.bincount(owner, by_position[position] * by_symbol[self.symbols], minlength=len(self))

    def __repr__(self) -> str:
        return (
            f"Sequences({len(self):,} sequences, {len(self.symbols):,} symbols long, "
            f"alphabet of {self.n_symbols})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.symbols, self.offsets, self.n_symbols)

    # Model files (`bagwise.save`) use this method and may come from untrusted sources: `__init__` checks all.
    def __getstate__(self) -> dict[str, Any]:
        return {"symbols": self.symbols, "offsets": self.offsets, "n_symbols": self.n_symbols}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)


def _rebuild(symbols: Any, offsets: Any, n_symbols: Any) -> Sequences:
    return Sequences(symbols, offsets, n_symbols=n_symbols)
