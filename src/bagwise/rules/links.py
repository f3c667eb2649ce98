"""Links: bag probabilities without latent instance labels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from bagwise.rules.base import Link, normalise
from bagwise.rules.or_ import any_gradient


class SoftMax(Link):
    """Link whose P(+) is a mean of the instance probabilities, with larger weights for larger probabilities.

    With p_j = sigma(eta_j) from the log-odds eta_j of one bag's instances and a the sharpness::

        P(+) = sum_j w_j p_j,    w_j = exp(a p_j) / sum_i exp(a p_i)

    Use it as a smooth compromise between `Mean` (a = 0) and `Max` (large a). It is not monotone: increasing
    a p_j that is below P(+) - 1/a decreases P(+). It has no latent labels and no instance posterior.

    Parameters
    ----------
    sharpness : float, default=3.0
        The parameter a in the formula. With larger values, P(+) is closer to the maximum. Negative values
        favor smaller probabilities.

    Notes
    -----
    The cost is O(n_instances), with three exponentials and one logarithm per instance. If all log-odds are
    infinite and contradict the label, the log-likelihood is -inf, and the gradient is the limit for equal
    log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules import SoftMax
    >>> np.exp(SoftMax().log_proba(np.array([-2.0, 1.0]), np.array([0, 2]))).round(3)
    array([[0.353, 0.647]])
    """

    def __init__(self, sharpness: float = 3.0):
        self.sharpness = sharpness

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        from bagwise._core.compiled.links import softmax_gradient

        if not math.isfinite(self.sharpness):
            raise ValueError(f"sharpness must be finite; got {self.sharpness!r} (for the limit, use Max()).")
        return softmax_gradient(*normalise(log_odds, offsets, y), float(self.sharpness))


class GeometricMean(Link):
    """Link whose P(+) is the geometric mean of the instance probabilities.

    With the log-odds eta_j of the m instances of one bag::

        log P(+) = mean_j log sigma(eta_j),    d log P(+) / d eta_j = (1 - sigma(eta_j)) / m

    Use it if one clearly negative instance should make a positive label less probable. It is `Mean` in
    the log domain. It has no latent labels and no instance posterior.

    Notes
    -----
    The cost is O(n_instances), with one exponential per instance. log P(-) is computed by the kernel of the
    or rule: it is log P(+) of that rule for mirrored log-odds, with a mean instead of a sum. A positive bag
    with a log-odds value of -inf is impossible: its log-likelihood is -inf, and its gradient is as above. A
    negative bag with log-odds that are all +inf is also impossible: its log-likelihood is -inf, and its
    gradient is the limit for equal log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules import GeometricMean
    >>> np.exp(GeometricMean().log_proba(np.array([-2.0, 1.0]), np.array([0, 2]))).round(3)
    array([[0.705, 0.295]])
    """

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        return any_gradient(log_odds, offsets, y, sign=-1.0, average=True)

    def log_proba(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Compute the log-probability of both labels of every bag; see `Rule.log_proba`."""
        return any_gradient(log_odds, offsets, None, sign=-1.0, average=True)[0]

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the exact Hessian of -log P(y); see `Rule.curvature`.

        With the gradient g of the bag, the diagonal is p_j g_j. For a negative bag, g g' / P(+) is added,
        where g_j = -(1 - p_j) P(+) / (m P(-)).
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        sizes = np.diff(offsets)
        log_likelihood, gradient = self.gradient(log_odds, offsets, y)
        log_positive, _ = self.gradient(log_odds, offsets, np.ones_like(y))
        scale = 0.5 * log_positive - log_likelihood - np.log(np.maximum(sizes, 1))
        scale[y != 0] = -np.inf
        return expit(log_odds) * gradient, np.exp(np.repeat(scale, sizes) + log_expit(-log_odds))


class LogOddsMean(Link):
    """Link whose bag log-odds are the mean of the instance log-odds.

    With the log-odds eta_j of the m instances of one bag::

        log P(+) - log P(-) = mean_j eta_j,    d log P(+) / d eta_j = P(-) / m

    Both probabilities are geometric means of the instance probabilities, normalized by their sum. In contrast
    to `GeometricMean`, neither label is favored. Use it if all instances of a bag contribute about equally
    to the label. It has no latent labels and no instance posterior.

    Notes
    -----
    The cost is O(n_instances), with one exponential per bag. If a bag contains log-odds of both +inf and
    -inf, the more frequent sign decides, and equal counts cancel. This is the limit for large finite
    log-odds of equal magnitude.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules import LogOddsMean
    >>> np.exp(LogOddsMean().log_proba(np.array([-2.0, 1.0]), np.array([0, 2]))).round(3)
    array([[0.622, 0.378]])
    """

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        sizes = np.diff(offsets)
        size = np.maximum(sizes, 1)
        is_finite = ~np.isinf(log_odds)  # propagate NaN to the result
        mean = _bag_sums(np.where(is_finite, log_odds, 0.0), offsets) / size
        if not is_finite.all():
            surplus = _bag_sums(np.where(is_finite, 0.0, np.sign(log_odds)), offsets)
            mean = np.where(surplus == 0, mean, np.copysign(np.inf, surplus))
        sign = np.where(y == 1, 1.0, -1.0) * (sizes > 0)
        is_known = (y >= 0) & (sizes > 0)
        with np.errstate(invalid="ignore"):  # 0 times infinity in bags without a label
            margin = sign * mean
            log_likelihood = np.where(is_known, log_expit(margin), 0.0)
            slope = np.where(is_known, sign * expit(-margin) / size, 0.0)
        return log_likelihood, np.repeat(slope, sizes)


def _bag_sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Compute the sum of the values of every bag; zero for empty bags."""
    bag = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(bag, weights=values, minlength=len(offsets) - 1)


class Max(Link):
    """Link whose P(+) is the probability of the most positive instance.

    With the log-odds eta_j of one bag's instances::

        P(+) = max_j sigma(eta_j) = sigma(max_j eta_j)

    Use it to model only the witness of a bag, like SVMs for bags. It is not smooth: the gradient is 0 except
    for the instance with the largest log-odds. Ties share the gradient equally, so the order of the instances
    does not matter. It has no latent labels.

    Notes
    -----
    The cost is O(n_instances), with one exponential per bag. If the largest log-odds are infinite and
    contradict the label, the log-likelihood is -inf, and the gradient is +-1, shared equally among ties.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules import Max
    >>> np.exp(Max().log_proba(np.array([-2.0, 1.0]), np.array([0, 2]))).round(3)
    array([[0.269, 0.731]])
    """

    is_smooth = False
    can_use_absence = False

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        from bagwise._core.compiled.links import max_gradient

        return max_gradient(*normalise(log_odds, offsets, y))

    def log_proba(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Compute the log-probability of both labels of every bag; see `Rule.log_proba`."""
        from bagwise._core.compiled.links import max_log_proba

        return max_log_proba(*normalise(log_odds, offsets, None))
