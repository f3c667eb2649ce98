"""Sparse SVMs compared with a generic solver, with scikit-learn's SVC, and with each other."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from bagwise import Bags, SparseMISVC, instance_kernel, make_mixture_bags
from bagwise.models.svm.sparse import highest_share


@pytest.fixture
def data():
    return make_mixture_bags(30, n_features=2, separation=2.5, random_state=3)


def parts(data, model):
    Z = model.scaler_.transform(data.bags.instances) if model.scaler_ is not None else data.bags.instances
    return np.split(Z, data.bags.offsets[1:-1])


def objective(w, b, data, C, *, unlabelled=0.0):
    """Return the objective of sMIL or stMIL for a linear f, as in the docstring."""
    bags = np.split(data.bags.instances, data.bags.offsets[1:-1])
    negative = np.concatenate([bag for bag, label in zip(bags, data.y, strict=True) if label == 0])
    positive = [bag for bag, label in zip(bags, data.y, strict=True) if label == 1]
    P, N = len(positive), len(negative)
    value = 0.5 * w @ w + C * P / N * np.maximum(0, 1 + negative @ w + b).sum()
    for bag in positive:
        value += C * max(0.0, 2 / len(bag) - 1 - np.mean(bag @ w + b))
    inside = np.concatenate(positive)
    return value + unlabelled * P / len(inside) * np.maximum(0, 1 - np.abs(inside @ w + b)).sum()


@pytest.mark.filterwarnings("ignore:SparseMISVC.* predicts no training bag as positive")
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_smil_reaches_the_minimum_of_its_objective(C, data):
    model = SparseMISVC(C, method="smil", kernel="linear", scale=None, tol=1e-9).fit(data.bags, data.y)
    w, b = model.coef_[0], model.intercept_[0]
    np.testing.assert_allclose(model.objective_, objective(w, b, data, C), rtol=1e-6)
    optimum = minimize(
        lambda v: objective(v[:2], v[2], data, C), np.append(w, b) + 0.1, method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000},
    )  # fmt: skip
    assert model.objective_ <= optimum.fun * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore:SparseMISVC.* predicts no training bag as positive")
def test_stmil_improves_on_the_smil_solution(data):
    kwargs = {"kernel": "linear", "scale": None, "tol": 1e-9}
    first = SparseMISVC(5.0, method="smil", **kwargs).fit(data.bags, data.y)
    model = SparseMISVC(5.0, method="stmil", **kwargs).fit(data.bags, data.y)
    at = [objective(m.coef_[0], m.intercept_[0], data, 5.0, unlabelled=5.0) for m in (first, model)]
    np.testing.assert_allclose([model.objective_history_[0], model.objective_], at, rtol=1e-6)
    assert at[1] < at[0] and (np.diff(model.objective_history_) <= 1e-9 * at[0]).all()


@pytest.mark.parametrize("balance", [0.0, 0.3, 1.0])
def test_sbmil_labels_the_highest_instances_positive(balance, data):
    model = SparseMISVC(2.0, balance=balance, gamma=0.7, tol=1e-10).fit(data.bags, data.y)
    ranking = SparseMISVC(2.0, method="smil", gamma=0.7, tol=1e-10).fit(data.bags, data.y)
    scores = ranking.decision_function_instances(data.bags)
    inside = np.repeat(data.y == 1, data.bags.sizes)
    n = max(int((data.y == 1).sum()), balance * inside.sum())
    labels = np.zeros(len(inside))
    labels[np.flatnonzero(inside)[np.argsort(-scores[inside])[: int(n)]]] = 1
    # The lowest-ranked positive instance may count as positive in part.
    X, weight = model.scaler_.transform(data.bags.instances), np.full(len(inside), 2.0)
    if n > int(n):
        last = np.flatnonzero(inside)[np.argsort(-scores[inside])[int(n)]]
        weight[last] = 2.0 * (1 - (n - int(n)))
        X, labels = np.vstack([X, X[last]]), np.append(labels, 1)
        weight = np.append(weight, 2.0 * (n - int(n)))
    machine = SVC(C=1.0, gamma=0.7, tol=1e-8).fit(X, labels, sample_weight=weight)
    expected = machine.decision_function(X[: len(inside)])
    np.testing.assert_allclose(model.decision_function_instances(data.bags), expected, atol=1e-4)
    np.testing.assert_allclose(
        model.decision_function(data.bags), np.maximum.reduceat(expected, data.bags.offsets[:-1]), atol=1e-4
    )


def test_highest_share_has_the_requested_weight():
    scores, weight = np.array([3.0, 1.0, 2.0, 1.0, 0.0]), np.array([1.0, 2.0, 1.0, 1.0, 5.0])
    np.testing.assert_allclose(highest_share(scores, weight, 2.0, 0.0), [1, 0, 1, 0, 0])
    np.testing.assert_allclose(highest_share(scores, weight, 3.5, 0.0), [1, 0.5, 1, 0.5, 0])  # ties share
    for target in (0.5, 4.0, 9.0, 20.0):
        share = highest_share(scores, weight, target, 0.0)
        assert np.isclose(share @ weight, min(target, weight.sum()))
    scores[1] += 1e-6
    np.testing.assert_allclose(highest_share(scores, weight, 3.5, 1e-4), [1, 0.5, 1, 0.5, 0])


def test_smil_scores_rank_bags_and_calibration_sets_their_threshold():
    data = make_mixture_bags(80, size=12, positive_rate=0.1, separation=4.0, random_state=0)
    new = make_mixture_bags(80, size=12, positive_rate=0.1, separation=4.0, random_state=1)
    with pytest.warns(UserWarning, match=r'Pass calibrate=True, or use method="sbmil"'):
        ranked = SparseMISVC(0.01, method="smil").fit(data.bags, data.y)
    assert roc_auc_score(new.y, ranked.decision_function(new.bags)) > 0.9
    calibrated = SparseMISVC(0.01, method="smil", calibrate=True).fit(data.bags, data.y)
    assert calibrated.score(new.bags, new.y) > 0.75 > ranked.score(new.bags, new.y)
    assert SparseMISVC(balance=0.1).fit(data.bags, data.y).score(new.bags, new.y) > 0.75


@pytest.mark.parametrize("method", ["sbmil", "smil", "stmil"])
def test_precomputed_kernel_gives_the_same_svm(method, data):
    kwargs = {"method": method, "scale": None, "gamma": 0.5, "calibrate": True, "C": 20.0}
    plain = SparseMISVC(**kwargs).fit(data.bags, data.y)
    kernels = instance_kernel(data.bags, gamma=0.5)
    precomputed = SparseMISVC(**kwargs).set_params(kernel="precomputed").fit(kernels, data.y)
    np.testing.assert_allclose(
        precomputed.decision_function(kernels), plain.decision_function(data.bags), atol=1e-3
    )
    assert plain.predict_proba(data.bags).shape == (30, 2)


def test_smil_of_single_instance_bags_is_a_weighted_svm():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(10, 2)) + 1.5])
    y = np.repeat([0, 1], [20, 10])
    model = SparseMISVC(3.0, method="smil", gamma=0.5, scale=None, tol=1e-10).fit(Bags(X, np.arange(31)), y)
    weight = np.where(y == 1, 3.0, 3.0 * 10 / 20)
    machine = SVC(C=1.0, gamma=0.5, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.decision_function(X), machine.decision_function(X), atol=1e-4)
