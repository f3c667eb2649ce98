"""Why a bag is what a model says it is: its instances, and the features behind them."""

from bagwise.evaluation.explanations.explain import explain_bag
from bagwise.evaluation.explanations.explanation import BagExplanation

__all__ = ["BagExplanation", "explain_bag"]
