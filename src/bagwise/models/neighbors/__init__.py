"""Classifiers by the nearest bags."""

from bagwise.neighbors.bayesian import BayesianKNNClassifier
from bagwise.neighbors.citation import CitationKNNClassifier

__all__ = ["BayesianKNNClassifier", "CitationKNNClassifier"]
