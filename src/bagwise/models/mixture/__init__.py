"""Generative models of bags: mixtures whose components belong to classes."""

from bagwise.mixture.bound import bayes_error_bound
from bagwise.mixture.discriminative import DiscriminativeMixture
from bagwise.mixture.mimixture import MIMixture

__all__ = ["DiscriminativeMixture", "MIMixture", "bayes_error_bound"]
