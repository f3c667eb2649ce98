"""`log_proba`: the likelihoods of `gradient` for both labels, without the gradient where that saves time."""

import numpy as np
import pytest

from bagwise.rules import GeometricMean, LogOddsMean, Max, Mean, Or, SoftMax
from bagwise.rules.base import Rule

RULES = [Or(), GeometricMean(), Mean(), Max(), SoftMax(), SoftMax(-2.0), LogOddsMean()]


@pytest.mark.parametrize("scale", [1, 30, 300, 1000])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_values_are_the_likelihoods_of_both_labels(rule, scale):
    """For bags of any size, also empty ones, faint bags and infinite log-odds, bit for bit."""
    rng = np.random.default_rng(scale)
    offsets = np.append(0, np.cumsum(rng.integers(0, 100, 300) // rng.integers(1, 60, 300)))
    log_odds = rng.standard_normal(offsets[-1]) * scale - rng.choice([0, 40, 800], offsets[-1])
    for value in (np.inf, -np.inf):
        log_odds[rng.random(len(log_odds)) < 0.02] = value
    assert {0, 1, 2} < set(np.diff(offsets))
    np.testing.assert_array_equal(rule.log_proba(log_odds, offsets), Rule.log_proba(rule, log_odds, offsets))


@pytest.mark.parametrize("rule", [Or(), GeometricMean(), Mean(), Max()], ids=str)
def test_no_gradient_is_computed(rule, monkeypatch):
    monkeypatch.setattr(type(rule), "gradient", None)
    log_proba = rule.log_proba([0.0, 1.0], [0, 2])
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_wrong_offsets_are_an_error(rule):
    with pytest.raises(ValueError, match="offsets must start with 0"):
        rule.log_proba([0.0, 1.0], [0, 3])
