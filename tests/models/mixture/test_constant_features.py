"""Mixtures leave out features that are constant in training."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bagwise import Bags, DiscriminativeMixture, MIMixture, load, make_mixture_bags, save
from bagwise.families import Categorical, Gaussian, GaussianDiag

DATA = make_mixture_bags(40, size=4, separation=3.0, random_state=0)
X, Y = DATA.bags.instances, DATA.y
N = len(X)


def bags_of(*columns):
    return DATA.bags.with_instances(np.column_stack(columns))


WIDE = bags_of(np.full(N, 1.7e18), X, np.full(N, -0.1))
OTHER = bags_of(np.arange(N), X, np.full(N, 1e9))


@pytest.mark.parametrize("family", ["gaussian", "gaussian_diag", "gaussian_spherical", "gaussian_tied"])
@pytest.mark.parametrize("n_components", [1, (2, 1)])
def test_the_density_does_not_depend_on_a_constant(family, n_components):
    plain = MIMixture(family, n_components=n_components, n_init=2, random_state=0).fit(DATA.bags, Y)
    model = MIMixture(family, n_components=n_components, n_init=2, random_state=0).fit(WIDE, Y)
    for bags in (WIDE, OTHER):
        assert_array_equal(model.predict_log_proba(bags), plain.predict_log_proba(DATA.bags))
        assert_array_equal(model.score_samples(bags), plain.score_samples(DATA.bags))
    assert model.objective_ == plain.objective_
    assert model.bic(WIDE) == plain.bic(DATA.bags)


def test_components_and_samples_have_all_features(tmp_path):
    model = MIMixture("gaussian", n_init=2, random_state=0).fit(WIDE, Y)
    component = model.positive_components_[0]
    assert_array_equal(component.mean[[0, 3]], [1.7e18, -0.1])
    assert component.covariance.shape == (4, 4) and (component.covariance[[0, 3]] == 0).all()
    drawn = model.sample(3, random_state=0).bags.instances
    assert (drawn[:, [0, 3]] == [1.7e18, -0.1]).all()
    assert 0 <= model.bayes_error_bound(5, n_samples=1000, random_state=0) <= 1
    again = load(save(model, tmp_path / "model.bagwise"))
    assert_array_equal(again.predict_proba(OTHER), model.predict_proba(WIDE))


@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_discrete_components_show_the_constant(family):
    values = (X.mean(axis=0) < X).astype(float)
    bags = bags_of(np.ones(N), values)
    model = MIMixture(family, n_init=2, random_state=0).fit(bags, Y)
    plain = MIMixture(family, n_init=2, random_state=0).fit(bags_of(values), Y)
    assert_array_equal(
        model.predict_proba(bags_of(np.zeros(N), values)), plain.predict_proba(bags_of(values))
    )
    probability = model.negative_components_[0].probability
    assert_array_equal(probability[0], 1.0 if family == "bernoulli" else [0.0, 1.0])
    assert_array_equal(probability[1:], plain.negative_components_[0].probability)


def test_a_refused_value_is_reported_with_its_feature():
    values = (X.mean(axis=0) < X).astype(float)
    model = MIMixture(Categorical(), n_init=2, random_state=0).fit(bags_of(np.ones(N), values), Y)
    values[5, 1] = 4.0
    with pytest.raises(ValueError, match="instance 5 has 4 in feature 2"):
        model.predict(bags_of(np.ones(N), values))


def test_a_family_can_describe_constants():
    class All(GaussianDiag):
        describes_constants = True

    three = bags_of(X, np.full(N, 3.0))
    plain = MIMixture("gaussian_diag", n_init=2, random_state=0).fit(DATA.bags, Y)
    model = MIMixture(All(), n_init=2, random_state=0).fit(three, Y)
    assert np.abs(model.predict_log_proba(three) - plain.predict_log_proba(DATA.bags)).max() > 0.01
    assert (model.positive_components_[0].variance > 0).all()


@pytest.mark.parametrize("size", [1.0, 1e9, 1e10])
def test_a_bag_alone_has_the_prediction_that_it_has_among_others(size):
    # The squares of this feature are constant, up to their last digits.
    sign = np.where(np.random.default_rng(0).random(60) < 0.5, -1.0, 1.0)
    bags = Bags(size * sign[:, None], np.arange(0, 61, 3))
    y = np.add.reduceat(sign, bags.offsets[:-1]) > 0
    unit = DiscriminativeMixture("gaussian_diag", n_init=1, random_state=0)
    expected = unit.fit(bags.with_instances(sign[:, None]), y).predict_proba(
        bags.with_instances(sign[:, None])
    )
    model = DiscriminativeMixture("gaussian_diag", n_init=1, random_state=0).fit(bags, y)
    together = model.predict_proba(bags)
    alone = np.concatenate([model.predict_proba(bags[i : i + 1]) for i in range(len(bags))])
    assert_array_equal(alone, together)
    assert_allclose(together, expected, atol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "gaussian_diag", "gaussian_spherical"])
def test_products_of_features_do_not_depend_on_the_origin(family):
    far = DATA.bags.with_instances(X + 2.0**20)
    near, away = (DiscriminativeMixture(family, random_state=0).fit(bags, Y) for bags in (DATA.bags, far))
    assert_allclose(away.predict_log_proba(far), near.predict_log_proba(DATA.bags), atol=1e-6)
    assert_allclose(away.family_.origin_, X.mean(axis=0) + 2.0**20)


def test_families_without_an_origin_have_plain_statistics():
    assert_array_equal(Gaussian().sufficient(X[:3, :1]), np.column_stack([X[:3, :1], X[:3, :1] ** 2]))
