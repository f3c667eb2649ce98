"""Bags to vectors: transformers after which any scikit-learn classifier can follow."""

from bagwise.embedding.clusters import ClusterEmbedding
from bagwise.embedding.statistics import BagStatistics

__all__ = ["BagStatistics", "ClusterEmbedding"]
