"""Trees of instances: grown by scikit-learn, kept as plain arrays, and added up to a score by boosting."""

from bagwise.models.trees.boosting import MIGradientBoostingClassifier

__all__ = ["MIGradientBoostingClassifier"]
