"""Trees of instances: grown by scikit-learn, kept as plain arrays, and boosted under any rule.

`growing`: trees on the order of values. `flat`: trees as arrays, checked before every prediction.
`losses`: gradient and curvature of bags. `additive`: boosting steps. `boosting`:
`MIGradientBoostingClassifier`.
"""

from bagwise.models.trees.boosting import MIGradientBoostingClassifier

__all__ = ["MIGradientBoostingClassifier"]
