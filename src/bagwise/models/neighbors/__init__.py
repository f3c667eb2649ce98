"""Classifiers by the nearest bags: citation kNN and Bayesian kNN."""

from bagwise.models.neighbors.bayesian import BayesianKNNClassifier
from bagwise.models.neighbors.citation import CitationKNNClassifier

__all__ = ["BayesianKNNClassifier", "CitationKNNClassifier"]
