"""The results of inference, as arrays, as a frame and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

_WIDTH = 84


@dataclass(frozen=True)
class Inference:
    """Statistical inference for a maximum likelihood fit; arrays have the intercept first, if there is one.

    Attributes
    ----------
    names : list of str
        Names of the coefficients.
    coef, se, z, p_value : arrays of shape (k,)
        Estimates on the original scale, their standard errors, test statistics, and two-sided p values of
        the hypothesis that a coefficient is zero. The test is the one that intervals are made of, so that an
        interval of 95 % holds zero where p > 0.05: the score statistic by default, ``coef / se`` with Wald
        intervals, the signed root of the likelihood ratio with profile intervals.
    covariance : array of shape (k, k)
        Of the coefficients: the inverse of the observed information, in which a learned rule has its part;
        with groups, the sandwich that holds for dependent bags.
    log_likelihood, log_likelihood_null : float
        Of the fit, and of the model without features.
    lr_statistic, lr_p_value, df : float, float, int
        Likelihood-ratio test of the hypothesis that no feature matters. The p value is None where the
        statistic is not chi-squared: for bags in groups, and for a rule that was learned.
    score_statistic, score_p_value : float or None
        Score test of the same hypothesis, which with few bags holds better; None where `lr_p_value` is, and
        where the likelihood has kinks.
    n_bags, n_positive, n_instances : int
        What was fitted on.
    message : str or None
        Why there are no standard errors. The arrays of errors and Wald tests are then None.
    intervals : {"score", "profile", "wald"}
        Where confidence intervals and tests come from.
    notes : tuple of str
        What a reader must know before the table, such as that its p values are too small.
    n_groups : int or None
        The number of groups of bags, if errors allow for them.
    """

    names: list[str]
    coef: np.ndarray
    se: np.ndarray | None
    z: np.ndarray | None
    p_value: np.ndarray | None
    covariance: np.ndarray | None
    log_likelihood: float
    log_likelihood_null: float
    lr_statistic: float
    lr_p_value: float | None
    df: int
    n_bags: int
    n_positive: int
    n_instances: int
    intervals: str
    score_statistic: float | None = None
    score_p_value: float | None = None
    message: str | None = None
    notes: tuple[str, ...] = ()
    n_groups: int | None = None
    # Both ends for a level, where they are not symmetric.
    _ends: Callable[[float], np.ndarray] | None = field(default=None, repr=False, compare=False)

    def confidence_interval(self, level: float = 0.95) -> np.ndarray:
        """Intervals of the coefficients: shape (k, 2). They hold the values that the tests do not reject.

        An end is infinite where no value is rejected, as for bags that are separated. Where the other
        parameters are fitted anew ("score", "profile"), it costs about a hundred passes over the bags for
        each coefficient, once for each level.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        if self._ends is not None:
            return self._ends(level)
        tail = 0.5 + level / 2
        quantile = ndtri(tail) if self.n_groups is None else stdtrit(self.n_groups - 1, tail)
        half = quantile * self._errors()
        return np.column_stack([self.coef - half, self.coef + half])

    def odds_ratios(self, level: float = 0.95) -> np.ndarray:
        """Factor of an instance's odds per unit of a feature, with its interval: shape (k, 3)."""
        with np.errstate(over="ignore"):
            return np.exp(np.column_stack([self.coef, self.confidence_interval(level)]))

    def _errors(self) -> np.ndarray:
        if self.se is None:
            raise ValueError(f"there are no standard errors: {self.message}")
        return self.se

    def to_frame(self, level: float = 0.95, *, backend: str | None = None) -> Any:
        """Give the table as a pandas or polars data frame."""
        import narwhals as nw

        from bagwise.data.frames import frame_backend

        low, high = self.confidence_interval(level).T
        unknown = np.full(len(self.coef), np.nan)
        columns = {
            "name": self.names,
            "coef": self.coef,
            "std_err": unknown if self.se is None else self.se,
            "z": self.z,
            "p_value": self.p_value,
            "low": low,
            "high": high,
            "odds_ratio": np.exp(self.coef),
        }
        return nw.from_dict(columns, backend=frame_backend(backend)).to_native()

    def summary(self, level: float = 0.95) -> str:
        """Lay the results out as text, in the manner of statsmodels.

        What a reader must know first is in the first lines: after features have been chosen on the same
        bags, p values are too small (docs/inference.md).
        """
        lines = [*self.notes, *self._header(), "=" * _WIDTH]
        if self.z is None:
            return "\n".join([*lines, str(self.message)])
        if self.message is not None:
            lines += [self.message, "-" * _WIDTH]
        return "\n".join([*lines, *self._table(level), "=" * _WIDTH])

    def _header(self) -> list[str]:
        sizes = f"{self.n_bags} bags ({self.n_positive} positive), {self.n_instances} instances"
        test = "" if self.lr_p_value is None else f" on {self.df} df, p = {self.lr_p_value:.3g}"
        errors = "observed information" if self.n_groups is None else f"{self.n_groups} groups of bags"
        tests = {
            "score": "score tests; an interval holds the values that they do not reject",
            "profile": "profile likelihood: an interval holds what likelihood ratios do not reject",
            "wald": "Wald: z = coef / std err, and intervals of the same",
        }
        score = []
        if self.score_statistic is not None:
            all_of_them = f"{self.score_statistic:.4f} on {self.df} df, p = {self.score_p_value:.3g}"
            score = [f"{'Score test of all:':<22}{all_of_them}"]
        return [
            "Multiple-instance logistic regression".center(_WIDTH).rstrip(),
            "=" * _WIDTH,
            f"{'Fitted on:':<22}{sizes}",
            f"{'Log-likelihood:':<22}{self.log_likelihood:.4f}   "
            f"(without features {self.log_likelihood_null:.4f})",
            f"{'Likelihood ratio:':<22}{self.lr_statistic:.4f}{test}",
            *score,
            f"{'Errors from:':<22}{errors}",
            f"{'z, P and intervals:':<22}{tests[self.intervals]}",
        ]

    def _table(self, level: float) -> list[str]:
        assert self.z is not None and self.p_value is not None
        tail = (1 - level) / 2
        name = max(12, min(26, max(map(len, self.names))))
        header = ["coef", "std err", "z", "P>|z|", f"[{tail:.3f}", f"{1 - tail:.3f}]", "odds"]
        lines = [" " * name + "".join(f"{h:>10}" for h in header), "-" * _WIDTH]
        interval = self.confidence_interval(level)
        with np.errstate(over="ignore"):
            odds = np.exp(self.coef)
        for i, label in enumerate(self.names):
            error = np.nan if self.se is None else self.se[i]
            row = [self.coef[i], error, self.z[i], self.p_value[i], *interval[i], odds[i]]
            lines.append(f"{label[:name]:<{name}}" + "".join(map(_cell, row)))
        return lines


def _cell(value: float) -> str:
    if np.isnan(value):
        return f"{'':>10}"
    return f"{value:>10.3f}" if abs(value) < 1e5 or np.isinf(value) else f"{value:>10.2e}"
