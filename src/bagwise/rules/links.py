"""Links: bag probabilities that no instance labels stand behind."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from bagwise.rules.base import Link, normalise
from bagwise.rules.or_ import any_gradient


class SoftMax(Link):
    """P(+) is a mean of the instances' probabilities that favours the larger ones.

    With p_j = sigma(eta_j) from the log-odds eta_j of one bag's instances and a the sharpness::

        P(+) = sum_j w_j p_j,    w_j = exp(a p_j) / sum_i exp(a p_i)

    Use it as a smooth step between `Mean` (a = 0) and `Max` (a large). It is not monotone: raising
    a p_j below P(+) - 1/a lowers P(+). It has no latent labels, so no posterior of the instances.

    Parameters
    ----------
    sharpness : float, default=3.0
        The a above. Larger is nearer to the maximum; a negative value favours the smaller ones.

    Notes
    -----
    O(n_instances), three exponentials and a logarithm per instance. Where all log-odds are infinite
    and forbid the label, the log-likelihood is -inf and the gradient the limit of equal log-odds.

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
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        from bagwise._core.compiled.links import softmax_gradient

        if not math.isfinite(self.sharpness):
            raise ValueError(
                f"sharpness must be a finite number; got {self.sharpness!r} (its limit is Max())."
            )
        return softmax_gradient(*normalise(log_odds, offsets, y), float(self.sharpness))


class GeometricMean(Link):
    """P(+) is the geometric mean of the instances' probabilities.

    With the log-odds eta_j of the m instances of one bag::

        log P(+) = mean_j log sigma(eta_j),    d log P(+) / d eta_j = (1 - sigma(eta_j)) / m

    Use it where one clearly negative instance should speak against the bag; it is `Mean` in the log
    domain. It has no latent labels, so no posterior of the instances.

    Notes
    -----
    O(n_instances), one exponential per instance. log P(-) is the or rule's log P(+) of the mirrored
    log-odds with the mean in the place of the sum, and runs in the same kernel. A positive bag with
    an instance of -inf is impossible: log-likelihood -inf, gradient as above. So is a negative bag
    whose log-odds all are +inf: log-likelihood -inf, gradient the limit of equal log-odds.

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
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        return any_gradient(log_odds, offsets, y, sign=-1.0, average=True)

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the exact Hessian of -log P(y): see `Rule.curvature`.

        With the gradient g of the bag the diagonal is p_j g_j; a negative bag adds g g' / P(+), where
        g_j = -(1 - p_j) P(+) / (m P(-)).
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        sizes = np.diff(offsets)
        log_likelihood, gradient = self.gradient(log_odds, offsets, y)
        log_positive, _ = self.gradient(log_odds, offsets, np.ones_like(y))
        scale = 0.5 * log_positive - log_likelihood - np.log(np.maximum(sizes, 1))
        scale[y != 0] = -np.inf
        return expit(log_odds) * gradient, np.exp(np.repeat(scale, sizes) + log_expit(-log_odds))


class LogOddsMean(Link):
    """The log-odds of a bag are the mean of its instances' log-odds.

    With the log-odds eta_j of the m instances of one bag::

        log P(+) - log P(-) = mean_j eta_j,    d log P(+) / d eta_j = P(-) / m

    Both probabilities are geometric means of the instances', divided by their sum: unlike in
    `GeometricMean`, neither label is favoured. Use it where all instances of a bag speak for its label
    about equally. It has no latent labels, so no posterior of the instances.

    Notes
    -----
    O(n_instances), one exponential per bag. Where log-odds of both plus and minus infinity are in a bag, the
    more frequent decide, and cancel if they are equally many: the limit of large ones of equal size.

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
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        sizes = np.diff(offsets)
        size = np.maximum(sizes, 1)
        is_finite = ~np.isinf(log_odds)  # a NaN must reach the result
        mean = _bag_sums(np.where(is_finite, log_odds, 0.0), offsets) / size
        if not is_finite.all():
            surplus = _bag_sums(np.where(is_finite, 0.0, np.sign(log_odds)), offsets)
            mean = np.where(surplus == 0, mean, np.copysign(np.inf, surplus))
        sign = np.where(y == 1, 1.0, -1.0) * (sizes > 0)
        is_known = (y >= 0) & (sizes > 0)
        with np.errstate(invalid="ignore"):  # 0 times infinity, of bags without a label
            margin = sign * mean
            log_likelihood = np.where(is_known, log_expit(margin), 0.0)
            slope = np.where(is_known, sign * expit(-margin) / size, 0.0)
        return log_likelihood, np.repeat(slope, sizes)


def _bag_sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sum of every bag's values; zero of an empty one."""
    bag = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(bag, weights=values, minlength=len(offsets) - 1)


class Max(Link):
    """P(+) is the probability of the most positive instance.

    With the log-odds eta_j of one bag's instances::

        P(+) = max_j sigma(eta_j) = sigma(max_j eta_j)

    Use it to speak of the witness alone, as support vector machines for bags do. It is not smooth:
    the gradient is 0 but for the largest log-odds, which share it evenly if they are exactly equal,
    so that the order of the instances does not matter. It has no latent labels.

    Notes
    -----
    O(n_instances), one exponential per bag. Where the largest log-odds are infinite and forbid the
    label, the log-likelihood is -inf and the gradient +-1, shared between the ties.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules import Max
    >>> np.exp(Max().log_proba(np.array([-2.0, 1.0]), np.array([0, 2]))).round(3)
    array([[0.269, 0.731]])
    """

    is_smooth = False

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        from bagwise._core.compiled.links import max_gradient

        return max_gradient(*normalise(log_odds, offsets, y))
