"""A class-prior estimate with its uncertainty, and warnings about estimates that are not reliable."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import norm

from bagwise.exceptions import ClassPriorWarning, warn_user

# Level of the intervals by which two estimates are compared.
LEVEL = 0.9


@dataclass(frozen=True)
class PriorEstimate:
    """An estimate of the share of positive bags among the unlabeled ones.

    Attributes
    ----------
    method : {"tail", "ratio"}
        The estimation method.
    class_prior : float
        The estimate, in (0, 1].
    log_error : float
        Standard error of the logarithm of the estimate, due to the sampling of bags.
    overlap : bool
        Whether the scores show that negative bags look like positive ones. If so, the estimate is an upper
        bound, and the lower limit of its interval is zero.
    """

    method: str
    class_prior: float
    log_error: float
    overlap: bool

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the limits of an interval of the class prior; the lower one is 0 if the classes overlap."""
        low, high = self._sampling(level)
        return (0.0 if self.overlap else low), high

    def _sampling(self, level: float) -> tuple[float, float]:
        """Return the limits of an interval of the value that the estimate converges to with many bags."""
        factor = math.exp(float(norm.ppf(0.5 + 0.5 * level)) * self.log_error)
        return self.class_prior / factor, min(1.0, self.class_prior * factor)

    def disagrees(self, other: PriorEstimate) -> bool:
        """Return whether the sampling intervals of two estimates do not overlap."""
        (low, high), (other_low, other_high) = self._sampling(LEVEL), other._sampling(LEVEL)
        return low > other_high or other_low > high

    def __str__(self) -> str:
        low, high = self._sampling(LEVEL)
        return f'{self.class_prior:.2f} by "{self.method}" ({low:.2f} to {high:.2f})'


def warn_if_unreliable(estimate: PriorEstimate, check: PriorEstimate) -> None:
    """Warn if the classes overlap, or if two estimates differ by more than sampling error explains."""
    if estimate.disagrees(check):
        warn_user(
            f"the {LEVEL:.0%} intervals of two class-prior estimates do not overlap: {estimate} and {check}. "
            "If negative bags look like positive ones, both estimates are too large. If the labeled "
            "positive bags are not a random sample of all positive bags, both estimates are invalid. Pass "
            "class_prior if you know it.",
            ClassPriorWarning,
        )
    elif estimate.overlap:
        low, high = estimate.interval()
        warn_user(
            "negative bags seem to look like positive ones, so the class prior cannot be determined from the "
            f"data: it is between {low:g} and {high:.2f} ({LEVEL:.0%} interval), and the upper estimate "
            f"{estimate.class_prior:.2f} is used. Pass class_prior if you know it.",
            ClassPriorWarning,
        )
