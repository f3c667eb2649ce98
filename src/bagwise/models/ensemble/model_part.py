"""Bag classifiers with instance scores: parts of the ensemble that are fitted one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from bagwise._core.checkpoint import CheckpointLocation
from bagwise.data.bags import Bags
from bagwise.models.base import Training
from bagwise.models.base.folds import Split
from bagwise.models.base.held_out import cross_predict
from bagwise.models.base.tags import can_use_absence
from bagwise.models.ensemble.members import FittedMember
from bagwise.models.ensemble.training import OpenTraining
from bagwise.models.linear_model import MILogisticRegression
from bagwise.models.svm import MISVC
from bagwise.models.trees import MIGradientBoostingClassifier

_OUTPUT = ["decision_function"]
# Ridge penalties of the coefficients, relative to a loss that is summed over bags.
_ALPHAS = (1.0, 10.0)
# Penalties C of the SVMs, descriptions of the scaling of instances for reports, and the number of trees.
COSTS = (1.0, 10.0)
_SCALED = {"minmax": "scaled to 0..1", "rank": "ranked"}
N_TREES = 50


@dataclass(frozen=True)
class Models:
    """Bag classifiers with instance scores; every setting is a model that is fitted and predicts separately.

    Subclasses define `names` and `make`.

    Attributes
    ----------
    is_reversed : bool
        Whether the models are fitted to the negative class: a bag is negative because of one instance.
    """

    is_reversed: bool = False

    @property
    def names(self) -> list[str]:
        """Descriptions of the settings."""
        raise NotImplementedError

    def make(self, seed: int) -> list[Any]:
        """Return an unfitted model for every setting."""
        raise NotImplementedError

    @property
    def can_use_absence(self) -> bool:
        """Whether adding an instance to a bag can lower the score of the second class."""
        return self.is_reversed or any(can_use_absence(model) for model in self.make(0))

    def fit(
        self,
        training: Training,
        splits: list[Split],
        seed: int,
        n_jobs: int | None,
        checkpoint: CheckpointLocation,
    ) -> FittedMember:
        """Fit a model for every setting, on all bags and on the training bags of each fold."""
        bags, y, weight = training
        models, sign, of_class = self.make(seed), 1.0, ""
        if self.is_reversed:
            y, sign, of_class = 1 - y, -1.0, " for the other class"
        scores = []
        for index, model in enumerate(models):
            inside = checkpoint.within(f"setting {index + 1}")
            held = cross_predict(
                model, bags, y, splits, outputs=_OUTPUT, sample_weight=weight, checkpoint=inside
            )
            assert held.score is not None
            scores.append(sign * held.score)
            resumes = {"checkpoint": inside} if has_fit_parameter(model, "checkpoint") else {}
            model.fit(bags, y, weight, **resumes)
        return FittedMember(
            [f"{name}{of_class}" for name in self.names],
            np.ones(len(models), dtype=bool),
            np.array(scores),
            np.zeros(len(models)),  # the scores include the intercepts
            lambda factor, instance_factor: ModelPart(models, sign * factor, sign * instance_factor),
        )


@dataclass(frozen=True)
class InstanceModels(Models):
    """Logistic regression on instances with one rule, at several ridge penalties.

    Attributes
    ----------
    rule : {"mean", "or"}
        Rule that combines instance probabilities into the probability of a bag.
    """

    rule: str = "or"

    @property
    def names(self) -> list[str]:
        """Descriptions of the settings."""
        return [f"logistic regression on instances, rule {self.rule}, alpha {alpha:g}" for alpha in _ALPHAS]

    def make(self, seed: int) -> list[Any]:
        """Return a model for every ridge penalty."""
        return [
            MILogisticRegression(self.rule, alpha=alpha, l1_ratio=0.0, random_state=seed) for alpha in _ALPHAS
        ]


@dataclass(frozen=True)
class WitnessModels(Models):
    """MI-SVMs on instances with one scaling, at several penalties.

    Attributes
    ----------
    scale : {"minmax", "rank"}
        Scaling of the instances.
    """

    scale: Literal["minmax", "rank"] = "minmax"

    @property
    def names(self) -> list[str]:
        """Descriptions of the settings."""
        return [f"MI-SVM, instances {_SCALED[self.scale]}, C {C:g}" for C in COSTS]

    def make(self, seed: int) -> list[Any]:
        """Return a model for every penalty."""
        return [MISVC(C=C, scale=self.scale, random_state=seed) for C in COSTS]


@dataclass(frozen=True)
class TreeModels(Models):
    """Gradient-boosted trees on instances with the rule "or"."""

    @property
    def names(self) -> list[str]:
        """Descriptions of the settings."""
        return [f"boosted trees, rule or, {N_TREES} trees"]

    def make(self, seed: int) -> list[Any]:
        """Return the only model."""
        return [MIGradientBoostingClassifier("or", n_estimators=N_TREES, random_state=seed)]


@dataclass(frozen=True)
class ModelPart:
    """Fitted models, each with a factor for its bag scores and one for its instance scores."""

    models: list[Any]
    factor: np.ndarray
    instance_factor: np.ndarray

    def log_odds(self, bags: Bags, training: OpenTraining | None) -> np.ndarray:
        """Return the contribution of the part to the log-odds of bags."""
        scores = (model.decision_function(bags) for model in self.models)
        return sum(factor * score for factor, score in zip(self.factor, scores, strict=True))

    def instance_log_odds(self, bags: Bags, training: OpenTraining | None) -> np.ndarray:
        """Return the contribution of the part to the log-odds of instances."""
        scores = (model.decision_function_instances(bags) for model in self.models)
        return sum(factor * score for factor, score in zip(self.instance_factor, scores, strict=True))
