"""How sure the coefficients are: errors, intervals, tests, and selection by them."""

from bagwise.models.linear_model.inference.rate import rate_change
from bagwise.models.linear_model.inference.table import Inference

__all__ = ["Inference", "rate_change"]
