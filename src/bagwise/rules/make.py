"""From the value of an estimator's `rule` parameter to a rule."""

from __future__ import annotations

from bagwise.rules.base import Rule
from bagwise.rules.links import GeometricMean, Max, SoftMax
from bagwise.rules.mean import Mean
from bagwise.rules.or_ import Or

RULES: dict[str, type[Rule]] = {
    "or": Or,
    "mean": Mean,
    "softmax": SoftMax,
    "geometric_mean": GeometricMean,
    "max": Max,
}


def make_rule(spec: str | Rule) -> Rule:
    """Return the rule that `spec` means: a name gives the rule with its defaults.

    Parameters
    ----------
    spec : {"or", "mean", "softmax", "geometric_mean", "max"} or Rule
        A Rule object is returned as it is, not cloned.

    Returns
    -------
    Rule

    Examples
    --------
    >>> from bagwise.rules import make_rule
    >>> make_rule("softmax")
    SoftMax()
    """
    if isinstance(spec, Rule):
        return spec
    if isinstance(spec, str) and spec in RULES:
        return RULES[spec]()
    names = ", ".join(repr(name) for name in RULES)
    raise ValueError(f"rule must be one of {names}, or a Rule object such as Or(); got {spec!r}.")
