"""The estimator contract: reading of bags, labels and weights, scaling, and predictions.

A bag estimator is a scikit-learn estimator whose ``X`` may be a `Bags`, a `ScannedBags`, a list of 2-D
arrays, a 3-D array, or a plain 2-D array (bags of one instance). `BagEstimator` reads it, `BagClassifier`
adds labels and weights. Predictions follow from scores of bags (`ScoreClassifier`), from scores of
instances (`InstanceScoreClassifier`), or from instance log-odds and a rule (`WaistClassifier`);
`BagRegressor` predicts numbers.

What every estimator keeps to:

- A model has only the methods that it supports: instance-level methods and `posterior_instances` exist
  only where the model describes instances. They return one row per instance, in the order of
  ``bags.instances``.
- ``classes_[1]`` is the positive class, and a tie (score 0, probability 1/2) is positive.
- After a fit: `n_iter_`, `converged_`, `objective_`, `objective_history_` (never increasing),
  `objectives_` (all starts) and `training_digest_`; a `ConvergenceWarning` names cause and remedy.
- Iterative models take ``checkpoint=path`` in `fit`. Ctrl-C ends a fit after its current step.
- The same `random_state` gives the same bits in every container. No NaN follows from finite input.

All predictions go through ``_by_blocks``: large bags and files are read block by block.

- `estimators`: reading of bags, the decorator of every `fit`, predictions block by block; transformers and
  regressors.
- `classifiers`, `waist`: base classes on top of it; the last has log-odds and a rule.
- `labels`: labels, weights and the digest of a fit. `scaling`: what ``scale=`` does to instances.
- `streaming`: third-party ``partial_fit``, block by block.
- `folds`: cross-validation inside a fit. `held_out`: fits to the training bags of folds, and predictions of
  the rest. `calibration`: from held-out scores to probabilities. `log_loss`: the log loss of a bag.
- `rank_scaler`: ranks among training values. Values of every column are kept with their weights in a
  sketch; sketches of two blocks add up, and where there are too many values, neighbours are merged.
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
from bagwise.models.base.scaling import SCALE_CONSTRAINT, Scaled, affine_map, fit_scaler
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
    "is_as_probable",
    "is_positive",
    "refuse_lost_classes",
    "refuse_unknown_labels",
    "training_digest",
    "validated_fit",
]
