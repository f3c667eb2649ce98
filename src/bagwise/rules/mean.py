"""Mean rule: the label of a bag is the label of a random instance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bagwise.rules.base import Rule, RuleResult, normalise


class Mean(Rule):
    """Mean rule: P(+) of a bag is the mean of the instance probabilities.

    The label of a bag is the label of an instance drawn at random. Let eta_ij be the log-odds of instance j
    of bag i, which has m_i instances. With p_ij = sigma(eta_ij), S_i = sum_j p_ij, and the sum S_i,-j without
    instance j::

        P(y_i = 1 | z_i) = sum_j z_ij / m_i,    P(y_i = 1) = S_i / m_i
        P(z_ij = 1 | y_i = 1) = p_ij (1 + S_i,-j) / S_i
        d log P(y_i = 1) / d eta_ij = p_ij (1 - p_ij) / S_i

    The formulas for y_i = 0 are the same, with 1 - p_ij instead of p_ij and exchanged labels.

    Use it if the label depends on the share of positive instances, or if bags are noisy groups of equivalent
    instances. In a large bag, one positive instance changes P(+) only by 1/m_i. If one positive instance
    should make the bag positive, use `Or`.

    The rule has latent instance labels z_ij and no parameters; its negative bags are not pure.

    Notes
    -----
    The cost of all methods is O(n_instances), with one exponential per instance and without cancellation. A
    positive bag with log-odds that are all -inf is impossible: its log-likelihood is -inf, and the posterior
    is 1/m for each of the m instances, the limit for equal log-odds. A negative bag with log-odds that are
    all +inf is also impossible: its log-likelihood is -inf, and the complement is 1/m.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules import Mean
    >>> log_odds = np.array([-2.0, 1.0, 0.0])  # a bag of two instances and a bag of one
    >>> result = Mean().estep(log_odds, offsets=np.array([0, 2, 3]), y=np.array([1, 0]))
    >>> result.posterior.round(3)
    array([0.243, 0.962, 0.   ])
    """

    def estep(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None
    ) -> RuleResult:
        """Compute the log-likelihood of every bag and the posterior of every instance.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Log-odds of the instances.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.
        weight : ndarray of shape (n_bags,), default=None
            Not used, because this rule has no statistics.

        Returns
        -------
        RuleResult
        """
        from bagwise._core.compiled.mean import mean_estep

        log_likelihood, posterior, complement = mean_estep(*normalise(log_odds, offsets, y))
        return RuleResult(log_likelihood, posterior, complement, statistics=np.empty(0))

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        from bagwise._core.compiled.mean import mean_gradient

        return mean_gradient(*normalise(log_odds, offsets, y))

    def log_proba(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Compute the log-probability of both labels of every bag; see `Rule.log_proba`."""
        from bagwise._core.compiled.mean import mean_log_proba

        return mean_log_proba(*normalise(log_odds, offsets, None))

    def hessian_product(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, v: ArrayLike
    ) -> np.ndarray:
        """Compute the second derivative of the log-likelihood times `v`.

        With the gradient g of the bag, the block of a bag is diag(g_j (1 - 2 p_j)) - g g'. For negative bags,
        g is negative.

        Parameters
        ----------
        log_odds, v : ndarray of shape (n_instances,)
            Log-odds of the instances, and the vector v.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.

        Returns
        -------
        product : ndarray of shape (n_instances,)
        """
        from bagwise._core.compiled.mean import mean_hessian_product

        return mean_hessian_product(*normalise(log_odds, offsets, y, v))

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the exact Hessian of -log P(y); see `Rule.curvature` and `hessian_product`."""
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        _, gradient = self.gradient(log_odds, offsets, y)
        return gradient * np.tanh(0.5 * log_odds), gradient  # 2 p - 1 = tanh(eta / 2)
