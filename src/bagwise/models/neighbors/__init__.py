"""Nearest-neighbor classifiers of bags: `citation` kNN and `bayesian` kNN; `base`: their shared code."""

from bagwise.models.neighbors.bayesian import BayesianKNNClassifier
from bagwise.models.neighbors.citation import CitationKNNClassifier

__all__ = ["BayesianKNNClassifier", "CitationKNNClassifier"]
