"""Standard errors, intervals and tests of coefficients.

`likelihood`: log-likelihood, score and information near a fit and without features. `trust`: whether standard
errors are valid at a fit. `compute`: inference for a fitted model. `profile`: score tests and profile
likelihoods. `rate`: changes of bag probabilities. `table`: the result. `kept`: data that a fit stores for
inference.
"""

from bagwise.models.linear_model.inference.rate import rate_change
from bagwise.models.linear_model.inference.table import Inference

__all__ = ["Inference", "rate_change"]
