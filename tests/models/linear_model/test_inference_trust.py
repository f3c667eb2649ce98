"""Inference describes the training data only, and reports cases in which it is invalid."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import brentq, minimize
from scipy.special import expit

from bagwise import (
    CountLogistic,
    MILogisticRegression,
    SoftORLogisticRegression,
    Threshold,
    make_count_bags,
    make_noisy_or_bags,
    plot_odds_ratios,
)


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(300, coef=[1.5, -1.0], random_state=1)


def maximum_likelihood(rule="or", **parameters):
    return MILogisticRegression(rule, alpha=0.0, tol=1e-9, random_state=0, **parameters)


# ---------------------------------------------------------------------- training data


def test_inference_without_arguments_uses_the_data_of_the_fit(data):
    weight = np.random.default_rng(0).integers(0, 3, size=300)
    model = maximum_likelihood().fit(data.bags, data.y, weight)
    implicit, explicit = model.inference(), model.inference(data.bags, data.y, weight)
    for name in ("coef", "se", "p_value", "covariance"):
        np.testing.assert_array_equal(getattr(implicit, name), getattr(explicit, name))
    assert implicit.n_bags == (weight > 0).sum()
    repeated = np.repeat(np.arange(300), weight)
    again = maximum_likelihood().fit(data.bags[repeated], data.y[repeated]).inference()
    np.testing.assert_allclose(implicit.se, again.se, rtol=1e-6)


def test_other_data_are_refused(data):
    model = maximum_likelihood().fit(data.bags, data.y)
    nothing = make_noisy_or_bags(300, coef=[0.0, 0.0], random_state=2)
    with pytest.raises(ValueError, match="do not match the training data: their log-likelihood is"):
        model.inference(nothing.bags, nothing.y)
    with pytest.raises(ValueError, match="do not match the training data: their log-likelihood is"):
        model.inference(data.bags, 1 - data.y)
    with pytest.raises(ValueError, match="do not match the training data: their total weight is 150"):
        model.inference(data.bags[:150], data.y[:150])
    weighted = maximum_likelihood().fit(data.bags, data.y, np.full(300, 2.0))
    with pytest.raises(ValueError, match="do not match the training data: their total weight is 300"):
        weighted.inference(data.bags, data.y)
    with pytest.raises(ValueError, match="got X without y"):
        model.inference(data.bags)
    with pytest.raises(ValueError, match="got y or sample_weight without X"):
        model.inference(sample_weight=np.ones(300))


def test_bags_with_the_same_log_likelihood_are_refused_by_their_score(data):
    model = maximum_likelihood().fit(data.bags, data.y)
    # Other features with the same log-likelihood by chance, but with another maximum.
    other = data.bags.with_instances(data.bags.instances * np.array([0.9, 1.1]))
    log_odds = model.decision_function_instances(other)
    log_likelihood = model.rule_.gradient(log_odds, other.offsets, data.y)[0].sum()
    assert log_likelihood < model.log_likelihood_ - 0.1
    model.log_likelihood_ = log_likelihood
    with pytest.raises(ValueError, match="training data: the score statistic is"):
        model.inference(other, data.y)


def test_a_pickle_holds_the_model_and_not_the_bags(data):
    model = maximum_likelihood().fit(data.bags, data.y)
    stored = pickle.dumps(model)
    assert len(stored) < 5000 < data.bags.instances.nbytes
    back = pickle.loads(stored)
    with pytest.raises(ValueError, match="no longer has the training bags"):
        back.inference()
    np.testing.assert_array_equal(back.inference(data.bags, data.y).se, model.inference().se)


@pytest.mark.parametrize("rule", ["or", "softmax", CountLogistic()], ids=str)
def test_bags_that_are_many_have_the_same_table_from_blocks(rule, large_from):
    bags = make_count_bags(400, size=5, labeler=2, coef=[2.0, -1.0, 0.0], random_state=0)
    model = maximum_likelihood(rule, n_init=1).fit(bags.bags, bags.y)
    groups = np.arange(400) // 4
    few, few_groups = model.inference(), model.inference(groups=groups)
    large_from(1000, block_bytes=3 * 8 * 300)
    many = model.inference()
    np.testing.assert_allclose(many.se, few.se, rtol=1e-6)
    np.testing.assert_allclose(model.inference(groups=groups).se, few_groups.se, rtol=1e-6)
    assert many.lr_statistic == pytest.approx(few.lr_statistic, rel=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_instances_have_the_same_tables(data, fit_intercept):
    instances = np.where(np.abs(data.bags.instances) > 0.3, data.bags.instances, 0.0)
    dense = data.bags.with_instances(instances)
    sparse = data.bags.with_instances(sp.csr_array(instances))
    tables = []
    for bags in (dense, sparse):
        model = maximum_likelihood(fit_intercept=fit_intercept, n_init=1).fit(bags, data.y)
        by_groups = model.inference(groups=np.arange(300) // 3)
        tables.append([model.inference().se, by_groups.se])
        tables[-1].append(model.inference(intervals="profile").confidence_interval())
    assert len(tables[0][0]) == 2 + fit_intercept
    for first, other in zip(*tables, strict=True):
        np.testing.assert_allclose(first, other, rtol=1e-4)


# ---------------------------------------------------------------------- information


@pytest.mark.parametrize("rule", ["or", "mean", "geometric_mean", "softmax", Threshold(2)], ids=str)
def test_errors_are_from_the_observed_information(rule):
    data = make_count_bags(200, size=4, labeler=2, coef=[1.5, -1.5], random_state=0)
    model = maximum_likelihood(rule).fit(data.bags, data.y)
    theta = np.append(model.intercept_, model.coef_)

    def score(t):
        log_odds = data.bags.instances @ t[1:] + t[0]
        by_instance = model.rule_.gradient(log_odds, data.bags.offsets, data.y)[1]
        return np.append(by_instance.sum(), by_instance @ data.bags.instances)

    step = 1e-5
    hessian = np.array([(score(theta + e) - score(theta - e)) / (2 * step) for e in step * np.eye(3)])
    np.testing.assert_allclose(model.inference().covariance, np.linalg.inv(-hessian), rtol=1e-5, atol=1e-8)


def from_scratch(bags, y):
    """Return the negative log-likelihood of a logistic labeler of counts minus its log prior, as a loop."""

    def objective(x):
        intercept, coef, v0, log_v1 = x[0], x[1:-2], x[-2], x[-1]
        total = 0.005 * (v0**2 + np.exp(2 * log_v1))
        for bag, label in zip(bags, y, strict=True):
            row = np.ones(1)
            for p in expit(bag @ coef + intercept):
                row = np.append(row * (1 - p), 0.0) + np.append(0.0, row * p)
            positive = row @ expit(v0 + np.exp(log_v1) * np.arange(len(row)))
            total -= np.log(positive if label else 1 - positive)
        return total

    return objective


@pytest.mark.slow
def test_a_learned_rule_has_its_part_in_the_errors():
    data = make_count_bags(300, size=8, labeler=2, coef=[2.0, -1.0], random_state=4)
    model = SoftORLogisticRegression("count_logistic", alpha=0.0, tol=1e-9, random_state=0)
    inference = model.fit(data.bags, data.y).inference()
    rule = model.rule_
    x = np.concatenate([model.intercept_, model.coef_[0], [rule.intercept, np.log(rule.slope)]])
    objective, steps = from_scratch(data.bags, data.y), 1e-3 * np.eye(5)
    H = np.empty((5, 5))
    for i, a in enumerate(steps):
        for j, b in enumerate(steps):
            H[i, j] = (
                objective(x + a + b) - objective(x + a - b) - objective(x - a + b) + objective(x - a - b)
            ) / 4e-6
    np.testing.assert_allclose(inference.covariance, np.linalg.inv(H)[:3, :3], rtol=2e-3)
    with_fixed_rule = (
        maximum_likelihood(CountLogistic(rule.intercept, rule.slope)).fit(data.bags, data.y).inference()
    )
    assert (inference.se > with_fixed_rule.se).all() and inference.se[0] > 2 * with_fixed_rule.se[0]
    assert inference.lr_p_value is None and with_fixed_rule.lr_p_value < 1e-6


def test_thresholds_that_explain_the_bags_as_well_leave_a_sentence():
    data = make_count_bags(60, size=6, labeler=3, coef=[0.7, -0.7], intercept=0.0, random_state=0)
    model = maximum_likelihood("threshold", n_init=2).fit(data.bags, data.y)
    inference = model.inference()
    assert inference.se is None and "explains them nearly as well" in inference.message
    clear = make_count_bags(400, size=10, labeler=3, coef=[4.0, -4.0], intercept=-3.0, random_state=0)
    assert maximum_likelihood("threshold", n_init=2).fit(clear.bags, clear.y).inference().message is None


def test_class_weights_and_rules_with_kinks_have_no_errors(data):
    model = maximum_likelihood(class_weight="balanced").fit(data.bags, data.y)
    with pytest.raises(ValueError, match="class_weight='balanced' changes the class frequencies"):
        model.inference()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inference = maximum_likelihood("max", n_init=1).fit(data.bags, data.y).inference()
    assert inference.se is None and "has kinks" in inference.message


# ---------------------------------------------------------------------- groups


def test_errors_by_groups_are_those_of_statsmodels(data):
    X, y = data.bags.instances, data.instance_y
    groups = data.bags.bag_index
    model = maximum_likelihood().fit(X, y)
    inference = model.inference(groups=groups)
    theirs = sm.Logit(y, sm.add_constant(X)).fit(
        disp=0, tol=1e-12, cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    np.testing.assert_allclose(inference.se, theirs.bse * np.sqrt(300 / 299), rtol=1e-6)
    np.testing.assert_allclose(inference.p_value, 2 * stats.t.sf(np.abs(inference.z), 299), rtol=1e-9)
    low, _ = inference.confidence_interval().T
    np.testing.assert_allclose(low, inference.coef - stats.t.ppf(0.975, 299) * inference.se)
    assert (
        inference.n_groups == 300
        and "300 groups of bags" in inference.summary()
        and inference.lr_p_value is None
    )
    with pytest.raises(ValueError, match="groups has 2 distinct values, too few"):
        model.inference(groups=np.arange(900) % 2)
    with pytest.raises(ValueError, match=r"groups has the shape \(5,\), but there are 900 bags"):
        model.inference(groups=np.arange(5))
    with pytest.raises(ValueError, match="groups has no value for bag 0 and 899 more"):
        model.inference(groups=np.full(900, np.nan))
    for intervals in ("score", "profile"):
        with pytest.raises(ValueError, match='groups need intervals="wald"'):
            model.inference(groups=groups, intervals=intervals)


def test_groups_of_a_learned_rule_include_the_rule():
    data = make_count_bags(
        300, size=6, labeler=lambda n, m: expit(2 * n - 3), coef=[2.0, -1.0], random_state=0
    )
    model = SoftORLogisticRegression(alpha=0.0, tol=1e-9, random_state=0).fit(data.bags, data.y)
    alone = model.inference(groups=np.arange(300)).se
    # For independent bags, the sandwich is the inverse of the information, up to sampling errors.
    np.testing.assert_allclose(alone, model.inference().se, rtol=0.4)


def test_bags_that_are_there_four_times_have_errors_of_one_in_groups(data):
    four = np.repeat(np.arange(300), 4)
    once = maximum_likelihood().fit(data.bags, data.y).inference(groups=np.arange(300))
    model = maximum_likelihood().fit(data.bags[four], data.y[four])
    np.testing.assert_allclose(model.inference(groups=four).se, once.se, rtol=1e-5)
    assert (model.inference().se < 0.6 * once.se).all()


# ---------------------------------------------------------------------- separation and profiles


def separated(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    if kind == "complete":
        y = (X[:, 0] > 0).astype(int)
    else:  # all bags with the feature are positive
        X[:, 0] = np.arange(40) % 8 == 0
        y = np.where(X[:, 0] == 1, 1, rng.integers(0, 2, size=40))
    return X, y


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("kind", ["complete", "quasi"])
def test_separation_is_reported(kind, tol):
    X, y = separated(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MILogisticRegression(alpha=0.0, tol=tol, random_state=0).fit(X, y)
    inference = model.inference()
    assert inference.se is None and inference.p_value is None
    assert "separates the bags" in inference.message and inference.summary().endswith(inference.message)
    assert inference.lr_statistic > 5 and inference.lr_p_value < 0.05


def test_bags_of_several_that_are_separated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4, 2))
    y = (X[..., 0].max(axis=1) > 1.0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MILogisticRegression(alpha=0.0, random_state=0).fit(X, y)
    assert "separates the bags" in model.inference().message


@pytest.mark.parametrize("seed", range(5))
def test_bags_that_are_not_separated_have_a_table(seed):
    data = make_noisy_or_bags(60, coef=[2.0, -2.0, 0.0], random_state=seed)
    model = MILogisticRegression(alpha=0.0, random_state=0).fit(data.bags, data.y)
    assert model.inference().message is None


def profile_by_hand(objective, best, index, level=0.95):
    """Return the ends of an interval from independent fits with one parameter fixed."""
    least = objective(best)
    wanted = stats.chi2.ppf(level, 1)

    def lacking(value):
        def rest(others):
            return objective(np.insert(others, index, value))

        start = np.delete(best, index)
        return 2 * (minimize(rest, start, method="BFGS", options={"gtol": 1e-6}).fun - least) - wanted

    return brentq(lacking, best[index] - 3, best[index]), brentq(lacking, best[index], best[index] + 3)


def test_profile_intervals_are_where_the_likelihood_ratio_test_does_not_reject(data):
    few = np.arange(60)
    bags, y = data.bags[few], data.y[few]
    inference = maximum_likelihood().fit(bags, y).inference(intervals="profile")
    label = np.repeat(y, bags.sizes)

    def objective(x):
        softplus = np.logaddexp(0, bags.instances @ x[1:] + x[0])
        s = np.add.reduceat(softplus, bags.offsets[:-1])
        return np.where(y == 1, -np.log(-np.expm1(-s)), s).sum()

    assert len(label) == bags.n_instances
    ends = inference.confidence_interval()
    for index in range(3):
        np.testing.assert_allclose(ends[index], profile_by_hand(objective, inference.coef, index), atol=2e-3)
    null = minimize(
        lambda v: objective(np.array([v[0], 0.0, v[1]])), inference.coef[[0, 2]], method="BFGS"
    ).fun
    ratio = 2 * (null - objective(inference.coef))
    assert inference.z[1] ** 2 == pytest.approx(ratio, rel=1e-4)
    assert inference.p_value[1] == pytest.approx(stats.chi2.sf(ratio, 1), rel=1e-3)
    assert "profile likelihood" in inference.summary()


def test_profiles_remain_where_bags_are_separated():
    X, y = separated("quasi")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MILogisticRegression(alpha=0.0, random_state=0).fit(X, y)
    inference = model.inference(intervals="profile")
    (low, high), other = inference.confidence_interval()[1], inference.confidence_interval()[2]
    assert np.isfinite(low) and high == np.inf and np.isfinite(other).all()
    # The other coefficient is the same without the five bags with the feature, which are all positive.
    rest = X[:, 0] == 0
    without = (
        MILogisticRegression(alpha=0.0, tol=1e-9).fit(X[rest, 1:], y[rest]).inference(intervals="profile")
    )
    np.testing.assert_allclose(other, without.confidence_interval()[1], atol=5e-3)
    assert "inf" in inference.summary() and inference.message in inference.summary()
    assert inference.message.endswith("there are no standard errors.")
    low, high = plot_odds_ratios(inference).ax_.get_xlim()  # in powers of ten
    assert low < 0 < np.log10(inference.odds_ratios()[1, 0]) < high < 7
    with pytest.raises(ValueError, match='intervals must be "score", "profile" or "wald"'):
        model.inference(intervals="bootstrap")
