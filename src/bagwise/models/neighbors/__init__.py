"""Classifiers by the nearest bags: `citation` kNN and `bayesian` kNN; `base` is what they share."""

from bagwise.models.neighbors.bayesian import BayesianKNNClassifier
from bagwise.models.neighbors.citation import CitationKNNClassifier

__all__ = ["BayesianKNNClassifier", "CitationKNNClassifier"]
