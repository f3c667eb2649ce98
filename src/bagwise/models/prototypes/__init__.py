"""Bags by their nearness to prototypes: instances, centres, or targets of diverse density."""

from bagwise.prototypes.embedding import PrototypeEmbedding
from bagwise.prototypes.miles import MILESClassifier

__all__ = ["MILESClassifier", "PrototypeEmbedding"]
