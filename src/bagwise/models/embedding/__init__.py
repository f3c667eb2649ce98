"""Bags to vectors: transformers after which any scikit-learn classifier can follow."""

from bagwise.embedding.aggregates import FisherEmbedding, VLADEmbedding
from bagwise.embedding.clusters import ClusterEmbedding
from bagwise.embedding.dissimilarity import DissimilarityEmbedding
from bagwise.embedding.statistics import BagStatistics
from bagwise.embedding.trees import TreeEmbedding

__all__ = [
    "BagStatistics",
    "ClusterEmbedding",
    "DissimilarityEmbedding",
    "FisherEmbedding",
    "TreeEmbedding",
    "VLADEmbedding",
]
