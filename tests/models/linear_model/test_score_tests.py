"""Score tests and their intervals, compared with other packages, direct formulas and simulations."""

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit

from bagwise import (
    CountLogistic,
    MILogisticRegression,
    SoftORLogisticRegression,
    make_count_bags,
    make_noisy_or_bags,
)


def maximum_likelihood(rule="or", **parameters):
    return MILogisticRegression(rule, alpha=0.0, tol=1e-9, random_state=0, **parameters)


def test_bags_of_one_instance_have_the_score_tests_of_statsmodels():
    data = make_noisy_or_bags(60, size=1, coef=[1.0, -0.5, 0.0], random_state=0)
    X, y = data.bags.instances, data.y
    weight = np.random.default_rng(0).integers(1, 3, size=60)
    inference = maximum_likelihood().fit(X, y, weight).inference()
    design = sm.add_constant(X)[np.repeat(np.arange(60), weight)]
    label = np.repeat(y, weight)
    for j in range(4):
        without = sm.GLM(label, np.delete(design, j, axis=1), family=sm.families.Binomial())
        params = without.fit(tol=1e-12).params
        statistic, _, _ = without.score_test(params, exog_extra=design[:, [j]])
        statistic = float(np.squeeze(statistic)) * (1 - 4 / weight.sum())
        # The other coefficients are fitted to a hundredth of their standard errors, which is enough.
        assert inference.z[j] ** 2 == pytest.approx(statistic, rel=1e-3, abs=1e-3)
        assert inference.p_value[j] == pytest.approx(stats.chi2.sf(statistic, 1), rel=2e-2)
        assert np.sign(inference.z[j]) == np.sign(inference.coef[j])
    null = sm.GLM(label, design[:, :1], family=sm.families.Binomial())
    statistic, p, _ = null.score_test(null.fit(tol=1e-12).params, exog_extra=design[:, 1:])
    assert inference.score_statistic == pytest.approx(float(np.squeeze(statistic)), rel=1e-6)
    assert inference.score_p_value == pytest.approx(float(np.squeeze(p)), rel=1e-5)
    assert inference.intervals == "score" and "Joint score test" in inference.summary()


class ByHand:
    """Likelihood of bags of one size, with scores computed by differences.

    `log_proba(x, X)` returns the logarithms of P(-) and P(+) of bags X, `penalty(x)` the penalty of the fit.
    """

    def __init__(self, bags, y, log_proba, penalty=lambda x: 0.0):
        self.X, self.y = bags.instances.reshape(len(bags), -1, bags.n_features), np.asarray(y)
        self.log_proba, self.penalty = log_proba, penalty

    def both(self, x):
        return np.column_stack(self.log_proba(x, self.X))

    def objective(self, x):
        return self.penalty(x) - self.both(x)[np.arange(len(self.y)), self.y].sum()

    def statistic(self, held, start, quantity):
        """Return the score statistic at the best `others`; `held(others)` returns all parameters."""
        others = minimize(lambda v: self.objective(held(v)), start, method="BFGS", options={"gtol": 1e-7}).x
        x = held(others)
        step = 1e-5 * np.eye(len(x))
        scores = np.array([(self.both(x + e) - self.both(x - e)) / 2e-5 for e in step])  # (k, bag, label)
        score = scores[:, np.arange(len(self.y)), self.y].sum(axis=1)
        information = np.einsum("inl,jnl,nl->ij", scores, scores, np.exp(self.both(x)))
        slope = np.array([(quantity(x + e) - quantity(x - e)) / 2e-5 for e in step])
        along = np.linalg.solve(information, slope)
        return along @ score / np.sqrt(along @ slope) * np.sqrt(1 - len(x) / len(self.y))


def noisy_or(x, X):
    s = np.logaddexp(0.0, X @ x[1:] + x[0]).sum(axis=1)
    return -s, np.log(-np.expm1(-s))


def test_score_tests_and_their_intervals_agree_with_the_likelihood():
    data = make_noisy_or_bags(40, coef=[1.5, -1.0], random_state=1)
    inference = maximum_likelihood().fit(data.bags, data.y).inference()
    by_hand = ByHand(data.bags, data.y, noisy_or)
    ends = inference.confidence_interval(0.9)
    for j in range(3):
        start = np.delete(inference.coef, j)

        def statistic(value, j=j, start=start):
            return by_hand.statistic(lambda others: np.insert(others, j, value), start, lambda x: x[j])

        assert inference.z[j] == pytest.approx(statistic(0.0), rel=1e-3)
        for end, expected in zip(ends[j], stats.norm.ppf([0.95, 0.05]), strict=True):
            assert statistic(end) == pytest.approx(expected, abs=6e-3)


def learned(x, X):
    """Return log P(-) and log P(+) of a logistic labeler; x = intercept, coefficients, v0, log v1."""
    counts = np.ones((len(X), 1))
    for p in expit(X @ x[1:-2] + x[0]).T[:, :, None]:
        counts = np.pad(counts * (1 - p), ((0, 0), (0, 1))) + np.pad(counts * p, ((0, 0), (1, 0)))
    positive = counts @ expit(x[-2] + np.exp(x[-1]) * np.arange(counts.shape[1]))
    return np.log1p(-positive), np.log(positive)


def test_score_test_with_a_learned_rule_excludes_the_prior():
    options = {"labeler": lambda n, m: expit(2.0 * n - 3.0), "coef": [2.0, -1.0]}
    data = make_count_bags(300, size=5, random_state=2, **options)
    model = SoftORLogisticRegression(CountLogistic(ridge=0.05), alpha=0.0, tol=1e-9, random_state=0)
    inference, rule = model.fit(data.bags, data.y).inference(intervals="score"), model.rule_
    by_hand = ByHand(data.bags, data.y, learned, lambda x: 0.025 * (x[-2] ** 2 + np.exp(2 * x[-1])))
    start = np.concatenate([inference.coef, [rule.intercept, np.log(rule.slope)]])
    z = by_hand.statistic(lambda v: np.insert(v, 1, 0.0), np.delete(start, 1), lambda x: x[1])
    assert inference.z[1] == pytest.approx(z, rel=1e-2) and abs(z) > 1
    ratio = model.inference(intervals="profile").z[1]
    assert abs(z - ratio) > 0.05
    assert model.inference().intervals == "wald"


@pytest.mark.slow
@pytest.mark.parametrize("intervals", ["score", "profile", "wald"])
def test_an_interval_holds_zero_exactly_where_the_test_does_not_reject_it(intervals):
    held = []
    for seed in range(12):
        data = make_noisy_or_bags(60, coef=[0.8, 0.0, 0.0], random_state=seed)
        inference = maximum_likelihood(n_init=1).fit(data.bags, data.y).inference(intervals=intervals)
        if inference.message is None:
            low, high = inference.confidence_interval().T
            assert (((low <= 0) & (high >= 0)) == (inference.p_value >= 0.05)).all()
            held.append((inference.p_value[1:] >= 0.05).mean())
    assert len(held) > 8 and 0.2 < np.mean(held) < 0.95


def test_sparse_bags_and_many_blocks_have_the_same_tests(large_from):
    data = make_count_bags(200, size=5, labeler=2, coef=[2.0, -1.0, 0.0], random_state=0)
    instances = np.where(np.abs(data.bags.instances) > 0.3, data.bags.instances, 0.0)
    expected = maximum_likelihood(n_init=1).fit(data.bags.with_instances(instances), data.y)
    sparse = data.bags.with_instances(sp.csr_array(instances))
    model = maximum_likelihood(n_init=1).fit(sparse, data.y)
    np.testing.assert_allclose(model.inference().z, expected.inference().z, rtol=1e-4)
    few = expected.inference()
    large_from(1000, block_bytes=3 * 8 * 300)
    many = expected.inference()
    np.testing.assert_allclose(many.z, few.z, rtol=1e-4)
    assert many.score_statistic == pytest.approx(few.score_statistic, rel=1e-6)


def test_summary_reports_that_no_feature_has_an_effect():
    nothing = make_noisy_or_bags(100, coef=np.zeros(3), random_state=1)
    inference = maximum_likelihood(n_init=1).fit(nothing.bags, nothing.y).inference()
    assert inference.score_p_value > 0.05
    assert inference.summary().startswith("No feature has a significant effect (joint score test: p =")
    something = make_noisy_or_bags(100, coef=[2.0, -2.0, 0.0], random_state=0)
    assert maximum_likelihood(n_init=1).fit(something.bags, something.y).inference().notes == ()
    # For bags of one instance, the intercept is that of a logistic regression.
    inference = maximum_likelihood().fit(nothing.bags.instances, nothing.instance_y).inference()
    assert inference.score_p_value > 0.05 and inference.notes == ()


@pytest.mark.parametrize("n_features, has_note", [(9, False), (10, True)])
def test_few_bags_per_parameter_are_noted(n_features, has_note):
    data = make_noisy_or_bags(100, coef=np.append([2.0, -2.0], np.zeros(n_features - 2)), random_state=0)
    inference = maximum_likelihood(n_init=1).fit(data.bags, data.y).inference()
    few = [note for note in inference.notes if "are few for" in note]
    assert few == [note for note in inference.notes if note.startswith("100 bags are few for 11 parameters.")]
    assert bool(few) == has_note


@pytest.mark.study
@pytest.mark.parametrize("n_bags, n_features, low, high", [(400, 20, 0.03, 0.07), (100, 20, 0.08, 0.14)])
def test_few_bags_per_parameter_make_p_values_too_small(n_bags, n_features, low, high):
    """The rates in docs/inference.md: score tests keep their level with 20 bags per parameter, not with 5."""
    p_values = []
    for seed in range(50):
        data = make_noisy_or_bags(n_bags, coef=np.zeros(n_features), random_state=seed)
        p_values += maximum_likelihood(n_init=1).fit(data.bags, data.y).inference().p_value[1:].tolist()
    assert low < np.mean(np.array(p_values) < 0.05) < high
