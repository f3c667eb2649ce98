"""Soft-or logistic regression, which learns how many positive instances it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._core.types import ClassWeight, Scale, Seed
from bagwise.data.types import BagsLike
from bagwise.models.linear_model.labeler import Labeler, describe_labeler
from bagwise.models.linear_model.logistic import MILogisticRegression
from bagwise.rules import CountTable, Rule


class SoftORLogisticRegression(MILogisticRegression):
    """Logistic regression of instances, where the rule from their number to the bag's label is learned too.

    It minimises the objective of `MILogisticRegression`, less the rule's `log_prior`, over coefficients and
    rule. Use it to learn how many positive instances make a bag positive, and how surely. The paper's SORLR
    1, 2, 3 and ORLR are the rules "count_table", "count_logistic", "threshold" and "or"; its RBF version is
    ``make_bag_pipeline(OnInstances(RBFSampler()), SoftORLogisticRegression())``.

    Parameters
    ----------
    rule : str or Rule, default="count_logistic"
        The rule to be learned, or one that is known.
    alpha : float, default=0.01
        Strength of the penalty. A stronger one shrinks the coefficients, and a steeper rule makes up for it;
        without any, coefficients and rule together may fit ever better without end. To predict, from few bags
        or with many features, ``alpha=1`` is better: probabilities are less extreme.
    l1_ratio : float, default=0.0
        Share of the L1 norm in it: none, which is ridge.
    fit_intercept, scale, class_weight, n_init, tol, max_iter, warm_start, random_state, verbose
        As in `MILogisticRegression`.

    Attributes
    ----------
    labeler_ : Labeler or None
        The learned P(+ | n) with its errors and a plot; None for a rule that does not count.

    Notes
    -----
    All other attributes are those of `MILogisticRegression`. An iteration costs a few products with the
    instance matrix, and O(m^2) for a bag of m instances, or O(m log m) for more than a thousand of them.

    Examples
    --------
    >>> from bagwise import SoftORLogisticRegression, make_count_bags
    >>> data = make_count_bags(300, size=10, labeler=3, coef=[3.0, -3.0], random_state=0)
    >>> model = SoftORLogisticRegression("threshold", random_state=0).fit(data.bags, data.y)
    >>> model.rule_, model.predict_count(data.bags[:2]).shape
    (Threshold(k=3), (2, 11))
    """

    labeler_: Labeler | Any  # None for rules that do not count, of which nobody asks

    def __init__(
        self,
        rule: str | Rule = "count_logistic",
        *,
        alpha: float = 0.01,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        n_init: int = 5,
        tol: float = 1e-6,
        max_iter: int = 200,
        warm_start: bool = False,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        super().__init__(
            rule,
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            scale=scale,
            class_weight=class_weight,
            n_init=n_init,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )

    def _keep(self, problem: Any, best: Any) -> None:
        super()._keep(problem, best)
        self.labeler_ = describe_labeler(problem, best)

    def predict_count(self, X: BagsLike) -> np.ndarray:
        """Distribution of the number of positive instances in every bag: shape (n_bags, largest size + 1)."""
        log_odds, bags = self._by_blocks(X, self._log_odds), self._read(X, whole=False)
        # The distribution before a label is seen is the same for every rule of counts.
        return CountTable([0.5]).count_proba(log_odds, bags.offsets)
