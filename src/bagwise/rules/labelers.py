"""Labelers of counts that are learned by EM: how probable a positive label is for n positive instances."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import isotonic_regression

from bagwise.rules.count import CountRule, maximise

_LEAST = float(np.finfo(float).eps)
# Steps between equal values have no logarithm; this one is next to nothing.
_LEAST_STEP = 1e-6
# Of soft thresholds, where fits may start: what an instance adds to the log-odds, and how far a table goes.
_SOFT_SLOPE, _SOFT_LIMIT = 3.0, 4.0


class CountTable(CountRule):
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

    def __init__(self, values=None, monotone=False, pseudo_count=0.1):
        self.values = values
        self.monotone = monotone
        self.pseudo_count = pseudo_count

    _is_learned = False

    @property
    def learns(self) -> bool:
        """Whether the values are learned."""
        return self._is_learned

    def start(self, offsets, y) -> CountTable:
        """Begin with values that rise evenly, one for every count up to the largest bag."""
        if self.values is not None:
            self._read_values()
            return CountTable(self.values, self.monotone, self.pseudo_count) if self._is_learned else self
        if not self.pseudo_count > 0:
            raise ValueError(
                f"pseudo_count must be positive when values are learned; got {self.pseudo_count!r}."
            )
        n_counts = int(np.diff(offsets).max(initial=1)) + 1
        return self._with_values(np.arange(1.0, n_counts + 1) / (n_counts + 1))

    def near(self, k: int) -> CountTable | None:
        """Give the table of a soft threshold."""
        if not self._is_learned:
            return None
        intercept, slope = _soft_threshold(k)
        log_odds = intercept + slope * np.arange(len(self.values))
        return self._with_values(expit(np.clip(log_odds, -_SOFT_LIMIT, _SOFT_LIMIT)))

    def update(self, statistics) -> CountTable:
        """Maximise over the values: see the notes above."""
        if not self._is_learned:
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
        if not self._is_learned:
            return 0.0
        values = np.asarray(self.values)
        return float(self.pseudo_count * (np.log(values) + np.log1p(-values)).sum())

    def parameters(self) -> np.ndarray:
        """Log-odds of learned values; if they must not fall, the first and the logarithms of the steps."""
        if not self._is_learned:
            return np.empty(0)
        log_odds = logit(self.values)
        if self.monotone:
            return np.append(log_odds[0], np.log(np.maximum(np.diff(log_odds), _LEAST_STEP)))
        return log_odds

    def with_parameters(self, vector) -> CountTable:
        """Take other values, given as `parameters` are."""
        if not len(vector):
            return self
        log_odds = np.append(vector[0], np.exp(vector[1:])).cumsum() if self.monotone else vector
        # A trial step may go where probabilities are rounded to 0 or 1, which have no logarithm.
        return self._with_values(np.clip(expit(log_odds), _LEAST, 1 - _LEAST))

    def parameter_gradient(self, statistics) -> np.ndarray:
        """Gradient of log-likelihood and log prior in the `parameters`, from the statistics there."""
        if not self._is_learned:
            return np.empty(0)
        negative, positive = statistics + self.pseudo_count
        values = np.asarray(self.values)
        by_log_odds = positive * (1 - values) - negative * values
        if self.monotone:
            return by_log_odds[::-1].cumsum()[::-1] * np.append(1.0, np.exp(self.parameters()[1:]))
        return by_log_odds

    def log_labeler(self, counts, size):
        """Look up the logarithms of the values."""
        values = self._read_values()[np.minimum(counts, len(self.values) - 1)]
        with np.errstate(divide="ignore"):
            return np.log1p(-values), np.log(values)

    def _largest_count(self, size):
        return len(self._read_values()) - 1

    @property
    def _n_statistics(self):
        return len(self.values) if self._is_learned else 0

    def _with_values(self, values) -> CountTable:
        table = CountTable(values, self.monotone, self.pseudo_count)
        table._is_learned = True
        return table

    def _read_values(self) -> np.ndarray:
        if self.values is None:
            raise ValueError("CountTable has no values yet; give them, or call start(offsets, y) first.")
        values = np.asarray(self.values, dtype=np.float64)
        # NaN fails both comparisons, so it is refused here too.
        if values.ndim != 1 or not len(values) or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(
                f"values must be probabilities for 0, 1, 2, ... positive instances; got {self.values!r}."
            )
        return values


class CountLogistic(CountRule):
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

    def __init__(self, intercept=None, slope=None, ridge=0.01):
        self.intercept = intercept
        self.slope = slope
        self.ridge = ridge

    # Which of intercept and slope are learned, and for how many counts: set by `start`.
    _learned = (False, False)
    _n_counts = 0

    @property
    def learns(self) -> bool:
        """Whether intercept or slope are learned."""
        return any(self._learned)

    def start(self, offsets, y) -> CountLogistic:
        """Begin with a slope of 1, and even odds at a quarter of the median size."""
        learned = (self.intercept is None, self.slope is None)
        if not any(learned):
            self._read()
            return CountLogistic(self.intercept, self.slope, self.ridge) if self.learns else self
        if not self.ridge > 0:
            raise ValueError(f"ridge must be positive when something is learned; got {self.ridge!r}.")
        sizes = np.diff(offsets)
        slope = 1.0 if self.slope is None else self.slope
        intercept = -slope * (0.5 + 0.25 * np.median(sizes)) if self.intercept is None else self.intercept
        return self._with([intercept, slope], learned, int(sizes.max()) + 1)

    def near(self, k: int) -> CountLogistic | None:
        """Give the labeler of a soft threshold."""
        return self._with(_soft_threshold(k), self._learned, self._n_counts) if all(self._learned) else None

    def update(self, statistics) -> CountLogistic:
        """Maximise over what is learned: a logistic regression of the label on the count, with ridge."""
        return maximise(self, statistics)

    def log_prior(self) -> float:
        """Minus the ridge penalty on what is learned."""
        learned = self._select(np.array([self.intercept, self.slope]))
        return float(-0.5 * self.ridge * learned @ learned)

    def parameters(self) -> np.ndarray:
        """The intercept and the logarithm of the slope, as far as they are learned."""
        return self._select(np.array([self.intercept, np.log(self.slope) if self._learned[1] else 0.0]))

    def with_parameters(self, vector) -> CountLogistic:
        """Take another intercept and logarithm of the slope."""
        rest = list(vector)
        intercept = rest.pop(0) if self._learned[0] else self.intercept
        slope = np.exp(rest.pop(0)) if self._learned[1] else self.slope
        return self._with([intercept, slope], self._learned, self._n_counts)

    def parameter_gradient(self, statistics) -> np.ndarray:
        """Gradient of log-likelihood and log prior in the `parameters`, from the statistics there."""
        if not self._n_counts:
            return np.empty(0)
        negative, positive = statistics
        counts = np.arange(self._n_counts)
        proba = expit(self.intercept + self.slope * counts)
        residual = positive * (1 - proba) - negative * proba
        by_intercept = residual.sum() - self.ridge * self.intercept
        by_slope = residual @ counts - self.ridge * self.slope
        return self._select(np.array([by_intercept, by_slope * self.slope]))

    def log_labeler(self, counts, size):
        """Compute both logarithms of the logistic function."""
        intercept, slope = self._read()
        score = intercept + slope * counts
        return log_expit(-score), log_expit(score)

    @property
    def _n_statistics(self):
        return self._n_counts

    def _select(self, both: np.ndarray) -> np.ndarray:
        return both[np.array(self._learned)].astype(np.float64)

    def _with(self, both, learned, n_counts) -> CountLogistic:
        rule = CountLogistic(float(both[0]), float(both[1]), self.ridge)
        rule._learned, rule._n_counts = learned, n_counts
        return rule

    def _read(self) -> tuple[float, float]:
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


def _soft_threshold(k: int) -> np.ndarray:
    """Intercept and slope of log-odds that change sign between k - 1 and k."""
    return _SOFT_SLOPE * np.array([0.5 - k, 1.0])
