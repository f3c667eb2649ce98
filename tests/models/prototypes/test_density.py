import numpy as np
import pytest
from scipy.optimize import check_grad

from bagwise import EMDD, Bags, DiscriminativeMixture, DiverseDensity, Max, Mean, Or, make_mixture_bags
from bagwise.models.prototypes.density_problem import DensityProblem, NearestProblem


def make_problem(rule, rng, on_target=False):
    sizes = np.array([3, 1, 4, 2])
    X = rng.normal(size=(sizes.sum(), 3))
    problem = DensityProblem(
        X, np.concatenate([[0], np.cumsum(sizes)]), np.array([1, 0, 1, 0]), rng.random(4) + 0.5, rule
    )
    target = X[0] if on_target else rng.normal(size=3)
    return problem, np.concatenate([target, rng.random(3) + 0.3])


@pytest.mark.parametrize("rule", [Or(), Mean(), Max()], ids=lambda r: type(r).__name__)
def test_the_gradient_is_that_of_the_value(rule):
    rng = np.random.default_rng(0)
    for _ in range(5):
        problem, theta = make_problem(rule, rng)
        error = check_grad(
            lambda t, p=problem: p.value_and_gradient(t)[0],
            lambda t, p=problem: p.value_and_gradient(t)[1],
            theta,
        )
        assert error < 1e-5


def test_value_is_the_noisy_or_likelihood():
    rng = np.random.default_rng(0)
    problem, theta = make_problem(Or(), rng)
    target, scale = theta[:3], theta[3:]
    p = np.exp(-np.sum(scale**2 * (problem.X - target) ** 2, axis=1))
    expected = 0.0
    for i in range(4):
        none = np.prod(1 - p[problem.offsets[i] : problem.offsets[i + 1]])
        expected -= problem.weight[i] * np.log(1 - none if problem.y[i] == 1 else none)
    assert problem.value_and_gradient(theta)[0] == pytest.approx(expected, rel=1e-6)


def test_bags_of_one_instance_have_the_same_value_in_one_pass():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(6, 3)), np.array([1, 0, 0, 1, 0, 1], dtype=np.int8), rng.random(6)
    weight /= weight.sum()
    X[1] = X[0]  # a negative instance at the target, where q is at its lower limit
    nearest = NearestProblem(X, y, weight)
    for rule in (Or(), Max(), Mean()):
        problem = DensityProblem(X, np.arange(7), y, weight, rule)
        for target in (X[0], rng.normal(size=3), 30 * rng.normal(size=3)):
            theta = np.concatenate([target, rng.normal(size=3)])
            value, gradient = problem.value_and_gradient(theta)
            nearest_value, nearest_gradient = nearest.value_and_gradient(theta)
            assert nearest_value == pytest.approx(value, rel=1e-12)
            np.testing.assert_allclose(nearest_gradient, gradient, rtol=1e-9, atol=1e-12)


def test_an_instance_on_the_target_has_a_finite_value_and_gradient():
    problem, theta = make_problem(Or(), np.random.default_rng(0), on_target=True)
    value, gradient = problem.value_and_gradient(theta)
    assert np.isfinite(value) and np.isfinite(gradient).all()
    negative = DensityProblem(problem.X, problem.offsets, 1 - problem.y, np.ones(4), Or())
    value, gradient = negative.value_and_gradient(theta)
    assert np.isfinite(value) and np.isfinite(gradient).all()


def concept(n_bags=80, seed=0):
    """Return bags that are positive if they have an instance near (2, -1); the third feature is noise."""
    rng = np.random.default_rng(seed)
    bags, y = [], np.arange(n_bags) % 2
    for label in y:
        bag = rng.uniform(-4, 4, size=(5, 3))
        away = np.hypot(bag[:, 0] - 2, bag[:, 1] + 1) < 1.5
        bag[away, 0] -= 4
        if label:
            bag[rng.integers(5), :2] = np.array([2, -1]) + 0.2 * rng.normal(size=2)
        bags.append(bag)
    return Bags.from_list(bags), y


@pytest.mark.parametrize("cls", [DiverseDensity, EMDD])
def test_the_target_is_found_and_noise_is_switched_off(cls):
    bags, y = concept()
    model = cls(n_init=20, random_state=0).fit(bags, y)
    target = model.scaler_.inverse_transform(model.target_[None])[0]
    np.testing.assert_allclose(target[:2], [2, -1], atol=0.4)
    assert model.feature_scales_[2] < 0.3 * model.feature_scales_[:2].min()
    new, labels = concept(200, seed=1)
    assert model.score(new, labels) > 0.9


def test_every_instance_of_a_positive_bag_can_be_a_start():
    bags, y = concept(10)
    model = DiverseDensity(n_init=None).fit(bags, y)
    assert len(model.objectives_) == 25


def test_starts_lie_in_positive_bags_only():
    bags, y = concept(20)
    seen = []

    class Watching(DiverseDensity):
        def _solve(self, problem, start, on_iteration):
            seen.append(start[:3])
            return super()._solve(problem, start, on_iteration)

    Watching(n_init=10, scale=None, random_state=0).fit(bags, y)
    positive = np.array(bags[y == 1].instances)
    assert all((positive == start).all(axis=1).any() for start in seen)


def test_emdd_has_no_posterior_and_diverse_density_has():
    data = make_mixture_bags(20, random_state=0)
    assert not hasattr(EMDD(random_state=0).fit(data.bags, data.y), "posterior_instances")
    assert hasattr(DiverseDensity(random_state=0).fit(data.bags, data.y), "posterior_instances")


@pytest.mark.parametrize("cls", [DiverseDensity, EMDD, DiscriminativeMixture])
def test_class_weights_multiply_the_weights_of_bags(cls):
    data = make_mixture_bags(40, separation=2.0, random_state=0)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2.0, len(data.y))
    share = np.bincount(data.y, weights=weight)
    plain = cls(n_init=2, random_state=0).fit(data.bags, data.y, sample_weight=weight)
    for class_weight, factors in (({1: 3.0}, [1.0, 3.0]), ("balanced", share.sum() / (2 * share))):
        model = cls(n_init=2, class_weight=class_weight, random_state=0)
        model.fit(data.bags, data.y, sample_weight=weight)
        by_hand = cls(n_init=2, random_state=0)
        by_hand.fit(data.bags, data.y, sample_weight=weight * np.array(factors)[data.y])
        proba = model.predict_proba(data.bags)
        np.testing.assert_allclose(proba, by_hand.predict_proba(data.bags), rtol=1e-9)
        assert np.abs(proba - plain.predict_proba(data.bags)).max() > 0.01


def test_local_optima_are_the_better_ends_each_once():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = rng.uniform(-4, 4, size=(40, 4, 2))
    for spot in ((-8.0, 0.0), (8.0, 0.0)):  # positive bags have one instance near each spot
        bags[y == 1, int(spot[0] > 0)] = np.array(spot) + 0.3 * rng.normal(size=(20, 2))
    model = DiverseDensity(n_init=30, scale=None, random_state=0).fit(bags, y)
    targets, objectives = model.local_optima_[:, 0], model.local_objectives_
    assert (np.diff(objectives) >= 0).all() and objectives[0] == model.objective_
    assert objectives[-1] <= 0.5 * (model.objectives_.min() + model.objectives_.max())
    np.testing.assert_array_equal(targets[0], model.target_)
    np.testing.assert_array_equal(model.local_optima_[0, 1], model.feature_scales_)
    for spot in ((-8.0, 0.0), (8.0, 0.0)):
        assert (np.abs(targets[:, 0] - spot[0]) < 1.0).sum() == 1  # the other scale is near zero
    assert len(targets) < 30
