"""Tests of boxes against enumeration, and of the bags that set the bounds."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import norm

from bagwise import APRClassifier, make_noisy_or_bags
from bagwise.models.prototypes.apr import discriminate, expand, first_choice, grow


def size(points):
    return np.ptp(points, axis=0).sum()


@pytest.mark.parametrize("seed", range(8))
def test_a_grown_box_is_one_that_no_exchange_makes_smaller(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=6)
    offsets = np.append(0, np.cumsum(sizes))
    X = rng.normal(size=(offsets[-1], 3))
    chosen = grow(X, offsets)
    bags = [range(a, b) for a, b in pairwise(offsets)]
    assert all(row in bag for row, bag in zip(chosen, bags, strict=True))
    least = min(size(X[list(rows)]) for rows in product(*bags))
    assert size(X[chosen]) < 1.35 * least + 1e-12
    for i, bag in enumerate(bags):
        for row in bag:
            other = chosen.copy()
            other[i] = row
            assert size(X[other]) >= size(X[chosen]) * (1 - 1e-9)


def test_backfitting_corrects_a_bad_first_choice():
    """Only one bag has an instance in the middle, but all bags have instances near the two ends."""
    bags = [[[5.0], [0.0], [10.0]], [[-10.0], [10.4]], [[-9.0], [10.2]], [[-11.0], [9.9]]]
    X, offsets = np.concatenate(bags), np.array([0, 3, 5, 7, 9])
    assert first_choice(X, offsets) == 0
    np.testing.assert_array_equal(grow(X, offsets), [2, 4, 6, 8])


def test_features_are_ordered_by_the_instances_they_exclude():
    lower, upper = np.zeros(4), np.ones(4)
    X = np.full((6, 4), 0.5)
    X[:4, 1] = 5.0  # feature 1 excludes four instances; feature 0 excludes two of them as well
    X[:2, 0] = 9.0
    X[4, 3] = 1.2  # less than the margin, but no feature excludes it by the margin
    X[4, 2] = 1.1
    features = discriminate(X, lower, upper, np.arange(4), margin=1.0)
    np.testing.assert_array_equal(features, [1, 3])  # the last instance is inside, so it is ignored
    np.testing.assert_array_equal(discriminate(X, lower, upper, np.array([0, 2]), 1.0), [0, 2])
    assert not len(discriminate(X[5:], lower, upper, np.arange(4), 1.0))


def test_ties_between_features_go_to_the_larger_distance():
    X = np.array([[3.0, 7.0], [3.0, 7.0]])
    np.testing.assert_array_equal(discriminate(X, np.zeros(2), np.ones(2), np.arange(2), 1.0), [1])


def test_expanded_bounds_leave_half_of_epsilon_beyond():
    values = np.random.default_rng(0).normal(size=(9, 3)) * [1.0, 10.0, 0.1]
    lower, upper = expand(values, tau=0.9, epsilon=0.1, least=1e-9)
    deviation = 0.5 * np.ptp(values, axis=0) / norm.ppf(0.95)
    beyond = (
        norm.sf((upper - values) / deviation).mean(axis=0),
        norm.cdf((lower - values) / deviation).mean(axis=0),
    )
    np.testing.assert_allclose(beyond, 0.05, rtol=1e-9)
    # Bounds are never moved inward.
    lower, upper = expand(values, tau=0.99999, epsilon=0.5, least=1e-9)
    np.testing.assert_array_equal([lower, upper], [values.min(axis=0), values.max(axis=0)])


def test_one_positive_bag_has_a_box_with_sides():
    rng = np.random.default_rng(0)
    model = APRClassifier().fit(rng.normal(size=(5, 3, 2)), [0, 0, 1, 0, 0])
    assert (model.lower_ < model.upper_).all()


@pytest.fixture
def planted():
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    bags = rng.uniform(0, 100, size=(80, 4, 6))
    where = rng.integers(4, size=40)
    bags[np.flatnonzero(y), where, 2:4] = rng.uniform(40, 50, size=(40, 2))
    return bags, y, where


def test_planted_box_and_its_instances_are_recovered(planted):
    bags, y, where = planted
    model = APRClassifier(epsilon=0.05).fit(bags[:60], y[:60])
    np.testing.assert_array_equal(model.features_, [2, 3])
    assert (model.chosen_[y[:60] == 1] == where[:30]).mean() > 0.95 and (
        model.chosen_[y[:60] == 0] == -1
    ).all()
    assert model.score(bags[60:], y[60:]) >= 0.8
    inside = model.predict_instances(bags[60:]).reshape(20, 4)
    assert inside[np.flatnonzero(y[60:]), where[30:]].all()


def test_a_score_is_the_distance_to_the_nearest_bound_in_half_sides(planted):
    bags, y, _ = planted
    model = APRClassifier().fit(bags, y)
    middle = np.zeros(6)
    middle[model.features_] = 0.5 * (model.lower_ + model.upper_)
    np.testing.assert_allclose(model.decision_function_instances(middle[None, None]), 1.0)
    for end, sign in ((model.lower_, 1.0), (model.upper_, -1.0)):
        for k, j in enumerate(model.features_):
            on = middle.copy()
            on[j] = end[k]
            assert abs(model.decision_function(on[None, None])[0]) < 1e-12
            on[j] = end[k] - sign * 0.25 * (model.upper_ - model.lower_)[k]
            np.testing.assert_allclose(model.decision_function(on[None, None])[0], -0.5)


def test_bounds_name_the_bags_that_set_them(planted):
    bags, y, _ = planted
    model = APRClassifier().fit(bags, y)
    values = np.array([bags[i, model.chosen_[i]][model.features_] for i in np.flatnonzero(y)])
    for k in range(len(model.features_)):
        low, high = (bags[i, model.chosen_[i], model.features_[k]] for i in model.bound_bags_[k])
        assert low == values[:, k].min() and high == values[:, k].max()
        assert model.lower_[k] <= low and model.upper_[k] >= high


def test_units_do_not_matter_and_constant_features_bound_nothing(planted):
    bags, y, _ = planted
    factor, shift = np.array([1e-6, 1.0, 1e6, 1e3, 0.0, 5.0]), np.array([0.0, 9.0, -3e6, 0.0, 7.0, 1e9])
    expected, fitted = APRClassifier().fit(bags, y), APRClassifier().fit(bags * factor + shift, y)
    assert 4 not in fitted.features_
    np.testing.assert_array_equal(fitted.features_, expected.features_)
    np.testing.assert_allclose(
        fitted.decision_function(bags * factor + shift), expected.decision_function(bags), rtol=1e-6
    )


def test_without_a_feature_that_varies_every_bag_is_positive():
    bags, y = np.ones((8, 3, 5)), np.repeat([1, 0], 4)
    model = APRClassifier().fit(bags, y)
    assert not len(model.features_) and (model.predict(bags + 1.0) == 1).all()


def test_all_features_have_bounds_if_none_excludes_instances():
    rng = np.random.default_rng(0)
    bags = np.concatenate([rng.uniform(-1, 1, size=(10, 1, 2)), rng.uniform(-0.1, 0.1, size=(10, 1, 2))])
    bags[:2, 0] = [[-1.0, -1.0], [1.0, 1.0]]
    model = APRClassifier().fit(bags, np.repeat([1, 0], 10))
    np.testing.assert_array_equal(model.features_, [0, 1])
    assert (model.predict(bags) == 1).all()


def test_sample_weight_is_refused():
    data = make_noisy_or_bags(20, random_state=0)
    with pytest.raises(TypeError, match="sample_weight"):
        APRClassifier().fit(data.bags, data.y, sample_weight=np.ones(20))
