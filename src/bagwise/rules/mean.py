"""The mean rule: the bag takes the label of one of its instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bagwise.rules.base import Rule, RuleResult, normalise


class Mean(Rule):
    """A bag takes the label of an instance drawn at random: P(+) is the mean of the instances'.

    With the log-odds eta_ij of instance j of bag i, which has m_i instances, p_ij = sigma(eta_ij),
    S_i = sum_j p_ij, and S_i,-j the same sum without instance j::

        P(y_i = 1 | z_i) = sum_j z_ij / m_i,    P(y_i = 1) = S_i / m_i
        P(z_ij = 1 | y_i = 1) = p_ij (1 + S_i,-j) / S_i
        d log P(y_i = 1) / d eta_ij = p_ij (1 - p_ij) / S_i

    and the same for y_i = 0 with 1 - p_ij in the place of p_ij and the two labels exchanged.

    Use it where the label follows the share of positive instances, or where bags are noisy groups
    of equals. One positive instance in a large bag moves P(+) by 1/m_i only: for that, use `Or`.

    The rule has latent instance labels z_ij and no parameters; its negative bags are not pure.

    Notes
    -----
    All methods cost O(n_instances), one exponential per instance, and lose no digits. A positive
    bag whose log-odds all are -inf is impossible: its log-likelihood is -inf and its posterior 1/m
    for each of m instances, the limit of equal log-odds. So is a negative bag whose log-odds all
    are +inf: log-likelihood -inf, complement 1/m.

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
            Of every instance.
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.
        y : ndarray of shape (n_bags,)
            1, 0, or -1 for unknown.
        weight : ndarray of shape (n_bags,), default=None
            Multiplies the statistics, of which this rule has none.

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
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        from bagwise._core.compiled.mean import mean_gradient

        return mean_gradient(*normalise(log_odds, offsets, y))

    def hessian_product(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, v: ArrayLike
    ) -> np.ndarray:
        """Compute the second derivative of the log-likelihood times `v`.

        With the gradient g of the bag, the block of a positive bag is diag(g_j (1 - 2 p_j)) - g g',
        and so is that of a negative bag (whose g is negative).

        Parameters
        ----------
        log_odds, v : ndarray of shape (n_instances,)
            A number for every instance each.
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.
        y : ndarray of shape (n_bags,)
            1, 0, or -1 for unknown.

        Returns
        -------
        product : ndarray of shape (n_instances,)
        """
        from bagwise._core.compiled.mean import mean_hessian_product

        return mean_hessian_product(*normalise(log_odds, offsets, y, v))

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the exact Hessian of -log P(y): see `Rule.curvature` and `hessian_product`."""
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        _, gradient = self.gradient(log_odds, offsets, y)
        return gradient * np.tanh(0.5 * log_odds), gradient  # 2 p - 1 = tanh(eta / 2)
