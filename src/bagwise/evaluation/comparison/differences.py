"""Paired differences of scores on the same splits: the corrected resampled t-test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from bagwise.evaluation.comparison.results import ModelResult
from bagwise.evaluation.held_out.intervals import LEVEL


@dataclass(frozen=True)
class Difference:
    """How much better or worse a model is than another, on the same splits.

    Attributes
    ----------
    name, against : str
        The two models.
    scoring : str
        The score.
    mean : float
        That of `name` less that of `against`, over the splits.
    low, high : float
        Its 95 % interval.
    p : float
        The two-sided p value of no difference, for this pair alone. NaN where there are fewer than two
        splits, or all differ by the same.
    """

    name: str
    against: str
    scoring: str
    mean: float
    low: float
    high: float
    p: float


def corrected_t(differences: np.ndarray, held_per_one: float) -> tuple[float, float, float, float]:
    """Test whether scores on the same splits differ: mean, low, high, p.

    Training sets of splits overlap, so that the spread of their differences says too little about the mean.
    Nadeau and Bengio's variance of the mean of J differences d is ::

        (1 / J + n_test / n_train) * sum (d - mean d)^2 / (J - 1)

    and mean / root of it is referred to t with J - 1 degrees of freedom.

    Parameters
    ----------
    differences : array of shape (n_splits,)
        Of the two scores; NaN are left out.
    held_per_one : float
        The number of bags held out for one that is learned from, n_test / n_train.

    References
    ----------
    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.evaluation.comparison.differences import corrected_t
    >>> mean, low, high, p = corrected_t(np.array([0.1, 0.0, 0.2, 0.1, 0.1]), 0.25)
    >>> round(mean, 3), round(p, 3)
    (0.1, 0.103)
    """
    known = differences[np.isfinite(differences)]
    n = len(known)
    if n < 1:
        return np.nan, np.nan, np.nan, np.nan
    mean = float(known.mean())
    spread = float(known.std(ddof=1)) if n > 1 else np.nan
    error = np.sqrt(1 / n + held_per_one) * spread
    # Rounding apart, equal differences have no spread, and no test speaks of them.
    if not error > 1e-12 * max(1.0, abs(mean)):
        return mean, np.nan, np.nan, np.nan
    width = float(t.ppf(0.5 + LEVEL / 2, n - 1) * error)
    p = 2 * float(t.sf(abs(mean) / error, n - 1))
    return mean, mean - width, mean + width, p


def held_per_learned(folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Give n_test / n_train, the mean over folds."""
    return float(np.mean([len(test) / len(train) for train, test in folds]))


def paired_differences(
    rows: Sequence[ModelResult],
    reference: ModelResult,
    scoring: str,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
) -> list[Difference]:
    """Compare every other model that has scores with a reference."""
    share = held_per_learned(folds)
    return [
        Difference(
            one.name,
            reference.name,
            scoring,
            *corrected_t(one.scores[scoring] - reference.scores[scoring], share),
        )
        for one in rows
        if one is not reference and np.isfinite(one.scores[scoring]).any()
    ]
