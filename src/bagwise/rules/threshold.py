"""Threshold rule: a bag is positive if it has at least k positive instances."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from bagwise.rules.count import CountRule


class Threshold(CountRule):
    """Threshold rule: a bag is positive if at least k of its instances are positive.

    With the number n_i of positive instances of bag i::

        P(y_i = 1 | z_i) = [n_i >= k]

    Use it if labels follow a deterministic rule, such as slides with at least k tumor patches, or recordings
    with at least k calls. ``k=1`` is `Or`. If the threshold is soft or the labels are noisy, use
    `CountLogistic`.

    Parameters
    ----------
    k : int, default=None
        Number of positive instances that make a bag positive. With None, k is learned: the model is fitted
        with every k up to the size of the smallest positive bag (`alternatives`), and the best fit is kept.
        The EM update in the paper never changes k.

    Notes
    -----
    The cost is O(n_instances * k). A bag of fewer than k instances is always negative. If it is labeled
    positive, its likelihood is 0, and fits raise an error (`start`).

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import Threshold
    >>> np.exp(Threshold(2).log_proba(np.zeros(3), [0, 3])).round(3)
    array([[0.5, 0.5]])
    """

    can_use_absence = False

    def __init__(self, k: int | None = None):
        self.k = k

    @property
    def n_parameters(self) -> int:
        """Number of parameters: 1, because a learned k and a fixed k cannot be distinguished."""
        return 1

    def start(self, offsets: ArrayLike, y: ArrayLike) -> Threshold:
        """Return the first of the `alternatives`, or raise the same errors."""
        return self.alternatives(offsets, y)[0]

    def alternatives(self, offsets: ArrayLike, y: ArrayLike) -> list[Threshold]:
        """Return all thresholds that are possible for the training bags, or only the fixed threshold."""
        sizes = np.diff(offsets)[np.asarray(y) == 1]
        smallest = int(sizes.min(initial=np.iinfo(np.int64).max))
        if self.k is None:
            largest = min(smallest, int(np.diff(offsets).max(initial=1)))
            return [Threshold(k) for k in range(1, max(1, largest) + 1)]
        if self._read() > smallest:
            raise ValueError(
                f"k={self.k!r} is impossible: a positive bag has only {smallest} instances; lower k, remove "
                "these bags, or use CountLogistic, which has no impossible labels."
            )
        return [self]

    def log_labeler(self, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return log-probabilities of 0 and -inf, depending on whether the count reaches k."""
        reached = counts >= self._read()
        return np.where(reached, -np.inf, 0.0), np.where(reached, 0.0, -np.inf)

    def _largest_count(self, size: int) -> int:
        return self._read()

    @property
    def negative_bags_are_pure(self) -> bool:  # type: ignore[override]
        """Whether every instance of a negative bag is negative, which is true for k = 1."""
        return self.k == 1

    def _read(self) -> int:
        if self.k is None:
            raise ValueError("Threshold has no k; pass k or call start(offsets, y) first.")
        if not isinstance(self.k, Integral) or self.k < 1:
            raise ValueError(f"k must be an integer >= 1; got {self.k!r}.")
        return int(self.k)
