"""Interface of distribution families for mixtures: four methods and one flag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator


class Family(BaseEstimator):
    """Base class of families: the distribution of the instances of one component.

    A subclass defines four methods. ``params`` is a tuple of arrays, preferably a NamedTuple. ``prior`` is
    the return value of `start`, and ``sums`` is one array of any fixed shape:

    - ``log_density(X, params) -> (n_instances,)``;
    - ``statistics(X, weight, params, prior) -> sums``, the weighted sum of the (expected) sufficient
      statistics of the instances. The results for several blocks are added;
    - ``mstep(sums, weight, prior) -> params``, the parameters that maximize the expected log density
      plus the log prior. Here `weight` is the sum of the instance weights in `sums`. The method must also
      work for ``weight = 0``;
    - ``log_prior(params, prior) -> float``, up to a constant.

    A subclass sets ``statistics_need_params`` if `statistics` depends on `params`, which is necessary if
    instances have hidden parts. Otherwise, a mixture computes the statistics of instances with known labels
    only once.

    The other methods have defaults. Override them to save time or to support additional features.

    Attributes
    ----------
    statistics_need_params : bool
        Whether `statistics` depends on `params`.
    missing : {"refuse", "skip", "expect"}
        Treatment of NaN in the instances. With "refuse", NaN raises an error. With "skip", all methods ignore
        NaN, because the features are independent. With "expect", `statistics` replaces NaN by its
        expectation, which needs `params`.
    takes_sequences : bool
        Whether instances are `Sequences` rather than the rows of a matrix.
    in_any_precision : bool
        Whether all methods accept large blocks of instances in float32 or float64 and allocate no arrays of
        that size. Otherwise, the methods are called for small parts in float64.
    describes_constants : bool
        Whether the methods receive features that are constant in training. By default, mixtures leave them
        out: under a prior shared by all features, constant features would shift the log-odds if the classes
        have different weights.

    Examples
    --------
    Waiting times with log p(x) = log r - r x. The prior is equivalent to one event in one unit of time.

    >>> import numpy as np
    >>> from bagwise import Bags, Family, MIMixture
    >>> class Exponential(Family):
    ...     def log_density(self, X: Any, params: Any):
    ...         return (np.log(params[0]) - X * params[0]).sum(axis=1)
    ...     def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any):
    ...         return weight @ X
    ...     def mstep(self, sums: np.ndarray, weight: float, prior: Any):
    ...         return ((weight + 1) / (sums + 1),)
    ...     def log_prior(self, params: Any, prior: Any):
    ...         return float(np.sum(np.log(params[0]) - params[0]))
    >>> rng = np.random.default_rng(0)
    >>> X = np.where(rng.random((200, 1)) < 0.2, 10.0, 1.0) * rng.exponential(size=(200, 1))
    >>> y = [int(bag.max() > 6) for bag in X.reshape(50, 4, 1)]
    >>> model = MIMixture(Exponential(), random_state=0).fit(X.reshape(50, 4, 1), y)
    >>> bool(model.positive_components_[0][0] < model.negative_components_[0][0])
    True
    """

    statistics_need_params = False
    missing = "refuse"
    takes_sequences = False
    in_any_precision = False
    describes_constants = False

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Compute the log density of every instance."""
        raise NotImplementedError(f"{type(self).__name__} must define log_density.")

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Compute the weighted sum of the (expected) sufficient statistics of the instances."""
        raise NotImplementedError(f"{type(self).__name__} must define statistics.")

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> Any:
        """Return the parameters that maximize the expected log density plus the log prior."""
        raise NotImplementedError(f"{type(self).__name__} must define mstep.")

    def log_prior(self, params: Any, prior: Any) -> float:
        """Compute the log prior density of the parameters, up to a constant."""
        raise NotImplementedError(f"{type(self).__name__} must define log_prior.")

    # ------------------------------------------------------------------ methods with defaults

    def start_statistics(self, X: Any, weight: np.ndarray) -> Any:
        """Return the input of `start` for a block of training instances; blocks are summed with ``+``.

        This method raises an error for instances that are impossible under the family. By default, it returns
        0.
        """
        return 0.0

    def start(self, sums: Any, n_components: int, prior: Any) -> Any:
        """Resolve the user's `prior`; by default, return it unchanged.

        Parameters
        ----------
        sums : object
            Sum of `start_statistics` over all training instances.
        n_components : int
            Number of components of the mixture.
        prior : object
            Parameter `prior` of the mixture.

        Returns
        -------
        object
            Argument `prior` of `mstep` and `log_prior`.
        """
        return prior

    def check(self, X: Any, params: Any) -> None:
        """Raise an error for new instances that are impossible under a component; by default, do nothing."""

    def mstep_all(self, sums: Iterable[np.ndarray], weights: np.ndarray, prior: Any) -> list[Any]:
        """Run the M step of all components; by default, components share no parameters."""
        return [self.mstep(s, float(w), prior) for s, w in zip(sums, weights, strict=True)]

    def log_prior_all(self, components: Sequence[Any], prior: Any) -> float:
        """Compute the log prior of all components."""
        return float(sum(self.log_prior(params, prior) for params in components))

    def count_parameters(self, components: Sequence[Any]) -> int:
        """Return the number of free parameters of all components, for information criteria."""
        return sum(len(self.pack(params)) for params in components)

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Compute the log density under `positive` minus that under `negative`, for instances without NaN."""
        return self.log_density(X, positive) - self.log_density(X, negative)

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float | None:
        """Compute the weighted sum of log densities from `sums`; return None if that is not possible.

        This is possible in exponential families, where log densities are linear in the sufficient statistics.
        The labeled instances then do not have to be read again.
        """
        return None

    def with_constants(self, params: Any, varies: np.ndarray, values: np.ndarray) -> Any:
        """Extend the parameters of the features `varies` by constant features with these `values`.

        The result is only shown to users. By default, it is `params`.
        """
        return params

    def settled(self, sums: Any) -> Self:
        """Return the family with the settings that `sufficient` needs; by default, return it unchanged.

        `sums` is the sum of `start_statistics` over all training instances.
        """
        return self

    def sufficient(self, X: Any) -> np.ndarray:
        """Compute sufficient statistics (n_instances, n_statistics) of instances without missing values.

        The log-odds of two components are linear in them. The corresponding discriminative model only needs
        these statistics.
        """
        raise TypeError(f"{type(self).__name__} does not implement sufficient statistics.")

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> Any:
        """Draw `n` instances."""
        raise TypeError(f"{type(self).__name__} does not implement sample.")

    def example(self, n: int, rng: np.random.Generator) -> Any:
        """Draw `n` instances that are possible under the family, for tests.

        The default is three correlated normal features with mean 5. Families with other instances override
        this method.
        """
        return rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + 5.0

    def pack(self, params: Any) -> np.ndarray:
        """Convert parameters to an unconstrained vector; by default, concatenate their values."""
        return np.concatenate([np.ravel(part) for part in params])

    def unpack(self, vector: np.ndarray, params: Any) -> Any:
        """Convert a vector to parameters; `params` is a template for their structure."""
        parts, begin = [], 0
        for part in params:
            size = np.size(part)
            parts.append(vector[begin : begin + size].reshape(np.shape(part)))
            begin += size
        return type(params)(*parts) if hasattr(params, "_fields") else tuple(parts)
