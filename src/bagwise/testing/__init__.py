"""Checks for built-in and third-party bag estimators and rules.

`check_bag_estimator` runs the bag checks on an estimator, and `bag_checks` lists them for pytest.
`check_rule` compares a rule with the enumeration of all labelings. `check_assumption` tests whether a model
uses a signal that its assumption forbids. `all_estimators` returns the estimators that bagwise exports.
scikit-learn's `check_estimator` works as well, because a 2-D array means bags of one instance.

`checks`: the bag checks. `assumptions`: the algorithmic unit tests. `discovery`: public estimators and rules.
`oracles`: enumeration.
"""

from bagwise.testing.assumptions import AssumptionScores, assumption_scores, check_assumption
from bagwise.testing.checks import bag_checks, check_bag_estimator
from bagwise.testing.discovery import all_estimators, all_rules, example_of
from bagwise.testing.oracles import check_rule, enumerate_labels

__all__ = [
    "AssumptionScores",
    "all_estimators",
    "all_rules",
    "assumption_scores",
    "bag_checks",
    "check_assumption",
    "check_bag_estimator",
    "check_rule",
    "enumerate_labels",
    "example_of",
]
