"""Soft-or logistic regression, which learns how many positive instances make a bag positive."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.types import ClassWeight, PositiveLabel, Scale, Seed
from bagwise.data.types import BagsLike
from bagwise.models.linear_model.labeler import Labeler, as_count_rule, describe_labeler
from bagwise.models.linear_model.logistic import MILogisticRegression
from bagwise.rules import CountTable, Rule


class SoftORLogisticRegression(MILogisticRegression):
    """Logistic regression of instances with a learned rule for the number of positive instances in a bag.

    The model minimizes the objective of `MILogisticRegression` minus the `log_prior` of the rule, over the
    coefficients and the parameters of the rule. Use it to learn how many positive instances make a bag
    positive, and with what probability. The models SORLR 1, 2, 3 and ORLR of the paper use the rules
    "count_table", "count_logistic", "threshold" and "or". ``solver="em"`` is the algorithm of the paper. For
    its kernel version, see docs/count_rules.md.

    Parameters
    ----------
    rule : str or Rule, default="count_logistic"
        The rule to learn, or a fixed rule.
    alpha : float, default=0.01
        Strength of the penalty. A stronger penalty shrinks the coefficients, and the rule becomes steeper to
        compensate for it. Without a penalty, a finite optimum may not exist. For predictions from few bags or
        with many features, ``alpha=1`` is better, because the probabilities are less extreme.
    l1_ratio : float, default=0.0
        Share of the L1 norm in the penalty. The default is a ridge penalty.
    fit_intercept, scale, class_weight, positive, n_init, solver
        As in `MILogisticRegression`.
    tol, max_iter, warm_start, random_state, verbose
        As in `MILogisticRegression`.

    Attributes
    ----------
    labeler_ : Labeler or None
        The learned P(+ | n) with standard errors and a plot; None if the rule is not a count rule.

    Notes
    -----
    All other attributes are those of `MILogisticRegression`. An iteration costs a few products with the
    instance matrix. In addition, a bag of m instances costs O(m^2), or O(m log m) if m is larger than a
    thousand. By default, coefficients and rule are learned together by a quasi-Newton method. With
    ``solver="em"``, an iteration computes the posteriors of all instances and counts, does a Newton step for
    the coefficients, which is halved if the objective would increase, and maximizes over the parameters of
    the rule. Both solvers use the same starts and reach the same optima, but EM needs more iterations.

    References
    ----------
    A. T. Pham, R. Raich, X. Z. Fern, W.-K. Wong and X. Guan (2018), Discriminative probabilistic framework
    for generalized multi-instance learning, ICASSP.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import SoftORLogisticRegression, make_count_bags
    >>> data = make_count_bags(300, size=10, labeler=3, coef=[3.0, -3.0], random_state=0)
    >>> model = SoftORLogisticRegression("threshold", random_state=0).fit(data.bags, data.y)
    >>> model.rule_, model.predict_count(data.bags[:2]).shape
    (Threshold(k=3), (2, 11))
    """

    labeler_: Labeler | Any  # None if the rule is not a count rule; Any avoids checks for None in callers

    def __init__(
        self,
        rule: str | Rule = "count_logistic",
        *,
        alpha: float = 0.01,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        n_init: int = 5,
        solver: Literal["newton", "em"] = "newton",
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
            positive=positive,
            n_init=n_init,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )

    def _keep(self, problem: Any, best: Any, alpha: float) -> None:
        super()._keep(problem, best, alpha)
        self.labeler_ = describe_labeler(problem, best)

    def predict_count(self, X: BagsLike, y: ArrayLike | None = None) -> np.ndarray:
        """Predict the distribution of the number of positive instances in every bag.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,), optional
            Labels of the bags, from ``classes_``. With labels, the distribution is the posterior given the
            label of the bag (equation 12 of the paper). Without labels, it is the prediction from the
            instances alone.

        Returns
        -------
        array of shape (n_bags, largest size + 1)
            Entry (i, n) is the probability that bag i has n positive instances. If the rule excludes the
            label of a bag, its row is zero.

        Examples
        --------
        >>> from bagwise import SoftORLogisticRegression, make_count_bags
        >>> data = make_count_bags(300, size=5, labeler=2, coef=[3.0, -3.0], random_state=0)
        >>> model = SoftORLogisticRegression("threshold", random_state=0).fit(data.bags, data.y)
        >>> counts = model.predict_count(data.bags, data.y)
        >>> float(counts[data.y == 1, :2].sum())  # a positive bag has at least two positive instances
        0.0
        """
        # Without bag labels, the distribution is the same for every count rule.
        rule = CountTable([0.5]) if y is None else as_count_rule(self.rule_)
        if rule is None:
            raise ValueError(
                f"predict_count with labels y needs a count rule, but the model has rule_={self.rule_!r}; "
                "fit with a count rule, or omit y."
            )
        bags = self._read(X, whole=False)
        labels = None if y is None else self._encode_known(y, bags)
        return rule.count_proba(self._by_blocks(X, self._log_odds), bags.offsets, labels)
