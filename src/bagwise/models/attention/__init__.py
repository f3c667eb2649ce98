"""`AttentionMILClassifier`: a network with gated attention, trained with torch. Predictions need no torch.

`classifier` is the estimator. `network` is the forward pass in numpy, with the weights as one vector.
`gradient` is the loss of a block and its gradient, the only module that imports torch. A loss is a sum
over blocks, so a network learns from files. A step uses all bags: weights are the same as repetition, and
only the start and the validation bags are random.
"""

from bagwise.models.attention.classifier import AttentionMILClassifier

__all__ = ["AttentionMILClassifier"]
