"""The threshold rule: a bag is positive if enough of its instances are."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from bagwise.rules.count import CountRule


class Threshold(CountRule):
    """A bag is positive if at least k of its instances are.

    With the number n_i of positive instances of bag i::

        P(y_i = 1 | z_i) = [n_i >= k]

    Use it where labels follow a definite rule: a slide with at least k tumour patches, a recording with at
    least k calls. ``k=1`` is `Or`. Where the number is soft, or labels are noisy, use `CountLogistic`.

    Parameters
    ----------
    k : int, default=None
        How many positive instances it takes. None: learned, by fitting with every k up to the smallest
        positive bag (`alternatives`) and keeping the best. The EM update of the paper never moves it.

    Notes
    -----
    O(n_instances * k). A bag of fewer than k instances is negative whatever they are: if it is labelled
    positive its likelihood is 0, and a fit refuses it (`start`).

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import Threshold
    >>> np.exp(Threshold(2).log_proba(np.zeros(3), [0, 3])).round(3)
    array([[0.5, 0.5]])
    """

    def __init__(self, k: int | None = None):
        self.k = k

    @property
    def n_parameters(self) -> int:
        """One: k, for a threshold that was learned looks like one that was given."""
        return 1

    def start(self, offsets: ArrayLike, y: ArrayLike) -> Threshold:
        """Take the first of the `alternatives`; see there what is refused."""
        return self.alternatives(offsets, y)[0]

    def alternatives(self, offsets: ArrayLike, y: ArrayLike) -> list[Threshold]:
        """Give the thresholds that the training bags allow, or the one that was given."""
        sizes = np.diff(offsets)[np.asarray(y) == 1]
        smallest = int(sizes.min(initial=np.iinfo(np.int64).max))
        if self.k is None:
            largest = min(smallest, int(np.diff(offsets).max(initial=1)))
            return [Threshold(k) for k in range(1, max(1, largest) + 1)]
        if self._read() > smallest:
            raise ValueError(
                f"k={self.k!r} is impossible: a positive bag has only {smallest} instances. Lower k, leave "
                "such bags out, or use CountLogistic, which forbids nothing."
            )
        return [self]

    def log_labeler(self, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Give 0 and -inf, on either side of k."""
        reached = counts >= self._read()
        return np.where(reached, -np.inf, 0.0), np.where(reached, 0.0, -np.inf)

    def _largest_count(self, size: int) -> int:
        return self._read()

    @property
    def negative_bags_are_pure(self) -> bool:  # type: ignore[override]
        """Whether every instance of a negative bag is negative: if one is enough to be positive."""
        return self.k == 1

    def _read(self) -> int:
        if self.k is None:
            raise ValueError("Threshold has no k yet; give it, or call start(offsets, y) first.")
        if not isinstance(self.k, Integral) or self.k < 1:
            raise ValueError(f"k must be a whole number of at least 1; got {self.k!r}.")
        return int(self.k)
