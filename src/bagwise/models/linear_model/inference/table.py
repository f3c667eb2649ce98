"""`Inference`: the results of inference as arrays, data frame and text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from bagwise._display.notebook import as_html
from bagwise._display.parts import Table

_WIDTH = 84
_TESTS = {
    "score": "score tests; intervals contain the values that are not rejected",
    "profile": "profile likelihood; intervals contain the values that are not rejected",
    "wald": "Wald tests (z = coef / std err) and Wald intervals",
}
# Readers compare z with coef / std err, which is the statistic of Wald tests only.
_STATISTICS = {
    "score": 'z is the score statistic, not coef / std err (which is the test of intervals="wald").',
    "profile": "z is the signed root of the likelihood ratio, not coef / std err.",
}


@dataclass(frozen=True, repr=False)
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
        Number of groups of bags, if the standard errors allow for groups.
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

        An interval consists of the values that the test does not reject. A limit is infinite if no value is
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
        selected on the same bags (docs/inference.md). The first table contains the coefficients, the second
        the odds ratios.
        """
        rule, thin = "=" * _WIDTH, "-" * _WIDTH
        lines = [*self.notes, "Multiple-instance logistic regression".center(_WIDTH).rstrip(), rule]
        lines += [*(f"{name + ':':<22}{text}" for name, text in self._facts()), rule]
        if self.z is None:
            return "\n".join([*lines, str(self.message)])
        if self.message is not None:
            lines += [self.message, thin]
        columns = self._columns(level)
        n_first = columns.index("odds ratio")
        rows = self._rows(level)
        width = max(12, min(26, max(map(len, self.names))))
        for begin, end in ((0, n_first), (n_first, len(columns))):
            lines += [" " * width + "".join(f"{name:>10}" for name in columns[begin:end]), thin]
            lines += [
                f"{name[:width]:<{width}}" + "".join(f"{cell:>10}" for cell in cells[begin:end])
                for name, cells in zip(self.names, rows, strict=True)
            ]
            lines.append(thin if end == n_first else rule)
        return "\n".join([*lines, *self._remarks()])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        # Intervals may need many passes over the bags, so they are not computed here.
        return f"Inference of {len(self.names)} coefficients from {self.n_bags} bags; print() shows the table"

    def _repr_html_(self) -> str:
        facts = Table.of_facts(self._facts())
        parts: list[str | Table] = ["Multiple-instance logistic regression", facts, *self.notes]
        parts += [self.message] if self.message is not None else []
        if self.z is not None:
            columns, rows = self._columns(0.95), self._rows(0.95)
            cells = [[name, *row] for name, row in zip(self.names, rows, strict=True)]
            # Both intervals have the same limits, and the names of columns must differ.
            n_first = columns.index("odds ratio")
            columns[n_first:] = ["odds ratio", *(f"odds ratio\n{name}" for name in columns[n_first + 1 :])]
            parts += [Table.of(["", *columns], cells), *self._remarks()]
        return as_html(parts)

    def _facts(self) -> list[tuple[str, str]]:
        """Return the names and texts of the lines above the table."""
        test = "" if self.lr_p_value is None else f" on {self.df} df, {_p_text(self.lr_p_value)}"
        facts = [
            ("Fitted on", f"{self.n_bags} bags ({self.n_positive} positive), {self.n_instances} instances"),
            (
                "Log-likelihood",
                f"{self.log_likelihood:.4f}   (without features {self.log_likelihood_null:.4f})",
            ),
            ("Likelihood ratio", f"{self.lr_statistic:.4f}{test}"),
        ]
        if self.score_statistic is not None and self.score_p_value is not None:
            test = f"{self.score_statistic:.4f} on {self.df} df, {_p_text(self.score_p_value)}"
            facts.append(("Joint score test", test))
        errors = "observed information" if self.n_groups is None else f"{self.n_groups} groups of bags"
        return [*facts, ("Errors from", errors), ("z, P and intervals", _TESTS[self.intervals])]

    def _remarks(self) -> list[str]:
        return [_STATISTICS[self.intervals]] if self.intervals in _STATISTICS else []

    def _columns(self, level: float) -> list[str]:
        tail = (1 - level) / 2
        limits = [f"[{tail:.3f}", f"{1 - tail:.3f}]"]
        return ["coef", "std err", "z", "P>|z|", *limits, "odds ratio", *limits]

    def _rows(self, level: float) -> list[list[str]]:
        """Return the cells of every coefficient: estimate, test, interval, and odds ratio with interval."""
        assert self.z is not None and self.p_value is not None
        interval, odds = self.confidence_interval(level), self.odds_ratios(level)
        unknown = np.full(len(self.coef), np.nan)
        errors = unknown if self.se is None else self.se
        return [
            [
                *map(_cell, (self.coef[i], errors[i], self.z[i])),
                _p_value(self.p_value[i]),
                *map(_cell, (*interval[i], *odds[i])),
            ]
            for i in range(len(self.names))
        ]


def _cell(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.3f}" if abs(value) < 1e5 or np.isinf(value) else f"{value:.2e}"


def _p_value(p: float) -> str:
    return "" if np.isnan(p) else "<.001" if p < 0.001 else f"{p:.3f}"


def _p_text(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3g}"
