"""The discriminative counterpart of a mixture, which fits the same log-odds to the labels."""

from __future__ import annotations

import functools
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.sklearn_private import HasMethods, Interval, StrOptions
from bagwise._core.types import ClassWeight, PositiveLabel, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import TransformedBlocks
from bagwise.data.scanned import ScannedBags
from bagwise.families import FAMILIES, Family, make_family
from bagwise.families.parts import sufficient_of
from bagwise.families.refusal import columns_named_by
from bagwise.models.base import (
    CLASS_WEIGHT_CONSTRAINT,
    RULE_CONSTRAINT,
    BagsLike,
    Training,
    WaistClassifier,
    validated_fit,
)
from bagwise.models.linear_model import MILogisticRegression
from bagwise.models.mixture.build import Constants, look_at_all
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Rule
from bagwise.solvers.result import Recorded


class DiscriminativeMixture(Recorded, WaistClassifier):
    """Classifier that fits the log-odds of a two-component mixture by the conditional likelihood of labels.

    In an exponential family, the log-odds of two components are linear in the sufficient statistics t(x), and
    any coefficients correspond to some pair of components. This is the discriminative counterpart of
    `MIMixture` with one component per class. It minimizes ::

        - sum_i w_i log P(y_i | eta_i1, ..., eta_im) + alpha / 2 * |theta|^2,    eta_ij = theta . t(x_ij) + b

    over bags i with weights w. It does not model the density of the instances, only the difference between
    the classes. With the OR rule, it is noisy-OR diverse density with the instance classifier of the mixture.
    Labels only identify the log-odds, and with many features not even those; the penalty alpha makes the
    solution unique.

    Use it instead of `MIMixture` if there are many bags, or if the family describes the instances badly.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        Family of the components, as in `MIMixture`. The decision boundary is quadratic for "gaussian",
        quadratic without interactions for "gaussian_diag", and linear for "gaussian_tied" and "bernoulli".
    rule : str or Rule, default="or"
        Rule that determines the label of a bag from the labels of its instances.
    alpha : float, default=1.0
        Strength of the penalty on the coefficients of the standardized statistics.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied by the weights of the bags.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, each
        class is tried as the positive one, and the fit with the smaller `objective_` is kept.
    n_init : int, default=5
        Number of starts.
    tol : float, default=1e-6
        Convergence tolerance: the largest absolute entry of the gradient of the objective, divided by the
        total bag weight.
    max_iter : int, default=200
        Maximum number of iterations per start.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 shows a progress line on a terminal, and otherwise prints one line per start. 2 prints one line per
        iteration.

    Attributes
    ----------
    model_ : MILogisticRegression
        Fitted model of the sufficient statistics: ``coef_`` and ``intercept_`` are theta and b.
    rule_, family_ : Rule, Family
        The fitted rule and family.
    classes_ : array of shape (2,)
        The class labels.
    positive_label_ : label
        Label of the positive class.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_, log_likelihood_, n_iter_, converged_, n_passes_
        As in `MILogisticRegression`.

    Notes
    -----
    For Gaussian families, the statistics are those of the differences from the mean of the training instances
    (``family_.origin_``). Features that are constant in training are left out.

    The cost is that of `MILogisticRegression` with one feature per statistic. Full Gaussians of d features
    have d (d + 3) / 2 statistics. Instances must not have missing values. For bags in memory, the statistics
    are kept in memory; for `ScannedBags`, they are computed again in every pass.

    References
    ----------
    J. Foulds and P. Smyth (2011), Multi-instance mixture models and semi-supervised learning, SDM,
    section 5.

    See docs/explanation/papers.md for the equations of the paper.

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
    _constants: Constants | None = None

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
        "positive": "no_validation",
    }

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        rule: str | Rule = "or",
        alpha: float = 1.0,
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
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
        self.positive = positive
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
        """Fit the model.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            The labels, of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            File that stores the progress of the fit. After a crash, the same call resumes from it
            (docs/checkpoints.md). The file is removed when the fit is complete.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        with opened(checkpoint, lambda: identity_of(self)) as location:
            self._fit(training, location)
        return self

    def _fit(self, training: Training, location: CheckpointLocation) -> None:
        bags, y, weight = training
        family, blocks = make_family(self.family), bags.blocks(y, weight)
        sums, _, self._constants = look_at_all(family, blocks)
        if self._constants is not None:
            n_varying = int(self._constants.varies.sum())
            sums, _, _ = look_at_all(family, TransformedBlocks(blocks, self._constants.left_out, n_varying))
        self.family_ = family.settled(sums)
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
            self.model_.fit(self._statistics(bags), y, sample_weight=weight, checkpoint=location)
        finally:
            if hasattr(self.model_, "coef_"):  # true after Ctrl-C as well
                self._keep()
                self.n_passes_ = blocks.n_passes + self.model_.n_passes_

    def _keep(self) -> None:
        self.rule_ = self.model_.rule_
        for name in ("objective", "objective_history", "objectives", "log_likelihood", "n_iter", "converged"):
            setattr(self, f"{name}_", getattr(self.model_, f"{name}_"))

    def _statistics(self, bags: Bags | ScannedBags) -> Bags | ScannedBags:
        """Return bags of sufficient statistics; for `ScannedBags`, they are computed on reading."""
        sufficient = functools.partial(_sufficient, self.family_, self._constants)
        if isinstance(bags, ScannedBags):
            return bags.transformed(sufficient)
        return Bags(sufficient(bags.instances), bags.offsets)

    def _log_odds(self, bags: Bags) -> np.ndarray:
        return self.model_.decision_function_instances(self._statistics(bags))


def _sufficient(family: Family, constants: Constants | None, X: Any) -> np.ndarray:
    """Return the sufficient statistics of the features that vary in training."""
    if constants is None:
        return sufficient_of(family, X)
    with columns_named_by(constants.columns):
        return sufficient_of(family, constants.left_out(X))
