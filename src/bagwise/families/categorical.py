"""Components of independent features with a few values each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise.families.base import Family
from bagwise.families.discrete import Largest, from_log_simplex, log_simplex, read_pseudo_count
from bagwise.families.refusal import refuse_values

# Entries of a table of values by features that is still made.
_LARGEST_TABLE = 2**27


class CategoricalParams(NamedTuple):
    """Probability of every value of every feature: (n_features, n_values)."""

    probability: np.ndarray


class CategoricalPrior(NamedTuple):
    """The pseudo-count, and which values a feature has: (n_features, n_values)."""

    pseudo_count: float
    allowed: np.ndarray


class Categorical(Family):
    """Naive Bayes of categories: each feature takes one of its values, independently of the others.

    Values are the numbers 0, 1, ... K_j - 1, with K_j one more than the largest that the training
    instances have (or `n_values` for all). With a pseudo-count a > 0 (the `prior` of the mixture, 1 by
    default), which stands for a Dirichlet prior, the posterior mode for weights w of total n is ::

        lambda_jv = (sum of w where x_j = v, + a) / (n + K_j a)

    A missing value (NaN) is integrated out by leaving it out.

    O(n_instances * n_features) for every method, times the largest K_j for the statistics.

    Parameters
    ----------
    n_values : int, optional
        The number of values of every feature. Give it where new instances may have values that the
        training instances have not.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.families import Categorical
    >>> family, X, weight = Categorical(), np.array([[0.0], [2.0], [2.0]]), np.ones(3)
    >>> prior = family.start(family.start_statistics(X, weight), 2, "default")
    >>> family.mstep(family.statistics(X, weight, None, prior), 3.0, prior).probability.round(3)
    array([[0.333, 0.167, 0.5  ]])
    """

    missing = "skip"

    def __init__(self, n_values: int | None = None):
        self.n_values = n_values

    def start_statistics(self, X: Any, weight: np.ndarray) -> Largest:
        """Find the largest value of every feature; refuse what is no category."""
        codes, seen = _codes(X)
        most = np.inf if self.n_values is None else self.n_values
        _refuse(X, seen & ~((codes == X) & (codes >= 0) & (codes < most)))
        return Largest(codes.max(axis=0, initial=0))

    def start(self, sums: Any, n_components: int, prior: Any) -> CategoricalPrior:
        """Give the pseudo-count, and the values of every feature."""
        largest = sums.value
        if self.n_values is None and (largest.max() + 1) * len(largest) > _LARGEST_TABLE:
            feature = int(np.argmax(largest))
            raise ValueError(
                f"feature {feature} has the category {largest[feature]:,}, and a table of all up to it would "
                "fill the memory; number the categories of each feature 0, 1, 2, ... "
                "(OnInstances(OrdinalEncoder()))."
            )
        sizes = largest + 1 if self.n_values is None else np.full(len(largest), self.n_values)
        return CategoricalPrior(read_pseudo_count(prior), np.arange(sizes.max()) < sizes[:, None])

    def check(self, X: Any, params: Any) -> None:
        """Refuse values that no training instance had."""
        allowed = params.probability > 0
        codes, seen = _codes(X)
        inside = (codes >= 0) & (codes < allowed.shape[1])
        known = allowed[np.arange(len(allowed)), np.where(inside, codes, 0)]
        _refuse(X, seen & ~((codes == X) & inside & known))

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Log probability of every instance, over the features that it has."""
        codes, seen = _codes(X)
        with np.errstate(divide="ignore"):
            logs = np.log(params.probability)
        picked = logs[np.arange(X.shape[1]), codes]
        return np.where(seen, picked, 0.0).sum(axis=1)

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Weight of the instances with each value: (n_features, n_values)."""
        codes, seen = _codes(X)
        n_features, n_values = prior.allowed.shape
        cells = codes + n_values * np.arange(n_features)
        each = np.where(seen, weight[:, None], 0.0)
        return np.bincount(cells.ravel(), each.ravel(), n_features * n_values).reshape(prior.allowed.shape)

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Weighted sum of log probabilities: linear in the sums."""
        return float(np.sum(sums[prior.allowed] * np.log(params.probability[prior.allowed])))

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> CategoricalParams:
        """Mode of the posterior."""
        # Sums that are differences may miss zero by rounding.
        counts = np.where(prior.allowed, np.maximum(sums, 0.0) + prior.pseudo_count, 0.0)
        return CategoricalParams(counts / counts.sum(axis=1, keepdims=True))

    def log_prior(self, params: Any, prior: Any) -> float:
        """Sum over features and their values of a log(lambda)."""
        return float(prior.pseudo_count * np.log(params.probability[prior.allowed]).sum())

    def settled(self, sums: Any) -> Categorical:
        """Give the family with the number of values of all training instances."""
        return Categorical(self.n_values or int(sums.value.max(initial=0)) + 1)

    def sufficient(self, X: Any) -> np.ndarray:
        """An indicator for every value but 0 of every feature."""
        largest = self.start_statistics(X, np.ones(len(X)))
        codes, _ = _codes(X)
        n_values = self.settled(largest).n_values
        return (codes[:, :, None] == np.arange(1, n_values)).reshape(len(X), -1).astype(np.float64)

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw `n` instances."""
        edges = np.cumsum(params.probability, axis=1)
        edges[:, -1] = 1.0  # a sum may end a last digit below
        u = rng.random_sample((n, len(edges)))
        return (u[:, :, None] >= edges).sum(axis=2).astype(np.float64)

    def example(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw three features of two, three and four values."""
        return rng.integers(0, [2, 3, 4], size=(n, 3)).astype(np.float64)

    def pack(self, params: Any) -> np.ndarray:
        """Log-ratios to the first value."""
        return np.concatenate([log_simplex(row[row > 0]) for row in params.probability])

    def unpack(self, vector: np.ndarray, params: Any) -> CategoricalParams:
        """Read log-ratios."""
        probability = np.zeros_like(params.probability)
        begin = 0
        for row, form in zip(probability, params.probability, strict=True):
            size = int((form > 0).sum()) - 1
            row[form > 0] = from_log_simplex(vector[begin : begin + size])
            begin += size
        return CategoricalParams(probability)


def _codes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values as indices, 0 where they are missing; and where they are not."""
    seen = ~np.isnan(X)
    with np.errstate(invalid="ignore"):  # what is too large for a whole number is refused by its value
        return np.where(seen, X, 0.0).astype(np.int64), seen


def _refuse(X: np.ndarray, wrong: np.ndarray) -> None:
    refuse_values(X, wrong, "categorical", "values 0, 1, ... that the training instances have, or n_values")
