import signal
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from bagwise import (
    Bags,
    MILogisticRegression,
    MILogisticRegressionCV,
    Or,
    make_noisy_or_bags,
    milr_path,
)
from bagwise.models.linear_model import cv
from bagwise.models.linear_model.engine.design import Design, make_design
from bagwise.models.linear_model.engine.fit import fit_null, search_l1
from bagwise.models.linear_model.engine.lasso import ColumnCopy, LassoProblem
from bagwise.models.linear_model.engine.moments import moments_of
from bagwise.models.linear_model.engine.problem import InMemoryProblem
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import minimize_l1
from bagwise.solvers.working_set import ElasticNet


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(80, size=(1, 5), n_features=15, n_informative=4, intercept=-1.5, random_state=1)


def scikit_learn_lasso(X, y, alpha):
    model = LogisticRegression(C=1 / alpha, l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000)
    if model.get_params().get("penalty") == "l2":  # scikit-learn before 1.8
        model.set_params(penalty="l1", l1_ratio=None)
    return model.fit(X, y)


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_bags_of_one_instance_give_scikit_learns_lasso(data, alpha):
    X, y = StandardScaler().fit_transform(data.bags.instances), data.instance_y
    ours = MILogisticRegression(alpha=alpha, tol=1e-9, n_init=1, random_state=0).fit(X, y)
    theirs = scikit_learn_lasso(X, y, alpha)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).all()


@pytest.mark.parametrize("rule", ["or", "mean", "geometric_mean", "softmax"])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_the_optimality_conditions_hold_and_the_objective_never_rises(data, rule, l1_ratio):
    model = MILogisticRegression(rule, alpha=1.5, l1_ratio=l1_ratio, tol=1e-7, n_init=1, random_state=0)
    model.fit(data.bags, data.y)
    assert model.converged_ and (np.diff(model.objective_history_) <= 0).all()
    design = make_design(data.bags.instances, data.bags.offsets, model.scaler_)
    total = len(data.y)
    problem = InMemoryProblem(design, data.y.astype(np.int8), np.ones(total), model.rule_)
    point = problem.point(design.from_original(model.coef_[0], model.intercept_[0]))
    penalty = ElasticNet(1.5 * l1_ratio / total, 1.5 * (1 - l1_ratio) / total)
    assert penalty.violation(point).max() <= 1.1e-7
    assert total * penalty.objective(point) == pytest.approx(model.objective_, rel=1e-10)


def test_the_path_starts_exactly_where_the_first_feature_comes_in(data):
    path = milr_path(data.bags, data.y, both_ways=False)
    assert (path.coefs[0] == 0).all()
    below = milr_path(data.bags, data.y, alphas=[0.999 * path.alpha_max], both_ways=False)
    assert below.n_nonzero[0] >= 1
    assert (path.kkt <= 1e-6).all()
    assert (np.diff(path.alphas) < 0).all() and path.alphas[-1] == pytest.approx(0.01 * path.alpha_max)


def test_alpha_max_has_a_closed_form_for_bags_of_equal_size():
    data = make_noisy_or_bags(60, size=4, n_features=6, random_state=0)
    z, m = data.y, 4
    p = 1 - (1 - z.mean()) ** (1 / m)
    sums = StandardScaler().fit_transform(data.bags.instances).reshape(60, m, 6).sum(axis=1)
    expected = p / z.mean() * np.abs((z - z.mean()) @ sums).max()
    assert milr_path(data.bags, data.y, alphas=2).alpha_max == pytest.approx(expected, rel=1e-9)


def test_the_way_back_up_is_never_worse_and_sometimes_better():
    better = 0
    for seed in range(4):
        data = make_noisy_or_bags(60, size=5, n_features=40, n_informative=5, random_state=seed)
        down = milr_path(data.bags, data.y, both_ways=False)
        both = milr_path(data.bags, data.y)
        shared = np.isin(np.round(both.alphas, 9), np.round(down.alphas, 9))
        assert (both.objectives[shared] <= down.objectives * (1 + 1e-9)).all()
        better += int((both.objectives[shared] < down.objectives * (1 - 1e-4)).sum())
        beyond = both.alphas > both.alpha_max * (1 + 1e-6)
        assert both.from_below[beyond].all()
    assert better > 0


@pytest.mark.parametrize("seed", [0, 5, 9])
def test_random_starts_find_better_optima_than_the_path_down(seed):
    coef = np.zeros(100)
    coef[np.random.default_rng(seed).permutation(100)[:5]] = [-2, -1, 1, 2, 0.5]
    data = make_noisy_or_bags(100, size=3, coef=coef, random_state=seed)
    path = milr_path(data.bags, data.y, alphas=np.geomspace(50.0, 1.0, 8), both_ways=False)
    model = MILogisticRegression(alpha=1.0, random_state=0).fit(data.bags, data.y)
    assert model.objective_ < path.objectives[-1] * (1 - 5e-3)


@pytest.mark.study
def test_one_fit_is_as_good_as_a_hundred_random_starts():
    seed = 0
    rng = np.random.default_rng(seed)
    coef = np.zeros(100)
    coef[rng.permutation(100)[:5]] = [-2, -1, 1, 2, 0.5]
    data = make_noisy_or_bags(100, size=3, coef=coef, random_state=seed)
    X = StandardScaler().fit_transform(data.bags.instances)
    bags = InMemoryProblem(Design(X, data.bags.offsets), data.y.astype(np.int8), np.ones(100), Or())
    problem, control = LassoProblem(bags, None, tol=1e-6), Control(1e-6, 200)
    null = fit_null(bags, control)
    top = milr_path(data.bags, data.y, alphas=2).alpha_max / 100
    for alpha in np.geomspace(top, 0.01 * top, 14)[4::3]:
        penalty = ElasticNet(alpha)
        ours = search_l1(problem, penalty, control, null=null, n_init=5, rng=np.random.RandomState(0))[0]
        ends = []
        for _ in range(100):
            start = np.append(rng.choice([0.1, 0.3, 1.0]) * rng.normal(size=100), -1.0)
            ends.append(minimize_l1(problem, problem.point(start), penalty, control).value)
        assert ours.value <= min(ends) * 1.002


@pytest.fixture
def keyboard():
    """Install the default SIGINT handler, because background processes ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(monkeypatch, after):
    """Send SIGINT in call number `after` of the rule; return the list of calls."""
    calls = []
    gradient = Or.gradient

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == after:
            signal.raise_signal(signal.SIGINT)
        return gradient(self, *arguments)

    monkeypatch.setattr(Or, "gradient", interrupted)
    return calls


@pytest.mark.usefixtures("keyboard")
@pytest.mark.parametrize("after", [1, 30])
@pytest.mark.parametrize("fit", [milr_path, MILogisticRegressionCV(cv=3).fit])
def test_an_interrupt_ends_a_path(data, after, fit, monkeypatch):
    calls = interrupt(monkeypatch, after)
    with pytest.raises(KeyboardInterrupt):
        fit(data.bags, data.y)
    assert len(calls) < after + 5


@pytest.mark.usefixtures("keyboard")
@pytest.mark.parametrize("after", [3, 60])
def test_an_interrupt_keeps_the_best_parameters_at_the_penalty_asked_for(data, after, monkeypatch):
    interrupt(monkeypatch, after)
    model = MILogisticRegression(alpha=1.0, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.bags, data.y)
    monkeypatch.undo()
    assert not model.converged_
    scaled = np.abs(model.coef_[0] * StandardScaler().fit(data.bags.instances).scale_).sum()
    assert model.objective_ == pytest.approx(scaled - model.log_likelihood_, rel=1e-9)


def test_a_second_interrupt_does_not_wait(data, monkeypatch):
    def interrupted(self, *arguments):
        raise KeyboardInterrupt  # as a second interrupt does

    monkeypatch.setattr(Or, "gradient", interrupted)
    with pytest.raises(KeyboardInterrupt):
        MILogisticRegression(alpha=1.0, random_state=0).fit(data.bags, data.y)


def test_sparse_instances_give_the_dense_path():
    rng = np.random.default_rng(0)
    X = sp.random(400, 60, density=0.1, format="csr", random_state=1)
    offsets = np.sort(np.concatenate([[0, 400], rng.choice(np.arange(1, 400), 79, replace=False)]))
    y = (np.add.reduceat(X.toarray()[:, 0] + 0.1 * rng.normal(size=400), offsets[:-1]) > 0.1).astype(int)
    dense = milr_path(Bags(X.toarray(), offsets), y, alphas=8, both_ways=False, tol=1e-9)
    sparse = milr_path(Bags(X, offsets), y, alphas=8, both_ways=False, tol=1e-9)
    # Sparse features are not centered, but with a free intercept, the model is the same.
    np.testing.assert_allclose(sparse.alpha_max, dense.alpha_max, rtol=1e-8)
    np.testing.assert_allclose(sparse.objectives, dense.objectives, rtol=1e-8)
    np.testing.assert_allclose(sparse.coefs, dense.coefs, atol=1e-5)


@pytest.mark.slow
def test_wide_sparse_data_is_never_made_dense():
    rng = np.random.default_rng(0)
    X = sp.random(2000, 20_000, density=0.001, format="csr", random_state=1)
    bags = Bags(X, np.arange(0, 2001, 5))
    y = (rng.random(400) < 0.4).astype(int)
    model = MILogisticRegression(alpha=12.0, n_init=1, random_state=0).fit(bags, y)
    assert model.coef_.shape == (1, 20_000)
    assert 0 < (model.coef_ != 0).sum() < 400 and model.converged_


def test_scaling_of_large_data_stays_implicit_and_does_not_cancel(monkeypatch):
    monkeypatch.setattr("bagwise.models.linear_model.engine.design.COPY_BYTES", 0)
    data = make_noisy_or_bags(60, size=3, n_features=5, random_state=0)
    for shift in (0.0, 1e3, 1e9):
        moved = data.bags.with_instances(data.bags.instances + shift)
        model = MILogisticRegression(alpha=1.0, n_init=1, random_state=0).fit(moved, data.y)
        design = make_design(moved.instances, moved.offsets, model.scaler_)
        assert np.shares_memory(design.X, moved.instances) == (shift < 1e4)
        if shift == 0.0:
            reference = model.coef_
        np.testing.assert_allclose(model.coef_, reference, atol=1e-4)


@pytest.mark.parametrize("n_pairs", [1024, 4])
def test_curvature_of_the_design_is_that_of_the_scaled_instances(n_pairs, monkeypatch):
    monkeypatch.setattr("bagwise.models.linear_model.engine.moments._PAIRS", n_pairs)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)
    offsets = np.array([0, 1, 4, 5, 12, 20, 30])
    factor = rng.uniform(0.5, 2.0, size=4)
    shift = 0.1 * rng.normal(size=4) - factor * X.mean(axis=0)
    diagonal, outer = rng.normal(size=(2, 30))
    columns = np.array([0, 2, 3])
    Z = np.column_stack([(X * factor + shift)[:, columns], np.ones(30)])
    # For bags of one instance, the outer product is diagonal, too.
    single = np.repeat(np.diff(offsets) == 1, np.diff(offsets))
    weight = diagonal + np.where(single, outer**2, 0.0)
    counts = np.abs(weight) > 0.1 * np.abs(weight).mean()
    assert 0 < (~counts).sum() < 10
    expected, without_negligible = (Z.T @ (w[:, None] * Z) for w in (weight, weight * counts))
    for a, b in pairwise(offsets):
        v = outer[a:b] @ Z[a:b] if b - a > 1 else np.zeros(4)
        expected += np.outer(v, v)
        without_negligible += np.outer(v, v)
    monkeypatch.setattr("bagwise.models.linear_model.engine.lasso._WORTH_BYTES", 0)
    for matrix in (X, sp.csr_array(X), X.astype(np.float32)):
        design = Design(matrix, offsets, factor=factor, shift=shift)
        raw, roughly = (
            moments_of(matrix, columns, diagonal, outer, offsets, rough=rough) for rough in (False, True)
        )
        rtol = 1e-10 if matrix.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(design.scale_moments(raw, columns), expected, rtol=rtol)
        rough = [design.scale_moments(roughly, columns)]
        wanted = expected
        if not sp.issparse(matrix):
            rough.append(ColumnCopy.of(design).curvature(diagonal, outer, columns, offsets))
            wanted = without_negligible
        for curvature in rough:
            np.testing.assert_allclose(curvature, wanted, atol=1e-5 * np.abs(expected).max())


def test_a_rough_curvature_keeps_to_double_precision_where_single_would_overflow():
    X = np.random.default_rng(0).normal(size=(30, 2)) * [1e-25, 1e25]
    arguments = X, np.arange(2), np.ones(30), np.zeros(30), np.arange(31)
    rough, exact = (moments_of(*arguments, rough=r) for r in (True, False))
    np.testing.assert_array_equal(rough, exact)
    assert np.isfinite(exact).all() and (np.diagonal(exact) > 0).all()


@pytest.mark.parametrize("name", ["separable", "collinear", "constant", "wide", "huge", "one positive"])
def test_awkward_data_gives_finite_answers(name, data, recwarn):
    X, y = np.array(data.bags.instances), data.y.copy()
    if name == "separable":
        X[:, 0] = np.repeat(2.0 * y - 1, data.bags.sizes)
    elif name == "collinear":
        X = np.hstack([X, X, -X])
    elif name == "constant":
        X[:, 1] = 3.0
    elif name == "wide":
        X = np.random.default_rng(0).normal(size=(len(X), 600))
    elif name == "huge":
        X = X * 1e50
    elif name == "one positive":
        y[:] = 0
        y[5] = 1
    model = MILogisticRegression(alpha=0.5, n_init=1, random_state=0).fit(data.bags.with_instances(X), y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.objective_)
    if name == "constant":
        assert model.coef_[0, 1] == 0


def test_cross_validation_chooses_the_least_deviance_on_folds_drawn_once(data, monkeypatch):
    model = MILogisticRegressionCV(alphas=8, cv=4, n_init=1, random_state=0).fit(data.bags, data.y)
    assert model.deviances_.shape == (8, 4)
    assert model.alpha_ == model.alphas_[model.deviances_.mean(axis=1).argmin()]
    monkeypatch.setattr(cv, "_WORTH_THREADS", 0)
    again = MILogisticRegressionCV(alphas=8, cv=4, n_init=1, random_state=0, n_jobs=2).fit(data.bags, data.y)
    np.testing.assert_allclose(again.deviances_, model.deviances_, rtol=1e-8)
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-6, atol=1e-8)


def test_the_deviance_of_a_fold_is_that_of_a_fit_without_it(data, monkeypatch):
    rough = MILogisticRegressionCV(alphas=8, cv=4, n_init=1, random_state=0).fit(data.bags, data.y)
    monkeypatch.setattr("bagwise.models.linear_model.cv._FOLD_TOL", 1e-9)
    exact = clone(rough).fit(data.bags, data.y)
    # The effect of the larger tolerance in folds is far below the standard error between folds.
    errors = exact.deviances_.std(axis=1, ddof=1) / 2
    assert (np.abs(rough.deviances_ - exact.deviances_).max(axis=1) < 0.1 * errors).all()
    cv = KFold(3, shuffle=True, random_state=0)
    alphas = [4.0, 2.0]
    model = MILogisticRegressionCV(alphas=alphas, cv=cv, n_init=1, random_state=0).fit(data.bags, data.y)
    for fold, (train, test) in enumerate(cv.split(data.bags)):
        path = milr_path(data.bags[train], data.y[train], alphas=alphas, both_ways=False)
        part = MILogisticRegression(alpha=2.0, warm_start=True, random_state=0)
        part.coef_, part.intercept_ = path.coefs[[1]], path.intercepts[[1]]
        part.fit(data.bags[train], data.y[train])
        log_proba = part.predict_log_proba(data.bags[test])
        deviance = -2 * log_proba[np.arange(len(test)), data.y[test]].mean()
        assert model.deviances_[1, fold] == pytest.approx(deviance, rel=1e-4)


def test_one_standard_error_prefers_the_simpler_model(data):
    least = MILogisticRegressionCV(alphas=8, cv=4, n_init=1, random_state=0).fit(data.bags, data.y)
    simple = MILogisticRegressionCV(alphas=8, cv=4, n_init=1, one_se=True, random_state=0)
    simple.fit(data.bags, data.y)
    assert simple.alpha_ >= least.alpha_


@pytest.mark.parametrize(("criterion", "price"), [("bic", np.log(80)), ("aic", 2.0)])
def test_information_criteria_count_features(data, criterion, price):
    model = MILogisticRegressionCV(alphas=8, criterion=criterion, n_init=1, random_state=0)
    model.fit(data.bags, data.y)
    path = model.path_
    on_grid = np.isin(path.alphas, model.alphas_)
    expected = -2 * path.log_likelihoods[on_grid] + price * path.n_nonzero[on_grid]
    np.testing.assert_allclose(model.criterion_path_, expected)
    assert model.alpha_ == model.alphas_[expected.argmin()]


def test_a_class_with_one_bag_cannot_be_cross_validated(data):
    y = np.zeros(80, dtype=int)
    y[0] = 1
    with pytest.raises(ValueError, match='Use criterion="bic", which needs no folds'):
        MILogisticRegressionCV(alphas=3, random_state=0).fit(data.bags, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"l1_ratio": 0.0}, "a path needs an L1 penalty"),
        ({"alphas": [1.0, -1.0]}, "alphas must be an integer or an array of positive penalties"),
        ({"alphas": 0}, "alphas must be at least 1"),
        ({"eps": 2.0}, "eps between 0 and 1"),
        ({"eps": 1.0}, "eps between 0 and 1"),
        ({"eps": 0.0}, "eps between 0 and 1"),
        ({"rule": "nor"}, "The 'rule' parameter"),
    ],
)
def test_arguments_of_a_path_are_checked(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        milr_path(data.bags, data.y, **arguments)


def test_the_papers_grid_is_solved_down_to_a_thousandth_of_the_largest_penalty(data):
    """K = 20, eps = 0.001 (section III); optimality is checked by differences of a separate likelihood."""
    path = milr_path(data.bags, data.y, eps=0.001)
    grid = path.alphas[path.alphas <= path.alpha_max * (1 + 1e-6)]
    np.testing.assert_allclose(grid, path.alpha_max * np.geomspace(1.0, 0.001, 20), rtol=1e-6)

    Z = StandardScaler().fit_transform(data.bags.instances)
    spread = data.bags.instances.std(axis=0)

    def log_likelihood(theta):
        log_negative = -np.add.reduceat(np.logaddexp(0.0, Z @ theta[:-1] + theta[-1]), data.bags.offsets[:-1])
        return np.where(data.y == 1, np.log(-np.expm1(log_negative)), log_negative).sum()

    em = MILogisticRegression(solver="em", max_iter=20_000, n_init=1)
    for index in (-1, -5, -10):
        alpha, coef = path.alphas[index], path.coefs[index] * spread
        theta = np.append(coef, path.intercepts[index] + path.coefs[index] @ data.bags.instances.mean(axis=0))
        steps = 1e-5 * np.eye(len(theta))
        slope = np.array([(log_likelihood(theta + s) - log_likelihood(theta - s)) / 2e-5 for s in steps])
        inside = coef != 0
        np.testing.assert_allclose(slope[:-1][inside], alpha * np.sign(coef[inside]), atol=1e-3)
        assert (np.abs(slope[:-1][~inside]) <= alpha + 1e-3).all() and abs(slope[-1]) < 1e-3
        value = alpha * np.abs(coef).sum() - log_likelihood(theta)
        assert path.objectives[index] == pytest.approx(value, rel=1e-8)
        assert value <= em.set_params(alpha=alpha).fit(data.bags, data.y).objective_ * (1 + 1e-6)
