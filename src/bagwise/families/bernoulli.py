"""Components of independent yes-or-no features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from bagwise.families.base import Family
from bagwise.families.discrete import read_pseudo_count
from bagwise.families.refusal import refuse_values


class BernoulliParams(NamedTuple):
    """Probability that a feature is 1."""

    probability: np.ndarray


class Bernoulli(Family):
    """Naive Bayes of binary features: each is 1 with its own probability, independently.

    With a pseudo-count a > 0 (the `prior` of the mixture, 1 by default), which stands for a Beta(a + 1,
    a + 1) prior on every probability, the posterior mode for weights w of total n is ::

        lambda_j = (sum w x_j + a) / (n + 2 a)

    A missing value (NaN) is integrated out by leaving it out.

    Use it for words that are present or absent, answers, fingerprints. O(n_instances * n_features) for
    every method, one matrix-vector product each.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.families import Bernoulli
    >>> family, X = Bernoulli(), np.array([[1.0], [1.0], [0.0]])
    >>> family.mstep(family.statistics(X, np.ones(3), None, 1.0), 3.0, 1.0).probability
    array([0.6])
    """

    missing = "skip"

    def start_statistics(self, X: Any, weight: np.ndarray) -> float:
        """Refuse what is neither 0 nor 1."""
        self.check(X, None)
        return 0.0

    def start(self, sums: Any, n_components: int, prior: Any) -> float:
        """Give the pseudo-count."""
        return read_pseudo_count(prior)

    def check(self, X: Any, params: Any) -> None:
        """Refuse what is neither 0 nor 1."""
        refuse_values(X, (X != 0) & (X != 1) & ~np.isnan(X), "bernoulli", "features that are 0 or 1")

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Log probability of every instance, over the features that it has."""
        p = params.probability
        out = X @ logit(p) + np.log1p(-p).sum()
        if not np.isnan(out).any():
            return out
        return np.where(np.isnan(X), 0.0, np.where(X == 1, np.log(p), np.log1p(-p))).sum(axis=1)

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Weight of the instances that have a feature, and of those where it is 1: (2, n_features)."""
        ones = weight @ X
        if not np.isnan(ones).any():  # as they are if any instance has a NaN
            return np.stack([np.full(X.shape[1], weight.sum()), ones])
        missing = np.isnan(X)
        return np.stack([weight @ ~missing, weight @ np.where(missing, 0.0, X)])

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Weighted sum of log probabilities: linear in the sums."""
        seen, ones = sums
        p = params.probability
        return float(np.sum(ones * np.log(p) + (seen - ones) * np.log1p(-p)))

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Difference of two log probabilities: linear in complete instances."""
        p, q = positive.probability, negative.probability
        return X @ (logit(p) - logit(q)) + np.sum(np.log1p(-p) - np.log1p(-q))

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> BernoulliParams:
        """Mode of the posterior."""
        seen, ones = sums
        # Rounding may leave more ones than instances, by a last digit.
        return BernoulliParams((np.clip(ones, 0.0, seen) + prior) / (seen + 2 * prior))

    def log_prior(self, params: Any, prior: Any) -> float:
        """Sum over features of a log(lambda) + a log(1 - lambda)."""
        p = params.probability
        return float(prior * np.sum(np.log(p) + np.log1p(-p)))

    def sufficient(self, X: Any) -> np.ndarray:
        """The features."""
        return np.asarray(X)

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw `n` instances."""
        return (rng.random_sample((n, len(params.probability))) < params.probability).astype(np.float64)

    def example(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw zeros and ones."""
        return (rng.random((n, 3)) < 0.4).astype(np.float64)

    def pack(self, params: Any) -> np.ndarray:
        """Log-odds."""
        return logit(params.probability)

    def unpack(self, vector: np.ndarray, params: Any) -> BernoulliParams:
        """Read log-odds."""
        return BernoulliParams(expit(vector))
