"""Bag rules: how instance labels make a bag label, and links that have no instance labels.

A rule turns the log-odds of a bag's instances into the likelihood of the bag's label, and back into the
posterior of every instance. Instance models and rules do not depend on each other. Everything is computed
in the log domain, without clipping: a posterior and its complement are accurate to 1e-12.

- `base`: the interface; `curvature` is the exact Hessian for or, mean and geometric mean, and Fisher's
  information for the others. `or_`, `threshold`, `mean`: rules with latent labels. `links`: softmax,
  geometric mean and maximum, which have a likelihood and a gradient but no posterior.
- `learned`: the base of rules with parameters. A rule's prior is a term of the objective, and Fisher's
  identity gives its gradient from the statistics of the E step, so coefficients and rule are learned in
  one run; with an L1 penalty they take turns.
- `count`, `labelers`: rules of the number of positive instances (docs/count_rules.md). One forward and
  one backward recursion, in plain floats unless something underflows, else in the log domain; large bags
  go through a tree of convolutions without Fourier transforms.
- `make` has the names that users pass.
"""

from bagwise.rules.base import Link, Rule, RuleResult
from bagwise.rules.count import CountRule
from bagwise.rules.labelers import CountLogistic, CountTable
from bagwise.rules.learned import LearnedRule
from bagwise.rules.links import GeometricMean, LogOddsMean, Max, SoftMax
from bagwise.rules.make import RULES, make_rule, start_fixed
from bagwise.rules.mean import Mean
from bagwise.rules.or_ import Or
from bagwise.rules.threshold import Threshold

__all__ = [
    "CountLogistic",
    "CountRule",
    "CountTable",
    "GeometricMean",
    "LearnedRule",
    "Link",
    "LogOddsMean",
    "Max",
    "Mean",
    "Or",
    "RULES",
    "Rule",
    "RuleResult",
    "SoftMax",
    "Threshold",
    "make_rule",
    "start_fixed",
]
