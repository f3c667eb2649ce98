"""Rules learned together with coefficients: objectives, recovery of the truth, and edge cases."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression

from bagwise import (
    Bags,
    CountLogistic,
    CountTable,
    MILogisticRegression,
    MIMixture,
    OnInstances,
    SoftORLogisticRegression,
    Threshold,
    make_bag_pipeline,
    make_count_bags,
    milr_path,
)
from bagwise.rules import LearnedRule

RULES = ["count_logistic", "count_table", CountTable(monotone=True), "threshold", CountLogistic(slope=2.0)]


def soft_labels(n, m):
    return expit(1.5 * n - 4.0)


@pytest.fixture(scope="module")
def data():
    return make_count_bags(200, size=(4, 8), labeler=soft_labels, coef=[2.0, -2.0, 0.0], random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_objective_never_rises_and_is_what_it_says(data, rule, l1_ratio):
    model = MILogisticRegression(rule, l1_ratio=l1_ratio, n_init=2, random_state=0).fit(data.bags, data.y)
    assert model.converged_
    history = model.objective_history_
    assert (np.diff(history) <= 1e-9 * np.abs(history[:-1])).all()
    eta = model.decision_function_instances(data.bags)
    value, _ = model.rule_.gradient(eta, data.bags.offsets, data.y)
    coef = model.coef_[0] * model.scaler_.scale_
    penalty = l1_ratio * np.abs(coef).sum() + (1 - l1_ratio) / 2 * coef @ coef
    np.testing.assert_allclose(model.objective_, penalty - value.sum() - model.rule_.log_prior(), rtol=1e-7)
    np.testing.assert_allclose(model.log_likelihood_, value.sum(), rtol=1e-9)
    assert type(rule) is str or model.rule.get_params() == rule.get_params()  # the parameter is unchanged


@pytest.mark.slow
def test_a_generic_solver_finds_nothing_better(data):
    """BFGS with finite differences fits coefficients and labeler to an independent likelihood."""
    bags, y = data.bags, data.y
    model = SoftORLogisticRegression(alpha=1.0, scale=None, random_state=0).fit(bags, y)

    def objective(x):
        coef, intercept, v0, log_v1 = x[:3], x[3], x[4], x[5]
        total = 0.0
        for bag, label in zip(bags, y, strict=True):
            row = np.ones(1)
            for p in expit(bag @ coef + intercept):
                row = np.append(row * (1 - p), 0.0) + np.append(0.0, row * p)
            positive = row @ expit(v0 + np.exp(log_v1) * np.arange(len(row)))
            total -= np.log(positive if label else 1 - positive)
        return total + 0.5 * coef @ coef + 0.005 * (v0**2 + np.exp(log_v1) ** 2)

    ours = np.concatenate(
        [model.coef_[0], model.intercept_, [model.rule_.intercept, np.log(model.rule_.slope)]]
    )
    np.testing.assert_allclose(objective(ours), model.objective_, rtol=1e-9)
    solution = minimize(objective, ours + 0.05, method="BFGS", options={"maxiter": 60})
    assert solution.fun >= model.objective_ - 1e-6
    np.testing.assert_allclose(solution.x[:4], ours[:4], atol=0.02)


@pytest.mark.parametrize("rule", ["count_logistic", "count_table", CountTable(monotone=True)], ids=str)
def test_no_change_of_the_rule_alone_lowers_the_objective(data, rule):
    model = SoftORLogisticRegression(rule, random_state=0).fit(data.bags, data.y)
    eta = model.decision_function_instances(data.bags)

    def objective(other):
        value, _ = other.gradient(eta, data.bags.offsets, data.y)
        return -value.sum() - other.log_prior()

    best = objective(model.rule_)
    rng = np.random.default_rng(0)
    vector = model.rule_.parameters()
    for _ in range(30):
        other = model.rule_.with_parameters(vector + 0.01 * rng.normal(size=len(vector)))
        assert objective(other) >= best - 1e-5


def test_bags_of_one_with_a_fixed_labeler_of_zero_and_one_are_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, -1.0, 0.5] + rng.normal(size=200) > 0).astype(int)
    model = SoftORLogisticRegression(CountTable([0.0, 1.0]), alpha=1.0, scale=None, tol=1e-9).fit(X, y)
    theirs = LogisticRegression(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-5)


def test_the_monotone_m_step_is_isotonic_regression_and_the_best():
    offsets = np.arange(0, 30, 5)
    rule = CountTable(monotone=True, pseudo_count=0.2).start(offsets, np.ones(5))
    rng = np.random.default_rng(0)
    statistics = rng.gamma(1.0, 3.0, size=(2, 6))
    updated = rule.update(statistics)
    negative, positive = statistics + 0.2
    expected = IsotonicRegression().fit_transform(
        np.arange(6), positive / (positive + negative), sample_weight=positive + negative
    )
    np.testing.assert_allclose(updated.values, expected, rtol=1e-12)

    def expected_log_likelihood(values):
        return positive @ np.log(values) + negative @ np.log1p(-values)

    best = expected_log_likelihood(np.asarray(updated.values))
    for _ in range(200):
        assert expected_log_likelihood(np.sort(rng.uniform(0.01, 0.99, size=6))) <= best


def test_the_logistic_m_step_is_a_ridge_logistic_regression():
    rule = CountLogistic(ridge=0.5).start(np.array([0, 9]), np.ones(1))
    rng = np.random.default_rng(0)
    statistics = np.stack([np.linspace(5, 1, 10), np.linspace(1, 8, 10)]) * rng.uniform(
        0.5, 1.5, size=(2, 10)
    )
    updated = rule.update(statistics)
    counts = np.tile(np.arange(10.0), 2)
    X = np.column_stack([np.ones(20), counts])
    theirs = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(X, np.repeat([0, 1], 10), sample_weight=statistics.ravel())
    np.testing.assert_allclose([updated.intercept, updated.slope], theirs.coef_[0], rtol=1e-4)


@pytest.mark.parametrize("rule", [CountTable(), CountTable(monotone=True), CountLogistic()], ids=str)
def test_parameters_round_trip_and_their_gradient_is_the_slope(rule):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 7, size=20))])
    y = rng.integers(0, 2, size=20).astype(np.int8)
    log_odds, weight = rng.normal(size=offsets[-1]), rng.uniform(0.5, 2.0, size=20)
    rule = rule.start(offsets, y)
    vector = rule.parameters() + 0.1 * rng.normal(size=len(rule.parameters()))
    rule = rule.with_parameters(vector)
    np.testing.assert_allclose(rule.parameters(), vector, rtol=1e-9)

    def value(at):
        other = rule.with_parameters(at)
        return weight @ other.gradient(log_odds, offsets, y)[0] + other.log_prior()

    _, _, statistics = rule.gradient_and_statistics(log_odds, offsets, y, weight)
    np.testing.assert_allclose(statistics.sum(), weight.sum(), rtol=1e-12)
    steps = 1e-6 * np.eye(len(vector))
    slopes = [(value(vector + step) - value(vector - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(rule.parameter_gradient(statistics), slopes, rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------------- recovery


@pytest.mark.slow
@pytest.mark.parametrize("k, intercept", [(1, -8.5), (2, -6.5), (3, -5.2), (5, -3.5)])
def test_true_threshold_is_selected(k, intercept):
    thresholds = []
    for seed in range(20):
        data = make_count_bags(
            400, size=20, labeler=k, coef=[4.0, -4.0], intercept=intercept, random_state=seed
        )
        model = SoftORLogisticRegression("threshold", alpha=0.1, n_init=1, tol=1e-4, random_state=seed)
        thresholds.append(model.fit(data.bags, data.y).rule_.k)
    assert sum(other == k for other in thresholds) >= 19


@pytest.mark.slow
def test_slope_and_offset_of_a_logistic_labeler_are_recovered():
    # Medians over 20 seeds: offset -3.0, slope 1.06, with spreads of 0.86 and 0.18.
    estimates, covered = [], []
    for seed in range(6):
        data = make_count_bags(
            1000,
            size=20,
            labeler=lambda n, m: expit(n - 3.0),
            coef=[4.0, -4.0],
            intercept=-4.5,
            random_state=seed,
        )
        model = SoftORLogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
        estimates.append([model.rule_.intercept, model.rule_.slope])
        low, high = model.labeler_.band(intervals="wald")[2:5].T
        truth = expit(np.arange(2, 5) - 3.0)
        covered.append(((low <= truth) & (truth <= high)).mean())
    np.testing.assert_allclose(np.median(estimates, axis=0), [-3.0, 1.0], atol=0.35)
    assert np.mean(covered) > 0.8


def test_standard_errors_are_those_of_the_whole_information():
    """Compare the rule's covariance with a finite-difference Hessian of all parameters."""
    from bagwise.models.linear_model.engine.learned_rule import JointProblem
    from bagwise.models.linear_model.labeler import rule_covariance

    data = make_count_bags(300, size=8, labeler=soft_labels, coef=[2.0, -2.0], random_state=1)
    model = SoftORLogisticRegression(alpha=1.0, tol=1e-8, random_state=0)
    problem, results = model._minimise(model._read_training(data.bags, data.y), 1.0, 0)
    best = min(results, key=lambda r: r.value)
    x = np.concatenate([best.x, best.rule.parameters()])
    joint, step = JointProblem(problem, best.rule), 1e-4
    H = np.array(
        [
            (joint.value_and_gradient(x + e)[1] - joint.value_and_gradient(x - e)[1]) / (2 * step)
            for e in step * np.eye(len(x))
        ]
    )
    expected = np.linalg.inv(problem.total * H)[-2:, -2:]
    covariance, _, message = rule_covariance(problem, best.rule, best.x)
    assert message is None
    np.testing.assert_allclose(covariance, expected, rtol=1e-3)


def test_bands_hold_what_a_likelihood_ratio_test_does_not_reject():
    """Compare the profile of one value with fits by another solver in which this value is fixed."""
    options = {"labeler": lambda n, m: expit(2.0 * n - 3.0), "coef": [2.0, -1.0]}
    data = make_count_bags(150, size=5, random_state=2, **options)
    bags, y = data.bags, data.y
    model = SoftORLogisticRegression(tol=1e-9, scale=None, random_state=0).fit(bags, y)

    def objective(x, held=None):
        intercept, slope = x[3] if held is None else held - 2 * np.exp(x[-1]), np.exp(x[-1])
        value, _ = CountLogistic(intercept, slope).gradient(bags.instances @ x[:2] + x[2], bags.offsets, y)
        return -value.sum() + 0.005 * (x[:2] @ x[:2] + intercept**2 + slope**2)

    rule = model.rule_
    rest = np.concatenate([model.coef_[0], model.intercept_, [np.log(rule.slope)]])
    best = model.objective_
    np.testing.assert_allclose(objective(np.insert(rest, 3, rule.intercept)), best, rtol=1e-9)

    def ratio(log_odds):
        return 2 * (minimize(objective, rest, args=(log_odds,), method="BFGS").fun - best)

    low, high = logit(model.labeler_.band(0.9)[2])
    for end in (low, high):
        assert ratio(end) == pytest.approx(chi2.ppf(0.9, 1), abs=0.02)
    values = model.labeler_.values
    assert low < logit(values[2]) < high
    wald = model.labeler_.band(0.9, intervals="wald")
    assert (wald[:, 0] < values).all() and (values < wald[:, 1]).all()
    with pytest.raises(ValueError, match='intervals must be "profile" or "wald"'):
        model.labeler_.band(intervals="bayes")


def test_a_penalty_that_moves_the_labeler_leaves_a_sentence_instead_of_a_band():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 8, 2))
    n = (rng.random_sample((400, 8)) < expit(5 * X[..., 0] - 5 * X[..., 1] - 4)).sum(axis=1)
    y = (rng.random_sample(400) < expit(n - 3.0)).astype(int)
    strong = SoftORLogisticRegression(alpha=3.0, n_init=1, random_state=0).fit(X, y).labeler_
    assert strong.std_err is None and "the penalty on the coefficients has moved the values" in strong.message
    with pytest.raises(ValueError, match="decrease alpha"):
        strong.band()
    weak = SoftORLogisticRegression(n_init=1, random_state=0).fit(X, y).labeler_
    assert weak.message is None and (weak.std_err > 0).all()


@pytest.mark.parametrize("rule", [CountTable(), CountTable(monotone=True), CountLogistic()], ids=str)
def test_log_odds_of_counts_have_their_slopes_even_where_values_are_one(rule):
    offsets = np.arange(0, 61, 6)
    rule = rule.start(offsets, np.ones(10))
    vector = rule.parameters() + 0.3 * np.arange(len(rule.parameters()))
    rule, counts = rule.with_parameters(vector), np.arange(9)
    expected = LearnedRule.log_odds_slopes(rule, counts)  # by differences
    np.testing.assert_allclose(rule.log_odds_slopes(counts), expected, rtol=1e-6, atol=1e-6)
    steep = CountLogistic(-3.0, 20.0, learned=("intercept", "slope"), n_counts=9)
    np.testing.assert_array_equal(steep.log_odds_slopes(counts), np.column_stack([np.ones(9), 20.0 * counts]))


def test_a_pickled_labeler_has_its_values_and_no_bags(data):
    model = SoftORLogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
    stored = pickle.dumps(model)
    assert len(stored) < 10_000 < data.bags.instances.nbytes
    labeler = pickle.loads(stored).labeler_
    np.testing.assert_array_equal(labeler.band(intervals="wald"), model.labeler_.band(intervals="wald"))
    with pytest.raises(ValueError, match="no longer has the training bags"):
        labeler.band()


# ---------------------------------------------------------------------- attributes and warm starts


def test_counts_and_labeler(data):
    model = SoftORLogisticRegression(random_state=0).fit(data.bags, data.y)
    counts = model.predict_count(data.bags)
    assert counts.shape == (len(data.bags), data.bags.sizes.max() + 1)
    np.testing.assert_allclose(counts.sum(axis=1), 1.0)
    p = model.predict_proba_instances(data.bags)[:, 1]
    means = np.add.reduceat(p, data.bags.offsets[:-1])
    np.testing.assert_allclose(counts @ np.arange(counts.shape[1]), means)
    labeler = model.labeler_
    np.testing.assert_allclose(counts @ labeler.values, model.predict_proba(data.bags)[:, 1], rtol=1e-10)
    np.testing.assert_allclose(labeler.expected_bags.sum(axis=1), np.bincount(data.y))
    low, high = labeler.band().T
    np.testing.assert_array_equal(labeler.band(counts=[2, 3]), labeler.band()[2:4])
    assert (low <= labeler.values).all() and (labeler.values <= high).all()
    assert labeler.plot() is not None
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        labeler.band(95)


def test_a_threshold_tells_how_sure_it_is(data):
    model = SoftORLogisticRegression("threshold", n_init=1, random_state=0).fit(data.bags, data.y)
    profile = model.labeler_.profile
    assert min(profile, key=profile.get) == model.rule_.k
    np.testing.assert_allclose(profile[model.rule_.k], model.objective_)
    fixed = SoftORLogisticRegression(Threshold(model.rule_.k + 1), random_state=0).fit(data.bags, data.y)
    np.testing.assert_allclose(fixed.objective_, profile[model.rule_.k + 1], rtol=1e-4)


@pytest.mark.parametrize("rule", ["or", "mean", Threshold(2)])
def test_rules_without_anything_to_learn(data, rule):
    model = SoftORLogisticRegression(rule, n_init=1, random_state=0).fit(data.bags, data.y)
    same = MILogisticRegression(rule, alpha=0.01, l1_ratio=0.0, n_init=1, random_state=0).fit(
        data.bags, data.y
    )
    np.testing.assert_array_equal(model.coef_, same.coef_)
    if rule == "mean":
        assert model.labeler_ is None
    else:
        with pytest.raises(ValueError, match="there are no standard errors"):
            model.labeler_.band()


def test_a_free_table_rises_where_its_mirror_image_is_the_same_model():
    data = make_count_bags(150, size=6, labeler=3, coef=[3.0, -3.0], intercept=0.0, random_state=0)
    model = SoftORLogisticRegression("count_table", alpha=1.0, n_init=1, random_state=0)
    model.fit(data.bags, data.y)
    start = -model.coef_[0], -model.intercept_[0]
    mirrored = clone(model)
    problem, results = mirrored._minimise(mirrored._read_training(data.bags, data.y), 1.0, 0, only_from=start)
    assert np.arange(7) @ (np.array(results[0].rule.values) - 0.5) > 0
    assert problem.rule is results[0].rule
    value = problem.point(results[0].x).value - problem.rule.log_prior() / problem.total
    np.testing.assert_allclose(value * problem.total, results[0].value, rtol=1e-9)
    np.testing.assert_allclose(results[0].value, model.objective_, rtol=1e-4)


def test_random_features_make_the_kernel_version():
    """Positive instances form a disk, which a linear model cannot separate and the RBF version can."""
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(1600, 2)), np.arange(0, 1601, 4))
    z = (bags.instances**2).sum(axis=1) < 1.0
    y = (np.add.reduceat(z, bags.offsets[:-1], dtype=int) >= 2).astype(int)
    train, test = bags[:300], bags[300:]
    linear = SoftORLogisticRegression("threshold", n_init=1, random_state=0).fit(train, y[:300])
    sampler = RBFSampler(gamma=0.5, n_components=100, random_state=0)
    soft_or = SoftORLogisticRegression("threshold", alpha=0.1, scale=None, n_init=1, random_state=0)
    model = make_bag_pipeline(OnInstances(sampler), soft_or).fit(train, y[:300])
    assert model.score(test, y[300:]) > 0.9 > 0.75 > linear.score(test, y[300:])
    assert (model.predict_instances(test) == z[1200:]).mean() > 0.93
    # The inner products of the features are the Gaussian kernel of width 1, up to sampling errors.
    features = sampler.fit_transform(train.instances[:50])
    squared = ((train.instances[:50, None] - train.instances[:50]) ** 2).sum(axis=2)
    assert np.abs(features @ features.T - np.exp(-squared / 2)).max() < 0.4


def test_warm_start_goes_on_where_it_ended(data):
    model = SoftORLogisticRegression(warm_start=True, random_state=0).fit(data.bags, data.y)
    first = model.objective_
    model.fit(data.bags, data.y)
    assert model.objective_ <= first + 1e-6 and len(model.objectives_) == 1


def test_the_rule_of_a_fit_is_fixed_in_another(data):
    model = SoftORLogisticRegression("count_table", n_init=1, random_state=0).fit(data.bags, data.y)
    again = SoftORLogisticRegression(clone(model.rule_), n_init=1, random_state=0).fit(data.bags, data.y)
    assert model.rule_.learns and not again.rule_.learns
    np.testing.assert_array_equal(again.rule_.values, model.rule_.values)


# ---------------------------------------------------------------------- edge cases


def test_a_positive_bag_below_the_threshold_is_refused_and_never_chosen():
    rng = np.random.default_rng(0)
    sizes = rng.integers(3, 8, size=60)
    sizes[0] = 2
    bags = Bags(rng.normal(size=(sizes.sum(), 2)), np.concatenate([[0], np.cumsum(sizes)]))
    y = rng.integers(0, 2, size=60)
    y[0] = 1
    with pytest.raises(ValueError, match=r"k=3 is impossible: a positive bag has only 2 instances"):
        SoftORLogisticRegression(Threshold(3)).fit(bags, y)
    assert SoftORLogisticRegression("threshold", n_init=1, random_state=0).fit(bags, y).rule_.k <= 2
    y[0] = 0
    model = SoftORLogisticRegression(Threshold(3), n_init=1, random_state=0).fit(bags, y)
    assert model.predict_proba(bags[:1]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_bags_longer_than_every_training_bag(data, rule):
    model = SoftORLogisticRegression(rule, n_init=1, random_state=0).fit(data.bags, data.y)
    longer = Bags(np.zeros((50, 3)), np.array([0, 50]))
    proba = model.predict_proba(longer)
    np.testing.assert_allclose(proba.sum(), 1.0)
    assert model.predict_count(longer).shape == (1, 51)
    assert np.isfinite(model.posterior_instances(longer, [1])).all()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_features_that_are_all_equal(rule):
    bags = Bags(np.ones((120, 2)), np.arange(0, 121, 4))
    y = np.arange(30) % 3 == 0
    model = SoftORLogisticRegression(rule, n_init=2, random_state=0).fit(bags, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-3)
    np.testing.assert_allclose(model.predict_proba(bags)[:, 1], 1 / 3, atol=0.02)


@pytest.mark.parametrize("rule", ["threshold", "count_logistic"])
def test_one_class_is_refused(rule):
    with pytest.raises(ValueError, match="only one class"):
        SoftORLogisticRegression(rule).fit(np.zeros((3, 2, 1)), np.ones(3))


@pytest.mark.parametrize(
    "rule, message",
    [
        (Threshold(0), "k must be an integer"),
        (Threshold(1.5), "k must be an integer"),
        (CountTable([0.2, 1.2]), "values must be probabilities"),
        (CountTable(pseudo_count=0.0), "pseudo_count must be > 0"),
        (CountLogistic(0.0, np.inf), "intercept and slope must be finite"),
        (CountLogistic(ridge=0.0), "ridge must be > 0"),
    ],
    ids=str,
)
def test_parameters_that_cannot_be(data, rule, message):
    with pytest.raises(ValueError, match=message):
        SoftORLogisticRegression(rule).fit(data.bags, data.y)


@pytest.mark.parametrize("rule", [Threshold(), CountTable(), CountLogistic()], ids=str)
def test_a_rule_that_is_not_resolved_says_so(rule):
    with pytest.raises(ValueError, match=r"call start\(offsets, y\) first"):
        rule.log_proba(np.zeros(2), [0, 2])


def test_methods_that_cannot_learn_a_rule_take_one_that_was_learned(data):
    with pytest.raises(ValueError, match="has parameters to learn, which this method does not support"):
        milr_path(data.bags, data.y, rule="count_logistic")
    learned = SoftORLogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y).rule_
    path = milr_path(data.bags, data.y, rule=learned, alphas=3)
    assert path.rule.get_params() == {**learned.get_params(), "learned": (), "n_counts": None}


# ---------------------------------------------------------------------- mixtures


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_mixtures_learn_the_rule(rule):
    rng = np.random.default_rng(0)
    z = rng.random((150, 6)) < 0.35
    X = rng.normal(size=(150, 6, 1)) + 3.5 * z[..., None]
    y = (z.sum(axis=1) >= 2).astype(int)
    model = MIMixture(rule=rule, n_init=3, random_state=0).fit(X, y)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-9 * np.abs(history[:-1])).all()
    assert model.score(X, y) > 0.9
    assert (model.predict_instances(X) == z.ravel()).mean() > 0.9
    value = model.rule_.gradient(model.decision_function_instances(X), np.arange(0, 901, 6), y)[0]
    np.testing.assert_allclose(model.score_samples(X).sum() + value.sum(), model.log_likelihood_, rtol=1e-9)
    if rule == "threshold":
        assert model.rule_.k == 2


@pytest.mark.parametrize("rule", ["count_logistic", "count_table"])
def test_a_labeler_that_needs_several_does_not_end_as_a_constant(rule):
    # Bags of images are positive with two zeros. Starts from the null model only lead to a constant labeler.
    X, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, size=150)
    drawn = rng.integers(len(X), size=sizes.sum())
    bags = Bags(X[drawn], np.append(0, np.cumsum(sizes)))
    is_zero = digit[drawn] == 0
    y = (np.add.reduceat(is_zero.astype(int), bags.offsets[:-1]) >= 2).astype(int)
    model = SoftORLogisticRegression(rule, n_init=2, random_state=0).fit(bags, y)
    assert model.objective_ < 15
    assert (model.predict_instances(bags) == is_zero).mean() > 0.98
    assert len(model.objectives_) == 4 and model.objective_ == model.objectives_.min()
