"""`AttentionMILClassifier`: a network with gated attention, trained with torch; prediction uses NumPy.

- `classifier`: the estimator.
- `network`: the forward pass in NumPy, and the layout of the weights in one vector.
- `gradient`: the loss and its gradient for a block of bags. This is the only module that imports torch.

The loss is a sum over blocks, so training also works with bags in files. Every step uses all bags, so a bag
with weight 2 is equivalent to two copies of the bag. Only the initial weights and the validation bags are
random.
"""

from bagwise.models.attention.classifier import AttentionMILClassifier

__all__ = ["AttentionMILClassifier"]
