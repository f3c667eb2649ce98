"""Explanations of a prediction by the instances of a bag and their features.

`explain` contains `explain_bag` and computes feature effects (the change of an instance's score if a feature
had its median value) for any model with instance scores. `explanation` contains the result and its plot.
"""

from bagwise.evaluation.explanations.explain import explain_bag
from bagwise.evaluation.explanations.explanation import BagExplanation

__all__ = ["BagExplanation", "explain_bag"]
