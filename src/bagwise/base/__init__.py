"""What every estimator shares: the one door for input, labels, scaling, and the predictions.

An estimator of bags is a scikit-learn estimator whose ``X`` may be a `Bags`, a list of 2-D arrays, a 3-D
array, or a plain 2-D array (bags of one instance). `BagEstimator` reads it, `BagClassifier` adds labels
and weights, and `WaistClassifier` derives every prediction of a bag or an instance from two things:
instance log-odds and a rule.
"""

from bagwise._sklearn import validated_fit
from bagwise.base.classifiers import RULE_CONSTRAINT, BagClassifier, WaistClassifier, has_posterior
from bagwise.base.estimators import BagEstimator, BagTransformer
from bagwise.base.labels import Training, bag_weights, class_factors, encode_labels
from bagwise.base.reading import read_bags
from bagwise.base.scaling import SCALE_CONSTRAINT, affine_map, fit_scaler

__all__ = [
    "RULE_CONSTRAINT",
    "SCALE_CONSTRAINT",
    "BagClassifier",
    "BagEstimator",
    "BagTransformer",
    "Training",
    "WaistClassifier",
    "affine_map",
    "bag_weights",
    "class_factors",
    "encode_labels",
    "fit_scaler",
    "has_posterior",
    "read_bags",
    "validated_fit",
]
