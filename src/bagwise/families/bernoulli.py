"""Components with independent binary features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from bagwise.families.base import Family
from bagwise.families.discrete import read_pseudo_count
from bagwise.families.refusal import refuse_values


class BernoulliParams(NamedTuple):
    """Probability of the value 1 for every feature."""

    probability: np.ndarray


class Bernoulli(Family):
    """Bernoulli family (naive Bayes): independent binary features, each with a separate probability of 1.

    The pseudo-count a > 0 is the `prior` of the mixture, 1 by default. It represents a Beta(a + 1, a + 1)
    prior on every probability. The posterior mode for weights w with sum n is ::

        lambda_j = (sum w x_j + a) / (n + 2 a)

    Missing values (NaN) are ignored, which is equivalent to integrating them out.

    Use it for the presence of words, yes-or-no answers, or fingerprints. The cost of every method is
    O(n_instances * n_features), for one matrix-vector product.

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
        """Validate that all values are 0 or 1; no statistics are needed."""
        self.check(X, None)
        return 0.0

    def start(self, sums: Any, n_components: int, prior: Any) -> float:
        """Return the pseudo-count."""
        return read_pseudo_count(prior)

    def check(self, X: Any, params: Any) -> None:
        """Validate that all values are 0 or 1."""
        refuse_values(X, (X != 0) & (X != 1) & ~np.isnan(X), "bernoulli", "features that are 0 or 1")

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Compute the log probability of every instance, ignoring missing values."""
        p = params.probability
        out = X @ logit(p) + np.log1p(-p).sum()
        if not np.isnan(out).any():
            return out
        return np.where(np.isnan(X), 0.0, np.where(X == 1, np.log(p), np.log1p(-p))).sum(axis=1)

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Compute the weights of instances with a known feature and with the value 1: (2, n_features)."""
        ones_weight = weight @ X
        if not np.isnan(ones_weight).any():  # there are no missing values
            return np.stack([np.full(X.shape[1], weight.sum()), ones_weight])
        missing = np.isnan(X)
        return np.stack([weight @ ~missing, weight @ np.where(missing, 0.0, X)])

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Compute the weighted sum of log probabilities, which is linear in `sums`."""
        seen, ones_weight = sums
        p = params.probability
        return float(np.sum(ones_weight * np.log(p) + (seen - ones_weight) * np.log1p(-p)))

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Compute the difference of two log probabilities, which is linear in X without missing values."""
        p, q = positive.probability, negative.probability
        return X @ (logit(p) - logit(q)) + np.sum(np.log1p(-p) - np.log1p(-q))

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> BernoulliParams:
        """Return the mode of the posterior."""
        seen, ones_weight = sums
        # Because of rounding, the weight of ones can slightly exceed the total weight.
        return BernoulliParams((np.clip(ones_weight, 0.0, seen) + prior) / (seen + 2 * prior))

    def log_prior(self, params: Any, prior: Any) -> float:
        """Compute the sum of a log(lambda) + a log(1 - lambda) over features."""
        p = params.probability
        return float(prior * np.sum(np.log(p) + np.log1p(-p)))

    def with_constants(self, params: Any, varies: np.ndarray, values: np.ndarray) -> BernoulliParams:
        """Return the parameters of all features; constant features have probability 0 or 1."""
        probability = values.copy()
        probability[varies] = params.probability
        return BernoulliParams(probability)

    def sufficient(self, X: Any) -> np.ndarray:
        """Return the features."""
        return np.asarray(X)

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw `n` instances."""
        return (rng.random_sample((n, len(params.probability))) < params.probability).astype(np.float64)

    def example(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw three binary features."""
        return (rng.random((n, 3)) < 0.4).astype(np.float64)

    def pack(self, params: Any) -> np.ndarray:
        """Convert probabilities to log-odds."""
        return logit(params.probability)

    def unpack(self, vector: np.ndarray, params: Any) -> BernoulliParams:
        """Convert log-odds to probabilities."""
        return BernoulliParams(expit(vector))
