"""The class prior: exact leave-one-out, bounds, accuracy, and what it does with odd data."""

import numpy as np
import pytest

from bagwise import Bags, ClassPriorEstimator, PUSetKernelClassifier, plot_prior_sensitivity
from bagwise.pu.features import PUFeatures
from bagwise.pu.prior import split_features
from bagwise.pu.ratio import DensityRatio, prior_at


def draw_bags(n, positive, rng, n_features=4, separation=4.0):
    """Bags of 3 to 7 instances; positive ones hold one or two that lie apart in two features."""
    bags = []
    for _ in range(n):
        X = rng.normal(size=(rng.integers(3, 8), n_features))
        if positive:
            X[: rng.integers(1, 3), :2] += separation
        bags.append(X)
    return bags


def pu_sample(prior, seed, n_positive=100, n_unlabeled=300, **kwargs):
    rng = np.random.default_rng(seed)
    hidden = round(prior * n_unlabeled)
    parts = [(n_positive, True), (hidden, True), (n_unlabeled - hidden, False)]
    bags = Bags.from_list([bag for n, positive in parts for bag in draw_bags(n, positive, rng, **kwargs)])
    return bags, np.repeat([1, 0], [n_positive, n_unlabeled]), np.repeat([1, 1, 0], [n for n, _ in parts])


def random_features(seed=0, n_positive=12, n_unlabeled=30, n_centers=6):
    rng = np.random.default_rng(seed)
    P, U = rng.normal(size=(n_positive, n_centers)) + 1.0, rng.normal(size=(n_unlabeled, n_centers))
    return P, U


def fit_ratio(P, U, ridge):
    """Coefficients with an unpenalised constant, by the normal equations of the objective."""
    with_constant = [np.column_stack([np.ones(len(F)), F]) for F in (P, U)]
    penalty = ridge * np.diag([0.0, *np.ones(P.shape[1])])
    H, h = with_constant[1].T @ with_constant[1] / len(U), with_constant[0].mean(axis=0)
    coef = np.linalg.solve(H + penalty, h)
    return coef, H, h


@pytest.mark.parametrize("n_centers", [6, 60])
def test_estimate_is_the_inverse_of_the_objective_with_a_free_constant(n_centers):
    P, U = random_features(n_centers=n_centers)
    path = DensityRatio(PUFeatures(P, U, np.ones(len(P)), np.ones(len(U)))).path()
    for ridge, prior in zip(path.ridges[4:], path.class_priors[4:], strict=True):
        coef, H, h = fit_ratio(P, U, ridge)
        assert prior == pytest.approx(1.0 / (2 * coef @ h - coef @ H @ coef), rel=1e-6)


@pytest.mark.parametrize("n_centers", [6, 60])
def test_criterion_is_leave_one_out_done_the_long_way(n_centers):
    P, U = random_features(1, n_centers=n_centers)
    path = DensityRatio(PUFeatures(P, U, np.ones(len(P)), np.ones(len(U)))).path()
    for number in (8, 12, 16):
        ridge = path.ridges[number]
        # Without a bag of U, the ridge keeps its weight beside the sum over the others.
        n = len(U)
        ratios_U = []
        for i in range(n):
            coef, *_ = fit_ratio(P, np.delete(U, i, axis=0), ridge * n / (n - 1))
            ratios_U.append(coef[0] + U[i] @ coef[1:])
        ratios_P = []
        for j in range(len(P)):
            coef, *_ = fit_ratio(np.delete(P, j, axis=0), U, ridge)
            ratios_P.append(coef[0] + P[j] @ coef[1:])
        expected = 2 * np.mean(ratios_P) - np.mean(np.square(ratios_U))
        assert path.criterion[number] == pytest.approx(expected, rel=1e-7)


def test_estimates_lie_between_zero_and_one_for_any_ridge_and_data():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        P, U = rng.standard_cauchy(size=(5, 4)), rng.standard_cauchy(size=(7, 4))
        path = DensityRatio(PUFeatures(P, U, np.ones(5), np.ones(7))).path()
        assert ((path.class_priors > 0) & (path.class_priors <= 1)).all()


def test_weights_are_repetitions():
    P, U = random_features(2)
    rng = np.random.default_rng(0)
    wp, wu = rng.integers(1, 4, size=len(P)), rng.integers(1, 4, size=len(U))
    weighted = DensityRatio(PUFeatures(P, U, wp.astype(float), wu.astype(float))).path()
    P2, U2 = np.repeat(P, wp, axis=0), np.repeat(U, wu, axis=0)
    repeated = DensityRatio(PUFeatures(P2, U2, np.ones(len(P2)), np.ones(len(U2)))).path()
    np.testing.assert_allclose(weighted.class_priors, repeated.class_priors, rtol=1e-9)
    np.testing.assert_allclose(weighted.criterion, repeated.criterion, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("prior", [0.1, 0.3, 0.5, 0.7])
def test_mean_error_is_small_where_classes_are_well_separated(prior, degree):
    estimates = []
    for seed in range(5):
        bags, y, _ = pu_sample(prior, seed)
        estimates.append(ClassPriorEstimator(degree=degree).fit(bags, y).class_prior_)
    assert np.mean(np.abs(np.array(estimates) - prior)) < 0.07


def test_where_classes_overlap_the_estimate_is_an_upper_one():
    bags, y, _ = pu_sample(0.3, 0, separation=1.0)
    assert ClassPriorEstimator().fit(bags, y).class_prior_ > 0.4


def test_a_given_ridge_is_used():
    bags, y, _ = pu_sample(0.3, 0, n_positive=30, n_unlabeled=60)
    chosen = ClassPriorEstimator().fit(bags, y)
    given = ClassPriorEstimator(ridge=chosen.ridge_).fit(bags, y)
    assert given.path_ is None
    assert given.class_prior_ == pytest.approx(chosen.class_prior_, rel=1e-6)
    features = split_features(chosen.basis_(chosen._scaled(bags)), training_of(bags, y))
    assert prior_at(features, chosen.ridge_) == pytest.approx(chosen.class_prior_, rel=1e-6)


def training_of(bags, y):
    from bagwise.base import Training

    return Training(bags, y, np.ones(len(y)))


def test_the_interval_holds_the_estimate_and_narrows_with_more_bags():
    widths = []
    for n in (40, 160):
        bags, y, _ = pu_sample(0.4, 0, n_positive=n // 2, n_unlabeled=n)
        model = ClassPriorEstimator().fit(bags, y)
        low, high = model.interval(bags, y, n_bootstrap=100, random_state=0)
        assert 0 < low < model.class_prior_ < high <= 1
        widths.append(high - low)
        assert (low, high) == model.interval(bags, y, n_bootstrap=100, random_state=0)
    assert widths[1] < widths[0]


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_holds_the_quantiles_of_a_bootstrap_about_the_estimate(level):
    bags, y, _ = pu_sample(0.3, 0, n_positive=40, n_unlabeled=80)
    model = ClassPriorEstimator().fit(bags, y)
    matrix, rng, drawn = model.basis_(model._scaled(bags)), np.random.RandomState(0), []
    for _ in range(50):
        rows = np.concatenate([rng.choice(np.flatnonzero(y == k), (y == k).sum()) for k in (0, 1)])
        features = split_features(matrix[rows], training_of(bags[rows], y[rows]))
        drawn.append(prior_at(features, model.ridge_))
    low, middle, high = np.quantile(drawn, [(1 - level) / 2, 0.5, (1 + level) / 2])
    expected = np.array([low, high]) * model.class_prior_ / middle
    assert expected[1] < 1
    found = model.interval(bags, y, level=level, n_bootstrap=50, random_state=0)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_a_matrix_of_instances_has_a_prior_too():
    rng = np.random.default_rng(0)
    P, N = rng.normal(6.0, size=(150, 2)), rng.normal(size=(210, 2))
    X = np.vstack([P[:60], P[60:], N])
    y = np.repeat([True, False], [60, 300])
    assert ClassPriorEstimator(degree=2).fit(X, y).class_prior_ == pytest.approx(0.3, abs=0.07)


def test_identical_bags_say_that_all_may_be_positive():
    bags = [np.ones((2, 3))] * 20
    y = np.repeat([1, 0], 10)
    assert ClassPriorEstimator().fit(bags, y).class_prior_ == 1.0
    model = PUSetKernelClassifier().fit(bags, y)
    assert 0.9 < model.class_prior_ < 1.0
    assert (model.predict(bags) == 1).all()


def test_too_few_bags_to_estimate_are_refused():
    bags = [np.ones((2, 3)), np.zeros((2, 3)), np.zeros((1, 3))]
    with pytest.raises(ValueError, match=r"fewer than two positive or unlabeled bags.*Pass class_prior"):
        ClassPriorEstimator().fit(bags, [1, 0, 0])
    assert PUSetKernelClassifier(class_prior=0.5).fit(bags, [1, 0, 0]).class_prior_ == 0.5


def test_the_sensitivity_plot_shows_risk_and_decisions():
    bags, y, _ = pu_sample(0.3, 0, n_positive=20, n_unlabeled=40)
    figure = plot_prior_sensitivity(
        PUSetKernelClassifier(),
        bags,
        y,
        class_priors=[0.2, 0.4, 0.6],
        cv=3,
        estimate=0.3,
        interval=(0.2, 0.4),
    )
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        "positive bags found",
        "unlabeled bags called positive",
        "zero-one PU risk",
        "the prior assumed",
    ]
    called = axes.lines[1].get_ydata()
    assert (np.diff(called) >= 0).all()  # a larger prior never calls fewer bags positive here
