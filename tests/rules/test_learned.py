"""Learned rules: clones contain the learned values, and rules that use no counts can learn, too."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone

from bagwise import CountLogistic, CountTable, MILogisticRegression, MIMixture, Threshold, make_noisy_or_bags
from bagwise.rules import LearnedRule, Or, RuleResult
from bagwise.testing import all_rules, check_rule

OFFSETS = np.array([0, 2, 5, 9, 10])
LABELS = np.array([0, 1, 1, 0])
OPEN = [CountLogistic(slope=2.0), CountLogistic(intercept=-1.0), CountTable(monotone=True)]
# All rules of `all_rules`, and some of which only a part is learned.
RULES = [*(cls() for cls in all_rules()), *OPEN]


def same(a, b):
    return a is b or (type(a) is type(b) and np.array_equal(a, b))


def assert_alike(rule, twin):
    ours, theirs = rule.get_params(), twin.get_params()
    assert list(ours) == list(theirs)
    assert all(same(ours[name], theirs[name]) for name in ours)
    assert twin.learns == rule.learns and twin.n_parameters == rule.n_parameters
    assert twin.log_prior() == rule.log_prior()
    log_odds = np.random.default_rng(0).normal(size=10)
    np.testing.assert_array_equal(twin.log_proba(log_odds, OFFSETS), rule.log_proba(log_odds, OFFSETS))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_clone_of_a_rule_is_the_rule_before_and_after_a_fit(rule):
    data = make_noisy_or_bags(40, size=4, coef=[2.0, -2.0], random_state=0)
    assert str(clone(rule)) == str(rule)
    started = rule.start(OFFSETS, LABELS)
    assert_alike(started, clone(started))
    fitted = MILogisticRegression(rule, l1_ratio=0.0, n_init=1, random_state=0).fit(data.bags, data.y).rule_
    assert_alike(fitted, clone(fitted))
    assert type(fitted)(**fitted.get_params()).get_params().keys() == fitted.get_params().keys()


@pytest.mark.parametrize("rule", [CountTable(), *OPEN, CountLogistic()], ids=str)
def test_a_clone_goes_on_learning_what_was_learned(rule):
    # Regression test: the clone lost its prior and its parameters to learn.
    started = rule.start(OFFSETS, LABELS)
    result = started.estep(np.linspace(-2, 2, 10), OFFSETS, LABELS)
    once, twin = started.update(result.statistics), clone(started).update(result.statistics)
    assert started.learns and once.learns and started.log_prior() < 0
    assert_alike(once, twin)


@pytest.mark.parametrize("rule", [CountTable(), *OPEN, CountLogistic()], ids=str)
def test_what_a_fit_has_learned_is_given_in_another(rule):
    learned = rule.start(OFFSETS, LABELS)
    fixed = clone(learned).start(OFFSETS, LABELS)
    assert learned.learns and not fixed.learns and fixed.log_prior() == 0.0 == fixed.n_parameters
    assert fixed.start(OFFSETS, LABELS) is fixed
    log_odds = np.linspace(-2, 2, 10)
    np.testing.assert_array_equal(fixed.log_proba(log_odds, OFFSETS), learned.log_proba(log_odds, OFFSETS))


@pytest.mark.parametrize(
    "rule, expected",
    [
        (Or(), 0),
        (Threshold(3), 1),
        (CountTable([0.1, 0.9]), 0),
        (CountTable([0.1, 0.9, 0.9, 0.90001], learned=("values",)), 2),
        (CountLogistic(-3.0, 1.0), 0),
        (CountLogistic(-3.0, 1.0, learned=("slope",), n_counts=5), 1),
        (CountLogistic(-3.0, 1.0, learned=("intercept", "slope"), n_counts=5), 2),
    ],
    ids=str,
)
def test_parameters_that_the_data_settled_are_counted(rule, expected):
    assert rule.n_parameters == expected


@pytest.mark.parametrize(
    "rule, message",
    [
        (
            CountTable([0.1, 0.9], learned=("slope",)),
            r"learned must be a tuple .* from \('values',\)",
        ),
        (CountTable([0.1, 0.9], learned="values"), "learned must be a tuple with names"),
        (CountLogistic(0.0, 1.0, learned=("values",)), "learned must be a tuple with names"),
        (CountLogistic(0.0, 1.0, learned=("slope",)), "learned needs n_counts"),
    ],
    ids=str,
)
def test_what_cannot_have_been_learned_is_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        rule.log_proba(np.zeros(2), [0, 2])


# ---------------------------------------------------------------------- a rule that uses no counts


class FlippedOr(LearnedRule):
    """The or rule with wrong labels at a rate e: P(y | z) = (1 - e) [y = or] + e [y != or]."""

    def __init__(self, rate=None, learned=()):
        self.rate = rate
        self.learned = learned

    def start(self, offsets, y):
        if self.rate is None:
            return FlippedOr(0.2, learned=("rate",))
        return FlippedOr(self.rate) if self.learned else self

    def _terms(self, y):
        y = np.asarray(y)
        return [(np.log1p(-self.rate), y), (np.log(self.rate), np.where(y < 0, -1, 1 - y))]

    def _responsibilities(self, log_odds, offsets, y):
        values = [log_p + Or().gradient(log_odds, offsets, label)[0] for log_p, label in self._terms(y)]
        total = np.logaddexp(*values)
        return np.where(np.asarray(y) < 0, 0.0, total), [np.exp(value - total) for value in values]

    def estep(self, log_odds, offsets, y, weight=None):
        value, shares = self._responsibilities(log_odds, offsets, y)
        parts = [Or().estep(log_odds, offsets, label) for _, label in self._terms(y)]
        each = [np.repeat(share, np.diff(offsets)) for share in shares]
        posterior = sum(share * part.posterior for share, part in zip(each, parts, strict=True))
        complement = sum(share * part.complement for share, part in zip(each, parts, strict=True))
        label_weight = self.known_labels(y) * (1.0 if weight is None else np.asarray(weight))
        return RuleResult(value, posterior, complement, np.array([label_weight @ share for share in shares]))

    def hessian_product(self, log_odds, offsets, y, v):
        _, shares = self._responsibilities(log_odds, offsets, y)
        product, mean, pull = 0.0, 0.0, 0.0
        for share, (_, label) in zip(shares, self._terms(y), strict=True):
            _, gradient = Or().gradient(log_odds, offsets, label)
            along = np.add.reduceat(gradient * v, offsets[:-1])
            each = np.repeat(share, np.diff(offsets))
            of_this = Or().hessian_product(log_odds, offsets, label, v)
            product = product + each * (of_this + gradient * np.repeat(along, np.diff(offsets)))
            mean, pull = mean + each * gradient, pull + share * along
        return product - mean * np.repeat(pull, np.diff(offsets))

    def log_prior(self):
        return float(np.log(self.rate) + np.log1p(-self.rate)) if self.learned else 0.0

    def parameters(self):
        return np.array([logit(self.rate)]) if self.learned else np.empty(0)

    def with_parameters(self, vector):
        return FlippedOr(float(expit(vector[0])), self.learned)

    def expected_log_likelihood(self, statistics):
        return float(statistics @ [np.log1p(-self.rate), np.log(self.rate)])

    def parameter_gradient(self, statistics):
        kept, flipped = statistics + 1.0
        return np.array([flipped * (1 - self.rate) - kept * self.rate])


@pytest.fixture(scope="module")
def flipped():
    data = make_noisy_or_bags(300, size=4, coef=[6.0, -6.0], intercept=-3.0, random_state=0)
    wrong = np.random.default_rng(1).random(300) < 0.1
    return data.bags, np.where(wrong, 1 - data.y, data.y)


def test_the_toy_rule_agrees_with_brute_force():
    check_rule(FlippedOr(0.1))


@pytest.mark.slow
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0], ids=["together", "in turns"])
def test_any_rule_may_be_learned_with_the_coefficients(flipped, l1_ratio):
    bags, y = flipped
    settings = dict(alpha=0.5, l1_ratio=l1_ratio, n_init=2, tol=1e-8, random_state=0)
    model = MILogisticRegression(FlippedOr(), **settings).fit(bags, y)
    rule = model.rule_
    assert model.converged_ and rule.learns and rule.n_parameters == 1
    assert abs(rule.rate - 0.1) < 0.05
    history = np.asarray(model.objective_history_)
    assert (np.diff(history) <= 1e-9 * np.abs(history[:-1])).all()
    # No other rate nearby is better, even with refitted coefficients.
    for step in (-0.1, 0.0, 0.1):
        at = rule.with_parameters(rule.parameters() + step)
        fixed = MILogisticRegression(FlippedOr(at.rate), **settings).fit(bags, y)
        assert fixed.objective_ - at.log_prior() >= model.objective_ - 1e-6
    assert fixed.log_likelihood_ < model.log_likelihood_ + 1.0


def test_mixtures_learn_such_a_rule_too():
    rng = np.random.default_rng(0)
    z = rng.random((200, 4)) < 0.2
    X = rng.normal(size=(200, 4, 1)) + 4.0 * z[..., None]
    y = np.where(rng.random(200) < 0.1, 1 - z.any(axis=1), z.any(axis=1)).astype(int)
    model = MIMixture(rule=FlippedOr(), n_init=2, random_state=0).fit(X, y)
    assert abs(model.rule_.rate - 0.1) < 0.05
    history = np.asarray(model.objective_history_)
    assert (np.diff(history) <= 1e-9 * np.abs(history[:-1])).all()


def test_a_rule_that_learns_and_is_no_learned_rule_is_refused(flipped):
    class Eager(Or):
        learns = True

    with pytest.raises(TypeError, match="must be a LearnedRule"):
        MILogisticRegression(Eager(), l1_ratio=0.0).fit(*flipped)


@pytest.mark.parametrize("method", ["with_parameters", "parameter_gradient", "expected_log_likelihood"])
def test_a_learned_rule_that_lacks_a_method_says_which(method):
    with pytest.raises(NotImplementedError, match=f"LearnedRule must define {method}"):
        getattr(LearnedRule(), method)(np.zeros(1))


def test_values_that_are_equal_at_the_end_of_a_table_can_part_again():
    # The likelihood treats counts with equal values as one count, but learning does not.
    table = CountTable([0.1, 0.5, 0.5, 0.5], monotone=True, learned=("values",))
    log_odds, offsets = np.tile([5.0, 5.0, 5.0, 5.0, -5.0, -5.0], 20), np.arange(0, 121, 3)
    y = np.tile([1, 0], 20)
    result = table.estep(log_odds, offsets, y)
    by_bag = table.count_proba(log_odds, offsets, y)
    np.testing.assert_allclose(result.statistics, [by_bag[y == 0].sum(axis=0), by_bag[y == 1].sum(axis=0)])
    values = table.update(result.statistics).values
    assert values[3] > 0.9 and values[1] < 0.3
