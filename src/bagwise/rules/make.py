"""Conversion of the `rule` parameter of estimators to rule objects."""

from __future__ import annotations

from numpy.typing import ArrayLike

from bagwise._core.named_parts import make_part
from bagwise.rules.base import Rule
from bagwise.rules.labelers import CountLogistic, CountTable
from bagwise.rules.links import GeometricMean, LogOddsMean, Max, SoftMax
from bagwise.rules.mean import Mean
from bagwise.rules.or_ import Or
from bagwise.rules.threshold import Threshold

# All rule names. Parameter constraints, error messages and tests use this dictionary.
RULES: dict[str, type[Rule]] = {
    "or": Or,
    "mean": Mean,
    "softmax": SoftMax,
    "geometric_mean": GeometricMean,
    "log_odds_mean": LogOddsMean,
    "max": Max,
    "count_table": CountTable,
    "count_logistic": CountLogistic,
    "threshold": Threshold,
}


def make_rule(spec: str | Rule) -> Rule:
    """Return the rule for `spec`; a name is converted to a rule with default parameters.

    Parameters
    ----------
    spec : str or Rule
        A name in `RULES`, or a Rule object, which is returned without cloning.

    Returns
    -------
    Rule

    Examples
    --------
    >>> from bagwise.rules import make_rule
    >>> make_rule("softmax")
    SoftMax()
    """
    return make_part(spec, "rule", RULES, Rule)


def start_fixed(rule: Rule, offsets: ArrayLike, y: ArrayLike) -> Rule:
    """Start a rule for a method that cannot learn rules; raise an error if it has parameters to learn."""
    rules = rule.alternatives(offsets, y)
    if len(rules) == 1 and not rules[0].learns:
        return rules[0]
    raise ValueError(
        f"rule={rule!r} has parameters to learn, which this method does not support; fit "
        "MILogisticRegression or SoftORLogisticRegression with it first, and pass the fitted rule_ (for "
        "example Threshold(3))."
    )
