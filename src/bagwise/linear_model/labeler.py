"""What a fit has learned of the rule from counts to labels: values, their errors, and a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, logit, ndtri

from bagwise.blocks import Block
from bagwise.linear_model.design import Scaling
from bagwise.linear_model.learned_rule import JointProblem
from bagwise.linear_model.problem import LinearBagProblem
from bagwise.rules import CountRule, LearnedRule, Or, Threshold


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
        where nothing is learned, or the information is not positive definite (`message` says why).
    expected_bags : array of shape (2, n_counts)
        Expected numbers of negative and of positive training bags with n positive instances: where the data
        are.
    rule : CountRule
        The rule itself.
    profile : dict
        Of a threshold that is learned: the objective reached with every k that was tried.
    message : str or None
        Why there are no standard errors.

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
    profile: dict
    message: str | None = None

    def band(self, level: float = 0.95) -> np.ndarray:
        """Pointwise interval of the values, symmetric in their log-odds: shape (n_counts, 2)."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        if self.std_err is None:
            raise ValueError(f"there are no standard errors: {self.message}")
        half = ndtri(0.5 + level / 2) * self.std_err
        spread = self.values * (1 - self.values)
        if not spread.all():  # values of 0 and 1 have no log-odds
            return np.clip(self.values[:, None] + half[:, None] * np.array([-1.0, 1.0]), 0.0, 1.0)
        return expit(logit(self.values)[:, None] + (half / spread)[:, None] * np.array([-1.0, 1.0]))

    def plot(self, *, level: float = 0.95):
        """Draw P(+ | n) with its band, the or-rule for comparison, and the expected numbers of bags.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from bagwise.linear_model.plots import plot_labeler

        return plot_labeler(self, level=level)


def describe_labeler(problem: LinearBagProblem, best) -> Labeler | None:
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
    message: str | None = "the rule has no parameters that vary continuously"
    if profile:
        # How probable every k is, as far as the objective is a log-posterior.
        share = np.exp(min(profile.values()) - np.array(list(profile.values())))
        reached = (share / share.sum()) @ (counts >= np.array(list(profile))[:, None])
        std_err, message = np.sqrt(np.maximum(reached * (1 - reached), 0.0)), None
    elif isinstance(rule, LearnedRule) and rule.learns:
        covariance, message = rule_covariance(problem, rule, theta)
        if covariance is not None:
            jacobian = _slopes_of_values(rule, counts, largest)
            std_err = np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", jacobian, covariance, jacobian), 0.0))
    return Labeler(counts, values, std_err, expected, rule, profile, message)


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
) -> tuple[np.ndarray | None, str | None]:
    """Covariance of the rule's parameters, the coefficients' uncertainty included; or a sentence why not.

    The inverse of H_rr - H_rc H_cc^-1 H_cr, with the objective's Hessian H in coefficients c that are not
    zero and parameters r. Columns of r are differences of the gradient, H_cc is exact.
    """
    joint = JointProblem(problem, rule)
    vector = rule.parameters()
    x = np.concatenate([theta, vector])
    n = len(theta)
    free = theta != 0
    free[-1] = problem.scaling.fit_intercept
    columns = joint.rule_columns(x)
    of_rule, mixed = columns[n:], columns[:n][free]
    inner = problem.with_rule(rule)

    def product(v):
        whole = np.zeros(n)
        whole[free] = v
        return inner.hessian_product(theta, whole)[free]

    operator = LinearOperator((int(free.sum()),) * 2, matvec=product, dtype=np.float64)
    solved = np.empty_like(mixed)
    for k in range(len(vector)):
        solved[:, k], failed = cg(operator, mixed[:, k], rtol=1e-8, maxiter=500)
        if failed:
            return None, "the information on the coefficients is close to singular; raise alpha"
    information = problem.total * (of_rule - mixed.T @ solved)
    information = 0.5 * (information + information.T)
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return None, "the observed information on the rule is not positive definite: the data leave it open"
    return np.linalg.inv(information), None


def _slopes_of_values(rule: CountRule, counts: np.ndarray, size: int) -> np.ndarray:
    """Derivatives of P(+ | n) in the rule's parameters, by central differences: (n_counts, n_parameters)."""
    vector = rule.parameters()
    columns = []
    for k in range(len(vector)):
        step = np.zeros(len(vector))
        step[k] = 1e-5 * max(1.0, abs(vector[k]))
        ahead, back = (
            np.exp(rule.with_parameters(vector + sign * step).log_labeler(counts, size)[1])
            for sign in (1, -1)
        )
        columns.append((ahead - back) / (2 * step[k]))
    return np.column_stack(columns)
