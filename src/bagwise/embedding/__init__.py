"""Bags to vectors: transformers after which any scikit-learn classifier can follow."""

from bagwise.embedding.statistics import BagStatistics

__all__ = ["BagStatistics"]
