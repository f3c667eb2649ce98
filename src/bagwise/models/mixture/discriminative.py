"""The discriminative partner of a mixture: the same log-odds, fitted to the labels alone."""

from __future__ import annotations

import functools
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.sklearn_private import HasMethods, Interval, StrOptions
from bagwise._core.types import ClassWeight, Seed
from bagwise.data.bags import Bags
from bagwise.data.scanned import ScannedBags
from bagwise.families import FAMILIES, Family, make_family
from bagwise.families.parts import sufficient_of
from bagwise.models.base import (
    CLASS_WEIGHT_CONSTRAINT,
    RULE_CONSTRAINT,
    BagsLike,
    Training,
    WaistClassifier,
    validated_fit,
)
from bagwise.models.linear_model import MILogisticRegression
from bagwise.models.mixture.build import look_at
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Rule
from bagwise.solvers.result import Recorded


class DiscriminativeMixture(Recorded, WaistClassifier):
    """The conditional likelihood of labels under the log-odds of two members of a family.

    In an exponential family the log-odds of two components are linear in the sufficient statistics t(x),
    and any coefficients belong to some pair of components. The discriminative partner of `MIMixture`
    with one component a class therefore minimises ::

        - sum_i w_i log P(y_i | eta_i1, ..., eta_im) + alpha / 2 * |theta|^2,    eta_ij = theta . t(x_ij) + b

    over bags i with weights w: it models no instances, only what tells the classes apart. Under the
    or-rule this is noisy-or diverse density with the mixture's own classifier of instances. The log-odds
    are all that labels can identify, and many features leave even them undetermined: hence alpha.

    Use it in place of `MIMixture` where bags are many, or the family describes the instances badly.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        As in `MIMixture`; a quadratic boundary for "gaussian", one without mixed terms for
        "gaussian_diag", a linear one for "gaussian_tied" and "bernoulli".
    rule : str or Rule, default="or"
        How instances make the label of a bag.
    alpha : float, default=1.0
        Strength of the penalty, on standardised statistics.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the bags.
    n_init : int, default=5
        Number of starts.
    tol : float, default=1e-6
        Converged when no entry of the objective's gradient, per unit of bag weight, is larger.
    max_iter : int, default=200
        The most iterations of a start.
    random_state : int, RandomState or None, default=None
        Source of the starts.
    verbose : int, default=0
        1 shows one live line on a terminal, a line per start elsewhere; 2 a line per iteration.

    Attributes
    ----------
    model_ : MILogisticRegression
        The fit on sufficient statistics: ``coef_`` and ``intercept_`` are theta and b.
    rule_, family_ : Rule, Family
        As used.
    classes_ : array of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_, log_likelihood_, n_iter_, converged_, n_passes_
        As in `MILogisticRegression`.

    Notes
    -----
    The cost is that of `MILogisticRegression` with as many features as there are statistics, which for
    full Gaussians of d features is d (d + 3) / 2. Instances must be complete. The statistics of bags in
    memory are held there; those of a scan are computed whenever it is read.

    References
    ----------
    J. Foulds and P. Smyth (2011), Multi-instance mixture models and semi-supervised learning, SDM,
    section 5.

    Examples
    --------
    >>> from bagwise import DiscriminativeMixture, make_mixture_bags
    >>> data = make_mixture_bags(100, separation=4.0, random_state=0)
    >>> model = DiscriminativeMixture(random_state=0).fit(data.bags, data.y)
    >>> model.model_.coef_.shape  # two features, two squares and a product
    (1, 5)
    >>> bool(model.score(data.bags, data.y) > 0.9)
    True
    """

    family_: Family
    model_: MILogisticRegression
    n_passes_: int
    rule_: Rule

    _accepts_sparse = False
    _streams = True

    _parameter_constraints: dict[str, Any] = {
        "family": [StrOptions(set(FAMILIES)), HasMethods(["sufficient"])],
        "rule": RULE_CONSTRAINT,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "class_weight": CLASS_WEIGHT_CONSTRAINT,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        rule: str | Rule = "or",
        alpha: float = 1.0,
        class_weight: ClassWeight = None,
        n_init: int = 5,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.family = family
        self.rule = rule
        self.alpha = alpha
        self.class_weight = class_weight
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _accepts_sequences(self) -> bool:
        return make_family(self.family).takes_sequences

    @validated_fit
    def fit(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: CheckpointLike | None = None,
    ) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            A file that keeps what the fit has found out so far: after a crash the same call goes on from
            there (docs/checkpoints.md). It is removed at the end.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        with opened(checkpoint, lambda: identity_of(self)) as place:
            self._fit(training, place)
        return self

    def _fit(self, training: Training, place: CheckpointLocation) -> None:
        bags, y, weight = training
        family, blocks = make_family(self.family), bags.blocks(y, weight)
        self.family_ = family.settled(blocks.total(look_at, family, blocks.begins))
        self.model_ = MILogisticRegression(
            self.rule,
            alpha=self.alpha,
            l1_ratio=0.0,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        try:
            self.model_.fit(self._statistics(bags), y, sample_weight=weight, checkpoint=place)
        finally:
            if hasattr(self.model_, "coef_"):  # also after Ctrl-C
                self._keep()
                self.n_passes_ = blocks.n_passes + self.model_.n_passes_

    def _keep(self) -> None:
        self.rule_ = self.model_.rule_
        for name in ("objective", "objective_history", "objectives", "log_likelihood", "n_iter", "converged"):
            setattr(self, f"{name}_", getattr(self.model_, f"{name}_"))

    def _statistics(self, bags: Bags | ScannedBags) -> Bags | ScannedBags:
        """Put sufficient statistics in the place of instances; those of a scan, as they are read."""
        sufficient = functools.partial(sufficient_of, self.family_)
        if isinstance(bags, ScannedBags):
            return bags.transformed(sufficient)
        return Bags(sufficient(bags.instances), bags.offsets)

    def _log_odds(self, bags: Bags) -> np.ndarray:
        return self.model_.decision_function_instances(self._statistics(bags))
