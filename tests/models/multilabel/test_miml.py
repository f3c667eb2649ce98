"""The model of label sets, compared with enumeration of all classes and with equivalent models."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from bagwise import (
    Bags,
    MILogisticRegression,
    MIMLLogisticRegression,
    instance_frame,
    key_instances,
    predict_frame,
)
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.multilabel.miml import LabelSetProblem, as_lists, label_estep, log_classes


def draw_bags(n_bags=120, n_labels=3, size=(4, 8), shift=3.0, random_state=0):
    """Return bags whose instances belong to the background (0) or to a label, each with its center."""
    rng = np.random.default_rng(random_state)
    sizes = rng.integers(size[0], size[1] + 1, size=n_bags)
    z = rng.integers(n_labels + 1, size=sizes.sum())
    centres = np.vstack([np.zeros(4), shift * np.eye(n_labels, 4)])
    bags = Bags(centres[z] + rng.normal(size=(len(z), 4)), np.cumsum([0, *sizes]))
    shown = z[:, None] == np.arange(1, n_labels + 1)
    return bags, np.add.reduceat(shown, bags.offsets[:-1], dtype=int) > 0, z


@pytest.fixture(scope="module")
def data():
    return draw_bags()


def enumerate_classes(log_p, shown):
    """Return log P(bag shows `shown`) and the posterior classes of one bag, by enumeration."""
    m, n_classes = log_p.shape
    total, posterior = 0.0, np.zeros((m, n_classes))
    for z in product(range(n_classes), repeat=m):
        if set(z) - {0} == shown:
            p = np.exp(sum(log_p[j, c] for j, c in enumerate(z)))
            total += p
            posterior[range(m), z] += p
    return np.log(total), posterior / total


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_likelihood_and_posterior_equal_enumeration(background, spread):
    rng = np.random.default_rng(0)
    sets = [set(), {1}, {2, 3}, {1, 2, 3}, {1, 3, 4}, {1, 2, 3, 4}]
    sets = sets if background else sets[1:]
    sizes = [max(1, len(shown)) + int(rng.integers(3)) for shown in sets]
    offsets = np.cumsum([0, *sizes])
    log_p = log_classes(spread * rng.normal(size=(offsets[-1], 4)), background=background)
    labels = np.array([[c in shown for c in range(1, 5)] for shown in sets])
    log_likelihood, posterior = label_estep(log_p, offsets, *as_lists(labels))
    for i, shown in enumerate(sets):
        bag = slice(offsets[i], offsets[i + 1])
        expected, by_class = enumerate_classes(log_p[bag], shown)
        np.testing.assert_allclose(log_likelihood[i], expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(posterior[bag], by_class, rtol=1e-11, atol=1e-14)


def test_nothing_underflows_in_large_bags_or_far_log_odds():
    m = 3000
    log_odds = np.full((m, 2), -1000.0)
    log_odds[7, 0] = log_odds[9, 1] = -900.0
    log_p = log_classes(log_odds, background=True)
    labels = np.array([[1, 1]])
    log_likelihood, posterior = label_estep(log_p, np.array([0, m]), *as_lists(labels))
    np.testing.assert_allclose(log_likelihood, [-1800.0], rtol=1e-12)
    np.testing.assert_allclose([posterior[7, 1], posterior[9, 2]], 1.0, rtol=1e-12)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("background", [True, False])
def test_the_gradient_is_that_of_differences(data, background):
    bags, y, _ = data
    has_label = y.any(axis=1)
    bags, y = bags[has_label], y[has_label]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=len(bags))
    blocks, scaling = bags.blocks(y, weight), Scaling(bags.n_features)
    problem = LabelSetProblem(blocks, scaling, background=background, ridge=0.3)
    theta = np.random.default_rng(2).normal(size=15)
    error = check_grad(
        lambda x: problem.value_and_gradient(x)[0], lambda x: problem.value_and_gradient(x)[1], theta
    )
    assert error < 1e-6


def test_one_label_is_the_or_rule(data):
    bags, y, _ = data
    ours = MIMLLogisticRegression(alpha=2.0, tol=1e-8, random_state=0).fit(bags, y[:, 0])
    reference = MILogisticRegression("or", alpha=2.0, l1_ratio=0.0, tol=1e-9, random_state=0)
    reference.fit(bags, y[:, 0])
    np.testing.assert_allclose(ours.objective_, reference.objective_, rtol=1e-10)
    np.testing.assert_allclose(ours.coef_, reference.coef_, rtol=1e-4, atol=1e-6)
    for method in (
        "predict_proba",
        "decision_function",
        "predict_proba_instances",
        "decision_function_instances",
    ):
        actual, expected = (getattr(model, method)(bags) for model in (ours, reference))
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(
        ours.posterior_instances(bags, y[:, 0]), reference.posterior_instances(bags, y[:, 0]), atol=1e-5
    )


def test_bags_of_one_are_multinomial_regression(data):
    bags, _, z = data
    X = bags.instances
    y = z[:, None] == [1, 2, 3]
    # With background, our reference class is the background. Without it, there is none, as in scikit-learn.
    labelled = z > 0
    ours = MIMLLogisticRegression(background=False, alpha=2.0, scale=None, tol=1e-8)
    ours.fit(X[labelled], y[labelled])
    reference = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X[labelled], z[labelled])
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-5)
    np.testing.assert_allclose(
        ours.predict_proba_instances(X[labelled]), reference.predict_proba(X[labelled]), atol=1e-5
    )
    # In bags of one instance, the label of the bag is the class of the instance.
    whole = MIMLLogisticRegression(alpha=1e-3).fit(X, y)
    np.testing.assert_allclose(whole.predict_proba(X), whole.predict_proba_instances(X), atol=1e-9)
    assert np.mean(whole.predict_instances(X) == y) > 0.85


def test_classes_of_instances_are_learned_from_labels_of_bags(data):
    bags, y, z = data
    model = MIMLLogisticRegression(random_state=0).fit(bags, y)
    predicted = model.predict_instances(bags)
    assert predicted.sum(axis=1).max() == 1
    share = np.mean(predicted @ [1, 2, 3] == z)
    assert share > 0.85
    posterior = model.posterior_instances(bags, y)
    classes = np.column_stack([1 - posterior.sum(axis=1), posterior]).argmax(axis=1)
    assert np.mean(classes == z) > share  # bag labels improve the result
    # No instance belongs to a label that its bag does not show.
    assert (posterior[~y[bags.bag_index]] == 0).all()
    assert cross_val_score(model, bags, y, cv=3).mean() > 0.6  # all labels of a bag are correct


def test_probabilities_of_bags_follow_from_those_of_instances(data):
    bags, y, _ = data
    model = MIMLLogisticRegression(random_state=0).fit(bags, y)
    absent = np.multiply.reduceat(1 - model.predict_proba_instances(bags), bags.offsets[:-1])
    np.testing.assert_allclose(model.predict_proba(bags), 1 - absent, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(bags), absent < 0.5)
    np.testing.assert_array_equal(model.decision_function(bags) > 0, absent < 0.5)


def test_objective_never_rises_and_weights_are_repetition(data):
    bags, y, _ = data
    model = MIMLLogisticRegression(random_state=0, tol=1e-8).fit(bags, y)
    assert (np.diff(model.objective_history_) <= 1e-9 * abs(model.objective_)).all()
    weight = np.random.default_rng(0).integers(0, 3, size=len(bags))
    weighted = MIMLLogisticRegression(random_state=0, tol=1e-8, scale=None)
    weighted.fit(bags, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(bags)), weight)
    repeated = MIMLLogisticRegression(random_state=0, tol=1e-8, scale=None).fit(bags[rows], y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-3, atol=1e-4)


def test_sparse_labels_and_labels_without_bags(data):
    bags, y, _ = data
    dense = MIMLLogisticRegression(n_init=1).fit(bags, y)
    sparse = MIMLLogisticRegression(n_init=1).fit(bags, sp.csr_array(y.astype(int)))
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    absent = np.column_stack([y, np.zeros(len(bags), dtype=bool)])
    model = MIMLLogisticRegression(n_init=1).fit(bags, absent)
    assert model.predict_proba(bags)[:, 3].max() < 1e-3


def test_impossible_bags_are_refused_with_their_index(data):
    bags, y, _ = data
    small = [np.zeros((3, 4)), np.zeros((1, 4))]
    with pytest.raises(ValueError, match="bag 1 has 2 labels and 1 instances; each instance has one label"):
        MIMLLogisticRegression().fit(small, [[0, 0, 1], [0, 1, 1]])
    with pytest.raises(ValueError, match=r"bag 0 has 0 labels.*with background=False"):
        MIMLLogisticRegression(background=False).fit(small, [[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="more than 16 labels"):
        MIMLLogisticRegression().fit([np.zeros((30, 1)), np.ones((30, 1))], np.eye(2, 20) + 1 > 0)
    with pytest.raises(ValueError, match="not an indicator matrix"):
        MIMLLogisticRegression().fit(bags, 2 * y)
    with pytest.raises(ValueError, match="120 bags but y has 119 rows"):
        MIMLLogisticRegression().fit(bags, y[1:])
    model = MIMLLogisticRegression(n_init=1).fit(bags, y)
    with pytest.raises(ValueError, match="a column for each of 3 labels"):
        model.posterior_instances(bags, y[:, 0])


# ------------------------------------------------------------ one label per bag


def one_label_bags(n_bags=90, random_state=0):
    """Return bags that show "wren", "owl" or "jay" and background, or only background (None)."""
    rng = np.random.default_rng(random_state)
    names = np.array([None, "jay", "owl", "wren"], dtype=object)
    shown = np.arange(n_bags) % 4
    sizes = rng.integers(2, 6, size=n_bags)
    z = np.concatenate([shown[i] * (rng.random(m) < 0.5) for i, m in enumerate(sizes)]).astype(int)
    offsets = np.cumsum([0, *sizes])
    z[offsets[:-1]] = shown  # at least one instance
    centres = np.vstack([np.zeros(3), 3.5 * np.eye(3)])
    return Bags(centres[z] + rng.normal(size=(len(z), 3)), offsets), names[shown], names[z]


def test_a_column_of_labels_is_the_indicator_matrix_of_them():
    bags, y, _ = one_label_bags()
    model = MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, y)
    assert model.classes_.tolist() == ["jay", "owl", "wren"] and not model.multilabel_
    matrix = (y[:, None] == model.classes_).astype(int)
    other = MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, matrix)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.predict_proba_instances(bags), other.predict_proba_instances(bags))
    np.testing.assert_array_equal(model.posterior_instances(bags, y), other.posterior_instances(bags, matrix))


@pytest.mark.parametrize("with_none", [True, False])
@pytest.mark.parametrize("background", [True, False])
def test_the_one_label_of_a_bag_equals_enumeration(with_none, background):
    if with_none and not background:
        return
    bags, y, _ = one_label_bags()
    kept = np.arange(len(y)) if with_none else np.flatnonzero([name is not None for name in y])
    model = MIMLLogisticRegression(n_init=1, background=background, random_state=0).fit(bags[kept], y[kept])
    proba = model.predict_proba(bags)
    sets = [{1}, {2}, {3}]
    for i in range(12):
        log_p = model._log_classes(bags[[i]])
        possible = [set(), *sets] if with_none else sets
        each = np.exp([enumerate_classes(log_p, shown)[0] for shown in possible])
        np.testing.assert_allclose(proba[i], (each / each.sum())[-3:], rtol=1e-10)
    predicted = model.predict(bags)
    if with_none:
        lacking = 1.0 - proba.sum(axis=1)
        assert [name is None for name in predicted] == (lacking > proba.max(axis=1)).tolist()
    else:
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
        assert predicted.dtype == model.classes_.dtype
    odds = np.log(proba) - np.log1p(-proba)
    np.testing.assert_allclose(model.decision_function(bags), odds, rtol=1e-6, atol=1e-6)


def test_labels_of_bags_and_instances_are_predicted_by_name(tmp_path):
    bags, y, z = one_label_bags()
    model = MIMLLogisticRegression(n_init=1, random_state=0).fit(bags[:60], y[:60])
    assert np.mean(model.predict(bags[60:]) == y[60:]) > 0.9
    assert np.mean(model.predict_instances(bags) == z) > 0.8
    frame = instance_frame(model, bags, y)
    assert [name for name in frame if name.startswith("instance_p")] == [
        f"instance_probability_{name}" for name in ("jay", "owl", "wren")
    ]
    best = key_instances(model, bags, k=1)
    assert list(best["bag_prediction"].fillna("")) == [name or "" for name in model.predict(bags)]
    table = predict_frame(model, bags, backend="polars")
    assert table.columns == ["bag", "prediction", "probability_jay", "probability_owl", "probability_wren"]
    assert table["prediction"].null_count() == sum(name is None for name in model.predict(bags)) > 0
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        written = read(predict_frame(model, bags, path=tmp_path / f"a{suffix}"))
        assert list(written["prediction"].fillna("")) == [name or "" for name in model.predict(bags)]


@pytest.mark.parametrize("make", [lambda y: y, pd.Series, lambda y: list(y)])
def test_labels_come_as_columns_of_any_kind(make, tmp_path):
    bags, y, _ = one_label_bags(40)
    expected = MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, y).coef_
    assert np.array_equal(MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, make(y)).coef_, expected)
    numeric = np.array([np.nan if name is None else len(name) + ord(name[0]) for name in y])
    model = MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, make(numeric))
    assert np.array_equal(model.coef_, expected)
    written = pd.read_csv(predict_frame(model, bags, path=tmp_path / "a.csv"))
    assert np.array_equal(written["prediction"], model.predict(bags).astype(float), equal_nan=True)
    with_na = pd.array([pd.NA if name is None else name for name in y])
    assert np.array_equal(MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, with_na).coef_, expected)


def test_one_label_and_none_is_a_model_of_one_column():
    bags, y, _ = one_label_bags()
    y = np.where(y == "owl", "owl", None)
    model = MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, y)
    two = MIMLLogisticRegression(n_init=1, random_state=0).fit(bags, y == "owl")
    np.testing.assert_allclose(model.predict_proba(bags)[:, 0], two.predict_proba(bags)[:, 1], rtol=1e-9)
    assert [name == "owl" for name in model.predict(bags)] == two.predict(bags).tolist()


def test_a_column_that_cannot_be_used_is_refused():
    bags, y, _ = one_label_bags(20)
    model = MIMLLogisticRegression(n_init=1)
    with pytest.raises(ValueError, match="with background=False every bag must have a label"):
        MIMLLogisticRegression(background=False).fit(bags, y)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        model.fit(bags, np.linspace(0.0, 1.0, 20))
    with pytest.raises(ValueError, match="X has 20 bags but y has 3 labels"):
        model.fit(bags, ["a", "b", "c"])
    model.fit(bags, y)
    with pytest.raises(ValueError, match=r"y has the label 'emu', which .*, and None for"):
        model.posterior_instances(bags, np.where(y == "owl", "emu", y))
