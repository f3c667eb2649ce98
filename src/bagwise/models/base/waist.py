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
from bagwise.data.bags.instance_groups import InstanceGroups, group_instances
from bagwise.data.types import BagsLike
from bagwise.models.base.classifiers import ScoreClassifier
from bagwise.rules import RULES, Rule, make_rule

# In group probabilities, log-odds are limited to this absolute value: exp(-700) is the smallest power that is
# not denormal.
_LARGEST = 700.0
# Allowed values of `rule`, for `_parameter_constraints`.
RULE_CONSTRAINT: list[Any] = [StrOptions(set(RULES)), Rule]


def has_posterior(estimator: Any) -> bool:
    """Return whether the rule has latent instance labels; otherwise `posterior_instances` does not exist."""
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

    # Without this, compiled code can turn Ctrl-C into a SystemError, and a surrounding search would continue.
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
        """Return the class probabilities of every instance, like `predict_proba`: shape (n_instances, 2)."""
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

    @available_if(has_posterior)
    def predict_proba_groups(self, X: BagsLike, by: str | ArrayLike) -> np.ndarray:
        """Return the probability that a group of instances contains a positive one, without the bag's label.

        Use it for bags that consist of several parts, such as patients with several slides (`Bags.merge`).

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        by : str, or array of shape (n_instances,)
            Name of an instance column, such as "slide", or the group of every instance.

        Returns
        -------
        array of shape (n_groups, 2)
            Columns as in `predict_proba`. The groups are ordered by bag and by first appearance in the bag.
        """
        log_odds, _, groups = self._log_odds_of_groups(X, by)
        log_none = _log_none(log_odds, groups)
        return self._in_class_order(np.column_stack([np.exp(log_none), -np.expm1(log_none)]))

    @available_if(has_posterior)
    def posterior_groups(self, X: BagsLike, y: ArrayLike, by: str | ArrayLike) -> np.ndarray:
        """Return the probability that a group of instances contains a positive one, given the bag's label.

        It shows which slide makes a patient positive. The probability is the exact marginal of the joint
        posterior of all instance labels: 1 - P(all instances of the group are negative | label).

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,)
            Labels of the bags, from ``classes_``.
        by : str, or array of shape (n_instances,)
            Name of an instance column, such as "slide", or the group of every instance.

        Returns
        -------
        array of shape (n_groups,)
            The groups are ordered by bag and by first appearance in the bag.
        """
        log_odds, bags, groups = self._log_odds_of_groups(X, by)
        labels = self._encode_known(y, bags)
        log_none = _log_none(log_odds, groups)
        everywhere = _log_likelihood(self.rule_, log_odds, bags.offsets, labels)
        for rank in range(int(groups.rank.max()) + 1):
            # The groups with this rank, at most one per bag, are excluded at the same time.
            chosen = groups.rank == rank
            part = groups.bag[chosen]
            rows = np.isin(np.repeat(np.arange(len(bags)), bags.sizes), part)
            excluded = np.where(chosen[groups.of_instance], -np.inf, log_odds)[rows]
            offsets = np.append(0, np.cumsum(bags.sizes[part]))
            without = _log_likelihood(self.rule_, excluded, offsets, labels[part])
            log_none[chosen] += without - everywhere[part]
        posterior = -np.expm1(np.minimum(log_none, 0.0))
        posterior[self.rule_.pure_bags(labels)[groups.bag]] = 0.0
        return posterior

    def _log_odds_of_groups(self, X: BagsLike, by: str | ArrayLike) -> tuple[np.ndarray, Any, InstanceGroups]:
        bags = self._read(X, whole=False)
        groups = group_instances(bags, by)
        # Log-odds of +-inf can contradict the label; the limit is that of large finite values.
        return np.clip(self._by_blocks(X, self._log_odds), -_LARGEST, _LARGEST), bags, groups


def _log_none(log_odds: np.ndarray, groups: InstanceGroups) -> np.ndarray:
    """Return log P(no instance of the group is positive), without labels."""
    return -np.bincount(groups.of_instance, weights=np.logaddexp(0.0, log_odds), minlength=len(groups.bag))


def _log_likelihood(rule: Rule, log_odds: np.ndarray, offsets: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return log P(label) of every bag."""
    return rule.log_proba(log_odds, offsets)[np.arange(len(labels)), labels]


def _both(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of the negative and the positive class."""
    return np.column_stack([expit(-log_odds), expit(log_odds)])
