"""Gradient boosting of bags, compared with differences, scikit-learn's boosting, and other units."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from bagwise import Bags, LogOddsMean, MIGradientBoostingClassifier, Threshold, make_noisy_or_bags
from bagwise.models.trees.additive import BoostedScores
from bagwise.models.trees.boosting import _scores as real
from bagwise.models.trees.growing import OrderedFeatures, split_shares
from bagwise.models.trees.losses import ExponentialLoss, RuleLoss
from bagwise.rules import GeometricMean, Mean, Or, SoftMax

LOSSES = [
    *(RuleLoss(rule) for rule in (Or(), Mean(), SoftMax(), GeometricMean(), Threshold(2))),
    ExponentialLoss(),
]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss.rule).__name__)


@pytest.fixture
def data():
    return make_noisy_or_bags(60, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)


def random_scores(loss, seed=0):
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(rng.integers(2, 6, size=12)))
    y = np.arange(12, dtype=np.int8) % 2
    scores = BoostedScores(loss, offsets, y, rng.uniform(0.5, 2.0, size=12))
    scores.F = rng.normal(size=offsets[-1])
    scores.value = scores.value_of(scores.F)
    return scores, rng


@each_loss
def test_slopes_are_differences_of_the_loss(loss):
    scores, rng = random_scores(loss)
    gradient, _ = scores.derivatives()
    v, step = rng.normal(size=len(scores.F)), 1e-6
    ahead, back = (scores.value_of(scores.F + s * step * v) for s in (1, -1))
    np.testing.assert_allclose(-(ahead - back) / (2 * step), (scores.each * gradient) @ v, rtol=1e-7)


@pytest.mark.parametrize(
    "loss", [RuleLoss(LogOddsMean()), ExponentialLoss()], ids=["likelihood", "exponential"]
)
def test_curvature_of_means_of_scores_is_the_difference_of_slopes(loss):
    scores, rng = random_scores(loss)
    _, factor = scores.derivatives()
    v, step = rng.normal(size=len(scores.F)), 1e-5
    slopes = [loss.derivatives(scores.F + s * step * v, scores.offsets, scores.y)[0] for s in (1, -1)]
    expected = factor * np.add.reduceat(factor * v, scores.offsets[:-1])[scores.bag]
    np.testing.assert_allclose(-(slopes[0] - slopes[1]) / (2 * step), expected, rtol=1e-6, atol=1e-10)


@each_loss
def test_newtons_step_of_groups_solves_the_whole_system(loss):
    scores, rng = random_scores(loss)
    group = rng.integers(0, 3, size=len(scores.F))
    gradient, factor = scores.derivatives()
    member = np.eye(3)[group]
    whole = np.zeros((len(group), len(group)))
    for i, weight in enumerate(scores.weight):
        of_bag = np.where(scores.bag == i, factor, 0.0)
        whole += weight * np.outer(of_bag, of_bag)
    expected = np.linalg.solve(member.T @ whole @ member, member.T @ (scores.each * gradient))
    np.testing.assert_allclose(scores.newton_step(gradient, factor, group, 3), expected, rtol=1e-8)


@each_loss
def test_a_step_is_halved_until_it_lowers_the_loss(loss):
    scores, _ = random_scores(loss)
    group = np.zeros(len(scores.F), dtype=int)
    downhill = np.array([500.0 * np.sign(scores.each @ scores.derivatives()[0])])  # far beyond the minimum
    before, F = scores.value, scores.F.copy()
    share = scores.move(downhill, group)
    assert 0 < share < 1 and scores.value < before
    np.testing.assert_allclose(scores.F, F + share * downhill)
    np.testing.assert_allclose(scores.value, scores.value_of(scores.F))
    scores.fit_constant()
    before, F = scores.value, scores.F.copy()
    assert scores.move(np.array([1.0]), group) == 0.0  # the loss is already minimal
    assert scores.value == before and (scores.F == F).all()


@pytest.mark.parametrize(
    "rule", ["or", "mean", "softmax", "geometric_mean", "log_odds_mean", "max", Threshold(2)]
)
def test_every_tree_lowers_the_loss(rule, data):
    model = MIGradientBoostingClassifier(rule, n_estimators=30, random_state=0).fit(data.bags, data.y)
    history = model.objective_history_
    assert len(history) == 31 and (np.diff(history) < 0).all()
    log_likelihood = model.predict_log_proba(data.bags)[np.arange(60), data.y].sum()
    np.testing.assert_allclose(history[-1], -log_likelihood, rtol=1e-9)
    assert history[-1] < 0.7 * history[0]


@pytest.mark.parametrize("loss", [None, "exponential"])
@pytest.mark.parametrize("weighted", [False, True])
def test_bags_of_one_are_scikit_learns_boosting(loss, weighted):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150) > 0).astype(int)
    weight = rng.uniform(0.5, 2.0, size=150) if weighted else None
    params = {"n_estimators": 25, "max_depth": 2, "learning_rate": 0.2, "random_state": 0}
    ours = MIGradientBoostingClassifier("mean" if loss else "or", loss=loss, **params).fit(X, y, weight)
    theirs = GradientBoostingClassifier(loss=loss or "log_loss", **params)
    theirs.fit(X, y, weight)
    # With the exponential loss, scikit-learn's scores are half the log-odds.
    expected = theirs.decision_function(X) * (2.0 if loss else 1.0)
    np.testing.assert_allclose(ours.decision_function(X), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)


def test_the_exponential_loss_of_a_bag_is_that_of_its_mean(data):
    model = MIGradientBoostingClassifier("mean", loss="exponential", n_estimators=20, random_state=0)
    model.fit(data.bags, data.y)
    scores = model.decision_function_instances(data.bags) / 2
    mean = np.add.reduceat(scores, data.bags.offsets[:-1]) / data.bags.sizes
    np.testing.assert_allclose(np.exp(-np.where(data.y == 1, 1, -1) * mean).sum(), model.objective_)
    np.testing.assert_allclose(model.predict_proba(data.bags)[:, 1], 1 / (1 + np.exp(-2 * mean)))
    assert isinstance(model.rule_, LogOddsMean) and not hasattr(model, "posterior_instances")


def test_the_exponential_loss_requires_the_mean_rule(data):
    with pytest.raises(ValueError, match=r'loss="exponential" requires rule="mean"'):
        MIGradientBoostingClassifier("or", loss="exponential").fit(data.bags, data.y)


def test_rules_with_learned_parameters_are_refused(data):
    with pytest.raises(ValueError, match="has parameters to learn"):
        MIGradientBoostingClassifier("count_logistic").fit(data.bags, data.y)


@pytest.mark.parametrize("change", [np.exp, lambda X: 1e300 * X, lambda X: 1.7e9 + np.round(X, 6), np.cbrt])
def test_only_the_order_of_values_matters(change, data):
    model = MIGradientBoostingClassifier(n_estimators=20, random_state=0)
    expected = model.fit(data.bags, data.y).predict_proba(data.bags)
    other = data.bags.with_instances(change(data.bags.instances))
    np.testing.assert_allclose(model.fit(other, data.y).predict_proba(other), expected, rtol=1e-9)


def test_sparse_bags_equal_dense_bags(data):
    X = np.where(np.abs(data.bags.instances) > 0.5, data.bags.instances, 0.0)
    dense, sparse = (data.bags.with_instances(Z) for Z in (X, sp.csr_array(X)))
    model = MIGradientBoostingClassifier(n_estimators=30, random_state=0)
    expected = model.fit(dense, data.y).decision_function_instances(dense)
    fitted = model.fit(sparse, data.y)
    for bags in (dense, sparse):
        np.testing.assert_allclose(fitted.decision_function_instances(bags), expected, rtol=1e-12)


def test_shares_of_features_are_the_importances_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(200, 4)), rng.uniform(0.1, 5.0, size=200)
    target = np.sin(3 * X[:, 0]) + 0.3 * X[:, 2]
    tree = DecisionTreeRegressor(max_depth=5, random_state=0)
    arrays, leaf = OrderedFeatures(X).grow(tree, target, weight)
    shares = split_shares(arrays, leaf, target, weight, 4)
    np.testing.assert_allclose(shares, tree.feature_importances_, rtol=1e-9)
    arrays, leaf = OrderedFeatures(X).grow(tree, np.ones(200), weight)
    assert not split_shares(arrays, leaf, np.ones(200), weight, 4).any()


def test_weights_twenty_orders_apart_leave_importances_finite():
    """In scikit-learn, the impurity of a leaf of weight 1e-8 is 0 / 0 if other leaves weigh 1e12."""
    rng = np.random.default_rng(21)
    y = np.arange(8) % 2
    bags = rng.integers(0, 2, size=(8, 3, 3)).astype(float)
    weight = 10.0 ** rng.integers(-12, 12, size=8)
    model = MIGradientBoostingClassifier("log_odds_mean", n_estimators=20, max_depth=5, random_state=0)
    importances = model.fit(bags, y, sample_weight=weight).feature_importances_
    assert np.isfinite(importances).all() and abs(importances.sum() - 1.0) < 1e-12


def test_boosting_learns_a_nonlinear_boundary():
    """Positive instances are in a box that negative instances surround."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    bags = rng.normal(size=(400, 5, 3))
    inside = (np.abs(bags[..., :2]) < 0.6).all(axis=2)
    bags[..., :2] += np.where(inside, 2.0, 0.0)[..., None]
    bags[y == 1, 0, :2] = rng.uniform(-0.6, 0.6, size=(200, 2))
    model = MIGradientBoostingClassifier(random_state=0).fit(bags[:300], y[:300])
    assert model.score(bags[300:], y[300:]) > 0.9
    scores = model.decision_function_instances(bags[300:]).reshape(100, 5)
    assert (scores[y[300:] == 1].argmax(axis=1) == 0).mean() > 0.9
    assert model.feature_importances_[:2].sum() > 0.9


def test_early_stopping_keeps_trees_up_to_the_lowest_held_out_loss(data):
    noise = np.random.default_rng(0).permutation(data.y)
    model = MIGradientBoostingClassifier(
        early_stopping=True, validation_fraction=0.3, n_iter_no_change=5, n_estimators=500, random_state=0
    )
    model.fit(data.bags, noise)
    assert model.n_estimators_ == np.argmin(model.validation_history_) < 20
    assert len(model.validation_history_) == model.n_estimators_ + 6
    assert len(model.objective_history_) == model.n_estimators_ + 1
    assert len(model.trees_.roots) == model.n_estimators_
    again = MIGradientBoostingClassifier(n_estimators=50, random_state=0).fit(data.bags, data.y)
    assert again.n_estimators_ == 50 and not len(again.validation_history_)


def test_held_out_bags_are_whole_groups_of_bags_with_weight(data, monkeypatch):
    groups, weight = np.arange(60) // 4, (np.arange(60) % 5 > 0).astype(float)
    seen = []

    def scores(loss, part):
        seen.append(part)
        return real(loss, part)

    monkeypatch.setattr("bagwise.models.trees.boosting._scores", scores)
    model = MIGradientBoostingClassifier(early_stopping=True, n_estimators=5, random_state=0)
    model.fit(data.bags, data.y, weight, groups=groups)
    first = {float(bag[0, 0]): index for index, bag in enumerate(data.bags)}
    learned, held_out = ({first[float(bag[0, 0])] for bag in part.bags} for part in seen)
    assert not {groups[i] for i in learned} & {groups[i] for i in held_out}
    assert learned | held_out == set(np.flatnonzero(weight)) and 4 <= len(held_out) <= 20
    with pytest.raises(ValueError, match=r"groups has the shape \(3,\), but there are 60 bags"):
        model.fit(data.bags, data.y, groups=[1, 2, 3])


def test_flat_trees_predict_like_scikit_learn():
    rng = np.random.default_rng(0)
    X, target = rng.integers(0, 50, size=(300, 5)).astype(float), rng.normal(size=300)
    tree = DecisionTreeRegressor(max_depth=6, random_state=0)
    flat, leaf = OrderedFeatures(X).grow(tree, target, np.ones(300))
    flat = replace(flat, value=tree.tree_.value.ravel())
    plain = DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, target)
    np.testing.assert_allclose(flat.sums(X), plain.predict(X))
    np.testing.assert_array_equal(leaf, plain.apply(X))
    offsets = np.arange(0, 301, 10)
    path = plain.decision_path(X).toarray()
    np.testing.assert_array_equal(flat.visits(X, offsets), path.reshape(30, 10, -1).sum(axis=1))
    np.testing.assert_array_equal(flat.visits(sp.csr_array(X), offsets), flat.visits(X, offsets))


@pytest.mark.parametrize(
    ("name", "node", "value"), [("left", 0, 0), ("right", 0, 10**6), ("feature", 0, 4), ("roots", 0, -1)]
)
def test_damaged_trees_are_refused_before_prediction(name, node, value, data):
    model = MIGradientBoostingClassifier(n_estimators=3, random_state=0).fit(data.bags, data.y)
    broken = getattr(model.trees_, name).copy()
    broken[node] = value
    model.trees_ = replace(model.trees_, **{name: broken})
    with pytest.raises(ValueError, match="invalid node indices; the model file is damaged"):
        model.predict(data.bags)


def test_constant_instances_leave_the_constant():
    bags = Bags(np.zeros((12, 2)), np.arange(0, 13, 3))
    model = MIGradientBoostingClassifier(n_estimators=5).fit(bags, [0, 1, 1, 1])
    np.testing.assert_allclose(model.predict_proba(bags)[:, 1], 0.75)
    assert not model.feature_importances_.any()
