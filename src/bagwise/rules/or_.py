"""The or rule, the standard assumption of multiple-instance learning."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from bagwise.rules.base import Rule, RuleResult, normalise


class Or(Rule):
    """A bag is positive if any of its instances is.

    With the log-odds eta_ij of instance j of bag i and s_i = sum_j log(1 + exp(eta_ij))::

        P(y_i = 0) = prod_j (1 - sigma(eta_ij)) = exp(-s_i)
        P(z_ij = 1 | y_i = 1) = sigma(eta_ij) / (1 - exp(-s_i)),    P(z_ij = 1 | y_i = 0) = 0
        d log P(y_i = 1) / d eta_ij = P(z_ij = 1 | y_i = 1) exp(-s_i)

    Use it where one positive instance makes the bag positive: a molecule and its shapes, a slide
    and its patches. Where the share of positive instances matters, use `Mean` or a count rule.

    The rule has latent instance labels z_ij and no parameters, and its negative bags are pure.

    Notes
    -----
    All methods cost O(n_instances), one exponential per instance, and lose no digits: log P(-),
    posterior and complement have relative error below 1e-12 for log-odds within +-700 and bags of
    any size. A positive bag whose log-odds all are -inf is impossible: its log-likelihood is -inf
    and its posterior 1/m for each of m instances, the limit of equal log-odds. So is a negative bag
    with an instance of +inf: log-likelihood -inf, posterior 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules import Or
    >>> log_odds = np.array([-2.0, 1.0, 0.0])  # a bag of two instances and a bag of one
    >>> found = Or().estep(log_odds, offsets=np.array([0, 2, 3]), y=np.array([1, 0]))
    >>> found.posterior.round(3)
    array([0.156, 0.958, 0.   ])
    """

    negative_bags_are_pure = True

    def estep(self, log_odds, offsets, y, weight=None) -> RuleResult:
        """Compute the log-likelihood of every bag and the posterior of every instance.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
        offsets : ndarray of shape (n_bags + 1,)
        y : ndarray of shape (n_bags,)
        weight : ndarray of shape (n_bags,), default=None
            Multiplies the statistics, of which this rule has none.

        Returns
        -------
        RuleResult
        """
        from bagwise._numba.or_ import or_estep

        found = or_estep(*normalise(log_odds, offsets, y))
        log_likelihood, posterior, complement = found
        return RuleResult(log_likelihood, posterior, complement, statistics=np.empty(0))

    def gradient(self, log_odds, offsets, y) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        return any_gradient(log_odds, offsets, y, sign=1.0, average=False)

    def hessian_product(self, log_odds, offsets, y, v) -> np.ndarray:
        """Compute the second derivative of the log-likelihood times `v`.

        A positive bag with posterior mu has exp(-s) [diag(mu_j (1 - sigma_j)) - mu mu'],
        a negative one -diag(sigma_j (1 - sigma_j)).

        Parameters
        ----------
        log_odds, v : ndarray of shape (n_instances,)
        offsets : ndarray of shape (n_bags + 1,)
        y : ndarray of shape (n_bags,)

        Returns
        -------
        product : ndarray of shape (n_instances,)
        """
        from bagwise._numba.or_ import or_hessian_product

        return or_hessian_product(*normalise(log_odds, offsets, y, v))

    def curvature(self, log_odds, offsets, y) -> tuple[np.ndarray, np.ndarray]:
        """Compute the exact Hessian of -log P(y): see `Rule.curvature` and `hessian_product`."""
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        found = self.estep(log_odds, offsets, y)
        # exp(-s) of a positive bag, exact where either probability is tiny; nothing else has a factor.
        negative = np.where(y == 1, -np.expm1(found.log_likelihood), 0.0)
        each = np.repeat(negative, np.diff(offsets))
        sigma, rest = expit(log_odds), expit(-log_odds)
        is_negative = np.repeat(y == 0, np.diff(offsets))
        diagonal = np.where(is_negative, sigma * rest, -each * found.posterior * rest)
        return diagonal, np.sqrt(each) * found.posterior


def any_gradient(log_odds, offsets, y, *, sign: float, average: bool) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood and gradient of the or rule and its relatives: see `_numba.or_.or_gradient`."""
    from bagwise._numba.or_ import or_gradient

    log_odds, offsets, y = normalise(log_odds, offsets, y)
    return or_gradient(log_odds, np.exp(-np.abs(log_odds)), offsets, y, sign, average)
