"""Components with independent categorical features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise.families.base import Family
from bagwise.families.discrete import Largest, from_log_simplex, log_simplex, read_pseudo_count
from bagwise.families.refusal import RefusedFeatureError, refuse_values

# Maximum number of entries in a table of features and values.
_LARGEST_TABLE = 2**27


class CategoricalParams(NamedTuple):
    """Probability of every value of every feature: (n_features, n_values)."""

    probability: np.ndarray


class CategoricalPrior(NamedTuple):
    """Pseudo-count, and a mask of the values of every feature: (n_features, n_values)."""

    pseudo_count: float
    allowed: np.ndarray


class Categorical(Family):
    """Categorical family (naive Bayes): independent features with a finite number of values each.

    The values of feature j are the integers 0, 1, ... K_j - 1. By default, K_j - 1 is the largest value in
    the training instances; `n_values` sets K_j for all features. The pseudo-count a > 0 is the `prior` of the
    mixture, 1 by default, and represents a Dirichlet prior. The posterior mode for weights w with sum n is ::

        lambda_jv = (sum of w where x_j = v, + a) / (n + K_j a)

    Missing values (NaN) are ignored, which is equivalent to integrating them out.

    The cost of every method is O(n_instances * n_features), times the largest K_j for the statistics.

    Parameters
    ----------
    n_values : int, optional
        Number of values of every feature. Set it if new instances can have values that do not occur in the
        training instances.

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
        """Return the largest value of every feature; raise an error for values that are not categories."""
        codes, seen = _codes(X)
        most = np.inf if self.n_values is None else self.n_values
        _refuse(X, seen & ~((codes == X) & (codes >= 0) & (codes < most)))
        return Largest(codes.max(axis=0, initial=0))

    def start(self, sums: Any, n_components: int, prior: Any) -> CategoricalPrior:
        """Return the pseudo-count and a mask of the values of every feature."""
        largest = sums.value
        if self.n_values is None and (largest.max() + 1) * len(largest) > _LARGEST_TABLE:
            feature = int(np.argmax(largest))
            raise RefusedFeatureError(
                feature,
                f"has the category {largest[feature]:,}, which needs too large a table; "
                "encode the categories of each feature as 0, 1, 2, ... (OnInstances(OrdinalEncoder())).",
            )
        sizes = largest + 1 if self.n_values is None else np.full(len(largest), self.n_values)
        return CategoricalPrior(read_pseudo_count(prior), np.arange(sizes.max()) < sizes[:, None])

    def check(self, X: Any, params: Any) -> None:
        """Raise an error for values that do not occur in the training instances."""
        allowed = params.probability > 0
        codes, seen = _codes(X)
        inside = (codes >= 0) & (codes < allowed.shape[1])
        is_allowed = allowed[np.arange(len(allowed)), np.where(inside, codes, 0)]
        _refuse(X, seen & ~((codes == X) & inside & is_allowed))

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Compute the log probability of every instance, ignoring missing values."""
        codes, seen = _codes(X)
        with np.errstate(divide="ignore"):
            logs = np.log(params.probability)
        picked = logs[np.arange(X.shape[1]), codes]
        return np.where(seen, picked, 0.0).sum(axis=1)

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Compute the weight of the instances with each value: (n_features, n_values)."""
        codes, seen = _codes(X)
        n_features, n_values = prior.allowed.shape
        cells = codes + n_values * np.arange(n_features)
        each = np.where(seen, weight[:, None], 0.0)
        return np.bincount(cells.ravel(), each.ravel(), n_features * n_values).reshape(prior.allowed.shape)

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Compute the weighted sum of log probabilities, which is linear in `sums`."""
        return float(np.sum(sums[prior.allowed] * np.log(params.probability[prior.allowed])))

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> CategoricalParams:
        """Return the mode of the posterior."""
        # Sums computed as differences can be slightly negative because of rounding.
        counts = np.where(prior.allowed, np.maximum(sums, 0.0) + prior.pseudo_count, 0.0)
        return CategoricalParams(counts / counts.sum(axis=1, keepdims=True))

    def log_prior(self, params: Any, prior: Any) -> float:
        """Compute the sum of a log(lambda) over features and their values."""
        return float(prior.pseudo_count * np.log(params.probability[prior.allowed]).sum())

    def with_constants(self, params: Any, varies: np.ndarray, values: np.ndarray) -> CategoricalParams:
        """Return the parameters of all features; the value of a constant feature has probability 1."""
        # A constant that is larger than all other values does not fit in the table; its row is zero.
        probability = (values[:, None] == np.arange(params.probability.shape[1])).astype(np.float64)
        probability[varies] = params.probability
        return CategoricalParams(probability)

    def settled(self, sums: Any) -> Categorical:
        """Return the family with the number of values in all training instances."""
        return Categorical(self.n_values or int(sums.value.max(initial=0)) + 1)

    def sufficient(self, X: Any) -> np.ndarray:
        """Return indicators of every value except 0, for every feature."""
        largest = self.start_statistics(X, np.ones(len(X)))
        codes, _ = _codes(X)
        n_values = self.settled(largest).n_values
        return (codes[:, :, None] == np.arange(1, n_values)).reshape(len(X), -1).astype(np.float64)

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw `n` instances."""
        edges = np.cumsum(params.probability, axis=1)
        edges[:, -1] = 1.0  # rounding can make a sum slightly smaller
        u = rng.random_sample((n, len(edges)))
        return (u[:, :, None] >= edges).sum(axis=2).astype(np.float64)

    def example(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw three features with two, three and four values."""
        return rng.integers(0, [2, 3, 4], size=(n, 3)).astype(np.float64)

    def pack(self, params: Any) -> np.ndarray:
        """Convert probabilities to log-ratios to the first value."""
        return np.concatenate([log_simplex(row[row > 0]) for row in params.probability])

    def unpack(self, vector: np.ndarray, params: Any) -> CategoricalParams:
        """Convert log-ratios to probabilities."""
        probability = np.zeros_like(params.probability)
        begin = 0
        for row, form in zip(probability, params.probability, strict=True):
            size = int((form > 0).sum()) - 1
            row[form > 0] = from_log_simplex(vector[begin : begin + size])
            begin += size
        return CategoricalParams(probability)


def _codes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values as integers, with 0 for missing values, and a mask of the values that are not missing."""
    seen = ~np.isnan(X)
    with np.errstate(invalid="ignore"):  # callers reject values outside the range of int64
        return np.where(seen, X, 0.0).astype(np.int64), seen


def _refuse(X: np.ndarray, wrong: np.ndarray) -> None:
    refuse_values(
        X, wrong, "categorical", "values 0, 1, ... that occur in the training instances (or set n_values)"
    )
