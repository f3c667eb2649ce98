"""`Inference`: the results of inference as arrays, data frame and text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

_WIDTH = 84


@dataclass(frozen=True)
class Inference:
    """Statistical inference for a maximum likelihood fit. Arrays start with the intercept, if there is one.

    Attributes
    ----------
    names : list of str
        Names of the coefficients.
    coef, se, z, p_value : arrays of shape (k,)
        Estimates on the original scale, standard errors, test statistics, and two-sided p values of the
        hypothesis that a coefficient is zero. Tests and intervals are consistent: a 95 % interval contains
        zero if p > 0.05. The statistic is the score statistic by default, ``coef / se`` with Wald intervals,
        and the signed root of the likelihood ratio with profile intervals.
    covariance : array of shape (k, k)
        Covariance of the coefficients: the inverse of the observed information, which includes the parameters
        of a learned rule. With groups, it is the sandwich estimator for dependent bags.
    log_likelihood, log_likelihood_null : float
        Log-likelihood of the fit, and of the model without features.
    lr_statistic, lr_p_value, df : float, float, int
        Likelihood-ratio test of the hypothesis that no feature has an effect. There is no p value (None) with
        groups or with a learned rule, because the statistic is then not chi-squared.
    score_statistic, score_p_value : float or None
        Score test of the same hypothesis, which is more accurate with few bags. It is not available (None)
        with groups, with a learned rule, or if the likelihood has kinks.
    n_bags, n_positive, n_instances : int
        Number of bags, positive bags and instances of the fit.
    message : str or None
        Why there are no standard errors. The arrays of errors and Wald tests are then None.
    intervals : {"score", "profile", "wald"}
        Method for confidence intervals and tests.
    notes : tuple of str
        Warnings that are shown above the table, for example that its p values are too small.
    n_groups : int or None
        Number of groups of bags, if the errors take groups into account.
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
    # Function from a level to the limits of the intervals, if they are not symmetric.
    _ends: Callable[[float], np.ndarray] | None = field(default=None, repr=False, compare=False)

    def confidence_interval(self, level: float = 0.95) -> np.ndarray:
        """Return the confidence intervals of the coefficients, shape (k, 2).

        An interval contains the values that the test does not reject. A limit is infinite if no value is
        rejected, for example for separable bags. The intervals "score" and "profile" refit the other
        parameters, which costs about a hundred passes over the bags per coefficient, once for each level.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1 (exclusive); got {level!r}.")
        if self._ends is not None:
            return self._ends(level)
        tail = 0.5 + level / 2
        quantile = ndtri(tail) if self.n_groups is None else stdtrit(self.n_groups - 1, tail)
        half = quantile * self._errors()
        return np.column_stack([self.coef - half, self.coef + half])

    def odds_ratios(self, level: float = 0.95) -> np.ndarray:
        """Return odds ratios of an instance per unit of a feature, with intervals: shape (k, 3)."""
        with np.errstate(over="ignore"):
            return np.exp(np.column_stack([self.coef, self.confidence_interval(level)]))

    def _errors(self) -> np.ndarray:
        if self.se is None:
            raise ValueError(f"there are no standard errors: {self.message}")
        return self.se

    def to_frame(self, level: float = 0.95, *, backend: str | None = None) -> Any:
        """Return the table as a pandas or polars data frame."""
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
        """Return the results as text, in the style of statsmodels.

        The first lines contain warnings, for example that p values are too small because the features were
        selected on the same bags (docs/inference.md).
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
            "score": "score tests; intervals contain the values that are not rejected",
            "profile": "profile likelihood; intervals contain the values that are not rejected",
            "wald": "Wald tests (z = coef / std err) and Wald intervals",
        }
        score = []
        if self.score_statistic is not None:
            all_of_them = f"{self.score_statistic:.4f} on {self.df} df, p = {self.score_p_value:.3g}"
            score = [f"{'Joint score test:':<22}{all_of_them}"]
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
