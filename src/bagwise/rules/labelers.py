"""Learned labelers: the probability of a positive label given n positive instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import isotonic_regression

from bagwise.rules.count import CountRule
from bagwise.rules.learned import LearnedRule

_LEAST = float(np.finfo(float).eps)
# Lower limit of the steps between values, because a step of zero has no logarithm.
_LEAST_STEP = 1e-6
# Soft thresholds, which fits can start from: slope of the log-odds, and their limit in a table.
_SOFT_SLOPE, _SOFT_LIMIT = 3.0, 4.0
# Upper limit of the logarithm of learned slopes, so that the squares of slopes do not overflow.
_LARGEST_LOG_SLOPE = 340.0
# Table values that agree to this number of decimals count as one parameter.
_DIGITS = 3


class CountTable(CountRule, LearnedRule):
    """Count rule with a table: P(+) of a bag is the table value for its number of positive instances.

    With v_n = ``values[n]`` and n_i the number of positive instances of bag i::

        P(y_i = 1 | z_i) = v_min(n_i, K),    K = len(values) - 1

    Use it to estimate the rule from many diverse bags without assuming a functional form. Use
    ``monotone=True`` if additional positive instances cannot make a positive label less probable. With few
    bags, use `CountLogistic`, which learns two parameters instead of one for every count.

    Parameters
    ----------
    values : array of shape (n_counts,), default=None
        Probabilities of a positive label for 0, 1, 2, ... positive instances. The last value also applies to
        larger counts. With None, the values are learned, one for every count up to the largest bag.
    monotone : bool, default=False
        Whether learned values are constrained to be nondecreasing.
    pseudo_count : float, default=0.1
        Number of positive and of negative bags that are added to every count when values are learned.
        Without pseudo-counts, a value that reaches 0 or 1 would never change again.
    learned : tuple of str, default=()
        Set by fits, not by users. It is ("values",) in a ``rule_`` with learned values, so that clones have
        the same prior.

    Notes
    -----
    The M step is ``(d_n + a) / (d_n + t_n + 2 a)``. Here d_n and t_n are the expected numbers of positive and
    negative bags with n positive instances, and a is the pseudo-count. With ``monotone=True``, the M step is
    the weighted isotonic regression of these values, which is the exact maximum. The result is the mode under
    a Beta(1 + a, 1 + a) prior, which is part of the objective (`log_prior`). The paper does not use
    pseudo-counts.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import CountTable
    >>> exactly_one = CountTable([0.0, 1.0, 0.0])
    >>> np.exp(exactly_one.log_proba(np.zeros(2), [0, 2])).round(3)
    array([[0.5, 0.5]])
    """

    _learns_each_count = True

    def __init__(
        self,
        values: ArrayLike | None = None,
        monotone: bool = False,
        pseudo_count: float = 0.1,
        learned: tuple[str, ...] = (),
    ):
        self.values = values
        self.monotone = monotone
        self.pseudo_count = pseudo_count
        self.learned = learned

    @property
    def can_use_absence(self) -> bool:  # type: ignore[override]
        """Whether a larger count can have a smaller value."""
        if self.values is None:
            return not self.monotone
        return bool((np.diff(self._read_values()) < 0).any())

    @property
    def n_parameters(self) -> int:
        """Number of distinct learned values; equal values count as one parameter."""
        return len(np.unique(np.round(self._read_values(), _DIGITS))) if self.learned else 0

    def start(self, offsets: ArrayLike, y: ArrayLike) -> CountTable:
        """Start with evenly increasing values, one for every count up to the size of the largest bag."""
        if self.values is not None:
            self._refuse_impossible(np.diff(offsets), np.asarray(y))
            return CountTable(self.values, self.monotone, self.pseudo_count) if self.learned else self
        if not self.pseudo_count > 0:
            raise ValueError(f"pseudo_count must be > 0 if values are learned; got {self.pseudo_count!r}.")
        n_counts = int(np.diff(offsets).max(initial=1)) + 1
        return self._with_values(np.arange(1.0, n_counts + 1) / (n_counts + 1))

    def _refuse_impossible(self, sizes: np.ndarray, y: np.ndarray) -> None:
        """Raise an error if a label is impossible for every count: a zero likelihood has no gradient."""
        values = self._read_values()
        largest = np.minimum(sizes, len(values) - 1)
        for label, word in ((0, "negative"), (1, "positive")):
            # For each count: whether the label is possible for this count or a smaller one.
            possible = np.logical_or.accumulate(values > 0 if label else values < 1)
            impossible = (y == label) & ~possible[largest]
            if impossible.any():
                size = int(sizes[np.argmax(impossible)])
                raise ValueError(
                    f"values={self.values!r} makes the label of a {word} bag with {size} instances "
                    f"impossible, because all of the first {min(size, len(values) - 1) + 1} values are "
                    f"{1 - label}; use values between 0 and 1."
                )

    def soft_threshold(self, k: int) -> CountTable | None:
        """Return the table of a soft threshold, or None if no values are learned."""
        if not self.learned:
            return None
        intercept, slope = _soft_threshold(k)
        log_odds = intercept + slope * np.arange(len(self._read_values()))
        return self._with_values(expit(np.clip(log_odds, -_SOFT_LIMIT, _SOFT_LIMIT)))

    def update(self, statistics: np.ndarray) -> CountTable:
        """Maximize over the values; see the notes above."""
        if not self.learned:
            return self
        negative, positive = statistics + self.pseudo_count
        weight = negative + positive
        values = positive / weight
        if self.monotone:
            # A mean of values inside (0, 1) can be rounded to 0 or 1.
            values = np.clip(isotonic_regression(values, sample_weight=weight), values.min(), values.max())
        return self._with_values(values)

    def log_prior(self) -> float:
        """Return the log prior of learned values, up to a constant."""
        if not self.learned:
            return 0.0
        values = self._read_values()
        return float(self.pseudo_count * (np.log(values) + np.log1p(-values)).sum())

    def parameters(self) -> np.ndarray:
        """Return the log-odds of learned values; if monotone, the first value and logarithms of the steps."""
        if not self.learned:
            return np.empty(0)
        log_odds = logit(self._read_values())
        if self.monotone:
            return np.append(log_odds[0], np.log(np.maximum(np.diff(log_odds), _LEAST_STEP)))
        return log_odds

    def with_parameters(self, vector: np.ndarray) -> CountTable:
        """Return the rule with different values, in the form of `parameters`."""
        if not len(vector):
            return self
        log_odds = np.append(vector[0], np.exp(vector[1:])).cumsum() if self.monotone else vector
        # In a trial step, probabilities can be rounded to 0 or 1, which have no finite log-odds.
        return self._with_values(np.clip(expit(log_odds), _LEAST, 1 - _LEAST))

    def parameter_gradient(self, statistics: np.ndarray) -> np.ndarray:
        """Compute the gradient of log-likelihood plus log prior, from statistics at these `parameters`."""
        if not self.learned:
            return np.empty(0)
        negative, positive = statistics + self.pseudo_count
        values = self._read_values()
        by_log_odds = positive * (1 - values) - negative * values
        if self.monotone:
            return by_log_odds[::-1].cumsum()[::-1] * np.append(1.0, np.exp(self.parameters()[1:]))
        return by_log_odds

    def log_labeler(self, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of both label probabilities from the table."""
        table = self._read_values()
        values = table[np.minimum(counts, len(table) - 1)]
        with np.errstate(divide="ignore"):
            return np.log1p(-values), np.log(values)

    def log_odds_slopes(self, counts: np.ndarray) -> np.ndarray:
        """Compute derivatives of the log-odds of a positive label in the `parameters`; see `LearnedRule`."""
        if not self.learned:
            return np.empty((len(counts), 0))
        vector = self.parameters()
        indices = np.minimum(counts, len(vector) - 1)[:, None]
        if self.monotone:
            return np.where(np.arange(len(vector)) <= indices, np.append(1.0, np.exp(vector[1:])), 0.0)
        return (np.arange(len(vector)) == indices).astype(float)

    def _largest_count(self, size: int) -> int:
        return len(self._read_values()) - 1

    @property
    def _n_statistics(self) -> int:
        return len(self._read_values()) if self.learned else 0

    def _with_values(self, values: np.ndarray) -> CountTable:
        return CountTable(values, self.monotone, self.pseudo_count, learned=("values",))

    def _read_values(self) -> np.ndarray:
        _check_learned(self.learned, ("values",))
        if self.values is None:
            raise ValueError("CountTable has no values; pass values or call start(offsets, y) first.")
        values = np.asarray(self.values, dtype=np.float64)
        # This form of the condition also rejects NaN.
        if values.ndim != 1 or not len(values) or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(
                f"values must be probabilities for 0, 1, 2, ... positive instances; got {self.values!r}."
            )
        return values


class CountLogistic(CountRule, LearnedRule):
    """Count rule whose log-odds of a positive label are linear in the number of positive instances.

    With the number n_i of positive instances of bag i::

        P(y_i = 1 | z_i) = sigma(intercept + slope * n_i)

    Use it if labels are noisy and additional positive instances make a positive label more probable. It
    learns the midpoint of the transition, -intercept / slope, and its steepness. With a large slope, it is
    nearly a `Threshold`; with intercept -slope / 2, it is then nearly `Or`.

    Parameters
    ----------
    intercept, slope : float, default=None
        Log-odds of a positive label without positive instances, and the increase per positive instance. With
        None, a parameter is learned. A learned slope is always positive, because a negative slope with
        mirrored log-odds would be the same model.
    ridge : float, default=0.01
        Strength of the penalty ``ridge / 2 * (intercept^2 + slope^2)`` on learned parameters. Without the
        penalty, the slope would increase indefinitely for data that follow a threshold.
    learned : tuple of str, default=()
        Set by fits, not by users. It contains the learned parameters of a ``rule_`` ("intercept" or "slope"),
        so that clones have the same prior.
    n_counts : int, default=None
        Set by fits, not by users. Number of counts in the statistics: the size of the largest training bag
        plus 1.

    Notes
    -----
    The M step is a logistic regression on the expected numbers of bags with each count, fitted by L-BFGS.
    The paper has no ridge penalty, and its gradient and Hessian use a different order of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import CountLogistic
    >>> rule = CountLogistic(intercept=-2.5, slope=1.0)
    >>> np.exp(rule.log_proba(np.array([2.0, 2.0, 2.0, -2.0]), [0, 4])).round(3)
    array([[0.438, 0.562]])
    """

    def __init__(
        self,
        intercept: float | None = None,
        slope: float | None = None,
        ridge: float = 0.01,
        learned: tuple[str, ...] = (),
        n_counts: int | None = None,
    ):
        self.intercept = intercept
        self.slope = slope
        self.ridge = ridge
        self.learned = learned
        self.n_counts = n_counts

    @property
    def can_use_absence(self) -> bool:  # type: ignore[override]
        """Whether the slope is negative; a learned slope never is."""
        return self.slope is not None and self.slope < 0

    def start(self, offsets: ArrayLike, y: ArrayLike) -> CountLogistic:
        """Start with a slope of 1 and a midpoint near a quarter of the median bag size."""
        learned = tuple(name for name in ("intercept", "slope") if getattr(self, name) is None)
        if not learned:
            self._read()
            return CountLogistic(self.intercept, self.slope, self.ridge) if self.learned else self
        if not self.ridge > 0:
            raise ValueError(f"ridge must be > 0 if intercept or slope is learned; got {self.ridge!r}.")
        sizes = np.diff(offsets)
        slope = 1.0 if self.slope is None else self.slope
        intercept = -slope * (0.5 + 0.25 * np.median(sizes)) if self.intercept is None else self.intercept
        return CountLogistic(float(intercept), float(slope), self.ridge, learned, int(sizes.max()) + 1)

    def soft_threshold(self, k: int) -> CountLogistic | None:
        """Return the rule for a soft threshold, or None unless both parameters are learned."""
        return self._with(*_soft_threshold(k)) if len(self.learned) == 2 else None

    def log_prior(self) -> float:
        """Return the negative ridge penalty on the learned parameters."""
        if not self.learned:
            return 0.0
        learned = self._select(*self._read())
        return float(-0.5 * self.ridge * learned @ learned)

    def parameters(self) -> np.ndarray:
        """Return the intercept and the logarithm of the slope, if they are learned."""
        if not self.learned:
            return np.empty(0)
        intercept, slope = self._read()
        return self._select(intercept, np.log(slope) if "slope" in self.learned else 0.0)

    def with_parameters(self, vector: np.ndarray) -> CountLogistic:
        """Return the rule with different learned parameters, in the form of `parameters`."""
        intercept, slope = self._read()
        rest = list(vector)
        intercept = rest.pop(0) if "intercept" in self.learned else intercept
        # The limit keeps the penalty finite in very large trial steps, so that the solver rejects them.
        slope = np.exp(min(rest.pop(0), _LARGEST_LOG_SLOPE)) if "slope" in self.learned else slope
        return self._with(intercept, slope)

    def parameter_gradient(self, statistics: np.ndarray) -> np.ndarray:
        """Compute the gradient of log-likelihood plus log prior, from statistics at these `parameters`."""
        if not self.learned:
            return np.empty(0)
        intercept, slope = self._read()
        negative, positive = statistics
        counts = np.arange(self._n_statistics)
        proba = expit(intercept + slope * counts)
        residual = positive * (1 - proba) - negative * proba
        by_intercept = residual.sum() - self.ridge * intercept
        by_slope = residual @ counts - self.ridge * slope
        return self._select(by_intercept, by_slope * slope)

    def log_labeler(self, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Compute both logarithms of the logistic function."""
        intercept, slope = self._read()
        score = intercept + slope * counts
        return log_expit(-score), log_expit(score)

    def log_odds_slopes(self, counts: np.ndarray) -> np.ndarray:
        """Compute derivatives of the log-odds of a positive label in the `parameters`; see `LearnedRule`."""
        both = self._select(0.0, 1.0)  # 1 marks the slope among the learned parameters
        return np.where(both, np.asarray(counts)[:, None] * self._read()[1], 1.0)

    @property
    def _n_statistics(self) -> int:
        return self.n_counts or 0

    def _select(self, intercept: float, slope: float) -> np.ndarray:
        """Return the values that belong to learned parameters."""
        both = {"intercept": intercept, "slope": slope}
        return np.array([both[name] for name in both if name in self.learned], dtype=np.float64)

    def _with(self, intercept: float, slope: float) -> CountLogistic:
        return CountLogistic(float(intercept), float(slope), self.ridge, self.learned, self.n_counts)

    def _read(self) -> tuple[float, float]:
        _check_learned(self.learned, ("intercept", "slope"))
        if self.learned and not self.n_counts:
            raise ValueError("learned needs n_counts, the number of counts; only fits should set both.")
        if self.intercept is None or self.slope is None:
            raise ValueError(
                "CountLogistic has no intercept or slope; pass both or call start(offsets, y) first."
            )
        if not (np.isfinite(self.intercept) and np.isfinite(self.slope)):
            raise ValueError(
                f"intercept and slope must be finite; got {self.intercept!r} and {self.slope!r} "
                "(for an infinite slope, use Threshold)."
            )
        return float(self.intercept), float(self.slope)


def _check_learned(learned: tuple[str, ...], names: tuple[str, ...]) -> None:
    if not set(learned) <= set(names) or isinstance(learned, str):
        raise ValueError(f"learned must be a tuple with names from {names!r}; got {learned!r}.")


def _soft_threshold(k: int) -> np.ndarray:
    """Return the intercept and slope of log-odds that change sign between k - 1 and k."""
    return _SOFT_SLOPE * np.array([0.5 - k, 1.0])
