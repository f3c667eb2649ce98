"""Labelers of counts that are learned by EM: how probable a positive label is for n positive instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import isotonic_regression

from bagwise.rules.count import CountRule
from bagwise.rules.learned import LearnedRule

_LEAST = float(np.finfo(float).eps)
# Steps between equal values have no logarithm; this one is next to nothing.
_LEAST_STEP = 1e-6
# Of soft thresholds, where fits may start: what an instance adds to the log-odds, and how far a table goes.
_SOFT_SLOPE, _SOFT_LIMIT = 3.0, 4.0
# Of slopes that are learned; their squares are numbers.
_LARGEST_LOG_SLOPE = 340.0
# Values of a table that agree to so many digits count as one parameter.
_DIGITS = 3


class CountTable(CountRule, LearnedRule):
    """P(+) of a bag is read from a table by the number of its positive instances.

    With v_n = ``values[n]`` and n_i the number of positive instances of bag i::

        P(y_i = 1 | z_i) = v_min(n_i, K),    K = len(values) - 1

    Use it to see the rule that the data follow without assuming a form, given many bags that differ; with
    ``monotone=True`` wherever more positive instances cannot make a positive label less probable. With few
    bags `CountLogistic` has two numbers to learn instead of one for every count.

    Parameters
    ----------
    values : array of shape (n_counts,), default=None
        Probabilities of a positive label for 0, 1, 2, ... positive instances; the last one holds for larger
        numbers. None: learned, with an entry for every count up to the largest bag.
    monotone : bool, default=False
        Whether the values that are learned must not fall with the count.
    pseudo_count : float, default=0.1
        Positive and negative bags that are added to every count when values are learned. Without any, a
        value that is 0 or 1 once would stay so.
    learned : tuple of str, default=()
        Written by a fit, not by you: ("values",) in a ``rule_`` whose values were learned, so that a clone
        of it has the same prior.

    Notes
    -----
    The M step is ``(d_n + a) / (d_n + t_n + 2 a)``, with d_n and t_n the expected numbers of positive and of
    negative bags with n positive instances and a the pseudo-count; the monotone one is the weighted isotonic
    regression of these, which is exactly the maximum. It is the mode under a Beta(1 + a, 1 + a) prior, which
    the objective of a fit contains (`log_prior`). The paper has no pseudo-counts.

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
    def n_parameters(self) -> int:
        """Number of different values, if they are learned: equal ones are one parameter."""
        return len(np.unique(np.round(self._read_values(), _DIGITS))) if self.learned else 0

    def start(self, offsets: ArrayLike, y: ArrayLike) -> CountTable:
        """Begin with values that rise evenly, one for every count up to the largest bag."""
        if self.values is not None:
            self._refuse_impossible(np.diff(offsets), np.asarray(y))
            return CountTable(self.values, self.monotone, self.pseudo_count) if self.learned else self
        if not self.pseudo_count > 0:
            raise ValueError(
                f"pseudo_count must be positive when values are learned; got {self.pseudo_count!r}."
            )
        n_counts = int(np.diff(offsets).max(initial=1)) + 1
        return self._with_values(np.arange(1.0, n_counts + 1) / (n_counts + 1))

    def _refuse_impossible(self, sizes: np.ndarray, y: np.ndarray) -> None:
        """Refuse labels that no number of positive instances can give; a likelihood of zero has no slope."""
        values = self._read_values()
        largest = np.minimum(sizes, len(values) - 1)
        for label, word in ((0, "negative"), (1, "positive")):
            # Up to every count: whether the label has some probability.
            possible = np.logical_or.accumulate(values > 0 if label else values < 1)
            impossible = (y == label) & ~possible[largest]
            if impossible.any():
                size = int(sizes[np.argmax(impossible)])
                raise ValueError(
                    f"values={self.values!r} makes the label of a {word} bag with {size} instances "
                    f"impossible: all of the first {min(size, len(values) - 1) + 1} are {1 - label}. Use "
                    "values between."
                )

    def soft_threshold(self, k: int) -> CountTable | None:
        """Give the table of a soft threshold."""
        if not self.learned:
            return None
        intercept, slope = _soft_threshold(k)
        log_odds = intercept + slope * np.arange(len(self._read_values()))
        return self._with_values(expit(np.clip(log_odds, -_SOFT_LIMIT, _SOFT_LIMIT)))

    def update(self, statistics: np.ndarray) -> CountTable:
        """Maximise over the values: see the notes above."""
        if not self.learned:
            return self
        negative, positive = statistics + self.pseudo_count
        weight = negative + positive
        values = positive / weight
        if self.monotone:
            # A mean of numbers inside (0, 1) may be rounded to its end.
            values = np.clip(isotonic_regression(values, sample_weight=weight), values.min(), values.max())
        return self._with_values(values)

    def log_prior(self) -> float:
        """Log density, up to a constant, of the values that are learned."""
        if not self.learned:
            return 0.0
        values = self._read_values()
        return float(self.pseudo_count * (np.log(values) + np.log1p(-values)).sum())

    def parameters(self) -> np.ndarray:
        """Log-odds of learned values; if they must not fall, the first and the logarithms of the steps."""
        if not self.learned:
            return np.empty(0)
        log_odds = logit(self._read_values())
        if self.monotone:
            return np.append(log_odds[0], np.log(np.maximum(np.diff(log_odds), _LEAST_STEP)))
        return log_odds

    def with_parameters(self, vector: np.ndarray) -> CountTable:
        """Take other values, given as `parameters` are."""
        if not len(vector):
            return self
        log_odds = np.append(vector[0], np.exp(vector[1:])).cumsum() if self.monotone else vector
        # A trial step may go where probabilities are rounded to 0 or 1, which have no logarithm.
        return self._with_values(np.clip(expit(log_odds), _LEAST, 1 - _LEAST))

    def parameter_gradient(self, statistics: np.ndarray) -> np.ndarray:
        """Gradient of log-likelihood and log prior in the `parameters`, from the statistics there."""
        if not self.learned:
            return np.empty(0)
        negative, positive = statistics + self.pseudo_count
        values = self._read_values()
        by_log_odds = positive * (1 - values) - negative * values
        if self.monotone:
            return by_log_odds[::-1].cumsum()[::-1] * np.append(1.0, np.exp(self.parameters()[1:]))
        return by_log_odds

    def log_labeler(self, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Look up the logarithms of the values."""
        table = self._read_values()
        values = table[np.minimum(counts, len(table) - 1)]
        with np.errstate(divide="ignore"):
            return np.log1p(-values), np.log(values)

    def log_odds_slopes(self, counts: np.ndarray) -> np.ndarray:
        """Derivatives of the log-odds of a positive label in the `parameters`: see `LearnedRule`."""
        if not self.learned:
            return np.empty((len(counts), 0))
        vector = self.parameters()
        places = np.minimum(counts, len(vector) - 1)[:, None]
        if self.monotone:
            return np.where(np.arange(len(vector)) <= places, np.append(1.0, np.exp(vector[1:])), 0.0)
        return (np.arange(len(vector)) == places).astype(float)

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
            raise ValueError("CountTable has no values yet; give them, or call start(offsets, y) first.")
        values = np.asarray(self.values, dtype=np.float64)
        # NaN fails both comparisons, so it is refused here too.
        if values.ndim != 1 or not len(values) or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(
                f"values must be probabilities for 0, 1, 2, ... positive instances; got {self.values!r}."
            )
        return values


class CountLogistic(CountRule, LearnedRule):
    """The log-odds of a positive label rise linearly with the number of positive instances.

    With the number n_i of positive instances of bag i::

        P(y_i = 1 | z_i) = sigma(intercept + slope * n_i)

    Use it where labels are noisy and more positive instances make a positive label more probable: it learns
    from which number on, -intercept / slope, and how sharply. With a large slope it is a `Threshold`, with
    intercept -slope / 2 then nearly `Or`.

    Parameters
    ----------
    intercept, slope : float, default=None
        Log-odds of a positive label without any positive instance, and what each one adds. None: learned; a
        slope that is learned is positive, since a falling labeler with mirrored log-odds would be the same
        model.
    ridge : float, default=0.01
        Strength of the penalty ``ridge / 2 * (intercept^2 + slope^2)`` on what is learned. Without it the
        slope would grow without end wherever a threshold fits.
    learned : tuple of str, default=()
        Written by a fit, not by you: which of "intercept" and "slope" were learned, in a ``rule_``, so that
        a clone of it has the same prior.
    n_counts : int, default=None
        Written by a fit too: the counts that learning tells apart, one more than the largest training bag.

    Notes
    -----
    The M step is a logistic regression on the expected numbers of bags with every count, by L-BFGS.
    The paper has no ridge, and orders the features of gradient and Hessian differently.

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

    def start(self, offsets: ArrayLike, y: ArrayLike) -> CountLogistic:
        """Begin with a slope of 1, and even odds at a quarter of the median size."""
        learned = tuple(name for name in ("intercept", "slope") if getattr(self, name) is None)
        if not learned:
            self._read()
            return CountLogistic(self.intercept, self.slope, self.ridge) if self.learned else self
        if not self.ridge > 0:
            raise ValueError(f"ridge must be positive when something is learned; got {self.ridge!r}.")
        sizes = np.diff(offsets)
        slope = 1.0 if self.slope is None else self.slope
        intercept = -slope * (0.5 + 0.25 * np.median(sizes)) if self.intercept is None else self.intercept
        return CountLogistic(float(intercept), float(slope), self.ridge, learned, int(sizes.max()) + 1)

    def soft_threshold(self, k: int) -> CountLogistic | None:
        """Give the labeler of a soft threshold."""
        return self._with(*_soft_threshold(k)) if len(self.learned) == 2 else None

    def log_prior(self) -> float:
        """Minus the ridge penalty on what is learned."""
        if not self.learned:
            return 0.0
        learned = self._select(*self._read())
        return float(-0.5 * self.ridge * learned @ learned)

    def parameters(self) -> np.ndarray:
        """The intercept and the logarithm of the slope, as far as they are learned."""
        if not self.learned:
            return np.empty(0)
        intercept, slope = self._read()
        return self._select(intercept, np.log(slope) if "slope" in self.learned else 0.0)

    def with_parameters(self, vector: np.ndarray) -> CountLogistic:
        """Take another intercept and logarithm of the slope."""
        intercept, slope = self._read()
        rest = list(vector)
        intercept = rest.pop(0) if "intercept" in self.learned else intercept
        # A step of a solver may go far too far: it is not taken, because the penalty is large, not NaN.
        slope = np.exp(min(rest.pop(0), _LARGEST_LOG_SLOPE)) if "slope" in self.learned else slope
        return self._with(intercept, slope)

    def parameter_gradient(self, statistics: np.ndarray) -> np.ndarray:
        """Gradient of log-likelihood and log prior in the `parameters`, from the statistics there."""
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
        """Derivatives of the log-odds of a positive label in the `parameters`: see `LearnedRule`."""
        both = self._select(0.0, 1.0)  # of what is learned, which is the slope
        return np.where(both, np.asarray(counts)[:, None] * self._read()[1], 1.0)

    @property
    def _n_statistics(self) -> int:
        return self.n_counts or 0

    def _select(self, intercept: float, slope: float) -> np.ndarray:
        """Give of two numbers those that belong to what is learned."""
        both = {"intercept": intercept, "slope": slope}
        return np.array([both[name] for name in both if name in self.learned], dtype=np.float64)

    def _with(self, intercept: float, slope: float) -> CountLogistic:
        return CountLogistic(float(intercept), float(slope), self.ridge, self.learned, self.n_counts)

    def _read(self) -> tuple[float, float]:
        _check_learned(self.learned, ("intercept", "slope"))
        if self.learned and not self.n_counts:
            raise ValueError("learned needs n_counts, the counts to tell apart; leave both to a fit.")
        if self.intercept is None or self.slope is None:
            raise ValueError(
                "CountLogistic has no intercept or slope yet; give them, or call start(offsets, y) first."
            )
        if not (np.isfinite(self.intercept) and np.isfinite(self.slope)):
            raise ValueError(
                f"intercept and slope must be finite; got {self.intercept!r} and {self.slope!r} "
                "(an infinite slope is Threshold)."
            )
        return float(self.intercept), float(self.slope)


def _check_learned(learned: tuple[str, ...], names: tuple[str, ...]) -> None:
    if not set(learned) <= set(names) or isinstance(learned, str):
        raise ValueError(f"learned must be a tuple of names out of {names!r}; got {learned!r}.")


def _soft_threshold(k: int) -> np.ndarray:
    """Intercept and slope of log-odds that change sign between k - 1 and k."""
    return _SOFT_SLOPE * np.array([0.5 - k, 1.0])
