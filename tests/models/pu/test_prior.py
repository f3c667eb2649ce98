"""The class prior: exact leave-one-out, bounds, accuracy, and results for unusual data."""

import numpy as np
import pytest
from scipy.optimize import brentq

from bagwise import (
    Bags,
    ClassPriorEstimator,
    PUSetKernelClassifier,
    PUSetKernelClassifierCV,
    plot_prior_sensitivity,
)
from bagwise.exceptions import ClassPriorWarning
from bagwise.models.pu.features import PUFeatures, split_features
from bagwise.models.pu.ratio import DensityRatio, bounded_priors, rotated

# Most samples here are small, and the classes overlap or seem to.
pytestmark = pytest.mark.filterwarnings("ignore:negative bags seem:bagwise.exceptions.ClassPriorWarning")


def draw_bags(n, positive, rng, n_features=4, separation=4.0):
    """Return bags of 3 to 7 instances; positive bags have one or two outliers in two features."""
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
    """Return coefficients with an unpenalized constant from the normal equations of the objective."""
    with_constant = [np.column_stack([np.ones(len(F)), F]) for F in (P, U)]
    penalty = ridge * np.diag([0.0, *np.ones(P.shape[1])])
    H, h = with_constant[1].T @ with_constant[1] / len(U), with_constant[0].mean(axis=0)
    coef = np.linalg.solve(H + penalty, h)
    return coef, H, h


@pytest.mark.parametrize("n_centers", [6, 60])
def test_estimate_is_the_inverse_of_the_bounded_objective(n_centers):
    P, U = random_features(n_centers=n_centers)
    path = DensityRatio(PUFeatures(P, U, np.ones(len(P)), np.ones(len(U)))).path()
    for ridge, prior in zip(path.ridges[4:], path.class_priors[4:], strict=True):
        coef, *_ = fit_ratio(P, U, ridge)
        ratio_P, ratio_U = coef[0] + P @ coef[1:], coef[0] + U @ coef[1:]

        def excess(bound, ratio_P=ratio_P, ratio_U=ratio_U):
            r_P, r_U = np.clip(ratio_P, 0, bound), np.clip(ratio_U, 0, bound)
            return 2 * r_P.mean() - (r_U**2).mean() - bound

        assert prior == pytest.approx(1 / first_root(excess), rel=1e-6)


def first_root(function):
    """Return the first root of a function above one, or one if the function is not positive there."""
    grid = np.linspace(1.0, 30.0, 1_500)
    values = np.array([function(x) for x in grid])
    if values[0] <= 1e-12:
        return 1.0
    i = np.argmax(values <= 0)
    return brentq(function, grid[i - 1], grid[i])


def test_outliers_hardly_change_the_bounded_prior():
    def bounded(ratio_P, ratio_U):
        share = np.full(100, 0.01)
        (prior,) = bounded_priors(ratio_P[:, None], ratio_U[:, None], share, share)
        return prior

    ratio_P, ratio_U = np.full(100, 5.0), np.where(np.arange(100) < 20, 5.0, 0.0)
    assert bounded(ratio_P, ratio_U) == pytest.approx(0.2)
    ratio_P[:10] = 1e6
    assert bounded(ratio_P, ratio_U) == pytest.approx(0.2, rel=0.02)
    ratio_P[:10] = -1e6
    assert bounded(ratio_P, ratio_U) == pytest.approx(0.25)  # 1.8 J - 0.2 J^2 = J
    assert bounded(np.ones(100), np.ones(100)) == 1.0


@pytest.mark.parametrize("n_centers", [6, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_criterion_equals_explicit_leave_one_out(n_centers, weighted):
    P, U = random_features(1, n_centers=n_centers)
    rng = np.random.default_rng(0)
    wp, wu = (rng.integers(1, 4, len(X)) if weighted else np.ones(len(X), int) for X in (P, U))
    path = DensityRatio(PUFeatures(P, U, wp.astype(float), wu.astype(float))).path()
    for column in (8, 12, 16):
        ridge = path.ridges[column]
        ratios_U, ratios_P = [], []
        for i in range(len(U)):
            # A bag is left out with all its weight; the ridge keeps its weight relative to the other terms.
            rows = np.repeat(np.delete(np.arange(len(U)), i), np.delete(wu, i))
            coef, *_ = fit_ratio(np.repeat(P, wp, axis=0), U[rows], ridge * wu.sum() / len(rows))
            ratios_U.append(coef[0] + U[i] @ coef[1:])
        for j in range(len(P)):
            rows = np.repeat(np.delete(np.arange(len(P)), j), np.delete(wp, j))
            coef, *_ = fit_ratio(P[rows], np.repeat(U, wu, axis=0), ridge)
            ratios_P.append(coef[0] + P[j] @ coef[1:])
        chance_P, chance_U = (np.maximum(r, 0) / (1 + np.maximum(r, 0)) for r in (ratios_P, ratios_U))
        expected = np.average((1 - chance_P) ** 2, weights=wp) + np.average(chance_U**2, weights=wu)
        assert path.criterion[column] == pytest.approx(expected, rel=1e-7)


def test_chosen_ridge_is_at_least_the_one_of_the_lowest_criterion():
    P, U = random_features(3, 40, 90)
    path = DensityRatio(PUFeatures(P, U, np.ones(len(P)), np.ones(len(U)))).path()
    assert path.best >= np.argmin(path.criterion)
    assert (path.criterion[path.best + 1 :] > path.criterion.min()).all()
    # The effect of a positive bag on the criterion is at most its share, even if the bag is an outlier.
    far = np.vstack([P, 1e3 * P[:1]])
    moved = DensityRatio(PUFeatures(far, U, np.ones(len(far)), np.ones(len(U)))).path()
    assert (moved.criterion <= 2.0).all()


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


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tail", "ratio"])
@pytest.mark.parametrize("prior", [0.1, 0.3, 0.5, 0.7])
def test_mean_error_is_small_where_classes_are_well_separated(prior, method):
    estimates = []
    for seed in range(5):
        bags, y, _ = pu_sample(prior, seed)
        estimates.append(ClassPriorEstimator(method=method).fit(bags, y).class_prior_)
    assert np.mean(np.abs(np.array(estimates) - prior)) < (0.05 if method == "tail" else 0.07)


def far_bags(seed, n_positive=100, n_unlabeled=200, prior=0.3):
    """Return perfectly separable bags; a few positive ones are beyond all unlabeled ones."""
    rng = np.random.default_rng(seed)
    truth = np.append(np.ones(n_positive, bool), rng.random(n_unlabeled) < prior)
    bags = []
    for positive in truth:
        X = rng.normal(size=(1 + rng.poisson(4), 3))
        X[0] += 6.0 * positive
        bags.append(X)
    return Bags.from_list(bags), np.repeat([1, 0], [n_positive, n_unlabeled]), truth[n_positive:]


@pytest.mark.parametrize("seed", [1009, 1013, 1018])
def test_a_few_far_positive_bags_do_not_make_the_estimate_collapse(seed):
    bags, y, hidden = far_bags(seed)
    for degree in (1, 2, 3, (1, 2, 3)):
        model = ClassPriorEstimator(method="ratio", degree=degree).fit(bags, y)
        assert model.class_prior_ == pytest.approx(hidden.mean(), abs=0.06)
    assert model.check_.class_prior == pytest.approx(hidden.mean(), abs=0.02)
    chosen = PUSetKernelClassifierCV(random_state=0).fit(bags, y)
    least = ClassPriorEstimator().fit(bags, y).class_prior_
    assert chosen.class_prior_ == chosen.prior_estimate_.class_prior == least
    assert least == pytest.approx(hidden.mean(), abs=0.03)
    assert np.mean(chosen.predict(bags[100:]) == hidden) > 0.97


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("method", ["tail", "ratio"])
def test_overlapping_classes_give_an_upper_estimate_and_a_low_limit_of_0(method):
    bags, y, _ = pu_sample(0.3, 0, separation=1.0)
    model = ClassPriorEstimator(method=method).fit(bags, y)
    assert model.class_prior_ > 0.4
    assert model.estimate_.overlap and model.check_.overlap
    low, high = model.interval(bags, y, level=0.9, n_bootstrap=20, random_state=0)
    assert low == 0.0 and high > model.class_prior_
    assert model.estimate_.interval()[0] == 0.0
    apart, y, _ = pu_sample(0.3, 0, separation=8.0)
    model = ClassPriorEstimator(method=method).fit(apart, y)
    assert not model.estimate_.overlap
    assert 0.15 < model.interval(apart, y, n_bootstrap=20, random_state=0)[0] < 0.3


def test_both_methods_are_computed_and_one_is_kept_as_a_check():
    bags, y, _ = pu_sample(0.3, 0)
    tail, ratio = (ClassPriorEstimator(method=method).fit(bags, y) for method in ("tail", "ratio"))
    assert tail.class_prior_ == tail.estimate_.class_prior != tail.check_.class_prior
    assert (tail.estimate_, tail.check_) == (ratio.check_, ratio.estimate_)
    assert (tail.estimate_.method, tail.check_.method) == ("tail", "ratio")
    least = ClassPriorEstimator().fit(bags, y)
    assert least.class_prior_ == min(tail.class_prior_, ratio.class_prior_)
    assert least.estimate_.log_error == max(tail.estimate_.log_error, ratio.estimate_.log_error)
    smaller, larger = sorted([tail.estimate_, ratio.estimate_], key=lambda each: each.class_prior)
    assert (least.estimate_.method, least.check_) == (smaller.method, larger)


def test_disagreeing_estimates_warn():
    # One of two kinds of positive bags is like negative bags: the ratio estimates far more than the tail.
    rng = np.random.default_rng(0)
    truth = np.append(np.ones(200), rng.random(600) < 0.2)
    X = rng.normal(size=(800, 2))
    easy = (truth == 1) & (rng.random(800) < 0.3)
    X[easy, 0] += 8.0
    y = np.repeat([1, 0], [200, 600])
    with pytest.warns(ClassPriorWarning, match=r'the 90% intervals .* not overlap: .* by "tail" .* by "r'):
        model = ClassPriorEstimator().fit(X, y)
    assert model.class_prior_ < model.check_.class_prior
    with pytest.warns(ClassPriorWarning, match="Pass class_prior if you know it"):
        PUSetKernelClassifier(degree=2).fit(X, y)


def test_degree_has_the_lowest_criterion_and_a_fixed_ridge_is_used():
    bags, y, _ = pu_sample(0.3, 0, n_positive=30, n_unlabeled=60)
    chosen = ClassPriorEstimator(method="ratio").fit(bags, y)
    alone = [ClassPriorEstimator(method="ratio", degree=degree).fit(bags, y) for degree in (1, 2, 3)]
    best = min(alone, key=lambda model: model.path_.criterion.min())
    assert (chosen.degree_, chosen.class_prior_) == (best.degree_, best.class_prior_)
    fixed = ClassPriorEstimator(method="ratio", degree=chosen.degree_, ridge=chosen.ridge_).fit(bags, y)
    assert fixed.path_ is None
    assert fixed.class_prior_ == pytest.approx(chosen.class_prior_, rel=1e-9)
    with pytest.raises(ValueError, match="degree must be one or more integers >= 1; got"):
        ClassPriorEstimator(degree=[0, 1]).fit(bags, y)


def test_rotated_features_give_the_same_path():
    bags, y, _ = pu_sample(0.3, 0, n_positive=20, n_unlabeled=40)
    model = ClassPriorEstimator(degree=2).fit(bags, y)
    matrix = model.basis_(model._scaled(bags))
    few = rotated(matrix)
    assert few.shape[1] < matrix.shape[1]
    weight = np.arange(len(y)) % 3 + 1.0
    paths = [DensityRatio(split_features(F, y, weight)).path() for F in (matrix, few)]
    np.testing.assert_allclose(paths[0].class_priors[4:], paths[1].class_priors[4:], rtol=1e-6)
    np.testing.assert_allclose(paths[0].criterion[4:], paths[1].criterion[4:], rtol=1e-6)


@pytest.mark.parametrize("method", ["tail", "ratio"])
def test_interval_contains_the_estimate_and_narrows_with_more_bags(method):
    widths = []
    for n in (60, 240):
        bags, y, _ = pu_sample(0.4, 0, n_positive=n // 2, n_unlabeled=n, separation=10.0)
        model = ClassPriorEstimator(method=method).fit(bags, y)
        low, high = model.interval(bags, y, n_bootstrap=30, random_state=0)
        assert 0 < low < model.class_prior_ < high <= 1
        widths.append(high - low)
        assert (low, high) == model.interval(bags, y, n_bootstrap=30, random_state=0)
    assert widths[1] < widths[0]


def test_the_interval_of_the_least_estimate_repeats_the_choice_in_every_draw():
    bags, y, _ = pu_sample(0.3, 0, n_positive=40, n_unlabeled=80, separation=8.0)
    model = ClassPriorEstimator(degree=1).fit(bags, y)
    others = [ClassPriorEstimator(method=m, degree=1).fit(bags, y) for m in ("tail", "ratio")]
    rng, drawn = np.random.RandomState(0), []
    for _ in range(30):
        weight = model._sample.draw(rng)
        sample = model._sample.with_rotated_features(model._features(model._scaled(bags)))
        drawn.append(min(other._estimate_again(sample, weight) for other in others))
    low, middle, high = model.class_prior_ * np.quantile(drawn, [0.05, 0.5, 0.95]) / np.median(drawn)
    assert low < middle < high
    interval = model.interval(bags, y, level=0.9, n_bootstrap=30, random_state=0)
    np.testing.assert_allclose(interval, [low, high], rtol=1e-6)


@pytest.mark.parametrize("method", ["least", "tail"])
def test_overlap_warns_that_the_bags_do_not_determine_the_prior(method):
    bags, y, _ = pu_sample(0.3, 0, separation=2.0)
    with pytest.warns(
        ClassPriorWarning, match=r"between 0 and 0\.\d+ \(90% interval\), and the upper estimate"
    ):
        model = ClassPriorEstimator(method=method).fit(bags, y)
    assert model.class_prior_ > 0.3
    with pytest.warns(ClassPriorWarning, match="Pass class_prior if you know it"):
        PUSetKernelClassifier().fit(bags, y)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_interval_has_the_quantiles_of_a_bootstrap_with_selection(level):
    bags, y, _ = pu_sample(0.3, 0, n_positive=40, n_unlabeled=80, separation=8.0)
    model = ClassPriorEstimator(method="ratio", degree=[1, 2]).fit(bags, y)
    rng, drawn, chosen = np.random.RandomState(0), [], set()
    bases = [ClassPriorEstimator(degree=d).fit(bags, y).basis_ for d in (1, 2)]
    matrices = [basis(model._scaled(bags)) for basis in bases]
    for _ in range(30):
        weight = np.zeros(len(y))
        for k in (0, 1):
            members = np.flatnonzero(y == k)
            np.add.at(weight, members[rng.randint(len(members), size=len(members))], 1.0)
        kept = weight > 0
        paths = [DensityRatio(split_features(M[kept], y[kept], weight[kept])).path() for M in matrices]
        best = int(np.argmin([path.criterion.min() for path in paths]))
        chosen.add((best, paths[best].best))
        drawn.append(paths[best].class_priors[paths[best].best])
    assert len(chosen) > 2  # the selected model differs between draws
    low, middle, high = np.quantile(drawn, [(1 - level) / 2, 0.5, (1 + level) / 2])
    expected = np.array([low, high]) * model.class_prior_ / middle
    assert expected[1] < 1
    interval = model.interval(bags, y, level=level, n_bootstrap=30, random_state=0)
    np.testing.assert_allclose(interval, expected, rtol=1e-5)


def test_bags_that_are_not_those_of_the_fit_have_no_interval():
    bags, y, _ = pu_sample(0.3, 0, n_positive=20, n_unlabeled=40)
    weight = np.arange(60) % 3
    model = ClassPriorEstimator().fit(bags, y, sample_weight=weight)
    model.interval(bags, y, weight, n_bootstrap=2)
    for other in ((bags[5:], y[5:], weight[5:]), (bags, 1 - y, weight), (bags, y, None)):
        with pytest.raises(ValueError, match="do not match the training data"):
            model.interval(*other)


def test_instance_level_intervals_count_independent_bags():
    rng = np.random.default_rng(0)
    P, N = rng.normal(6.0, size=(150, 2)), rng.normal(size=(210, 2))
    X, y = np.vstack([P, N]), np.repeat([1, 0], [60, 300])
    model = ClassPriorEstimator(level="instance").fit(X, y)
    for estimate in (model.estimate_, model.check_):
        assert estimate.class_prior == pytest.approx(0.3, abs=0.03)
    # With bags of three equal classes, the share is the same; intervals are as for a third of the instances.
    bags, of_bags = X.reshape(-1, 3, 2), y[::3]
    again = ClassPriorEstimator(level="instance").fit(bags, of_bags)
    assert again.class_prior_ == pytest.approx(0.3, abs=0.03)
    assert again.estimate_.log_error == pytest.approx(np.sqrt(3) * model.estimate_.log_error, rel=0.1)
    low, high = again.interval(bags, of_bags, n_bootstrap=100, random_state=0)
    near, far = model.interval(X, y, n_bootstrap=100, random_state=0)
    assert high - low > 1.3 * (far - near)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
def test_negative_instances_in_positive_bags_give_an_upper_estimate():
    bags, y, _ = pu_sample(0.3, 0, separation=8.0)
    for method in ("tail", "ratio"):
        model = ClassPriorEstimator(method=method, level="instance", n_centers=60).fit(bags, y)
        assert model.class_prior_ > 0.35 and model.estimate_.overlap
        assert model.degree_ is None and model.scores_.shape == (bags.n_instances,)


def test_matrix_of_instances_has_a_prior():
    rng = np.random.default_rng(0)
    P, N = rng.normal(6.0, size=(150, 2)), rng.normal(size=(210, 2))
    X = np.vstack([P[:60], P[60:], N])
    y = np.repeat([True, False], [60, 300])
    assert ClassPriorEstimator(degree=2).fit(X, y).class_prior_ == pytest.approx(0.3, abs=0.07)


def test_prior_of_identical_bags_is_near_one():
    bags = [np.ones((2, 3))] * 20
    y = np.repeat([1, 0], 10)
    assert ClassPriorEstimator().fit(bags, y).class_prior_ == 1.0
    model = PUSetKernelClassifier().fit(bags, y)
    assert 0.9 < model.class_prior_ < 1.0
    assert (model.predict(bags) == 1).all()


def test_too_few_bags_to_estimate_are_refused():
    bags = [np.ones((2, 3)), np.zeros((2, 3)), np.zeros((1, 3))]
    with pytest.raises(ValueError, match=r"at least two positive and two unlabeled bags.*Pass class_prior"):
        ClassPriorEstimator().fit(bags, [1, 0, 0])
    assert PUSetKernelClassifier(class_prior=0.5).fit(bags, [1, 0, 0]).class_prior_ == 0.5


def test_the_sensitivity_plot_shows_risk_and_decisions():
    bags, y, _ = pu_sample(0.3, 0, n_positive=20, n_unlabeled=40)
    display = plot_prior_sensitivity(
        PUSetKernelClassifier(),
        bags,
        y,
        class_priors=[0.2, 0.4, 0.6],
        cv=3,
        estimate=0.3,
        interval=(0.2, 0.4),
    )
    axes = display.ax_
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        "positive bags found",
        "unlabeled bags classified as positive",
        "zero-one PU risk",
        "assumed prior",
    ]
    called = axes.lines[1].get_ydata()
    assert (np.diff(called) >= 0).all()  # a larger prior never leads to fewer positive bags here
