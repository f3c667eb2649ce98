"""`WaistClassifier`: bag and instance predictions from instance log-odds and a rule."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import StrOptions, available_if
from bagwise.data.bags import Bags
from bagwise.data.types import BagsLike
from bagwise.models.base.classifiers import ScoreClassifier
from bagwise.rules import RULES, Rule, make_rule

# Allowed values of `rule`, for `_parameter_constraints`.
RULE_CONSTRAINT: list[Any] = [StrOptions(set(RULES)), Rule]


def has_posterior(estimator: Any) -> bool:
    """Return whether the rule has latent instance labels; otherwise `posterior_instances` is absent."""
    rule = getattr(estimator, "rule_", None) or make_rule(estimator.rule)
    return rule.has_latent_labels


class WaistClassifier(ScoreClassifier):
    """Base class of classifiers that compute all predictions from instance log-odds and a rule.

    Subclasses define `fit`, which sets ``rule_``, and `_log_odds`: the log-odds that an instance is positive.
    """

    def _log_odds(self, bags: Bags) -> np.ndarray:
        """Return the log-odds of every instance: shape (n_instances,)."""
        raise NotImplementedError

    @property
    def _can_use_absence(self) -> bool:
        rule = getattr(self, "rule_", None) or make_rule(getattr(self, "rule", "or"))
        return rule.can_use_absence

    # Without this, compiled code can turn a Ctrl-C into a SystemError, and a surrounding search continues.
    @interruptible(at_once=True)
    def _bag_log_proba(self, bags: Bags) -> np.ndarray:
        return self.rule_.log_proba(self._log_odds(bags), bags.offsets)

    def _log_proba_of(self, bags: Bags, labels: np.ndarray) -> np.ndarray:
        """Return the log probability of the label of every bag, from labels 0 and 1."""
        return self._bag_log_proba(bags)[np.arange(len(bags)), labels]

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        log_proba = self._bag_log_proba(bags)
        return log_proba[:, 1] - log_proba[:, 0]

    def predict_log_proba(self, X: BagsLike) -> np.ndarray:
        """Return the log probabilities of the two classes for every bag, in the order of ``classes_``.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags, 2)
        """
        return self._in_class_order(self._by_blocks(X, self._bag_log_proba))

    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Return the probabilities of the two classes, in the order of ``classes_``: shape (n_bags, 2)."""
        return self._in_class_order(np.exp(self._by_blocks(X, self._bag_log_proba)))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the more probable label of every bag; ties are positive: shape (n_bags,)."""
        return self._more_probable(np.exp(self._by_blocks(X, self._bag_log_proba)))

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the log-odds of ``classes_[1]`` for every bag: shape (n_bags,)."""
        return super().decision_function(X)

    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Return the log-odds of ``classes_[1]`` for every instance: shape (n_instances,), in bag order."""
        return self._signed(self._by_blocks(X, self._log_odds))

    def predict_proba_instances(self, X: BagsLike) -> np.ndarray:
        """Return the class probabilities of every instance, as `predict_proba`: shape (n_instances, 2)."""
        return self._in_class_order(_both(self._by_blocks(X, self._log_odds)))

    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the more probable label of every instance; ties are positive: shape (n_instances,)."""
        return self._more_probable(_both(self._by_blocks(X, self._log_odds)))

    @available_if(has_posterior)
    def posterior_instances(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Return the probability that an instance is positive, given the label of its bag.

        The posterior identifies the instances that make a bag positive. Under the noisy-OR rule, it is 0 in
        negative bags, and the posteriors in a positive bag sum to at least 1.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,)
            Labels of the bags, from ``classes_``.

        Returns
        -------
        array of shape (n_instances,)
        """
        return self._by_blocks(X, self._posterior, partial(self._encode_known, y))

    def _posterior(self, bags: Bags, labels: np.ndarray) -> np.ndarray:
        return self.rule_.estep(self._log_odds(bags), bags.offsets, labels).posterior


def _both(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of the negative and the positive class."""
    return np.column_stack([expit(-log_odds), expit(log_odds)])
