"""Or rule (noisy-OR), the standard assumption of multiple-instance learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from bagwise.rules.base import Rule, RuleResult, normalise


class Or(Rule):
    """Or rule: a bag is positive if at least one of its instances is positive.

    With the log-odds eta_ij of instance j of bag i and s_i = sum_j log(1 + exp(eta_ij))::

        P(y_i = 0) = prod_j (1 - sigma(eta_ij)) = exp(-s_i)
        P(z_ij = 1 | y_i = 1) = sigma(eta_ij) / (1 - exp(-s_i)),    P(z_ij = 1 | y_i = 0) = 0
        d log P(y_i = 1) / d eta_ij = P(z_ij = 1 | y_i = 1) exp(-s_i)

    Use it if one positive instance makes the bag positive. Examples are molecules with several shapes, and
    slides with many patches. If the share of positive instances matters, use `Mean` or a count rule.

    The rule has latent instance labels z_ij and no parameters, and its negative bags are pure.

    Notes
    -----
    The cost of all methods is O(n_instances), with one exponential per instance. There is no cancellation:
    log P(-), posterior and complement have a relative error below 1e-12 for log-odds within +-700 and bags of
    any size. A positive bag with log-odds that are all -inf is impossible: its log-likelihood is -inf, and
    the posterior is 1/m for each of the m instances, the limit for equal log-odds. A negative bag with a
    log-odds value of +inf is also impossible: its log-likelihood is -inf, and the posterior is 0.

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
    can_use_absence = False

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
        from bagwise._core.compiled.or_ import or_estep

        log_likelihood, posterior, complement = or_estep(*normalise(log_odds, offsets, y))
        return RuleResult(log_likelihood, posterior, complement, statistics=np.empty(0))

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        return any_gradient(log_odds, offsets, y, sign=1.0, average=False)

    def log_proba(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Compute the log-probability of both labels of every bag; see `Rule.log_proba`."""
        return any_gradient(log_odds, offsets, None, sign=1.0, average=False)[0]

    def hessian_product(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, v: ArrayLike
    ) -> np.ndarray:
        """Compute the second derivative of the log-likelihood times `v`.

        The block of a positive bag with posterior mu is exp(-s) [diag(mu_j (1 - sigma_j)) - mu mu']. The
        block of a negative bag is -diag(sigma_j (1 - sigma_j)).

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
        from bagwise._core.compiled.or_ import or_hessian_product

        return or_hessian_product(*normalise(log_odds, offsets, y, v))

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the exact Hessian of -log P(y); see `Rule.curvature` and `hessian_product`.

        With the gradient g of the bag, the diagonal is -g_j (1 - sigma_j) for both labels. For a positive
        bag, g g' / exp(-s) is added.
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        log_likelihood, gradient = self.gradient(log_odds, offsets, y)
        # exp(-s) of positive bags, accurate even for tiny probabilities. Other bags have no factor.
        negative = np.where(y == 1, -np.expm1(log_likelihood), 0.0)
        each = np.zeros(len(y))
        np.divide(1.0, np.sqrt(negative), out=each, where=negative > 0)
        return -gradient * expit(-log_odds), gradient * np.repeat(each, np.diff(offsets))


def any_gradient(
    log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike | None, *, sign: float, average: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Compute log-likelihood (n_bags,) and gradient (n_instances,) of the or rule and related rules.

    The event "any" has the log-likelihood log(1 - exp(-s)) and the gradient sigma_j exp(-s) / (1 - exp(-s)).
    The event "none" has -s and -sigma_j. With sign = 1, the label y = 1 is "any". With sign = -1, the rule is
    applied to mirrored log-odds and labels (the and rule). With `average`, s and its gradient are divided by
    m. There is no cancellation.

    Without `y`, the first array contains log P(-) and log P(+), (n_bags, 2), and the second is empty.

    The log-likelihood of "any" is computed as -log1p(r) with r = 1 / (exp(s) - 1). This form is also accurate
    near 0. Exponentials and logarithms are vectorized by numpy. Only large bags and improbable bags are
    computed separately.
    """
    from bagwise._core.compiled.or_ import correct_faint_bags, or_log_proba, or_slopes, softplus_parts
    from bagwise._core.compiled.scalar import FAINTEST

    log_odds, offsets, *labels = normalise(log_odds, offsets, y)
    odds = np.abs(log_odds)
    np.exp(np.negative(odds, out=odds), out=odds)
    linear, product = softplus_parts(log_odds, odds, offsets, sign)
    log_rest = np.log1p(product)
    total = linear + log_rest
    s = total / np.maximum(np.diff(offsets), 1) if average else total
    with np.errstate(divide="ignore", over="ignore"):  # bags with tiny probability are recomputed
        ratio = np.exp(-s) / -np.expm1(-s)
    log_likelihood = np.negative(np.log1p(ratio))
    if y is None:
        log_proba = or_log_proba(log_odds, offsets, sign, average, log_rest, total, log_likelihood)
        return log_proba if sign > 0 else log_proba[:, ::-1], np.empty(0)
    of_bags = (offsets, labels[0], sign, average)
    slopes = or_slopes(log_odds, odds, *of_bags, log_rest, total, ratio, log_likelihood)
    if total.min(initial=np.inf) < FAINTEST:
        correct_faint_bags(log_odds, *of_bags, total, log_likelihood, slopes)
    return log_likelihood, slopes
