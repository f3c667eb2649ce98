"""Rules with parameters that are learned from bags, together with the instance model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from bagwise.rules.base import Rule, normalise


class LearnedRule(Rule):
    """Base class of rules with learned parameters in P(y | z).

    Learned parameters are ordinary constructor parameters. The constructor parameter `learned` contains their
    names, so that a clone of a fitted rule is the same rule. `start` sets the unset parameters (None) and
    adds their names to `learned`. Other parameters are fixed. In a rule that was learned by a previous fit,
    `start` therefore fixes all parameters.

    A subclass has the constructor parameter `learned`, () by default. The E step returns all statistics that
    are needed for learning. With a method `update`, the rule is learned by EM, in alternation with the
    coefficients of a linear model. To learn both together in one quasi-Newton run, a subclass also defines

    - ``parameters()`` and ``with_parameters(vector)``, with the learned parameters as an unconstrained
      vector;
    - ``parameter_gradient(statistics)``, by Fisher's identity the gradient of the expected log-likelihood;
    - ``log_prior()``, if the rule adds a term to the objective.

    The default `update` only needs ``expected_log_likelihood(statistics)``.

    Examples
    --------
    `CountTable` and `CountLogistic` are learned rules:

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
        """Whether the rule has learned parameters."""
        return len(self.learned) > 0

    @property
    def n_parameters(self) -> int:
        """Number of learned parameters."""
        return len(self.parameters())

    def parameters(self) -> np.ndarray:
        """Return the learned parameters as an unconstrained vector; empty if there is no such form."""
        return np.empty(0)

    def with_parameters(self, vector: np.ndarray) -> LearnedRule:
        """Return the rule with different values of the learned parameters, in the form of `parameters`."""
        raise NotImplementedError(f"{type(self).__name__} must define with_parameters.")

    def parameter_gradient(self, statistics: np.ndarray) -> np.ndarray:
        """Compute the gradient of log-likelihood plus log prior in the `parameters`.

        Parameters
        ----------
        statistics : ndarray
            Statistics of an E step with the same parameters. With statistics for different parameters, the
            result is the gradient of the expected log-likelihood, which an M step maximizes.

        Returns
        -------
        ndarray
        """
        raise NotImplementedError(f"{type(self).__name__} must define parameter_gradient.")

    def expected_log_likelihood(self, statistics: np.ndarray) -> float:
        """Compute the expected log-likelihood of bag labels given instance labels, linear in `statistics`."""
        raise NotImplementedError(f"{type(self).__name__} must define expected_log_likelihood, or update.")

    def gradient_and_statistics(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the log-likelihood, its gradient in the log-odds, and the statistics of `estep` at once.

        Parameters
        ----------
        log_odds, offsets, y, weight
            See `estep`.

        Returns
        -------
        log_likelihood, gradient, statistics : ndarray
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        result = self.estep(log_odds, offsets, y, weight)
        return result.log_likelihood, self._gradient_of(result, log_odds, offsets, y), result.statistics

    def update(self, statistics: np.ndarray) -> LearnedRule:
        """Maximize expected log-likelihood plus log prior over the learned parameters with L-BFGS."""
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
        """Compute the derivatives of log P(+ | n) - log P(- | n) in the `parameters` of a count rule.

        The default implementation uses central differences of ``log_labeler``.

        Parameters
        ----------
        counts : ndarray of shape (n_counts,)
            Counts n of positive instances.

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
        """Return the rule as a soft threshold of k positive instances, as a start for fits.

        Parameters
        ----------
        k : int

        Returns
        -------
        LearnedRule or None
            None if the rule has no such form.
        """
        return None


def log_odds_of_counts(rule: Any, counts: np.ndarray) -> np.ndarray:
    """Compute the log-odds of a positive label for each count of positive instances in a count rule."""
    negative, positive = rule.log_labeler(counts, int(np.max(counts)))
    return positive - negative
