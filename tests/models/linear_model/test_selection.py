"""Feature selection, refits of the selected features, and their p values."""

import pickle

import numpy as np
import pytest
from reproduction.milr_simulations import naive_forward
from scipy.special import expit
from sklearn.base import clone

from bagwise import (
    Bags,
    MILogisticRegression,
    MILogisticRegressionCV,
    forward_selection,
    make_noisy_or_bags,
    naive_wald_selection,
    refit_selected,
    save_parquet,
    scan_bags,
)
from bagwise.models.base.folds import cut_in_two
from bagwise.models.linear_model.selection import _with_columns

TOO_SMALL = "The features were selected on these bags: the p values are too small"


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(200, coef=[2.0, -2.0, 0.0, 0.0, 0.0, 0.0], random_state=1)


@pytest.fixture(scope="module")
def lasso(data):
    return MILogisticRegression(alpha=6.0, n_init=1, random_state=0).fit(data.bags, data.y)


def test_a_refit_on_the_selecting_bags_says_so_in_its_first_line(data, lasso):
    table = refit_selected(lasso, data.bags, data.y).inference()
    assert table.summary().splitlines()[0].startswith(TOO_SMALL) and len(table.notes) == 1
    fresh = make_noisy_or_bags(200, coef=data.coef, random_state=2)
    assert refit_selected(lasso, fresh.bags, fresh.y).inference().notes == ()
    stored = pickle.loads(pickle.dumps(refit_selected(lasso, data.bags, data.y)))
    assert stored.inference(data.bags, data.y).notes == table.notes
    steps = forward_selection(data.bags, data.y)
    assert steps.inference().summary().startswith(TOO_SMALL)


@pytest.mark.parametrize("kind", ["lasso", "cv", "forward"])
def test_a_split_selects_on_one_part_and_fits_on_the_other(kind, data):
    model = MILogisticRegression(alpha=6.0, n_init=1, random_state=0)
    if kind == "cv":
        model = MILogisticRegressionCV(criterion="bic", n_init=1, random_state=0)
    all_bags = np.ones(200, dtype=bool)
    first, second = cut_in_two(data.y, 0.5, groups=None, counted=all_bags, random_state=7)
    assert len(first) == len(second) == 100 and not set(first) & set(second)
    assert abs(data.y[first].sum() - data.y[second].sum()) <= 1
    if kind == "forward":
        refitted = forward_selection(data.bags, data.y, split=0.5, random_state=7)
        kept = forward_selection(data.bags[first], data.y[first]).selected_features_
    else:
        whole = clone(model).fit(data.bags, data.y)
        refitted = refit_selected(whole, data.bags, data.y, split=0.5, random_state=7)
        kept = clone(model).fit(data.bags[first], data.y[first]).coef_[0] != 0
    np.testing.assert_array_equal(refitted.selected_features_, kept)
    table = refitted.inference()
    assert table.notes == () and table.n_bags == 100 and table.names[0] == "(intercept)"
    columns = data.bags.instances[:, np.flatnonzero(kept)]
    chosen = data.bags.with_instances(columns)[second]
    alone = MILogisticRegression(alpha=0.0, n_init=1, tol=1e-9).fit(chosen, data.y[second]).inference()
    np.testing.assert_allclose(table.p_value, alone.p_value, rtol=1e-2, atol=1e-6)


def test_parts_keep_groups_together_and_leave_out_what_does_not_count(data):
    groups = np.arange(200) // 4
    counted = np.arange(200) % 10 != 0
    for split in (0.5, 0.3):
        first, second = cut_in_two(data.y, split, groups=groups, counted=counted, random_state=0)
        assert not set(groups[first]) & set(groups[second])
        np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.flatnonzero(counted))
        assert len(first) / counted.sum() == pytest.approx(split, abs=0.05)
        assert data.y[first].mean() == pytest.approx(data.y[second].mean(), abs=0.1)


def test_a_split_with_weights_and_groups_is_a_fit_on_its_part(data, lasso):
    groups, weight = np.arange(200) // 2, np.where(np.arange(200) % 5 == 0, 0.0, 2.0)
    options = {"split": 0.5, "groups": groups, "random_state": 0}
    refitted = refit_selected(lasso, data.bags, data.y, weight, **options)
    first, second = cut_in_two(data.y, 0.5, groups=groups, counted=weight > 0, random_state=0)
    assert refitted.inference().n_bags == len(second)
    part = clone(lasso).fit(data.bags[first], data.y[first], weight[first])
    np.testing.assert_array_equal(refitted.selected_features_, part.coef_[0] != 0)
    direct = refit_selected(part, data.bags[second], data.y[second], weight[second])
    np.testing.assert_allclose(refitted.coef_, direct.coef_)


def test_what_cannot_be_split_or_selected_is_refused(data, lasso):
    strong = MILogisticRegression(alpha=1e4, n_init=1).fit(data.bags, data.y)
    with pytest.raises(ValueError, match="the LASSO selected no feature on its part of the bags"):
        refit_selected(strong, data.bags, data.y, split=0.5, random_state=0)
    with pytest.raises(ValueError, match="forward selection selected no feature"):
        forward_selection(data.bags, data.y, level=1e-30, split=0.5, random_state=0)
    for fit in (
        lambda **options: refit_selected(lasso, data.bags, data.y, **options),
        lambda **options: forward_selection(data.bags, data.y, **options),
    ):
        with pytest.raises(ValueError, match="groups can only be used with split"):
            fit(groups=np.arange(200))
    for split in (0, 1.0, 2, "half"):
        with pytest.raises(ValueError, match="split must be a fraction of the bags between 0 and 1"):
            refit_selected(lasso, data.bags, data.y, split=split)
    with pytest.raises(ValueError, match=r"groups has the shape \(3,\), but there are 200 bags"):
        refit_selected(lasso, data.bags, data.y, split=0.5, groups=[0, 1, 2])
    with pytest.raises(ValueError, match="at least two bags of each class, from different groups"):
        refit_selected(lasso, data.bags, data.y, split=0.5, groups=np.zeros(200))


def test_bags_in_files_are_split_refitted_and_tested(data, lasso, tmp_path, large_from):
    scan = scan_bags(save_parquet(tmp_path / "bags.parquet", data.bags, data.y))
    groups = np.arange(200) // 2
    parts = {"split": 0.5, "groups": groups, "random_state": 0}
    whole = refit_selected(lasso, data.bags, data.y)
    in_memory = [
        whole.inference(groups=groups),
        refit_selected(lasso, data.bags, data.y, **parts).inference(),
    ]
    # Lower the limit for large data, so that the bags are read in blocks.
    large_from(100)
    model = refit_selected(lasso, scan, scan.y)
    assert model._kept.training.bags is not None and not isinstance(model._kept.training.bags, Bags)
    from_files = [model.inference(groups=groups), refit_selected(lasso, scan, scan.y, **parts).inference()]
    for expected, other in zip(in_memory, from_files, strict=True):
        np.testing.assert_allclose(other.se, expected.se, rtol=1e-4)
        assert other.notes == expected.notes and other.n_bags == expected.n_bags
    np.testing.assert_allclose(model.inference(scan, scan.y).se, whole.inference().se, rtol=1e-4)


def test_columns_of_bags_in_files_are_taken_as_they_are_read(data, tmp_path):
    scan = scan_bags(save_parquet(tmp_path / "bags.parquet", data.bags, data.y))
    selected = _with_columns(scan, np.array([4, 1]))
    np.testing.assert_array_equal(selected.load().instances, data.bags.instances[:, [4, 1]])


def test_the_naive_selection_takes_instances_as_bags_of_one(data):
    model = naive_wald_selection(data.bags, data.y, level=0.01)
    label = np.repeat(data.y, data.bags.sizes)
    same = forward_selection(data.bags.instances, label, level=0.01)
    assert model.selection_order_ == same.selection_order_ and 0 in model.selection_order_
    assert "Every instance was treated as an independent observation" in model.inference().summary()
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 6))
    z = (rng.random_sample(400) < expit(2 * X[:, 1] - 2 * X[:, 4])).astype(int)
    assert sorted(naive_wald_selection(X, z, level=0.001).selection_order_) == [1, 4]
    # An independent implementation: Newton's method for ordinary logistic regressions.
    many = make_noisy_or_bags(80, n_features=8, random_state=5)
    label = np.repeat(many.y, many.bags.sizes).astype(float)
    expected = naive_forward(many.bags.instances, label, level=0.2)
    assert expected.any()
    selected = naive_wald_selection(many.bags, many.y, level=0.2).selected_features_
    np.testing.assert_array_equal(selected, expected)


def test_an_unfitted_model_can_be_passed_with_split():
    data = make_noisy_or_bags(120, coef=[2.5, -2.5, 0.0, 0.0], random_state=0)
    names = np.array(["active", "inactive"])[1 - data.y]
    lasso = MILogisticRegression(alpha=2.0, n_init=1, random_state=0)
    expected = refit_selected(lasso, data.bags, data.y, split=0.5, random_state=0)
    ours = refit_selected(
        clone(lasso).set_params(positive="active"), data.bags, names, split=0.5, random_state=0
    )
    assert ours.positive_label_ == "active"
    np.testing.assert_array_equal(ours.coef_, expected.coef_)


def null_p_values(effects, n_sets, n_bags, split):
    """Return the p values of features without any effect that a LASSO has selected."""
    coef, p_values = np.append(effects, np.zeros(20 - len(effects))), []
    for seed in range(n_sets):
        data = make_noisy_or_bags(n_bags, coef=coef, random_state=seed)
        model = MILogisticRegressionCV(criterion="aic", n_init=1, random_state=0)
        if split is None:
            model.fit(data.bags, data.y)
        try:
            refitted = refit_selected(model, data.bags, data.y, split=split, random_state=seed)
        except ValueError as error:
            assert "selected no feature" in str(error)
            continue
        table = refitted.inference()
        if table.p_value is not None:
            p_values += table.p_value[1:][coef[refitted.selected_features_] == 0].tolist()
    return np.array(p_values)


@pytest.mark.slow
def test_null_features_have_small_p_values_after_selection_and_honest_ones_after_a_split():
    same = null_p_values([], 12, 400, None)
    assert (same < 0.05).mean() > 0.2
    honest = null_p_values([], 12, 400, 0.5)
    assert (honest < 0.05).mean() < 0.15


@pytest.mark.study
@pytest.mark.parametrize("effects", [[], [1.5, -1.5]], ids=["none matters", "two matter"])
def test_null_features_after_a_split_have_p_below_the_level_as_often_as_it_says(effects):
    p = null_p_values(effects, 400, 400, 0.5)
    rate, error = (p < 0.05).mean(), np.sqrt(0.05 * 0.95 / len(p))
    assert abs(rate - 0.05) <= 3 * error, (len(p), rate)
