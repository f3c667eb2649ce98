"""Linear models of data with constant features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bagwise import (
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMLLogisticRegression,
    SoftORLogisticRegression,
    forward_selection,
    make_noisy_or_bags,
    milr_path,
    refit_selected,
)

DATA = make_noisy_or_bags(60, size=(2, 5), coef=[2.0, -2.0], intercept=-1.0, random_state=0)
BAGS, Y = DATA.bags, DATA.y
N = BAGS.n_instances


def with_first(*columns):
    return BAGS.with_instances(np.column_stack([*columns, BAGS.instances]))


WIDE = with_first(np.full(N, 1.7e18), np.full(N, 0.1))


@pytest.mark.parametrize("rule", ["or", "mean", "softmax", "threshold", "count_logistic", "max"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scale", ["standard", None, "rank"])
def test_coefficients_are_those_without_the_constants(rule, l1_ratio, scale):
    model = MILogisticRegression(rule, alpha=0.5, l1_ratio=l1_ratio, scale=scale, n_init=3, random_state=0)
    plain = model.fit(BAGS, Y)
    coef, intercept, objective = plain.coef_[0], plain.intercept_[0], plain.objective_
    model.fit(WIDE, Y)
    assert_array_equal(model.coef_[0, :2], 0.0)
    assert_allclose(model.coef_[0, 2:], coef, rtol=1e-9, atol=1e-12)
    assert_allclose([model.intercept_[0], model.objective_], [intercept, objective], rtol=1e-9)


def test_warm_starts_and_repeated_fits_accept_a_feature_that_became_constant():
    model = SoftORLogisticRegression(warm_start=True, random_state=0).fit(with_first(np.arange(N) % 3), Y)
    model.fit(with_first(np.full(N, 1.7e18)), Y)
    plain = SoftORLogisticRegression(random_state=0).fit(BAGS, Y)
    assert model.coef_[0, 0] == 0.0
    assert_allclose(model.predict_proba(with_first(np.ones(N))), plain.predict_proba(BAGS), atol=1e-4)


def test_a_feature_can_be_constant_in_some_folds():
    rare = np.zeros(N)
    rare[: BAGS.offsets[1]] = 1.0  # constant in the folds that hold out the first bag
    model = MILogisticRegressionCV(alphas=8, cv=5, random_state=0).fit(with_first(rare), Y)
    plain = MILogisticRegressionCV(alphas=model.alphas_, cv=5, random_state=0).fit(BAGS, Y)
    assert_allclose(model.deviances_.min(), plain.deviances_.min(), rtol=0.05)


def test_a_path_has_the_coefficients_without_the_constants():
    ours, expected = milr_path(WIDE, Y, alphas=5), milr_path(BAGS, Y, alphas=5)
    assert (ours.coefs[:, :2] == 0).all()
    assert_allclose(ours.coefs[:, 2:], expected.coefs, atol=1e-9)
    assert_allclose(ours.log_odds(WIDE.instances), expected.log_odds(BAGS.instances), atol=1e-9)


def test_inference_leaves_out_constants():
    ours, expected = (
        MILogisticRegression(alpha=0.0, random_state=0).fit(b, Y).inference() for b in (WIDE, BAGS)
    )
    assert ours.names == ["(intercept)", "x2", "x3"] and ours.message is None
    assert_allclose(ours.coef, expected.coef, rtol=1e-9)
    assert_allclose(ours.se, expected.se, rtol=1e-9)
    assert ours.df == expected.df == 2
    assert_allclose(ours.score_statistic, expected.score_statistic, rtol=1e-9)


def test_selections_do_not_choose_constants():
    lasso = MILogisticRegression(alpha=1.0, random_state=0).fit(WIDE, Y)
    assert_array_equal(refit_selected(lasso, WIDE, Y).selected_features_, [False, False, True, True])
    forward = forward_selection(WIDE, Y)
    assert not forward.selected_features_[:2].any() and forward.selected_features_.any()


def test_several_labels_have_the_coefficients_without_the_constants():
    labels = np.column_stack([Y, Y[::-1]])
    model = MIMLLogisticRegression(random_state=0, n_init=2)
    coef = model.fit(BAGS, labels).coef_
    model.fit(WIDE, labels)
    assert_array_equal(model.coef_[:, :2], 0.0)
    assert_allclose(model.coef_[:, 2:], coef, rtol=1e-9)


def test_a_column_of_ones_is_no_intercept_and_the_fit_says_so():
    model = MILogisticRegression(fit_intercept=False, scale=None, random_state=0)
    with pytest.warns(UserWarning, match=r"X has constant features .* use fit_intercept=True"):
        model.fit(with_first(np.ones(N)), Y)
    assert model.coef_[0, 0] == 0.0
    model.fit(BAGS, Y)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_without_varying_features_predictions_are_the_share_of_positive_bags(alpha, l1_ratio):
    bags = BAGS.with_instances(np.full((N, 2), 1.7e18))
    model = MILogisticRegression("max", alpha=alpha, l1_ratio=l1_ratio, random_state=0).fit(bags, Y)
    new = BAGS.with_instances(np.arange(2.0 * N).reshape(N, 2))
    assert_allclose(model.predict_proba(new)[:, 1], Y.mean(), atol=1e-4)
    assert (model.coef_ == 0).all()
