"""Bag rules, which determine bag labels from instance labels, and links without instance labels.

A rule computes the likelihood of the bag label and the posterior of every instance from the log-odds of the
instances. Instance models and rules do not depend on each other. All computations are in the log domain,
without clipping. The posterior and its complement are accurate to 1e-12.

- `base`: the interface. `curvature` is the exact Hessian for the or, mean and geometric-mean rules, and the
  Fisher information for the other rules. `or_`, `threshold`, `mean`: rules with latent labels. `links`:
  softmax, geometric mean and maximum, which have a likelihood and a gradient but no posterior.
- `learned`: the base class of rules with learned parameters. The prior of a rule is a term of the
  objective. Fisher's identity yields its gradient from the statistics of the E step, so coefficients and rule
  are learned together. With an L1 penalty, they are learned in alternation.
- `count`, `labelers`: count rules, which depend on the number of positive instances (docs/count_rules.md).
  They use one forward and one backward recursion, in the log domain only if plain floats underflow. Large
  bags use a tree of convolutions without Fourier transforms.
- `make` defines the names that users can pass.
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
