"""An estimate of the class prior with its uncertainty, and what is said where two of them disagree."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import norm

from bagwise.exceptions import ClassPriorWarning, warn_user

# The level of the intervals that two estimates are compared by.
LEVEL = 0.9


@dataclass(frozen=True)
class PriorEstimate:
    """An estimate of the share of positive bags among the unlabeled ones.

    Attributes
    ----------
    method : {"tail", "ratio"}
        What it was estimated by.
    class_prior : float
        The estimate, in (0, 1].
    log_error : float
        Standard error of its logarithm, from the sampling of bags.
    overlap : bool
        Whether negative bags are seen to look like positive ones. The estimate is then an upper one, and
        nothing but zero is a lower end.
    """

    method: str
    class_prior: float
    log_error: float
    overlap: bool

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Both ends of an interval of the class prior; the lower is 0 where the classes overlap."""
        low, high = self._sampling(level)
        return (0.0 if self.overlap else low), high

    def _sampling(self, level: float) -> tuple[float, float]:
        """Both ends of an interval of what the estimate tends to with many bags."""
        factor = math.exp(float(norm.ppf(0.5 + 0.5 * level)) * self.log_error)
        return self.class_prior / factor, min(1.0, self.class_prior * factor)

    def disagrees(self, other: PriorEstimate) -> bool:
        """Whether the intervals of the two, from the sampling of bags alone, lie apart."""
        (low, high), (other_low, other_high) = self._sampling(LEVEL), other._sampling(LEVEL)
        return low > other_high or other_low > high

    def __str__(self) -> str:
        low, high = self._sampling(LEVEL)
        return f'{self.class_prior:.2f} by "{self.method}" ({low:.2f} to {high:.2f})'


def warn_if_apart(estimate: PriorEstimate, check: PriorEstimate) -> None:
    """Warn where two estimates disagree by more than the sampling of bags explains."""
    if estimate.disagrees(check):
        warn_user(
            f"two estimates of the class prior disagree beyond their {LEVEL:.0%} intervals: {estimate} and "
            f"{check}. Where negative bags look like positive ones both are too large; where positive bags "
            "are not a sample of those among the unlabeled, neither means anything. Pass class_prior if you "
            "know it.",
            ClassPriorWarning,
        )
