"""The narrow waist: what a bag rule answers, for instance models and solvers that know no rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator

from bagwise._core.compiled.arrays import readonly


@dataclass(frozen=True)
class RuleResult:
    """What the E step of a rule with latent labels finds out.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n_bags,)
        log P(y_i | log-odds); 0 where the label is unknown.
    posterior : ndarray of shape (n_instances,)
        P(z_ij = 1 | y_i, log-odds).
    complement : ndarray of shape (n_instances,)
        1 - posterior, computed without cancellation.
    statistics : ndarray
        What the rule's own M step (`Rule.update`) needs; blocks of bags add up with ``+``. Empty
        for a rule without parameters.
    """

    log_likelihood: np.ndarray
    posterior: np.ndarray
    complement: np.ndarray
    statistics: np.ndarray


class Rule(BaseEstimator):
    """Base class: P(bag label | instance log-odds), and back.

    Given the log-odds eta_ij of the instances, their labels z_ij are independent with
    P(z_ij = 1) = p_ij = sigma(eta_ij), and a rule with latent labels is a P(y_i | z_i). A subclass
    defines

    - ``estep(log_odds, offsets, y, weight=None) -> RuleResult``, where `weight`, one number per
      bag, multiplies the statistics and nothing else;
    - ``hessian_product(log_odds, offsets, y, v)``, the second derivative of the log-likelihood
      times v, which is [Cov(z | y) - diag p (1 - p)] v bag by bag;
    - where it has parameters that are left open, `start`, which returns a new rule; and where it learns
      them, what a `LearnedRule` defines.

    `gradient` and `log_proba` then follow; a subclass may override them with something sharper. No
    method changes the rule. A `Link` has no latent labels: it defines `gradient` alone.

    In all methods bag i is ``log_odds[offsets[i]:offsets[i + 1]]``, and y_i is 1, 0, or -1 for
    unknown: log-likelihood 0, posterior sigma(eta), gradient and second derivative 0. Log-odds of
    +-inf mean a known instance label; a bag label that they forbid has log-likelihood -inf.

    Attributes
    ----------
    has_latent_labels : bool
        Whether the rule has instance labels, and so `estep` and `hessian_product`.
    negative_bags_are_pure : bool
        Whether every instance of a negative bag is negative.
    is_smooth : bool
        Whether the likelihood has a gradient everywhere.

    Examples
    --------
    Of two instances that are positive or not with even odds, one at least is positive in three cases of four,
    and each of them in two of those three:

    >>> import numpy as np
    >>> from bagwise import Or
    >>> rule = Or()
    >>> np.exp(rule.log_proba([0.0, 0.0], [0, 2])).round(2)  # P(-), P(+)
    array([[0.25, 0.75]])
    >>> rule.estep([0.0, 0.0], [0, 2], [1]).posterior.round(3)
    array([0.667, 0.667])
    """

    has_latent_labels = True
    negative_bags_are_pure = False
    is_smooth = True

    # Declared for type checkers only: a Link must not have them.
    estep: Callable[..., RuleResult]
    hessian_product: Callable[..., np.ndarray]

    def start(self, offsets: ArrayLike, y: ArrayLike) -> Rule:
        """Resolve what the user left open, from the sizes and labels of the training bags.

        Parameters
        ----------
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.
        y : ndarray of shape (n_bags,)
            1, 0, or -1 for unknown.

        Returns
        -------
        Rule
        """
        return self

    def update(self, statistics: np.ndarray) -> Rule:
        """Maximise over the rule's own parameters: its M step.

        Parameters
        ----------
        statistics : ndarray
            The `RuleResult.statistics` of all bags, added up.

        Returns
        -------
        Rule
        """
        return self

    def alternatives(self, offsets: ArrayLike, y: ArrayLike) -> Sequence[Rule]:
        """Give the rules that a fit compares, each as `start` leaves it; several if a parameter is discrete.

        Parameters
        ----------
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.
        y : ndarray of shape (n_bags,)
            1, 0, or -1 for unknown.

        Returns
        -------
        list of Rule
        """
        return [self.start(offsets, y)]

    @property
    def learns(self) -> bool:
        """Whether `update` has something to learn."""
        return False

    @property
    def n_parameters(self) -> int:
        """Number of parameters that the data settled, for information criteria."""
        return 0

    def log_prior(self) -> float:
        """Log density, up to a constant, of what `update` learns: a term of the objective of a fit."""
        return 0.0

    # ------------------------------------------------------------------ what labels say

    def known_labels(self, y: ArrayLike) -> np.ndarray:
        """Say which labels are known, one bool for each; an unknown one carries no information."""
        return np.asarray(y) >= 0

    def unknown_labels(self, n_bags: int) -> np.ndarray:
        """Give `n_bags` labels that are not known."""
        return np.full(n_bags, -1, dtype=np.int8)

    def pure_bags(self, y: ArrayLike) -> np.ndarray:
        """Say of which bags the label makes every instance negative, one bool for each."""
        y = np.asarray(y)
        return y == 0 if self.negative_bags_are_pure else np.zeros(len(y), dtype=bool)

    # ------------------------------------------------------------------ likelihood and derivatives

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood of every bag and its gradient in the log-odds.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Of every instance.
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.
        y : ndarray of shape (n_bags,)
            1, 0, or -1 for unknown.

        Returns
        -------
        log_likelihood : ndarray of shape (n_bags,)
            Zero where the label is unknown.
        gradient : ndarray of shape (n_instances,)
            Derivative d log P(y_i) / d eta_ij. For a rule with latent labels it is posterior - sigma(eta_ij).
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        result = self.estep(log_odds, offsets, y)
        return result.log_likelihood, self._gradient_of(result, log_odds, offsets, y)

    def _gradient_of(
        self, result: RuleResult, log_odds: np.ndarray, offsets: np.ndarray, y: np.ndarray
    ) -> np.ndarray:
        """Posterior - sigma(eta), from an E step."""
        # Of the two equal differences, the one between the smaller numbers loses fewer digits.
        gradient = np.where(
            result.posterior > 0.5,
            expit(-log_odds) - result.complement,
            result.posterior - expit(log_odds),
        )
        gradient[np.repeat(~self.known_labels(y), np.diff(offsets))] = 0.0
        return gradient

    def log_proba(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Compute the log-probability of both labels of every bag.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Of every instance.
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.

        Returns
        -------
        log_proba : ndarray of shape (n_bags, 2)
            Columns log P(-), log P(+); each is accurate where the other is nearly 0.
        """
        every_bag = np.ones(len(np.asarray(offsets)) - 1, dtype=np.int8)
        negative, _ = self.gradient(log_odds, offsets, 0 * every_bag)
        positive, _ = self.gradient(log_odds, offsets, every_bag)
        return np.column_stack([negative, positive])

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Curvature of -log P(y_i): a diagonal and one outer product for every bag.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Of every instance.
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.
        y : ndarray of shape (n_bags,)
            1, 0, or -1 for unknown.

        Returns
        -------
        diagonal, factor : ndarray of shape (n_instances,)
            The block of a bag is diag(diagonal) + factor factor'. Rules whose Hessian has this form give it
            exactly; it may be indefinite. The others give Fisher's information, P (1 - P) d d' with
            d the gradient of log P(+) - log P(-), which is the Hessian on average and never indefinite.
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        known = np.repeat(self.known_labels(y), np.diff(offsets))
        return np.zeros(len(log_odds)), self.information(log_odds, offsets) * known

    def information(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Fisher's information that a label gives of its bag's log-odds, P (1 - P) d d': a factor.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Of every instance.
        offsets : ndarray of shape (n_bags + 1,)
            Where each bag begins, and the end of the last.

        Returns
        -------
        factor : ndarray of shape (n_instances,)
            The information of a bag is factor factor', with d the gradient of log P(+) - log P(-).
        """
        every_bag = np.ones(len(np.asarray(offsets)) - 1, dtype=np.int8)
        log_positive, by_positive = self.gradient(log_odds, offsets, every_bag)
        log_negative, by_negative = self.gradient(log_odds, offsets, 0 * every_bag)
        scale = np.exp(0.5 * (log_positive + log_negative))
        return (by_positive - by_negative) * np.repeat(scale, np.diff(np.asarray(offsets)))


class Link(Rule):
    """Base class of the rules without latent labels: log-likelihood and gradient only.

    P(+) of a link is not affine in every instance probability, so no P(y | z) stands behind it:
    there is no posterior, no E step, and no second derivative of the form above. A subclass
    defines `gradient`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import Max
    >>> rule = Max()
    >>> np.exp(rule.log_proba([0.0, 1.0], [0, 2])).round(3)  # of the larger log-odds
    array([[0.269, 0.731]])
    >>> rule.has_latent_labels, hasattr(rule, "estep")
    (False, False)
    """

    has_latent_labels = False

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient: see `Rule.gradient`."""
        raise NotImplementedError(f"{type(self).__name__} must define gradient.")


def normalise(log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, *more: ArrayLike) -> list[np.ndarray]:
    """Bring arguments into the one form that kernels are compiled for, and see that they fit.

    Parameters
    ----------
    log_odds, offsets, y : array-like of shape (n_instances,), (n_bags + 1,), (n_bags,)
    *more : array-like of shape (n_instances,)

    Returns
    -------
    arrays : list of ndarray
        `log_odds` float64, `offsets` int64, `y` int8, and `more` float64.
    """
    log_odds, *others = readonly(log_odds, *more, dtype=np.float64)
    (offsets,) = readonly(offsets, dtype=np.int64)
    if (
        offsets.ndim != 1
        or not len(offsets)
        or offsets[0] != 0
        or log_odds.shape != (offsets[-1],)
        or (offsets[1:] < offsets[:-1]).any()
    ):
        raise ValueError(
            f"offsets must rise from 0 to the number of log_odds, never falling; got offsets from "
            f"{offsets[:1]} to {offsets[-1:]} and log_odds of shape {log_odds.shape}."
        )
    y = np.asarray(y)
    # Most calls come from solvers, thousands of times with labels that are int8 already.
    is_label = (y + 1).view(np.uint8) <= 2 if y.dtype == np.int8 else (y == 1) | (y == 0) | (y == -1)
    if y.shape != (len(offsets) - 1,) or not is_label.all():
        raise ValueError(
            f"y must hold 1, 0 or -1 (unknown) for each of the {len(offsets) - 1} bags; got shape "
            f"{y.shape} and the values {np.unique(y)[:5]}."
        )
    for array in others:
        if array.shape != log_odds.shape:
            raise ValueError(f"v must have the shape of log_odds, {log_odds.shape}; got {array.shape}.")
    return [log_odds, offsets, *readonly(y, dtype=np.int8), *others]
