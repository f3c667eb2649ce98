"""Gradient boosting with trees of instances: grown by scikit-learn, stored as plain arrays.

- `growing`: grows trees on the ranks of feature values. `flat`: trees as arrays, validated before every
  prediction.
- `losses`: gradient and curvature of bag losses. `additive`: boosting steps.
- `boosting`: `MIGradientBoostingClassifier`.
"""

from bagwise.models.trees.boosting import MIGradientBoostingClassifier

__all__ = ["MIGradientBoostingClassifier"]
