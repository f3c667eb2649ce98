"""Learned count rules: the values P(+ | n), their standard errors, confidence bands and plot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, ndtri

from bagwise._display.notebook import Shown
from bagwise._display.parts import Table
from bagwise.data.blocks import Block
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.linear_model.engine.learned_rule import JointProblem
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.models.linear_model.inference.likelihood import FittedLikelihood
from bagwise.models.linear_model.inference.profile import Profile, Quantity
from bagwise.rules import CountRule, LearnedRule, Or, Rule, Threshold
from bagwise.rules.learned import log_odds_of_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise._display.pictures import Display


# If the penalty has moved the log-odds by more than this many standard errors, bands are not computed.
_LARGEST_MOVE = 0.4


@dataclass(frozen=True, repr=False)
class Labeler(Shown):
    """Learned probability of a positive label for n positive instances, P(+ | n).

    Attributes
    ----------
    counts : array of int, shape (n_counts,)
        0, 1, ..., size of the largest training bag.
    values : array of shape (n_counts,)
        P(+ | n) for every count.
    std_err : array of shape (n_counts,), or None
        Standard errors of the values. They are computed by the delta method from the observed information of
        all parameters, including the coefficients. For a threshold, they follow from the profile
        probabilities of all k. None if nothing is learned, if the information is not positive definite, or
        if the penalty of the fit is so strong that it moves the values; `message` contains the reason.
    expected_bags : array of shape (2, n_counts)
        Expected numbers of negative and positive training bags with n positive instances. They show which
        counts occur in the data.
    rule : CountRule
        The rule.
    profile : dict
        For a learned threshold: the objective for every k that was tried.
    message : str or None
        The reason if there are no standard errors.
    log_odds_std_err : array of shape (n_counts,), or None
        Standard errors of the log-odds of the values. They remain accurate if values round to 0 or 1.

    Examples
    --------
    >>> from bagwise import SoftORLogisticRegression, make_count_bags
    >>> data = make_count_bags(200, size=6, labeler=3, coef=[3.0, -3.0], random_state=0)
    >>> model = SoftORLogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> (model.labeler_.values > 0.5).astype(int)
    array([0, 0, 0, 1, 1, 1, 1])
    """

    counts: np.ndarray
    values: np.ndarray
    std_err: np.ndarray | None
    expected_bags: np.ndarray
    rule: CountRule
    profile: dict[Any, Any]
    message: str | None = None
    log_odds_std_err: np.ndarray | None = None
    _likelihood: FittedLikelihood | None = field(default=None, repr=False, compare=False)
    _bands: dict[tuple[float, int], np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    def band(
        self,
        level: float = 0.95,
        *,
        intervals: Literal["profile", "wald"] = "profile",
        counts: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return pointwise confidence intervals of the values.

        Parameters
        ----------
        level : float, default=0.95
            The confidence level of each interval.
        intervals : {"profile", "wald"}, default="profile"
            Kind of intervals.

            - "profile": the values that a likelihood-ratio test does not reject. The coefficients and the
              other rule parameters are fitted again for each tested value. This takes about a hundred passes
              over the training bags for every count.
            - "wald": intervals based on the standard errors, symmetric in the log-odds. They need no passes,
              but contain the true value less often than `level` if the instance labels are uncertain.

            A learned threshold uses neither of them: its band follows from the probabilities of all k.
        counts : array of int, optional
            The counts for which intervals are computed; by default all of `counts`.

        Returns
        -------
        array of shape (n_counts, 2)
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {level!r}.")
        if intervals not in ("profile", "wald"):
            raise ValueError(f'intervals must be "profile" or "wald"; got {intervals!r}.')
        if self.std_err is None:
            raise ValueError(f"there are no standard errors: {self.message}")
        selected = self.counts if counts is None else np.asarray(counts)
        both, quantile = np.array([-1.0, 1.0]), ndtri(0.5 + level / 2)
        if self.log_odds_std_err is None:
            half = quantile * self.std_err[selected]
            return np.clip(self.values[selected, None] + half[:, None] * both, 0.0, 1.0)
        if intervals == "wald":
            half = quantile * self.log_odds_std_err[selected]
            return expit(log_odds_of_counts(self.rule, selected)[:, None] + half[:, None] * both)
        return self._profile_band(level, selected)

    def _profile_band(self, level: float, counts: np.ndarray) -> np.ndarray:
        new = np.array([n for n in counts if (level, int(n)) not in self._bands], dtype=np.int64)
        if len(new):
            if self._likelihood is None:
                raise ValueError(
                    "this labeler no longer has the training bags, because pickles and copies do not contain "
                    'them; use band(intervals="wald"), or fit again.'
                )
            bounds = profile_band(self._likelihood, new, level)
            self._bands.update({(level, int(n)): row for n, row in zip(new, bounds, strict=True)})
        return np.array([self._bands[level, int(n)] for n in counts])

    def _parts(self) -> list[str | Table]:
        rows: list[dict[str, Any]] = []
        for n in range(n_plausible_counts(self)):
            row = {"n": n, "P(+ | n)": f"{self.values[n]:.4f}"}
            if self.std_err is not None:
                row["std err"] = f"{self.std_err[n]:.4f}"
            negative, positive = self.expected_bags[:, n]
            rows.append(row | {"negative\nbags": f"{negative:.1f}", "positive\nbags": f"{positive:.1f}"})
        title = f"Probability of a positive label for n positive instances, rule {type(self.rule).__name__}"
        note = "Bags: expected numbers of training bags with n positive instances."
        if self.message is not None:
            note += f" There are no standard errors: {self.message}."
        return [title, Table("", rows, note=note)]

    def __getstate__(self) -> dict[str, Any]:
        # A pickle contains the learned values and the bands computed so far, but not the training bags.
        return {**self.__dict__, "_likelihood": None}

    @property
    def can_profile(self) -> bool:
        """Whether the training bags, which profile intervals need, are still available."""
        return self._likelihood is not None

    def plot(
        self,
        *,
        level: float = 0.95,
        intervals: Literal["profile", "wald"] | None = None,
        ax: Axes | None = None,
    ) -> Display:
        """Plot P(+ | n) with its intervals, the or-rule for comparison, and the expected numbers of bags.

        Parameters
        ----------
        level : float, default=0.95
            The confidence level of the intervals.
        intervals : {"profile", "wald"}, optional
            Kind of intervals, as in `band`. The default is "profile", or "wald" if the labeler no longer has
            the training bags.
        ax : matplotlib axes, optional
            The axes to draw on; by default a new figure is created.

        Returns
        -------
        Display
            The plot, with the attributes `figure_` and `ax_`.
        """
        from bagwise.models.linear_model.plots import plot_labeler

        return plot_labeler(self, level=level, intervals=intervals, ax=ax)


def n_plausible_counts(labeler: Labeler) -> int:
    """Return the number of counts to show, without large counts that hardly any bag reaches."""
    seen = np.flatnonzero(labeler.expected_bags.sum(axis=0) > 0.5)
    return min(len(labeler.counts), int(seen[-1] if len(seen) else 0) + 2)


def as_count_rule(rule: Rule) -> CountRule | None:
    """Return the rule as a count rule, or None if it does not depend on the count alone."""
    if isinstance(rule, Or):
        return Threshold(1)
    return rule if isinstance(rule, CountRule) else None


def describe_labeler(problem: LinearBagProblem, best: Any) -> Labeler | None:
    """Return the labeler of the best result of a fit, or None if the rule is not a count rule."""
    rule, offsets, theta = as_count_rule(problem.rule), problem.offsets, best.x
    if rule is None or rule.depends_on_size:
        return None
    largest = int(np.diff(offsets).max())
    counts = np.arange(largest + 1)
    values = np.exp(rule.log_labeler(counts, largest)[1])
    expected = problem.blocks.total(_expected_counts, theta, problem.scaling, rule, largest)
    tried = getattr(best, "tried", ())
    profile = {other.k: problem.total * value for other, value in tried}
    std_err: np.ndarray | None = None
    of_log_odds: np.ndarray | None = None
    likelihood: FittedLikelihood | None = None
    message: str | None = "the rule has no parameters that vary continuously"
    if profile:
        # Probability of every k, if the objective is interpreted as a negative log-posterior.
        share = np.exp(min(profile.values()) - np.array(list(profile.values())))
        reached = (share / share.sum()) @ (counts >= np.array(list(profile))[:, None])
        std_err, message = np.sqrt(np.maximum(reached * (1 - reached), 0.0)), None
    elif isinstance(rule, LearnedRule) and rule.learns:
        covariance, moved, message = rule_covariance(problem, rule, theta)
        if covariance is not None:
            slopes = rule.log_odds_slopes(counts)
            of_log_odds = np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", slopes, covariance, slopes), 0.0))
            message = _why_moved(np.abs(slopes @ moved), of_log_odds)
        if message is None:
            std_err = values * np.exp(rule.log_labeler(counts, largest)[0]) * of_log_odds
            likelihood = FittedLikelihood(problem, theta)
    if std_err is None:
        of_log_odds = None
    return Labeler(counts, values, std_err, expected, rule, profile, message, of_log_odds, likelihood)


def _why_moved(moved: np.ndarray, std_err: np.ndarray) -> str | None:
    """Return a message if the penalty has moved the log-odds of the values too far, else None."""
    is_estimated = std_err > 0
    farthest = float((moved[is_estimated] / std_err[is_estimated]).max(initial=0.0))
    if farthest <= _LARGEST_MOVE:
        return None
    return (
        f"the penalty on the coefficients has moved the values by {farthest:.2g} standard errors, so a band "
        "around them would not have its confidence level; decrease alpha"
    )


def profile_band(likelihood: FittedLikelihood, counts: np.ndarray, level: float) -> np.ndarray:
    """Return intervals of P(+ | n) from likelihood-ratio tests for every count: shape (n_counts, 2)."""
    profile = Profile(likelihood, likelihood.information(likelihood.x), "ratio")
    n_free = int(likelihood.free.sum())

    def log_odds_at(n: np.ndarray) -> Quantity:
        def rule_of(x: np.ndarray) -> Any:
            return likelihood.split(likelihood.at(x))[1]

        def gradient(x: np.ndarray) -> np.ndarray:
            slopes = rule_of(x).log_odds_slopes(n)[0]
            return np.concatenate([np.zeros(n_free - len(slopes)), slopes])

        return Quantity(lambda x: float(log_odds_of_counts(rule_of(x), n)[0]), gradient)

    return expit([profile.interval(log_odds_at(counts[k : k + 1]), level) for k in range(len(counts))])


def _expected_counts(
    block: Block, theta: np.ndarray, scaling: Scaling, rule: CountRule, largest: int
) -> np.ndarray:
    """Return the weighted numbers of negative and positive bags for each count of positive instances."""
    by_bag = rule.count_proba(scaling.dot(theta, block.X), block.offsets, block.y)
    expected = np.zeros((2, largest + 1))
    for label in (0, 1):
        expected[label, : by_bag.shape[1]] = (block.weight * (block.y == label)) @ by_bag
    return expected


def rule_covariance(
    problem: LinearBagProblem, rule: LearnedRule, theta: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray, str | None]:
    """Return the covariance of the rule's parameters, including the uncertainty of the coefficients.

    The covariance is the inverse of H_rr - H_rc H_cc^-1 H_cr, where H is the Hessian of the objective, c are
    the non-zero coefficients and r the parameters of the rule. The columns of r are finite differences of the
    gradient; H_cc is exact.

    The second result is the distance by which the penalty has moved the parameters, to first order: H^-1
    times the gradient of the penalty. The third result is an error message if there is no covariance, and
    otherwise None.
    """
    nowhere = np.zeros(len(rule.parameters()))
    joint = JointProblem(problem, rule)
    vector = rule.parameters()
    x = np.concatenate([theta, vector])
    n = len(theta)
    free = theta != 0
    free[-1] = problem.scaling.fit_intercept
    columns = joint.rule_columns(x)
    of_rule, mixed = columns[n:], columns[:n][free]
    inner = problem.with_rule(rule)

    def product(v: np.ndarray) -> np.ndarray:
        whole = np.zeros(n)
        whole[free] = v
        return inner.hessian_product(theta, whole)[free]

    operator = LinearOperator((int(free.sum()),) * 2, matvec=product, dtype=np.float64)
    solved = np.empty_like(mixed)
    for k in range(len(vector)):
        solved[:, k], failed = cg(operator, mixed[:, k], rtol=1e-8, maxiter=500)
        if failed:
            return None, nowhere, "the information of the coefficients is nearly singular; increase alpha"
    information = problem.total * (of_rule - mixed.T @ solved)
    information = 0.5 * (information + information.T)
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        open_ = "the observed information of the rule is not positive definite: the data do not determine it"
        return None, nowhere, open_
    covariance = np.linalg.inv(information)
    # At the optimum, the gradients of the penalty and of the likelihood cancel.
    penalty = -inner.without_ridge().point(theta).gradient[free]
    return covariance, -problem.total * covariance @ (solved.T @ penalty), None
