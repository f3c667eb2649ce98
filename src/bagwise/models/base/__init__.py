"""Shared code of all estimators: input validation, labels and weights, scaling, and predictions.

A bag estimator is a scikit-learn estimator whose ``X`` can be a `Bags`, a `ScannedBags`, a list of 2-D
arrays, a 3-D array, or a plain 2-D array (bags of one instance). `BagEstimator` validates it, and
`BagClassifier` adds labels and weights. Predictions are computed from bag scores (`ScoreClassifier`), from
instance scores (`InstanceScoreClassifier`), or from instance log-odds and a rule (`WaistClassifier`).
`BagRegressor` predicts a real value for every bag.

All estimators follow these rules:

- A model has only the methods that it supports: instance-level methods and `posterior_instances` exist
  only if the model describes instances. They return one row per instance, in the order of
  ``bags.instances``.
- ``positive_label_`` is the positive class: the parameter `positive`, or a default (`labels`). A tie
  (score 0, probability 1/2) is predicted as positive. Inside a model, codes, scores and columns refer to
  the negative and the positive class; public outputs have the order of ``classes_``, as in scikit-learn.
- After a fit: `n_iter_`, `converged_`, `objective_`, `objective_history_` (never increasing),
  `objectives_` (all starts) and `training_digest_`. A `ConvergenceWarning` reports the cause and a remedy.
- Iterative models take ``checkpoint=path`` in `fit`. Ctrl-C ends a fit after its current step.
- The same `random_state` leads to bit-identical results in every container. Finite input never leads to
  NaN.

All predictions go through ``_by_blocks``: large bags and files are read block by block.

- `estimators`: input validation, the decorator of every `fit`, predictions block by block; transformers and
  regressors.
- `classifiers`, `waist`: base classes of classifiers; `waist` adds log-odds and a rule.
- `direction`: fits of text labels with each class as the positive one.
- `tags`: whether a model can use the absence of instances.
- `labels`: labels, weights and the digest of a fit. `scaling`: the parameter ``scale``.
- `streaming`: ``partial_fit`` of third-party estimators, block by block.
- `folds`: cross-validation inside a fit. `held_out`: predictions of held-out bags in cross-validation.
  `calibration`: probabilities from held-out scores. `log_loss`: the log loss of a bag.
- `rank_scaler`: ranks among training values. A sketch stores the values of every column with their weights.
  The sketches of two blocks can be added. If a column has too many values, neighboring values are merged.
"""

from bagwise.data.types import BagsLike
from bagwise.models.base.classifiers import BagClassifier, InstanceScoreClassifier, ScoreClassifier
from bagwise.models.base.estimators import BagEstimator, BagRegressor, BagTransformer, validated_fit
from bagwise.models.base.labels import (
    CLASS_WEIGHT_CONSTRAINT,
    Training,
    bag_weights,
    class_factors,
    encode_labels,
    is_as_probable,
    is_positive,
    refuse_lost_classes,
    refuse_unknown_labels,
    training_digest,
)
from bagwise.models.base.scaling import (
    SCALE_CONSTRAINT,
    Scaled,
    affine_map,
    fit_scaler,
    ignore_constants,
    varying_features,
)
from bagwise.models.base.waist import RULE_CONSTRAINT, WaistClassifier, has_posterior

__all__ = [
    "CLASS_WEIGHT_CONSTRAINT",
    "RULE_CONSTRAINT",
    "SCALE_CONSTRAINT",
    "BagClassifier",
    "BagEstimator",
    "BagRegressor",
    "BagTransformer",
    "BagsLike",
    "InstanceScoreClassifier",
    "Scaled",
    "ScoreClassifier",
    "Training",
    "WaistClassifier",
    "affine_map",
    "bag_weights",
    "class_factors",
    "encode_labels",
    "fit_scaler",
    "has_posterior",
    "ignore_constants",
    "is_as_probable",
    "is_positive",
    "refuse_lost_classes",
    "refuse_unknown_labels",
    "training_digest",
    "validated_fit",
    "varying_features",
]
