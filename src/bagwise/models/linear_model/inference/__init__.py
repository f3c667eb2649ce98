"""Standard errors, intervals and tests of coefficients.

`likelihood`: the likelihood around a fit and without features. `trust`: whether standard errors hold there.
`compute`, `profile`, `rate`: tests of a fitted model, score tests and profiles, rates. `table`: the result.
`kept`: what a fit stores for it.
"""

from bagwise.models.linear_model.inference.rate import rate_change
from bagwise.models.linear_model.inference.table import Inference

__all__ = ["Inference", "rate_change"]
