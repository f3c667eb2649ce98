"""The naive baseline: an instance classifier whose training labels are copied from the bags."""

from __future__ import annotations

from functools import partial
from inspect import signature
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import HasMethods, Interval, available_if
from bagwise._core.types import PositiveLabel, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import ColumnRanges
from bagwise.models.base import RULE_CONSTRAINT, BagsLike, WaistClassifier, has_posterior, validated_fit
from bagwise.models.base.streaming import in_files, in_memory, passes
from bagwise.rules import Rule, make_rule


def _gives_probabilities(model: Any) -> bool:
    return hasattr(getattr(model, "estimator_", model._inside()), "predict_proba")


def _gives_scores_only(model: Any) -> bool:
    return not _gives_probabilities(model)


class SingleInstanceClassifier(WaistClassifier):
    """Instance classifier, trained as if every instance had the label of its bag.

    A rule combines the classifier's log-odds for the instances of a new bag. The training labels are wrong
    for the negative instances of positive bags, so the predicted probabilities describe bags rather than
    instances. The model is fast and often a strong baseline.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any scikit-learn classifier; `LogisticRegression` by default. If the classifier has `predict_proba`,
        these probabilities are used. Otherwise the values of its `decision_function` are used as log-odds,
        and the model has `decision_function` instead of `predict_proba`.
    rule : str or Rule, default="mean"
        Rule that combines the instances of a bag: a name in `bagwise.rules.RULES`, or a `Rule`. "mean" suits
        labels copied from bags. "max" is the classic choice. "or" predicts too many large bags as positive.
    max_passes : int, default=10
        Number of passes of `partial_fit` over bags in files that do not fit in memory. Each pass reads the
        blocks in a random order. The result depends on this order and differs from a fit in memory.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, each
        class is tried as the positive one, and the fit with the smaller log loss of the training bags is
        kept.
    random_state : int, RandomState or None, default=None
        Seed of the random order.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the instances with labels 0 and 1.
    rule_ : Rule
        The fitted rule.
    classes_ : array of shape (2,)
        The labels.
    positive_label_ : label
        Label of the positive class.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from bagwise import SingleInstanceClassifier, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = SingleInstanceClassifier(RandomForestClassifier(random_state=0), rule="max")
    >>> model.fit(data.bags, data.y).predict_proba(data.bags).shape
    (60, 2)
    """

    rule_: Rule
    estimator_: Any
    # The value of every feature that is constant in training, and NaN for the other features; None if no
    # feature is constant.
    _constants: np.ndarray | None = None

    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "rule": RULE_CONSTRAINT,
        "max_passes": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "positive": "no_validation",
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        rule: str | Rule = "mean",
        max_passes: int = 10,
        positive: PositiveLabel = None,
        random_state: Seed = None,
    ):
        self.estimator = estimator
        self.rule = rule
        self.max_passes = max_passes
        self.positive = positive
        self.random_state = random_state

    def _inside(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    @property
    def _accepts_sparse(self) -> bool:
        return get_tags(self._inside()).input_tags.sparse

    @property
    def _accepts_missing(self) -> bool:
        return get_tags(self._inside()).input_tags.allow_nan

    @property
    def _streams(self) -> bool:
        return hasattr(self._inside(), "partial_fit")

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the classifier on all instances.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags. A scan requires a classifier with `partial_fit`.
        y : array of shape (n_bags,)
            Labels of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags; every instance has the weight of its bag.

        Returns
        -------
        self
        """
        bags, y, weight = self._read_training(X, y, sample_weight)
        ranges = bags.blocks(y, weight).total(ColumnRanges.of)
        is_constant = ranges.least == ranges.largest
        self._constants = np.where(is_constant, ranges.least, np.nan) if is_constant.any() else None
        self.rule_ = make_rule(self.rule).start(bags.offsets, y)
        inside = clone(self._inside())
        learns = inside.partial_fit if in_files(bags) else inside.fit
        is_weighted = "sample_weight" in signature(learns).parameters
        if not is_weighted and (weight != weight[0]).any():
            raise ValueError(
                f"sample_weight must be constant, because {type(inside).__name__} does not support weights."
            )

        def weights(of_each: np.ndarray) -> dict[str, np.ndarray]:
            return {"sample_weight": of_each} if is_weighted else {}

        with interruptible(at_once=True):
            if in_files(bags):
                classes = {"classes": np.array([0, 1], dtype=y.dtype)}
                for block in passes(self, bags, y, weight):
                    labels = np.repeat(block.y, np.diff(block.offsets))
                    inside.partial_fit(block.X, labels, **classes, **weights(block.weight_of_each))
                    classes = {}
                self.estimator_ = inside
            else:
                bags = in_memory(bags)
                of_each = weights(np.repeat(weight, bags.sizes))
                self.estimator_ = inside.fit(self._seen(bags.instances), np.repeat(y, bags.sizes), **of_each)
        return self

    @property
    def _direction_criterion(self) -> str:
        return "log loss of the training bags"

    def _direction_loss(self, X: BagsLike, y: ArrayLike, weight: np.ndarray) -> float:
        # A classifier can predict probabilities of 0 and 1; a single wrong bag must not dominate.
        labels = partial(self._encode_known, y)
        log_likelihood = np.maximum(self._by_blocks(X, self._log_proba_of, labels), np.log(1e-6))
        return -float(np.average(log_likelihood, weights=weight))

    def _seen(self, X: Any) -> Any:
        """Replace the features that are constant in training.

        A classifier passed by the user is fitted to the unchanged training instances. In new instances,
        values of a constant feature are replaced by the constant, unless they are missing. With the default
        classifier, and for sparse instances, they are replaced by 0.
        """
        if self._constants is None:
            return X
        columns = np.flatnonzero(~np.isnan(self._constants))
        if sp.issparse(X):
            X = X.copy()
            X.data[np.isin(X.indices, columns)] = 0.0
            return X
        values = np.zeros(len(columns)) if self.estimator is None else self._constants[columns]
        X = X.copy()
        X[:, columns] = np.where(np.isnan(X[:, columns]), np.nan, values)
        return X

    def _log_odds(self, bags: Bags) -> np.ndarray:
        # Use float64, so that the predictions of an instance do not depend on the other instances.
        inside, X = self.estimator_, self._seen(bags.instances.astype(np.float64, copy=False))
        if not hasattr(inside, "predict_proba"):
            return inside.decision_function(X)
        # A forest can predict a probability of 0 or 1; rules accept infinite log-odds.
        with np.errstate(divide="ignore"):
            log_proba = np.log(inside.predict_proba(X))
        return log_proba[:, 1] - log_proba[:, 0]

    # The methods depend on the wrapped classifier. With probabilities there is no decision_function,
    # because probabilities of 0 and 1 would lead to infinite scores.
    predict_log_proba = available_if(_gives_probabilities)(WaistClassifier.predict_log_proba)
    predict_proba = available_if(_gives_probabilities)(WaistClassifier.predict_proba)
    decision_function = available_if(_gives_scores_only)(WaistClassifier.decision_function)
    predict_proba_instances = available_if(_gives_probabilities)(WaistClassifier.predict_proba_instances)
    decision_function_instances = available_if(_gives_scores_only)(
        WaistClassifier.decision_function_instances
    )

    @available_if(lambda model: _gives_probabilities(model) and has_posterior(model))
    def posterior_instances(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Return P(instance positive | label of its bag): shape (n_instances,)."""
        return super().posterior_instances(X, y)

    @available_if(lambda model: _gives_probabilities(model) and has_posterior(model))
    def predict_proba_groups(self, X: BagsLike, by: str | ArrayLike) -> np.ndarray:
        """Return P(some instance of a group is positive), as `predict_proba`: shape (n_groups, 2)."""
        return super().predict_proba_groups(X, by)

    @available_if(lambda model: _gives_probabilities(model) and has_posterior(model))
    def posterior_groups(self, X: BagsLike, y: ArrayLike, by: str | ArrayLike) -> np.ndarray:
        """Return P(some instance of a group is positive | label of its bag): shape (n_groups,)."""
        return super().posterior_groups(X, y, by)
