"""How instance labels make a bag label: bag rules, and links that have no instance labels.

A rule turns the log-odds of a bag's instances into the likelihood of the bag's label, and back into
the posterior of every instance. Instance models know no rule, and rules know no instance model.
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
