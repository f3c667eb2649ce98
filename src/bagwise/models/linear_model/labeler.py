"""What a fit has learned of the rule from counts to labels: values, their errors, and a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, ndtri

from bagwise.data.blocks import Block
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.linear_model.engine.learned_rule import JointProblem
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.models.linear_model.inference.likelihood import FittedLikelihood
from bagwise.models.linear_model.inference.profile import Profile, Quantity
from bagwise.rules import CountRule, LearnedRule, Or, Threshold
from bagwise.rules.learned import log_odds_of_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise._display.pictures import Display


# Where the penalty has moved log-odds by more of their standard errors, bands do not cover.
_LARGEST_MOVE = 0.4


@dataclass(frozen=True)
class Labeler:
    """P(+ | n positive instances), as learned.

    Attributes
    ----------
    counts : array of int, shape (n_counts,)
        0, 1, ..., the largest training bag.
    values : array of shape (n_counts,)
        P(+ | n) of each.
    std_err : array of shape (n_counts,), or None
        Standard errors of the values, by the delta method from the observed information of all parameters,
        coefficients included; of a threshold, from the probabilities that the profile gives to every k. None
        where nothing is learned, the information is not positive definite, or the penalty of the fit is so
        strong that it moves the values (`message` says why).
    expected_bags : array of shape (2, n_counts)
        Expected numbers of negative and of positive training bags with n positive instances: where the data
        are.
    rule : CountRule
        The rule itself.
    profile : dict
        Of a threshold that is learned: the objective reached with every k that was tried.
    message : str or None
        Why there are no standard errors.
    log_odds_std_err : array of shape (n_counts,), or None
        Standard errors of the log-odds of the values, which are exact where values round to 0 or 1.

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
        """Pointwise interval of the values: shape (n_counts, 2).

        Parameters
        ----------
        level : float, default=0.95
            The probability with which each covers the truth.
        intervals : {"profile", "wald"}, default="profile"
            "profile": the values that a likelihood-ratio test does not reject, the coefficients and the rest
            of the rule being fitted anew for each; about a hundred passes over the training bags for every
            count. "wald": from the standard errors, symmetric in the log-odds; at once, but where instances
            are not certain it covers less often than it says. A threshold has neither: its band comes from
            the probabilities of every k.
        counts : array of int, optional
            Which of the `counts` are wanted; all by default.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        if intervals not in ("profile", "wald"):
            raise ValueError(f'intervals must be "profile" or "wald"; got {intervals!r}.')
        if self.std_err is None:
            raise ValueError(f"there are no standard errors: {self.message}")
        some = self.counts if counts is None else np.asarray(counts)
        both, quantile = np.array([-1.0, 1.0]), ndtri(0.5 + level / 2)
        if self.log_odds_std_err is None:
            half = quantile * self.std_err[some]
            return np.clip(self.values[some, None] + half[:, None] * both, 0.0, 1.0)
        if intervals == "wald":
            half = quantile * self.log_odds_std_err[some]
            return expit(log_odds_of_counts(self.rule, some)[:, None] + half[:, None] * both)
        return self._profile_band(level, some)

    def _profile_band(self, level: float, counts: np.ndarray) -> np.ndarray:
        new = np.array([n for n in counts if (level, int(n)) not in self._bands], dtype=np.int64)
        if len(new):
            if self._likelihood is None:
                raise ValueError(
                    "this labeler no longer has the bags of its fit, which pickles and copies leave out; use "
                    'band(intervals="wald"), or fit again.'
                )
            found = profile_band(self._likelihood, new, level)
            self._bands.update({(level, int(n)): row for n, row in zip(new, found, strict=True)})
        return np.array([self._bands[level, int(n)] for n in counts])

    def __getstate__(self) -> dict[str, Any]:
        # A pickle is what was learned, not the bags; bands that were computed stay.
        return {**self.__dict__, "_likelihood": None}

    @property
    def can_profile(self) -> bool:
        """Whether it still has the bags of its fit, which the band of the profile needs."""
        return self._likelihood is not None

    def plot(
        self,
        *,
        level: float = 0.95,
        intervals: Literal["profile", "wald"] | None = None,
        ax: Axes | None = None,
    ) -> Display:
        """Draw P(+ | n) with its intervals, the or-rule for comparison, and the expected numbers of bags.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.
        intervals : {"profile", "wald"}, optional
            Those of `band`; by default of the profile, or Wald's where the labeler has no bags any more.
        ax : matplotlib axes, optional
            Where to draw; by default into a new figure.

        Returns
        -------
        Display
            With `figure_` and `ax_`.
        """
        from bagwise.models.linear_model.plots import plot_labeler

        return plot_labeler(self, level=level, intervals=intervals, ax=ax)


def describe_labeler(problem: LinearBagProblem, best: Any) -> Labeler | None:
    """Find out what the best result of a fit says of its rule; None if that is no rule of counts."""
    rule, offsets, theta = problem.rule, problem.offsets, best.x
    if isinstance(rule, Or):
        rule = Threshold(1)
    if not isinstance(rule, CountRule) or rule.depends_on_size:
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
        # How probable every k is, as far as the objective is a log-posterior.
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
    """Say that the penalty has moved the log-odds of the values too far, if it has."""
    some = std_err > 0
    farthest = float((moved[some] / std_err[some]).max(initial=0.0))
    if farthest <= _LARGEST_MOVE:
        return None
    return (
        f"the penalty on the coefficients has moved the values by {farthest:.2g} standard errors, so that a "
        "band around them would not cover; lower alpha"
    )


def profile_band(likelihood: FittedLikelihood, counts: np.ndarray, level: float) -> np.ndarray:
    """Values of P(+ | n) that a likelihood-ratio test does not reject, for every count: (n_counts, 2)."""
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
    """Weighted numbers of negative and of positive bags with each count of positive instances."""
    by_bag = rule.count_proba(scaling.dot(theta, block.X), block.offsets, block.y)
    expected = np.zeros((2, largest + 1))
    for label in (0, 1):
        expected[label, : by_bag.shape[1]] = (block.weight * (block.y == label)) @ by_bag
    return expected


def rule_covariance(
    problem: LinearBagProblem, rule: LearnedRule, theta: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray, str | None]:
    """Covariance of the rule's parameters, the coefficients' uncertainty included; or a sentence why not.

    The inverse of H_rr - H_rc H_cc^-1 H_cr, with the objective's Hessian H in coefficients c that are not
    zero and parameters r. Columns of r are differences of the gradient, H_cc is exact. Also says how far the
    penalty has moved the parameters, to first order: H^-1 times its gradient.
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
            return None, nowhere, "the information on the coefficients is close to singular; raise alpha"
    information = problem.total * (of_rule - mixed.T @ solved)
    information = 0.5 * (information + information.T)
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        open_ = "the observed information on the rule is not positive definite: the data leave it open"
        return None, nowhere, open_
    covariance = np.linalg.inv(information)
    # At the optimum the gradient of the penalty is minus that of the likelihood.
    penalty = -inner.without_ridge().point(theta).gradient[free]
    return covariance, -problem.total * covariance @ (solved.T @ penalty), None
