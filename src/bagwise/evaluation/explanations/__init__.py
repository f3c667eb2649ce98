"""Explanations of a prediction by the instances of a bag and their features.

`explain` contains `explain_bag` and computes feature effects for any model with instance scores. A feature
effect is the change in an instance's score compared with the median value of the feature. `explanation`
contains the result and its plot.
"""

from bagwise.evaluation.explanations.explain import explain_bag
from bagwise.evaluation.explanations.explanation import BagExplanation

__all__ = ["BagExplanation", "explain_bag"]
