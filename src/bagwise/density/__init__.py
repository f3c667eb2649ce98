"""Diverse density: one point in feature space that positive bags have in common."""

from bagwise.density.diverse_density import DiverseDensity
from bagwise.density.emdd import EMDD

__all__ = ["EMDD", "DiverseDensity"]
