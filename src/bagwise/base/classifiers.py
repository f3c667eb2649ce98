"""Classifiers of bags, and the predictions that follow from instance log-odds and a rule."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if

from bagwise._bag_parts import as_python
from bagwise._sklearn import StrOptions
from bagwise.bags import Bags
from bagwise.base.estimators import BagEstimator
from bagwise.base.labels import Training, bag_weights, class_factors, encode_labels
from bagwise.rules import RULES, Rule, make_rule

# What `rule` may be, for `_parameter_constraints`.
RULE_CONSTRAINT = [StrOptions(set(RULES)), Rule]


class BagClassifier(ClassifierMixin, BagEstimator):
    """A binary classifier of bags; ``classes_[1]`` is the positive class."""

    def _read_training(self, X, y, sample_weight=None, *, with_class_weight: bool = True) -> Training:
        """Read the arguments of `fit` and set ``classes_``; bags of weight zero are left out.

        Without class weights the weights say how often a bag is there, which some models must count.
        """
        bags = self._read(X, reset=True)
        y = encode_labels(self, y, X, bags)
        weight = bag_weights(bags, sample_weight)
        class_weight = getattr(self, "class_weight", None) if with_class_weight else None
        weight *= class_factors(class_weight, self.classes_, y, weight)[y]
        kept = weight > 0
        if not kept.all():
            bags, y, weight = bags[kept], y[kept], weight[kept]
            if len(np.unique(y)) < 2:
                raise ValueError(
                    "the bags of non-zero sample_weight belong to one class only; "
                    f"{type(self).__name__} needs positive and negative bags, that is, two classes."
                )
        return Training(bags, y, weight)

    def _encode_known(self, y, bags: Bags) -> np.ndarray:
        """Encode labels given after the fit: int8, 1 for the positive class."""
        y = column_or_1d(y)
        if len(y) != len(bags):
            raise ValueError(f"X has {len(bags)} bags but y has {len(y)} labels.")
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y has the label {as_python(y[np.argmax(unknown)])!r}, which the fit did not see; the "
                f"classes are {self.classes_.tolist()}."
            )
        return (y == self.classes_[1]).astype(np.int8)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def has_posterior(estimator) -> bool:
    """Whether the rule has latent instance labels; else the method is absent."""
    rule = getattr(estimator, "rule_", None) or make_rule(estimator.rule)
    return rule.has_latent_labels


class WaistClassifier(BagClassifier):
    """A classifier made of instance log-odds and a rule: every prediction follows from the two.

    A subclass fits, sets ``rule_``, and gives `_log_odds`: the log-odds that an instance is positive.
    """

    def _log_odds(self, bags: Bags) -> np.ndarray:
        """Give the log-odds of every instance, shape (n_instances,)."""
        raise NotImplementedError

    def _bag_log_proba(self, X) -> np.ndarray:
        bags = self._read(X)
        return self.rule_.log_proba(self._log_odds(bags), bags.offsets)

    def predict_log_proba(self, X) -> np.ndarray:
        """Log probability of the negative and the positive class, for every bag.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags, 2)
        """
        return self._bag_log_proba(X)

    def predict_proba(self, X) -> np.ndarray:
        """Probability of the negative and the positive class, for every bag: shape (n_bags, 2)."""
        return np.exp(self._bag_log_proba(X))

    def decision_function(self, X) -> np.ndarray:
        """Log-odds that a bag is positive: shape (n_bags,)."""
        log_proba = self._bag_log_proba(X)
        return log_proba[:, 1] - log_proba[:, 0]

    def predict(self, X) -> np.ndarray:
        """Predict the more probable label of every bag: shape (n_bags,)."""
        log_proba = self._bag_log_proba(X)
        return self.classes_[(log_proba[:, 1] > log_proba[:, 0]).astype(int)]

    def decision_function_instances(self, X) -> np.ndarray:
        """Log-odds that an instance is positive: shape (n_instances,), in the order of the bags."""
        return self._log_odds(self._read(X))

    def predict_proba_instances(self, X) -> np.ndarray:
        """Probability that an instance is negative, positive: shape (n_instances, 2)."""
        log_odds = self._log_odds(self._read(X))
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict_instances(self, X) -> np.ndarray:
        """Predict the more probable label of every instance: shape (n_instances,)."""
        return self.classes_[(self._log_odds(self._read(X)) > 0).astype(int)]

    @available_if(has_posterior)
    def posterior_instances(self, X, y) -> np.ndarray:
        """Probability that an instance is positive, given the label of its bag.

        This answers who made a bag positive: under the or-rule the instances of a negative bag have 0,
        and those of a positive bag share at least 1.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,)
            Their labels, in terms of ``classes_``.

        Returns
        -------
        array of shape (n_instances,)
        """
        bags = self._read(X)
        labels = self._encode_known(y, bags)
        return self.rule_.estep(self._log_odds(bags), bags.offsets, labels).posterior
