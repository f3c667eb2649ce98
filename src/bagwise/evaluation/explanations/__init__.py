"""Why a bag is what a model says it is: its instances, and the features behind them."""

from bagwise.explanations.explain import explain_bag
from bagwise.explanations.explanation import BagExplanation

__all__ = ["BagExplanation", "explain_bag"]
