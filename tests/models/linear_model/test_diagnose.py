"""`diagnose_rule`: the best rule, the report and the plot."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from bagwise import SoftORLogisticRegression, diagnose_rule, make_count_bags

# The features separate instances well; bags have ten instances, and about half of the bags are positive.
TRUTHS = {
    "or": (1, -13.0),
    "threshold": (3, -5.0),
    "logistic": (lambda n, m: expit(n - 3.5), -4.0),
}


def draw(name, seed):
    labeler, intercept = TRUTHS[name]
    return make_count_bags(
        400, size=10, labeler=labeler, coef=[8.0, -8.0], intercept=intercept, random_state=seed
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTHS)
def test_the_true_rule_is_named(name):
    # docs/count_rules.md shows the rates over 50 data sets per rule.
    named = [diagnose_rule(*_bags_and_labels(name, seed), cv=None, random_state=0).best for seed in range(5)]
    assert named.count(name) >= 4


def _bags_and_labels(name, seed):
    data = draw(name, seed)
    return data.bags, data.y


@pytest.mark.slow
def test_the_report_says_what_was_compared():
    data = draw("threshold", 1)
    base = SoftORLogisticRegression(alpha=0.1, n_init=1)
    diagnosis = diagnose_rule(data.bags, data.y, estimator=base, cv=3, random_state=0)
    assert diagnosis.best == "threshold"
    assert diagnosis.sentence.startswith("The data ")
    assert "at least 3 positive instances" in diagnosis.sentence
    assert "held-out bags agree" in diagnosis.sentence
    table = diagnosis.summary()
    assert str(diagnosis) == table
    assert all(name in table for name in ("or", "threshold", "logistic", "table"))
    expected = -2 * diagnosis.log_likelihood + np.log(400) * (3 + diagnosis.n_parameters)
    np.testing.assert_allclose(diagnosis.bic, expected)
    assert diagnosis.held_out.argmax() != diagnosis.names.index("or")
    assert diagnosis.plot() is not None
    again = diagnose_rule(data.bags, data.y, estimator=base, cv=3, random_state=0)
    np.testing.assert_array_equal(diagnosis.held_out, again.held_out)


def test_the_python_of_the_page_runs():
    page = (Path(__file__).parents[3] / "docs" / "count_rules.md").read_text()
    scope = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.S):
        exec(block, scope)
    assert scope["model"].rule_.k == 3


def test_a_threshold_of_one_is_the_or_rule():
    data = draw("or", 1)
    diagnosis = diagnose_rule(data.bags, data.y, cv=None, random_state=0)
    assert "threshold" not in diagnosis.names and diagnosis.best == "or"
    assert "one positive instance makes a bag positive" in diagnosis.sentence


def test_bags_that_no_fold_holds_out_do_not_count():
    data = make_count_bags(60, size=4, labeler=2, random_state=0)
    half = ShuffleSplit(n_splits=1, test_size=0.5, random_state=0)
    model = SoftORLogisticRegression(alpha=0.1, n_init=1, tol=1e-3)
    diagnosis = diagnose_rule(data.bags, data.y, estimator=model, cv=half, random_state=0)
    train, test = next(half.split(np.zeros(60), data.y))
    fitted = clone(diagnosis.models["or"]).fit(data.bags[train], data.y[train])
    log_proba = fitted.predict_log_proba(data.bags[test])[np.arange(30), data.y[test]]
    expected = np.maximum(log_proba, np.log(1e-6)).mean()
    assert diagnosis.held_out[diagnosis.names.index("or")] == pytest.approx(expected, rel=1e-12)
