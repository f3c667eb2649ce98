import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from bagwise import (
    Bags,
    MILogisticRegression,
    MILogisticRegressionCV,
    forward_selection,
    make_noisy_or_bags,
    milr_path,
    plot_cv,
    plot_odds_ratios,
    plot_path,
    rate_change,
    refit_selected,
)


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(150, size=3, coef=[1.5, -1.5, 0.0], random_state=0)


def maximum_likelihood(**parameters):
    return MILogisticRegression(alpha=0.0, tol=1e-9, random_state=0, **parameters)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", ["standard", "minmax", None])
def test_bags_of_one_instance_give_the_table_of_statsmodels(data, fit_intercept, scale):
    X, y = data.bags.instances * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0], data.instance_y
    model = maximum_likelihood(fit_intercept=fit_intercept, scale=scale).fit(X, y)
    ours = model.inference(X, y, intervals="wald")
    theirs = sm.Logit(y, sm.add_constant(X) if fit_intercept else X).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(ours.coef, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(ours.se, theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(ours.z, theirs.tvalues, rtol=1e-5)
    np.testing.assert_allclose(ours.p_value, theirs.pvalues, rtol=1e-4)
    np.testing.assert_allclose(ours.confidence_interval(), theirs.conf_int(), rtol=1e-5)
    assert ours.log_likelihood == pytest.approx(theirs.llf)
    if fit_intercept:
        assert ours.lr_statistic == pytest.approx(theirs.llr)
        assert ours.lr_p_value == pytest.approx(theirs.llr_pvalue, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("rule", ["or", "mean", "geometric_mean"])
def test_the_information_is_the_second_difference_of_the_log_likelihood(data, rule):
    model = maximum_likelihood(rule=rule).fit(data.bags, data.y)
    theta = np.append(model.intercept_, model.coef_)
    covariance = model.inference(data.bags, data.y).covariance

    def log_likelihood(t):
        log_odds = data.bags.instances @ t[1:] + t[0]
        return model.rule_.gradient(log_odds, data.bags.offsets, data.y)[0].sum()

    step = 1e-3 * np.sqrt(np.diagonal(covariance))
    hessian = np.empty((4, 4))
    for i, a in enumerate(np.diag(step)):
        for j, b in enumerate(np.diag(step)):
            four = [log_likelihood(theta + s * a + t * b) for s in (1, -1) for t in (1, -1)]
            hessian[i, j] = (four[0] - four[1] - four[2] + four[3]) / (4 * step[i] * step[j])
    np.testing.assert_allclose(covariance, np.linalg.inv(-hessian), rtol=1e-2)


def test_a_covariate_without_information_is_met_by_a_sentence(data):
    collinear = data.bags.with_instances(np.hstack([data.bags.instances, data.bags.instances[:, :1]]))
    model = maximum_likelihood(n_init=1).fit(collinear, data.y)
    inference = model.inference(collinear, data.y)
    assert inference.se is None and "not positive definite" in inference.message
    assert inference.summary().endswith(inference.message)
    with pytest.raises(ValueError, match="there are no standard errors"):
        inference.confidence_interval()


def test_a_penalised_model_has_no_standard_errors(data):
    model = MILogisticRegression(alpha=1.0, random_state=0).fit(data.bags, data.y)
    with pytest.raises(ValueError, match=r"alpha=1\.0, and a penalty biases coefficients"):
        model.inference(data.bags, data.y)


def test_the_summary_names_features_and_the_frame_holds_the_same(data):
    named = Bags(data.bags.instances, data.bags.offsets, feature_names=["width", "height", "noise"])
    inference = maximum_likelihood().fit(named, data.y).inference(named, data.y)
    text = inference.summary()
    rows = [line.split()[0] for line in text.splitlines() if line[:1].isalpha() or line.startswith("(")]
    assert {"(intercept)", "width", "height", "noise"} <= set(rows)
    assert f"{inference.coef[1]:.3f}" in text and "P>|z|" in text and max(map(len, text.splitlines())) <= 100
    frame = inference.to_frame()
    assert isinstance(frame, pd.DataFrame) and frame["name"].tolist() == inference.names
    np.testing.assert_allclose(inference.odds_ratios()[:, 0], np.exp(inference.coef))


def test_the_summary_has_limits_of_odds_ratios_and_no_p_value_of_zero(data):
    inference = maximum_likelihood().fit(data.bags, data.y).inference()
    assert inference.p_value.min() < 1e-4
    lines = inference.summary().splitlines()
    begin = next(i for i, line in enumerate(lines) if "P>|z|" in line)
    shown = [line.split()[4] for line in lines[begin + 2 : begin + 6]]
    assert "<.001" in shown and "0.000" not in shown
    begin = next(i for i, line in enumerate(lines) if "odds ratio" in line)
    assert lines[begin].split() == ["odds", "ratio", "[0.025", "0.975]"]
    printed = np.array([line.split()[1:] for line in lines[begin + 2 : begin + 6]], dtype=float)
    np.testing.assert_allclose(printed, inference.odds_ratios(), atol=5e-4)
    assert "p < .001" in inference.summary()


def test_the_summary_states_that_z_is_not_a_ratio_unless_it_is(data):
    model = maximum_likelihood().fit(data.bags, data.y)
    for intervals, ending in (("score", "score statistic"), ("profile", "root of the likelihood ratio")):
        last = model.inference(intervals=intervals).summary().splitlines()[-1]
        assert last.startswith("z is the ") and ending in last and "not coef / std err" in last
    assert "not coef / std err" not in model.inference(intervals="wald").summary()


def test_refitting_keeps_what_the_lasso_selected(data):
    lasso = MILogisticRegression(alpha=6.0, random_state=0).fit(data.bags, data.y)
    refitted = refit_selected(lasso, data.bags, data.y)
    kept = lasso.coef_[0] != 0
    assert np.array_equal(refitted.selected_features_, kept)
    assert (refitted.coef_[0][~kept] == 0).all()
    assert refitted.log_likelihood_ > lasso.log_likelihood_
    columns = np.flatnonzero(kept)
    direct = maximum_likelihood().fit(data.bags.with_instances(data.bags.instances[:, columns]), data.y)
    np.testing.assert_allclose(refitted.coef_[0][kept], direct.coef_[0], rtol=1e-4)
    inference = refitted.inference(data.bags, data.y)
    assert len(inference.coef) == 1 + kept.sum() and inference.df == kept.sum()
    assert refitted.predict_proba(data.bags).shape == (150, 2)


def test_forward_selection_finds_strong_features_and_stops():
    data = make_noisy_or_bags(200, size=3, coef=[2.0, 0.0, -2.0, 0.0, 0.0], random_state=3)
    model = forward_selection(data.bags, data.y, level=0.01)
    assert sorted(model.selection_order_[:2]) == [0, 2]
    assert model.selected_features_.sum() <= 3
    assert forward_selection(data.bags, data.y, max_features=1).selected_features_.sum() == 1
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        forward_selection(data.bags, data.y, level=5)


def test_forward_selection_takes_a_feature_exactly_if_its_p_value_is_below_the_level():
    data = make_noisy_or_bags(200, size=3, coef=[2.0, 0.0, -2.0, 0.0, 0.0], random_state=3)
    three = forward_selection(data.bags, data.y, level=0.999, max_features=3)
    position = np.flatnonzero(three.selected_features_).tolist().index(three.selection_order_[2])
    p = three.inference(data.bags, data.y, intervals="wald").p_value[1 + position]
    for level, n_selected in ((1.01 * p, 3), (0.99 * p, 2)):
        model = forward_selection(data.bags, data.y, level=level, max_features=3)
        assert len(model.selection_order_) == n_selected


def test_a_model_without_features_is_an_answer_too(data):
    noise = data.bags.with_instances(np.random.default_rng(2).normal(size=(450, 3)))
    empty = forward_selection(noise, data.y, level=1e-6)
    assert not empty.selected_features_.any() and (empty.coef_ == 0).all()
    inference = empty.inference(noise, data.y)
    assert inference.names == ["(intercept)"] and inference.df == 0 and inference.lr_p_value == 1.0
    share = data.y.mean()
    assert empty.intercept_[0] == pytest.approx(np.log(1 / (1 - share) ** (1 / 3) - 1), rel=1e-5)


def test_rate_change_is_the_difference_of_two_predictions(data):
    named = Bags(data.bags.instances, data.bags.offsets, feature_names=["a", "b", "c"])
    model = maximum_likelihood().fit(named, data.y)
    moved = np.array(named.instances)
    moved[:, 1] += 0.3
    expected = model.predict_proba(named.with_instances(moved))[:, 1] - model.predict_proba(named)[:, 1]
    np.testing.assert_array_equal(rate_change(model, named, "b", 0.3), expected)
    np.testing.assert_array_equal(rate_change(model, named, 1, 0.3), expected)
    with pytest.raises(ValueError, match="there is no feature 'z'"):
        rate_change(model, named, "z", 0.3)
    with pytest.raises(ValueError, match="feature must be between 0 and 2; got 7"):
        rate_change(model, named, 7, 0.3)


def test_plots_show_what_they_are_given(data):
    path = milr_path(data.bags, data.y, alphas=6)
    ax = plot_path(path, feature_names=["u", "v", "w"], alpha=path.alphas[3]).ax_
    assert {"u", "v"} <= {text.get_text() for text in ax.texts} and "selected" in ax.get_title(loc="left")
    with pytest.raises(ValueError, match="2 names but the path has 3 features"):
        plot_path(path, feature_names=["u", "v"])
    for criterion in ("deviance", "bic"):
        model = MILogisticRegressionCV(alphas=5, cv=3, n_init=1, criterion=criterion, random_state=0)
        assert plot_cv(model.fit(data.bags, data.y)).ax_.get_xscale() == "log"
    inference = maximum_likelihood().fit(data.bags, data.y).inference(data.bags, data.y)
    labels = [t.get_text() for t in plot_odds_ratios(inference).ax_.get_yticklabels()]
    assert labels == ["x0", "x1", "x2"]


def test_the_page_on_inference_runs(capsys):
    page = Path(__file__).parents[3] / "docs/inference.md"
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S):
        exec(block, scope)
    assert "P>|z|" in capsys.readouterr().out
