"""Instance models that read the bags in blocks: parts of the ensemble for large data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._core.checkpoint import CheckpointLocation
from bagwise.data.bags import Bags
from bagwise.models.base import Training
from bagwise.models.base.folds import Split
from bagwise.models.base.held_out import cross_predict
from bagwise.models.ensemble.members import FittedMember
from bagwise.models.ensemble.training import OpenTraining
from bagwise.models.linear_model import MILogisticRegression

_OUTPUT = ["decision_function"]
# Ridge penalties of the coefficients, relative to a loss that is summed over bags.
_ALPHAS = (1.0, 10.0)


@dataclass(frozen=True)
class InstanceModels:
    """Logistic regression on instances with one rule, at several ridge penalties.

    Attributes
    ----------
    rule : {"mean", "or"}
        Rule that combines instance probabilities into the probability of a bag.
    is_reversed : bool
        Whether the rule is applied to the negative class: a bag is negative if one of its instances is.
    """

    rule: str
    is_reversed: bool = False

    def fit(
        self,
        training: Training,
        splits: list[Split],
        seed: int,
        n_jobs: int | None,
        checkpoint: CheckpointLocation,
    ) -> FittedMember:
        """Fit a model for every penalty, on all bags and on the training bags of each fold."""
        models = [
            MILogisticRegression(self.rule, alpha=alpha, l1_ratio=0.0, random_state=seed) for alpha in _ALPHAS
        ]
        bags, y, weight = training
        sign, of_class = 1.0, ""
        if self.is_reversed:
            y, sign, of_class = 1 - y, -1.0, " for the other class"
        scores = []
        for alpha, model in zip(_ALPHAS, models, strict=True):
            inside = checkpoint.within(f"alpha {alpha:g}")
            held = cross_predict(
                model, bags, y, splits, outputs=_OUTPUT, sample_weight=weight, checkpoint=inside
            )
            assert held.score is not None
            scores.append(sign * held.score)
            model.fit(bags, y, weight, checkpoint=inside)
        return FittedMember(
            [
                f"logistic regression on instances, rule {self.rule}{of_class}, alpha {alpha:g}"
                for alpha in _ALPHAS
            ],
            np.ones(len(models), dtype=bool),
            np.array(scores),
            np.zeros(len(models)),  # the scores include the intercepts
            lambda factor, instance_factor: ModelPart(models, sign * factor, sign * instance_factor),
        )


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
