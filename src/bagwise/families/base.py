"""What a family of distributions gives a mixture: four methods and one flag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator


class Family(BaseEstimator):
    """Base class: how the instances of one component are distributed.

    A subclass defines four methods. ``params`` is a tuple of arrays (a NamedTuple reads best), ``prior``
    is what `start` returns, and ``sums`` is one array of any fixed shape:

    - ``log_density(X, params) -> (n_instances,)``;
    - ``statistics(X, weight, params, prior) -> sums``, the weighted sum over instances of (expected)
      sufficient statistics: blocks of instances add up;
    - ``mstep(sums, weight, prior) -> params``, the parameters that maximise the expected log density
      plus the log prior, where `weight` is the sum of the weights that made `sums`. It must also answer
      for ``weight = 0``;
    - ``log_prior(params, prior) -> float``, up to a constant.

    and says by ``statistics_need_params`` whether `statistics` looks at `params`, as it must where
    something in an instance is hidden. If it does not, a mixture computes the statistics of instances
    whose labels are known only once.

    The other methods have defaults, and are there to be quick or to do more; see each.

    Attributes
    ----------
    statistics_need_params : bool
        Whether `statistics` depends on `params`.
    missing : {"refuse", "skip", "expect"}
        What NaN in the instances means: refused; left out by all methods, since the features are
        independent; or replaced in `statistics` by its expectation, which needs `params`.
    takes_sequences : bool
        Whether instances are `Sequences` rather than the rows of a matrix.
    in_any_precision : bool
        Whether all methods take large blocks of instances as they lie, in float32 or float64, and make
        nothing of their size. Else they are given small parts in float64, one after another.

    Examples
    --------
    Waiting times: log p(x) = log r - r x, with a prior worth one event in one unit of time.

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

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Log density of every instance."""
        raise NotImplementedError(f"{type(self).__name__} must define log_density.")

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Weighted sum over instances of their (expected) sufficient statistics."""
        raise NotImplementedError(f"{type(self).__name__} must define statistics.")

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> Any:
        """Parameters of the largest expected log density plus log prior."""
        raise NotImplementedError(f"{type(self).__name__} must define mstep.")

    def log_prior(self, params: Any, prior: Any) -> float:
        """Log density of the parameters, up to a constant."""
        raise NotImplementedError(f"{type(self).__name__} must define log_prior.")

    # ------------------------------------------------------------------ with defaults

    def start_statistics(self, X: Any, weight: np.ndarray) -> Any:
        """Give what `start` needs of some training instances; blocks of them add up by ``+``.

        Here instances are refused that the family cannot have made. By default nothing is needed.
        """
        return 0.0

    def start(self, sums: Any, n_components: int, prior: Any) -> Any:
        """Resolve the user's `prior`; by default it stays as it is.

        Parameters
        ----------
        sums : object
            What `start_statistics` gave, added up over all training instances.
        n_components : int
            The number of components that will share them.
        prior : object
            As given to the mixture.

        Returns
        -------
        object
            What `mstep` and `log_prior` get.
        """
        return prior

    def check(self, X: Any, params: Any) -> None:
        """Refuse new instances that a component cannot have made; by default none are."""

    def mstep_all(self, sums: Iterable[np.ndarray], weights: np.ndarray, prior: Any) -> list[Any]:
        """M step of all components; by default they have no parameter in common."""
        return [self.mstep(s, float(w), prior) for s, w in zip(sums, weights, strict=True)]

    def log_prior_all(self, components: Sequence[Any], prior: Any) -> float:
        """Log prior of all components."""
        return float(sum(self.log_prior(params, prior) for params in components))

    def count_parameters(self, components: Sequence[Any]) -> int:
        """Number of free parameters of all components, for information criteria."""
        return sum(len(self.pack(params)) for params in components)

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Log density under `positive` less that under `negative`, for instances without NaN."""
        return self.log_density(X, positive) - self.log_density(X, negative)

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float | None:
        """Weighted sum of the log densities of the instances that made `sums`; None if that is not enough.

        It is enough in an exponential family, where log densities are linear in the sufficient
        statistics; then the labelled instances need not be read again at all.
        """
        return None

    def settled(self, sums: Any) -> Self:
        """Give the family with what `sufficient` must know of all training instances, by default nothing.

        `sums` is what `start_statistics` gave for them.
        """
        return self

    def sufficient(self, X: Any) -> np.ndarray:
        """Sufficient statistics of every instance, (n_instances, n_statistics), for complete instances.

        Log-odds of two components are linear in them: this is all that the discriminative partner needs.
        """
        raise TypeError(f"{type(self).__name__} does not give its sufficient statistics.")

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> Any:
        """Draw `n` instances."""
        raise TypeError(f"{type(self).__name__} cannot draw samples.")

    def example(self, n: int, rng: np.random.Generator) -> Any:
        """Draw `n` instances of a kind that the family can have made, for tests.

        By default three features with normal values, correlated and away from zero; a family of other
        instances draws its own.
        """
        return rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + 5.0

    def pack(self, params: Any) -> np.ndarray:
        """Write parameters as a vector without constraints; by default their numbers, one after another."""
        return np.concatenate([np.ravel(part) for part in params])

    def unpack(self, vector: np.ndarray, params: Any) -> Any:
        """Read parameters from a vector; `params` shows their form."""
        parts, begin = [], 0
        for part in params:
            size = np.size(part)
            parts.append(vector[begin : begin + size].reshape(np.shape(part)))
            begin += size
        return type(params)(*parts) if hasattr(params, "_fields") else tuple(parts)
