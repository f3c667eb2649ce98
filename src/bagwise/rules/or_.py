"""The or rule, the standard assumption of multiple-instance learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
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
    >>> result = Or().estep(log_odds, offsets=np.array([0, 2, 3]), y=np.array([1, 0]))
    >>> result.posterior.round(3)
    array([0.156, 0.958, 0.   ])
    """

    negative_bags_are_pure = True

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
        from bagwise._core.compiled.or_ import or_estep

        log_likelihood, posterior, complement = or_estep(*normalise(log_odds, offsets, y))
        return RuleResult(log_likelihood, posterior, complement, statistics=np.empty(0))

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        return any_gradient(log_odds, offsets, y, sign=1.0, average=False)

    def hessian_product(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, v: ArrayLike
    ) -> np.ndarray:
        """Compute the second derivative of the log-likelihood times `v`.

        A positive bag with posterior mu has exp(-s) [diag(mu_j (1 - sigma_j)) - mu mu'],
        a negative one -diag(sigma_j (1 - sigma_j)).

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
        from bagwise._core.compiled.or_ import or_hessian_product

        return or_hessian_product(*normalise(log_odds, offsets, y, v))

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the exact Hessian of -log P(y): see `Rule.curvature` and `hessian_product`.

        With the gradient g of the bag the diagonal is -g_j (1 - sigma_j), whatever the label; a positive bag
        adds g g' / exp(-s).
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        log_likelihood, gradient = self.gradient(log_odds, offsets, y)
        # exp(-s) of a positive bag, exact where either probability is tiny; nothing else has a factor.
        negative = np.where(y == 1, -np.expm1(log_likelihood), 0.0)
        each = np.zeros(len(y))
        np.divide(1.0, np.sqrt(negative), out=each, where=negative > 0)
        return -gradient * expit(-log_odds), gradient * np.repeat(each, np.diff(offsets))


def any_gradient(
    log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, *, sign: float, average: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood (n_bags,) and gradient (n_instances,) of the or rule and its relatives.

    "Any" has log(1 - exp(-s)) and gradient sigma_j exp(-s) / (1 - exp(-s)), "none" has -s and -sigma_j. With
    sign = 1, y = 1 means any. With sign = -1 the rule is that of the mirrored log-odds and label (the and
    rule). With `average`, s and its gradient are divided by m. Nothing cancels.

    The first is -log1p(r), r = 1 / (exp(s) - 1): as exact where it is near 0 as elsewhere. Exponentials and
    logarithms are numpy's, which computes several at a time; only faint and large bags need their own.
    """
    from bagwise._core.compiled.or_ import or_slopes, softplus_parts

    log_odds, offsets, y = normalise(log_odds, offsets, y)
    odds = np.abs(log_odds)
    np.exp(np.negative(odds, out=odds), out=odds)
    linear, product = softplus_parts(log_odds, odds, offsets, sign)
    log_rest = np.log1p(product)
    total = linear + log_rest
    s = total / np.maximum(np.diff(offsets), 1) if average else total
    with np.errstate(divide="ignore", over="ignore"):  # of faint bags, done apart
        ratio = np.exp(-s) / -np.expm1(-s)
    log_likelihood = np.negative(np.log1p(ratio))
    slopes = or_slopes(log_odds, odds, offsets, y, sign, average, log_rest, total, ratio, log_likelihood)
    return log_likelihood, slopes
