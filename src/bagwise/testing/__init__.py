"""Checks for built-in and third-party bag estimators and rules.

`check_bag_estimator` runs the bag checks on an estimator, and `bag_checks` lists them for pytest.
`check_rule` compares a rule with the enumeration of all labelings. `all_estimators` returns the estimators
that bagwise exports. scikit-learn's `check_estimator` works as well, because a 2-D array means bags of one
instance.

`checks`: the bag checks. `discovery`: public estimators and rules. `oracles`: enumeration.
"""

from bagwise.testing.checks import bag_checks, check_bag_estimator
from bagwise.testing.discovery import all_estimators, all_rules, example_of
from bagwise.testing.oracles import check_rule, enumerate_labels

__all__ = [
    "all_estimators",
    "all_rules",
    "bag_checks",
    "check_bag_estimator",
    "check_rule",
    "enumerate_labels",
    "example_of",
]
