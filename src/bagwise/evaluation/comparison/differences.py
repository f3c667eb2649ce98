"""Paired score differences on the same splits: the corrected resampled t-test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from bagwise.evaluation.comparison.results import ModelResult
from bagwise.evaluation.held_out.intervals import LEVEL


@dataclass(frozen=True)
class Difference:
    """Score difference of two models on the same splits.

    Attributes
    ----------
    name, against : str
        Names of the model and of the reference model.
    scoring : str
        Name of the score.
    mean : float
        Score of `name` minus the score of `against`, both on all held-out bags (`ModelResult.mean`).
    low, high : float
        95 % interval of the difference.
    p : float
        Two-sided p value of the hypothesis that the models are equal, not corrected for multiple
        comparisons. NaN if there are fewer than two splits, or if the difference is the same in all splits.
    """

    name: str
    against: str
    scoring: str
    mean: float
    low: float
    high: float
    p: float


def corrected_t(
    differences: np.ndarray, test_train_ratio: float, mean: float | None = None
) -> tuple[float, float, float, float]:
    """Test whether scores on the same splits differ, and return mean, low, high and p.

    The training sets of the splits overlap, so the spread of the differences underestimates the variance of
    their mean. Nadeau and Bengio estimate the variance of the mean of J differences d by ::

        (1 / J + n_test / n_train) * sum (d - mean d)^2 / (J - 1)

    The mean divided by the square root of this variance is compared with a t distribution with J - 1 degrees
    of freedom.

    Parameters
    ----------
    differences : array of shape (n_splits,)
        Differences of the two scores; NaN are ignored.
    test_train_ratio : float
        Number of held-out bags per training bag, n_test / n_train.
    mean : float, optional
        The difference to test; by default the mean over the splits. If splits differ in size, the mean over
        all held-out bags is different.

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
    finite = differences[np.isfinite(differences)]
    n = len(finite)
    if n < 1:
        return np.nan, np.nan, np.nan, np.nan
    mean = float(finite.mean()) if mean is None else mean
    spread = float(finite.std(ddof=1)) if n > 1 else np.nan
    error = np.sqrt(1 / n + test_train_ratio) * spread
    # The test is not defined if all differences are equal up to rounding.
    if not error > 1e-12 * max(1.0, abs(mean)):
        return mean, np.nan, np.nan, np.nan
    width = float(t.ppf(0.5 + LEVEL / 2, n - 1) * error)
    p = 2 * float(t.sf(abs(mean) / error, n - 1))
    return mean, mean - width, mean + width, p


def mean_test_train_ratio(folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the mean over folds of n_test / n_train."""
    return float(np.mean([len(test) / len(train) for train, test in folds]))


def paired_differences(
    rows: Sequence[ModelResult],
    reference: ModelResult,
    scoring: str,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
) -> list[Difference]:
    """Compare a reference model with all other models that have scores."""
    share = mean_test_train_ratio(folds)
    return [
        Difference(
            result.name,
            reference.name,
            scoring,
            *corrected_t(
                result.scores[scoring] - reference.scores[scoring],
                share,
                result.mean[scoring] - reference.mean[scoring],
            ),
        )
        for result in rows
        if result is not reference and np.isfinite(result.scores[scoring]).any()
    ]
