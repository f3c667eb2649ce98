"""Interface of bag rules, which makes instance models and solvers independent of the rule."""

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
    """Result of the E step of a rule with latent labels.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n_bags,)
        log P(y_i | log-odds); 0 if the label is unknown.
    posterior : ndarray of shape (n_instances,)
        P(z_ij = 1 | y_i, log-odds).
    complement : ndarray of shape (n_instances,)
        1 - posterior, computed without cancellation.
    statistics : ndarray
        Input of the M step of the rule (`Rule.update`). The statistics of blocks are summed with ``+``. Empty
        for a rule without parameters.
    """

    log_likelihood: np.ndarray
    posterior: np.ndarray
    complement: np.ndarray
    statistics: np.ndarray


class Rule(BaseEstimator):
    """Base class of bag rules: the distribution of the bag label given the log-odds of the instances.

    Given the log-odds eta_ij of the instances, their labels z_ij are independent with
    P(z_ij = 1) = p_ij = sigma(eta_ij). A rule with latent labels is a distribution P(y_i | z_i). A subclass
    defines

    - ``estep(log_odds, offsets, y, weight=None) -> RuleResult``. The argument `weight` has one value per bag
      and only affects the statistics.
    - ``hessian_product(log_odds, offsets, y, v)``, the second derivative of the log-likelihood
      times v. For each bag, it is [Cov(z | y) - diag p (1 - p)] v.
    - `start`, which returns a new rule, if the rule has parameters that can be None.
    - the methods of `LearnedRule`, if these parameters are learned.

    The base class implements `gradient` and `log_proba`; subclasses can override them with more accurate
    versions. Methods never modify the rule. A `Link` has no latent labels and defines only `gradient`.

    In all methods, bag i is ``log_odds[offsets[i]:offsets[i + 1]]``, and y_i is 1, 0, or -1 if unknown. For
    an unknown label, the log-likelihood, the gradient and the second derivative are 0, and the posterior is
    sigma(eta). Log-odds of +-inf represent known instance labels. If they contradict the bag label, the
    log-likelihood is -inf.

    Attributes
    ----------
    has_latent_labels : bool
        Whether the rule has instance labels. Rules without instance labels have no `estep` and no
        `hessian_product`.
    negative_bags_are_pure : bool
        Whether every instance of a negative bag is negative.
    is_smooth : bool
        Whether the likelihood is differentiable everywhere.
    can_use_absence : bool
        False if adding an instance to a bag never lowers P(+).

    Examples
    --------
    Two instances are each positive with probability 0.5. At least one of them is positive with probability
    3/4. Given that the bag is positive, each instance is positive with probability 2/3:

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
    can_use_absence = True

    # Declared for type checkers only: a Link must not have them.
    estep: Callable[..., RuleResult]
    hessian_product: Callable[..., np.ndarray]

    def start(self, offsets: ArrayLike, y: ArrayLike) -> Rule:
        """Determine unset parameters (None) from the sizes and labels of the training bags.

        Parameters
        ----------
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.

        Returns
        -------
        Rule
        """
        return self

    def update(self, statistics: np.ndarray) -> Rule:
        """Run the M step: maximize over the parameters of the rule.

        Parameters
        ----------
        statistics : ndarray
            Sum of the `RuleResult.statistics` of all bags.

        Returns
        -------
        Rule
        """
        return self

    def alternatives(self, offsets: ArrayLike, y: ArrayLike) -> Sequence[Rule]:
        """Return the started rules that a fit compares; several if a discrete parameter is learned.

        Parameters
        ----------
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.

        Returns
        -------
        list of Rule
        """
        return [self.start(offsets, y)]

    @property
    def learns(self) -> bool:
        """Whether `update` learns parameters."""
        return False

    @property
    def n_parameters(self) -> int:
        """Number of parameters determined by the data, for information criteria."""
        return 0

    def log_prior(self) -> float:
        """Return the log prior of the learned parameters up to a constant, a term of the objective."""
        return 0.0

    # ------------------------------------------------------------------ labels

    def known_labels(self, y: ArrayLike) -> np.ndarray:
        """Return a mask of the known labels; unknown labels carry no information."""
        return np.asarray(y) >= 0

    def unknown_labels(self, n_bags: int) -> np.ndarray:
        """Return `n_bags` unknown labels."""
        return np.full(n_bags, -1, dtype=np.int8)

    def pure_bags(self, y: ArrayLike) -> np.ndarray:
        """Return a mask of the bags whose label implies that all their instances are negative."""
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
            Log-odds of the instances.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.

        Returns
        -------
        log_likelihood : ndarray of shape (n_bags,)
            Zero if the label is unknown.
        gradient : ndarray of shape (n_instances,)
            Derivative d log P(y_i) / d eta_ij. For rules with latent labels, this is
            posterior - sigma(eta_ij).
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        result = self.estep(log_odds, offsets, y)
        return result.log_likelihood, self._gradient_of(result, log_odds, offsets, y)

    def _gradient_of(
        self, result: RuleResult, log_odds: np.ndarray, offsets: np.ndarray, y: np.ndarray
    ) -> np.ndarray:
        """Return posterior - sigma(eta), from an E step."""
        # The gradient equals two differences. The difference of the smaller values has less cancellation.
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
            Log-odds of the instances.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.

        Returns
        -------
        log_proba : ndarray of shape (n_bags, 2)
            Columns log P(-) and log P(+). Each is accurate, even if the other probability is nearly 0.
        """
        every_bag = np.ones(len(np.asarray(offsets)) - 1, dtype=np.int8)
        negative, _ = self.gradient(log_odds, offsets, 0 * every_bag)
        positive, _ = self.gradient(log_odds, offsets, every_bag)
        return np.column_stack([negative, positive])

    def curvature(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the curvature of -log P(y_i): a diagonal and one outer product for every bag.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Log-odds of the instances.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.

        Returns
        -------
        diagonal, factor : ndarray of shape (n_instances,)
            The block of a bag is diag(diagonal) + factor factor'. If the Hessian of the rule has this form,
            the result is the exact Hessian, which can be indefinite. Otherwise, the result is the Fisher
            information P (1 - P) d d', where d is the gradient of log P(+) - log P(-). This is the expected
            Hessian, and it is positive semidefinite.
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        has_label = np.repeat(self.known_labels(y), np.diff(offsets))
        return np.zeros(len(log_odds)), self.information(log_odds, offsets) * has_label

    def information(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Compute a factor of the Fisher information P (1 - P) d d' that bag labels contain about log-odds.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Log-odds of the instances.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.

        Returns
        -------
        factor : ndarray of shape (n_instances,)
            The information of a bag is factor factor'; d is the gradient of log P(+) - log P(-).
        """
        every_bag = np.ones(len(np.asarray(offsets)) - 1, dtype=np.int8)
        log_positive, by_positive = self.gradient(log_odds, offsets, every_bag)
        log_negative, by_negative = self.gradient(log_odds, offsets, 0 * every_bag)
        scale = np.exp(0.5 * (log_positive + log_negative))
        return (by_positive - by_negative) * np.repeat(scale, np.diff(np.asarray(offsets)))


class Link(Rule):
    """Base class of rules without latent labels, which have only a log-likelihood and a gradient.

    For a link, P(+) is not an affine function of each instance probability. Therefore, there is no
    distribution P(y | z), no posterior, no E step, and no second derivative as in `Rule`. A subclass defines
    `gradient`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import Max
    >>> rule = Max()
    >>> np.exp(rule.log_proba([0.0, 1.0], [0, 2])).round(3)  # sigma(1.0), from the larger log-odds
    array([[0.269, 0.731]])
    >>> rule.has_latent_labels, hasattr(rule, "estep")
    (False, False)
    """

    has_latent_labels = False

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        raise NotImplementedError(f"{type(self).__name__} must define gradient.")


def normalise(
    log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike | None, *more: ArrayLike
) -> list[np.ndarray]:
    """Validate arguments and convert them to the data types that the compiled kernels need.

    Parameters
    ----------
    log_odds, offsets, y : array-like of shape (n_instances,), (n_bags + 1,), (n_bags,)
        If `y` is None, the result does not contain it.
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
            f"offsets must start with 0, never decrease, and end with the length of log_odds; got offsets "
            f"from {offsets[:1]} to {offsets[-1:]} and log_odds of shape {log_odds.shape}."
        )
    if y is None:
        return [log_odds, offsets]
    y = np.asarray(y)
    # Fast path: solvers call this thousands of times with int8 labels.
    is_label = (y + 1).view(np.uint8) <= 2 if y.dtype == np.int8 else (y == 1) | (y == 0) | (y == -1)
    if y.shape != (len(offsets) - 1,) or not is_label.all():
        raise ValueError(
            f"y must contain 1, 0 or -1 (unknown) for each of the {len(offsets) - 1} bags; got shape "
            f"{y.shape} with the values {np.unique(y)[:5]}."
        )
    for array in others:
        if array.shape != log_odds.shape:
            raise ValueError(
                f"v must have the same shape as log_odds, {log_odds.shape}; got shape {array.shape}."
            )
    return [log_odds, offsets, *readonly(y, dtype=np.int8), *others]
