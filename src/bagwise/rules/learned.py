"""Rules with parameters that are learned from the bags, together with the instance model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from bagwise.rules.base import Rule, normalise


class LearnedRule(Rule):
    """Base class of the rules that learn: P(y | z) has parameters.

    What is learned is an ordinary parameter of the constructor, and so is `learned`, the names of those that
    are: a clone of a fitted rule is the same rule. `start` fills in what was left open and names it there.
    What is given stays as it is; a rule that another fit has learned is given too, so that `start` leaves
    nothing to learn of it.

    A subclass has `learned` among its parameters, () by default, and an E step whose statistics are all
    that learning needs. With these alone and `update` it is learned by EM, in turns with the coefficients of
    a linear model. To be learned together with them, in one quasi-Newton run, it also defines

    - ``parameters()`` and ``with_parameters(vector)``, what is learned as a vector without constraints;
    - ``parameter_gradient(statistics)``, by Fisher's identity that of the expected log-likelihood;
    - ``log_prior()``, if the objective has a term of the rule's own.

    `update` then follows from ``expected_log_likelihood(statistics)``.

    Examples
    --------
    `CountTable` and `CountLogistic` are such rules:

    >>> import numpy as np
    >>> from bagwise import CountLogistic
    >>> rule = CountLogistic(slope=2.0).start(np.array([0, 3, 7]), np.array([0, 1]))
    >>> rule.learned, rule.n_parameters, rule.learns
    (('intercept',), 1, True)
    >>> rule.start(np.array([0, 3, 7]), np.array([0, 1])).learns
    False
    """

    learned: tuple[str, ...]

    @property
    def learns(self) -> bool:
        """Whether anything is learned."""
        return len(self.learned) > 0

    @property
    def n_parameters(self) -> int:
        """Number of parameters that are learned."""
        return len(self.parameters())

    def parameters(self) -> np.ndarray:
        """Give what is learned as a vector without constraints; empty if it cannot be one."""
        return np.empty(0)

    def with_parameters(self, vector: np.ndarray) -> LearnedRule:
        """Give the rule with other values of what is learned, written as `parameters` does."""
        raise NotImplementedError(f"{type(self).__name__} must define with_parameters.")

    def parameter_gradient(self, statistics: np.ndarray) -> np.ndarray:
        """Gradient in the `parameters` of log-likelihood and log prior.

        Parameters
        ----------
        statistics : ndarray
            Those of the E step with these parameters; with others, the gradient is that of the expected
            log-likelihood which an M step maximises.

        Returns
        -------
        ndarray
        """
        raise NotImplementedError(f"{type(self).__name__} must define parameter_gradient.")

    def expected_log_likelihood(self, statistics: np.ndarray) -> float:
        """Log-likelihood of the labels of bags given their instances', expected: linear in the statistics."""
        raise NotImplementedError(f"{type(self).__name__} must define expected_log_likelihood, or update.")

    def gradient_and_statistics(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the log-likelihood, its gradient in the log-odds, and the statistics of `estep` at once.

        Parameters
        ----------
        log_odds, offsets, y, weight
            As in `estep`.

        Returns
        -------
        log_likelihood, gradient, statistics : ndarray
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        result = self.estep(log_odds, offsets, y, weight)
        return result.log_likelihood, self._gradient_of(result, log_odds, offsets, y), result.statistics

    def update(self, statistics: np.ndarray) -> LearnedRule:
        """Maximise expected log-likelihood and log prior over what is learned, by L-BFGS."""
        start = self.parameters()
        if not len(start):
            return self
        scale = max(1.0, float(np.sum(statistics)))

        def value_and_gradient(vector: np.ndarray) -> tuple[float, np.ndarray]:
            rule = self.with_parameters(vector)
            value = rule.log_prior() + rule.expected_log_likelihood(statistics)
            return -value / scale, -rule.parameter_gradient(statistics) / scale

        end = minimize(
            value_and_gradient, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}
        )
        return self.with_parameters(end.x) if end.fun <= value_and_gradient(start)[0] else self

    def log_odds_slopes(self, counts: np.ndarray) -> np.ndarray:
        """Derivatives in the `parameters` of log P(+ | n) - log P(- | n), for a rule of counts.

        By default central differences of ``log_labeler``.

        Parameters
        ----------
        counts : ndarray of shape (n_counts,)
            Numbers n of positive instances.

        Returns
        -------
        ndarray of shape (n_counts, n_parameters)
        """
        vector = self.parameters()
        columns = []
        for k in range(len(vector)):
            step = np.zeros(len(vector))
            step[k] = 1e-5 * max(1.0, abs(vector[k]))
            ahead, back = (
                log_odds_of_counts(self.with_parameters(vector + s * step), counts) for s in (1, -1)
            )
            columns.append((ahead - back) / (2 * step[k]))
        return np.column_stack(columns) if columns else np.empty((len(counts), 0))

    def soft_threshold(self, k: int) -> LearnedRule | None:
        """Give the rule as a soft threshold of k positive instances, for a fit to start from.

        Parameters
        ----------
        k : int

        Returns
        -------
        LearnedRule or None
            None if the rule cannot be like that.
        """
        return None


def log_odds_of_counts(rule: Any, counts: np.ndarray) -> np.ndarray:
    """Log-odds of a positive label for numbers of positive instances, under a rule of counts."""
    negative, positive = rule.log_labeler(counts, int(np.max(counts)))
    return positive - negative
