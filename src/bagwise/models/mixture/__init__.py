"""Generative models of bags: mixtures whose components belong to classes."""

from bagwise.models.mixture.bound import bayes_error_bound
from bagwise.models.mixture.discriminative import DiscriminativeMixture
from bagwise.models.mixture.mimixture import MIMixture

__all__ = ["DiscriminativeMixture", "MIMixture", "bayes_error_bound"]
