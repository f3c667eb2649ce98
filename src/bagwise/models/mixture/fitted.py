"""What a fitted mixture says of bags: probabilities, densities, what labels are worth, and new bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state

from bagwise._core.interrupt import interruptible
from bagwise._core.types import Seed
from bagwise.data.bags import Bags
from bagwise.families import Family
from bagwise.models.base import BagsLike, WaistClassifier, is_positive
from bagwise.models.mixture.bound import bayes_error_bound
from bagwise.models.mixture.draw import draw_instances
from bagwise.models.mixture.params import MixtureParams, class_log_joint, component_log_joint, log_odds_of
from bagwise.rules import Rule
from bagwise.solvers.result import Recorded


class FittedMixture(Recorded, WaistClassifier):
    """All that follows from the parameters of a mixture; a subclass finds them.

    A subclass sets ``family_`` and hands its parameters to `_keep`.
    """

    positive_weights_: np.ndarray
    negative_weights_: np.ndarray
    params_: MixtureParams
    rule_: Rule
    positive_rate_: float
    positive_components_: list[Any]
    negative_components_: list[Any]
    family_: Family
    classes_: np.ndarray
    exponent_: float

    def _keep(self, params: MixtureParams) -> None:
        """Set the fitted attributes that describe the parameters."""
        p = params.n_positive
        self.params_ = params
        self.exponent_ = 1.0
        self.rule_ = params.rule
        self.positive_rate_ = float(np.exp(params.log_rate[1]))
        self.positive_components_ = list(params.components[:p])
        self.negative_components_ = list(params.components[p:])
        self.positive_weights_ = np.exp(params.log_weights[:p])
        self.negative_weights_ = np.exp(params.log_weights[p:])

    def _class_log_joint(self, bags: Bags) -> np.ndarray:
        joint = component_log_joint(self.family_, bags.instances, self.params_)
        return class_log_joint(joint, self.params_.n_positive)

    def _log_odds(self, bags: Bags) -> np.ndarray:
        return self.exponent_ * log_odds_of(self._class_log_joint(bags))

    @interruptible(at_once=True)
    def _bag_log_proba(self, bags: Bags) -> np.ndarray:
        log_proba = self.rule_.log_proba(log_odds_of(self._class_log_joint(bags)), bags.offsets)
        if self.exponent_ == 1.0:
            return log_proba
        # Not the rule of calibrated instances: half-hearted ones would make every large bag positive.
        log_odds = self.exponent_ * (log_proba[:, 1] - log_proba[:, 0])
        return -np.logaddexp(0.0, np.column_stack([log_odds, -log_odds]))

    def score_samples(self, X: BagsLike) -> np.ndarray:
        """Log density of the instances of every bag, whatever their labels and the bag's.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return self._by_blocks(X, self._log_density)

    def _log_density(self, bags: Bags) -> np.ndarray:
        by_instance = np.logaddexp(*self._class_log_joint(bags))
        return np.add.reduceat(by_instance, bags.offsets[:-1])  # no bag is empty

    # ------------------------------------------------------------------ one class, of positive bags

    @property
    def _two_labels(self) -> np.ndarray:
        return self.classes_ if len(self.classes_) == 2 else np.array([0, 1]).astype(self.classes_.dtype)

    def _class_columns(self, of_both: np.ndarray) -> np.ndarray:
        """The columns of ``classes_``: where all bags are positive, they are so for certain."""
        return of_both if len(self.classes_) == 2 else np.zeros((len(of_both), 1))

    def predict_log_proba(self, X: BagsLike) -> np.ndarray:
        """Log probability of every class, for every bag: shape (n_bags, n_classes)."""
        return self._class_columns(super().predict_log_proba(X))

    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Probability of every class, for every bag: shape (n_bags, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the more probable label of every bag, the positive one at a tie: shape (n_bags,)."""
        labels = super().predict(X)
        return labels if len(self.classes_) == 2 else np.full(len(labels), self.classes_[0])

    # ------------------------------------------------------------------ what labels are worth, and samples

    def information_cost(self, X: BagsLike) -> np.ndarray:
        """Bits that are lost if the label of a positive bag is ignored: -log2 P(+ | instances).

        A positive label says most about a bag that looks negative, and next to nothing about a large bag
        that is positive almost surely: then semi-supervised learning does as well (eq. 7.3).

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            Positive bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return -super().predict_log_proba(X)[:, 1] / np.log(2)

    def bayes_error_bound(
        self, size: int | ArrayLike, *, n_samples: int = 100_000, random_state: Seed = None
    ) -> float | np.ndarray:
        """Bound the error of the best classifier of bags of `size` instances, if the fitted model is true.

        Parameters
        ----------
        size : int or array
            Instances per bag.
        n_samples : int, default=100_000
            Instances of each class that are drawn to estimate its error rate.
        random_state : int, RandomState or None, default=None
            Source of the draw.

        Returns
        -------
        float or array
            See `bagwise.bayes_error_bound`.
        """
        rng = check_random_state(random_state)
        calls = []
        for label in (False, True):
            z = np.full(n_samples, label)
            drawn = Bags(draw_instances(self.family_, self.params_, z, rng), np.arange(n_samples + 1))
            calls.append(np.mean(is_positive(self._log_odds(drawn))))
        return bayes_error_bound(
            size,
            positive_rate=self.positive_rate_,
            false_positive_rate=calls[0],
            false_negative_rate=1 - calls[1],
        )

    def sample(self, n_bags: int = 1, sizes: int | ArrayLike = 5, *, random_state: Seed = None) -> Bunch:
        """Draw bags from the fitted model.

        Parameters
        ----------
        n_bags : int, default=1
            Number of bags.
        sizes : int or array of shape (n_bags,), default=5
            Instances of every bag.
        random_state : int, RandomState or None, default=None
            Source of the draw.

        Returns
        -------
        Bunch
            `bags`; `y` (n_bags,) and `instance_y` (n_instances,), in terms of ``classes_`` (0 and 1, or False
            and True, after a fit to positive bags alone).
        """
        rng = check_random_state(random_state)
        sizes = np.broadcast_to(np.asarray(sizes, dtype=np.int64), (n_bags,))
        if n_bags < 1 or (sizes < 1).any():
            raise ValueError(f"sample needs bags of at least one instance; got n_bags={n_bags!r}, {sizes!r}.")
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        z = rng.random_sample(offsets[-1]) < self.positive_rate_
        certain = np.where(z, np.inf, -np.inf)
        positive = np.exp(self.rule_.log_proba(certain, offsets)[:, 1])
        y = rng.random_sample(n_bags) < positive
        bags = Bags(draw_instances(self.family_, self.params_, z, rng), offsets)
        return Bunch(bags=bags, y=self._two_labels[y.astype(int)], instance_y=self._two_labels[z.astype(int)])

    def _count_parameters(self) -> int:
        rates = 1 + len(self.params_.components) - 2
        return rates + self.family_.count_parameters(self.params_.components)

    def bic(self, X: BagsLike) -> float:
        """Bayesian information criterion of the instances' density, lower is better.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        float
            Every instance counts as an observation.
        """
        penalty = np.log(self._read(X, whole=False).n_instances) * self._count_parameters()
        return float(penalty - 2 * self.score_samples(X).sum())

    def aic(self, X: BagsLike) -> float:
        """Akaike's information criterion of the instances' density, lower is better: see `bic`."""
        return float(2 * self._count_parameters() - 2 * self.score_samples(X).sum())
