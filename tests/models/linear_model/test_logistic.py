import logging
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import bagwise
from bagwise import Bags, MILogisticRegression, Or, SoftMax, make_noisy_or_bags
from bagwise.exceptions import ConvergenceWarning, PositiveClassWarning, VersionWarning
from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.problem import InMemoryProblem
from bagwise.testing import all_rules, enumerate_labels


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(120, size=(1, 5), coef=[2.0, -1.0, 0.0, 0.5], intercept=-1.0, random_state=3)


def tight(**parameters):
    return MILogisticRegression(**{"l1_ratio": 0.0, "tol": 1e-10, "random_state": 0, **parameters})


@pytest.mark.parametrize("alpha", [0.3, 10.0])
def test_bags_of_one_instance_give_scikit_learns_logistic_regression(data, alpha):
    X, y = data.bags.instances, data.instance_y
    ours = tight(alpha=alpha).fit(X, y)
    scaler = StandardScaler().fit(X)
    theirs = LogisticRegression(C=1 / alpha, tol=1e-12, solver="newton-cholesky").fit(scaler.transform(X), y)
    np.testing.assert_allclose(ours.coef_ * scaler.scale_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(scaler.transform(X)), atol=1e-6
    )


def test_the_or_fit_is_the_optimum_that_a_generic_solver_finds_by_enumeration(data):
    bags, y = data.bags[:25], data.y[:25]
    X = StandardScaler().fit_transform(bags.instances)

    def objective(theta):
        total = 0.5 * 2.0 * theta[:-1] @ theta[:-1]
        for i in range(len(bags)):
            eta = X[bags.offsets[i] : bags.offsets[i + 1]] @ theta[:-1] + theta[-1]
            total -= enumerate_labels(eta, max)[y[i]][0]
        return total

    ours = tight(alpha=2.0).fit(bags, y)
    oracle = minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-4})
    assert ours.objective_ == pytest.approx(oracle.fun, rel=1e-7)
    assert -ours.log_likelihood_ < ours.objective_


@pytest.mark.parametrize("rule", [cls() for cls in all_rules()], ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_and_curvature_agree_with_finite_differences(data, rule, fit_intercept):
    bags, y = data.bags[:20], data.y[:20].astype(np.int8)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2.0, size=20)
    design = Design(
        np.array(bags.instances),
        bags.offsets,
        factor=rng.uniform(0.5, 2.0, size=4),
        shift=rng.normal(size=4),
        fit_intercept=fit_intercept,
    )
    problem = InMemoryProblem(design, y, weight, rule.start(bags.offsets, y), ridge=0.7)
    theta, v = rng.normal(size=(2, 5))
    if not fit_intercept:
        theta[-1] = v[-1] = 0.0
    step = 1e-5
    ahead, back = (problem.value_and_gradient(theta + s * v) for s in (step, -step))
    _, gradient = problem.value_and_gradient(theta)
    # The error of central differences is about step^2 = 1e-10 times a third derivative of order one.
    assert gradient @ v == pytest.approx((ahead[0] - back[0]) / (2 * step), rel=1e-6, abs=1e-8)
    if rule.has_latent_labels:
        curved = problem.hessian_product(theta, v)
        np.testing.assert_allclose(curved, (ahead[1] - back[1]) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rule", ["or", "mean", "softmax", "geometric_mean"])
def test_every_smooth_rule_reaches_a_stationary_point_without_rising(data, rule):
    model = MILogisticRegression(rule, l1_ratio=0.0, random_state=0).fit(data.bags, data.y)
    assert model.converged_
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.objective_ == min(model.objectives_)
    assert len(model.objectives_) == 5


def test_the_kinked_rule_max_is_fitted_too(data):
    model = MILogisticRegression("max", l1_ratio=0.0, max_iter=2000, random_state=0).fit(data.bags, data.y)
    assert model.score(data.bags, data.y) > 0.7
    assert not hasattr(model, "posterior_instances")


def test_starts_differ_and_the_best_is_kept_where_there_are_local_optima():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(600, 20)), np.arange(0, 601, 10))
    y = np.arange(60) % 2
    model = MILogisticRegression(alpha=0.1, l1_ratio=0.0, n_init=8, random_state=0).fit(bags, y)
    assert np.ptp(model.objectives_) > 1e-3
    assert model.objective_ == model.objectives_.min()


def test_parameters_are_recovered_from_many_bags():
    data = make_noisy_or_bags(4000, random_state=0)  # Table I of the paper, with 40 times the bags
    model = tight(alpha=0.0, n_init=1).fit(data.bags, data.y)
    # Four standard errors, which are near 0.06 for 4000 bags.
    np.testing.assert_allclose(model.coef_[0], data.coef, atol=0.25)
    assert model.intercept_[0] == pytest.approx(data.intercept, abs=0.25)


@pytest.mark.parametrize("scale", ["standard", "minmax", None, StandardScaler()])
def test_coefficients_are_on_the_original_scale(data, scale):
    shifted = data.bags.with_instances(data.bags.instances * [1, 10, 100, 1000] + 5.0)
    model = tight(scale=scale, tol=1e-7).fit(shifted, data.y)
    eta = shifted.instances @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function_instances(shifted), eta)
    scaled = shifted.instances if scale is None else model.scaler_.transform(shifted.instances)
    plain = tight(scale=None, tol=1e-7).fit(shifted.with_instances(scaled), data.y)
    np.testing.assert_allclose(
        model.predict_proba(shifted), plain.predict_proba(shifted.with_instances(scaled)), atol=1e-5
    )


@pytest.mark.parametrize("scale", [QuantileTransformer(n_quantiles=20), PCA(2, random_state=0)])
def test_any_transformer_may_scale(data, scale):
    model = MILogisticRegression(scale=scale, random_state=0).fit(data.bags, data.y)
    assert model.score(data.bags, data.y) > 0.6
    assert model.scaler_ is not scale and not hasattr(scale, "n_features_in_")


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_sparse_instances_stay_sparse_and_give_the_dense_fit(scale):
    rng = np.random.default_rng(0)
    X = sp.random(300, 30, density=0.2, format="csr", random_state=1)
    offsets = np.arange(0, 301, 5)
    y = (np.add.reduceat(X.toarray()[:, 0] + 0.2 * rng.normal(size=300), offsets[:-1]) > 0.3).astype(int)
    dense = tight(scale="standard" if scale == "standard" else None).fit(Bags(X.toarray(), offsets), y)
    sparse = tight(scale=scale).fit(Bags(X, offsets), y)
    assert sparse.decision_function(Bags(X, offsets)).shape == (60,)
    if scale == "standard":
        # Dividing without centering leads to the same model, because the intercept is free.
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)


def test_warm_start_begins_where_the_last_fit_ended(data):
    model = MILogisticRegression(l1_ratio=0.0, warm_start=True, random_state=0).fit(data.bags, data.y)
    cold = model.n_iter_
    model.fit(data.bags, data.y)
    assert len(model.objectives_) == 1
    assert model.n_iter_ == 1 < cold
    assert model.set_params(alpha=1.1).fit(data.bags, data.y).converged_


def test_balanced_class_weights_are_the_factors_that_scikit_learn_uses(data):
    y = data.y.copy()
    n = len(y)
    factors = n / (2 * np.bincount(y))
    balanced = tight(class_weight="balanced").fit(data.bags, y)
    by_hand = tight(class_weight={0: factors[0], 1: factors[1]}).fit(data.bags, y)
    by_bag = tight().fit(data.bags, y, sample_weight=factors[y])
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, rtol=1e-8)
    np.testing.assert_allclose(balanced.coef_, by_bag.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="class_weight has the key 'x', which is not a class"):
        MILogisticRegression(class_weight={"x": 1.0}).fit(data.bags, y)


def test_posterior_of_a_negative_bag_is_zero_and_of_a_positive_one_at_least_one_in_sum(data):
    model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    posterior = model.posterior_instances(data.bags, data.y)
    sums = np.add.reduceat(posterior, data.bags.offsets[:-1])
    assert (sums[data.y == 0] == 0).all()
    assert (sums[data.y == 1] >= 1 - 1e-12).all()
    with pytest.raises(ValueError, match="y has the label 7, which is not among the training labels"):
        model.posterior_instances(data.bags, np.full(len(data.y), 7))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("separable", lambda X: X * 0 + np.sign(X)),
        ("constant columns", lambda X: np.hstack([X, np.ones((len(X), 2))])),
        ("collinear columns", lambda X: np.hstack([X, X, 2 * X])),
        ("huge values", lambda X: X * 1e50),
        ("tiny values", lambda X: X * 1e-150),
        ("huge offsets", lambda X: X + 1e8),
        ("more features than instances", lambda X: np.random.default_rng(0).normal(size=(len(X), 900))),
    ],
)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_awkward_data_gives_finite_answers_or_a_warning_that_says_why(data, name, change, alpha):
    bags = data.bags.with_instances(change(np.array(data.bags.instances)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MILogisticRegression(alpha=alpha, random_state=0).fit(bags, data.y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.objective_)
    assert np.isfinite(model.predict_log_proba(bags)).all()


def test_one_positive_bag_is_enough(data):
    y = np.zeros(len(data.bags), dtype=int)
    y[3] = 1
    model = MILogisticRegression(random_state=0).fit(data.bags, y)
    assert np.isfinite(model.predict_proba(data.bags)).all()


def test_running_out_of_iterations_is_not_convergence(data):
    with pytest.warns(ConvergenceWarning, match=r"reached max_iter=1 before tol=1e-06; increase max_iter"):
        model = MILogisticRegression(l1_ratio=0.0, max_iter=1, random_state=0).fit(data.bags, data.y)
    assert not model.converged_


def test_warnings_point_at_the_line_that_called_fit(data):
    with pytest.warns(PositiveClassWarning) as caught:
        MILogisticRegression().fit(data.bags, np.where(data.y, "b", "a"))
    assert caught[0].filename == __file__


def test_verbose_reports_starts_and_iterations(data, caplog):
    with caplog.at_level(logging.INFO, logger="bagwise"):
        MILogisticRegression(l1_ratio=0.0, n_init=2, verbose=1, random_state=0).fit(data.bags, data.y)
        assert [r.message for r in caplog.records][1].startswith(
            "MILogisticRegression: start 2 of 2: objective"
        )
        caplog.clear()
        MILogisticRegression(n_init=1, verbose=2, random_state=0).fit(data.bags, data.y)
        assert any("iteration 1: objective" in r.message for r in caplog.records)


def test_silence_is_the_default(data, caplog, capfd):
    MILogisticRegression(random_state=0).fit(data.bags, data.y)
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_the_rule_given_is_left_alone_and_its_parameters_can_be_searched(data):
    rule = SoftMax(5.0)
    model = MILogisticRegression(rule, random_state=0)
    model.set_params(rule__sharpness=2.0).fit(data.bags, data.y)
    assert model.rule.sharpness == 2.0
    assert isinstance(MILogisticRegression(Or()).fit(data.bags, data.y).rule_, Or)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "xor"}, "The 'rule' parameter of MILogisticRegression must be"),
        ({"alpha": -1.0}, "The 'alpha' parameter"),
        ({"l1_ratio": 1.5}, "The 'l1_ratio' parameter"),
        ({"scale": "log"}, "The 'scale' parameter"),
        ({"n_init": 0}, "The 'n_init' parameter"),
    ],
)
def test_parameters_are_checked(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        MILogisticRegression(**parameters).fit(data.bags, data.y)


def test_a_pickle_of_another_version_warns(data, monkeypatch):
    model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    monkeypatch.setattr(bagwise.models.base.estimators, "__version__", "0.0.1")
    old = pickle.dumps(model)
    monkeypatch.undo()
    with pytest.warns(VersionWarning, match=r"pickled with bagwise 0\.0\.1 but loaded with"):
        pickle.loads(old)


def test_feature_names_of_the_fit_are_asked_for_at_predict(data):
    named = Bags(data.bags.instances, data.bags.offsets, feature_names=["a", "b", "c", "d"])
    other = Bags(data.bags.instances, data.bags.offsets, feature_names=["a", "b", "d", "c"])
    model = MILogisticRegression(random_state=0).fit(named, data.y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    model.predict(data.bags)  # bags without names are accepted
    with pytest.raises(ValueError, match="feature 2 is 'd', expected 'c'"):
        model.predict(other)
    assert not hasattr(model.fit(data.bags, data.y), "feature_names_in_")
