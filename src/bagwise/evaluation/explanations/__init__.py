"""Explanations of a prediction: the instances of a bag, and the features behind them.

`explain`: `explain_bag`, and what a score loses if a feature has its median value, for any model with
instance scores. `explanation`: the result and its plot.
"""

from bagwise.evaluation.explanations.explain import explain_bag
from bagwise.evaluation.explanations.explanation import BagExplanation

__all__ = ["BagExplanation", "explain_bag"]
