"""Embeddings: transformers from bags to vectors, to be followed by any scikit-learn classifier.

`statistics`, `clusters`, `aggregates` (VLAD and Fisher vectors), `dissimilarity` (distances to training
bags), `trees` (tree nodes). `instances` samples the training instances.
"""

from bagwise.models.embedding.aggregates import FisherEmbedding, VLADEmbedding
from bagwise.models.embedding.clusters import ClusterEmbedding
from bagwise.models.embedding.dissimilarity import DissimilarityEmbedding
from bagwise.models.embedding.statistics import BagStatistics
from bagwise.models.embedding.trees import TreeEmbedding

__all__ = [
    "BagStatistics",
    "ClusterEmbedding",
    "DissimilarityEmbedding",
    "FisherEmbedding",
    "TreeEmbedding",
    "VLADEmbedding",
]
