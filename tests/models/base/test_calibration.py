"""Calibration during a fit: its effect on held-out bags, and the calibration plot."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from bagwise import (
    MISVC,
    Bags,
    InstanceMISVC,
    MILogisticRegression,
    MIMixture,
    MissSVC,
    fetch_elephant,
    instance_kernel,
    make_mixture_bags,
    make_noisy_or_bags,
    plot_calibration,
)
from bagwise.evaluation.calibration_plots import calibration_points
from bagwise.models.base.calibration import fit_exponent, fit_lines, fit_threshold

SVMS = [MissSVC, MISVC, InstanceMISVC]


def repeated_features(n_bags, copies=8, random_state=0):
    """Return bags with noisy copies of features, which naive densities treat as independent evidence."""
    data = make_mixture_bags(n_bags, size=4, separation=1.5, random_state=random_state)
    rng = np.random.default_rng(random_state)
    X = np.tile(data.bags.instances, copies)
    return data.bags.with_instances(X + 0.1 * rng.normal(size=X.shape)), data.y


@pytest.fixture(scope="module")
def dependent():
    bags, y = repeated_features(500)
    return bags[:200], y[:200], bags[200:], y[200:]


def test_dependent_features_are_calibrated_by_an_exponent(dependent):
    train, y_train, test, y_test = dependent
    model = MIMixture("gaussian_diag", n_init=3, random_state=0)
    plain = clone(model).fit(train, y_train)
    calibrated = model.set_params(calibrate=True).fit(train, y_train)
    base = log_loss(y_test, np.full(len(y_test), y_train.mean()))
    assert log_loss(y_test, plain.predict_proba(test)[:, 1]) > 1.5 * base
    assert log_loss(y_test, calibrated.predict_proba(test)[:, 1]) < base
    assert plain.exponent_ == 1.0 and 0.02 < calibrated.exponent_ < 0.4
    # All log-odds have the same factor, so predictions of bags and instances do not change.
    for method in ("decision_function", "decision_function_instances"):
        np.testing.assert_allclose(
            getattr(calibrated, method)(test),
            calibrated.exponent_ * getattr(plain, method)(test),
            rtol=1e-6,
            atol=1e-9,
        )
    np.testing.assert_array_equal(calibrated.predict(test), plain.predict(test))
    np.testing.assert_array_equal(calibrated.predict_instances(test), plain.predict_instances(test))
    np.testing.assert_allclose(
        calibrated.predict_proba_instances(test)[:, 1],
        calibrated.predict_proba(test.instances[:, None])[:, 1],  # every instance as a bag
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        np.exp(calibrated.predict_log_proba(test)), calibrated.predict_proba(test), rtol=1e-12
    )
    assert calibrated.posterior_instances(test, y_test).shape == (test.n_instances,)


def test_the_exponent_is_that_of_the_held_out_likelihood_over_the_folds(dependent):
    train, y, _, _ = dependent
    model = MIMixture("gaussian_diag", n_init=2, random_state=0)
    weight = 1.0 + np.arange(len(y)) % 2
    calibrated = clone(model).set_params(calibrate=True).fit(train, y, weight)
    score = np.empty(len(y))
    for learn, held in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        score[held] = clone(model).fit(train[learn], y[learn], weight[learn]).decision_function(train[held])
    by_hand = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10).fit(score[:, None], y, weight)
    assert calibrated.exponent_ == pytest.approx(by_hand.coef_[0, 0], rel=1e-3)


def test_a_correct_model_has_an_exponent_near_one():
    data = make_mixture_bags(600, size=4, separation=2.0, random_state=1)
    model = MIMixture(n_init=2, calibrate=True, random_state=0).fit(data.bags, data.y)
    assert 0.7 < model.exponent_ < 1.4


@pytest.mark.parametrize("scores", [[1.0, 2.0, -1.0, -2.0], [np.inf, 1.0, 1.0, np.inf], [0.0] * 4])
def test_useless_and_reversed_scores_have_the_smallest_exponent(scores):
    exponent = fit_exponent(np.array(scores), np.array([0, 0, 1, 1]), np.ones(4))
    assert 0 < exponent < 1e-6 or not np.any(scores)


def test_an_exponent_with_an_offset_maximises_the_likelihood():
    rng = np.random.default_rng(0)
    log_odds, weight = rng.normal(size=5000), rng.integers(1, 4, 5000).astype(float)
    y = (rng.random(5000) < 1 / (1 + np.exp(1.5 - 0.7 * log_odds))).astype(int)

    def score(exponent):  # derivative of the log-likelihood
        return weight @ (log_odds * (y - 1 / (1 + np.exp(1.5 - exponent * log_odds))))

    assert fit_exponent(log_odds, y, weight, -1.5) == pytest.approx(brentq(score, 0.1, 3.0), rel=1e-6)


def test_a_threshold_is_that_of_a_logistic_regression():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    scores = 3.0 + 0.5 * rng.normal(size=4000) + y
    weight = rng.integers(1, 4, 4000).astype(float)
    threshold, exponent = fit_threshold(scores, y, weight)
    line = LogisticRegression(C=1e9, tol=1e-10).fit(scores[:, None], y, weight)
    assert exponent == pytest.approx(line.coef_[0, 0], rel=1e-2)
    assert threshold == pytest.approx(-line.intercept_[0] / line.coef_[0, 0], abs=1e-2)
    threshold, exponent = fit_threshold(np.array([-3.0, -2.0, 5.0, 6.0]), np.array([0, 0, 1, 1]), np.ones(4))
    assert threshold == pytest.approx(1.5) and 0.1 < exponent < 1.0  # separable, but the exponent is finite


def test_no_threshold_gives_a_warning():
    with pytest.warns(UserWarning, match="threshold: held-out scores of positive bags are not higher"):
        assert fit_threshold(np.array([2.0, 1.0, -1.0, -2.0]), np.array([0, 0, 1, 1]), np.ones(4))[0] == 0.0


@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_scores_that_are_equal_up_to_rounding_have_slope_zero(size):
    y = np.array([0, 1, 0, 1, 1])
    slope, shift = fit_lines(size * (1.0 + 2.2e-16 * np.array([[0, 1, 0, 2, 1]])), y, np.ones(5))
    frequency = (3 * 4 / 5 + 2 * 1 / 4) / 5  # Platt's targets of 3 positive, 2 negative labels
    assert slope[0] == 0.0 and shift[0] == pytest.approx(np.log(frequency / (1 - frequency)))


@pytest.mark.parametrize("svm", SVMS)
def test_a_calibrated_svm_moves_its_threshold(svm):
    data = make_noisy_or_bags(90, size=(2, 6), coef=[2.0, -2.0], intercept=-2.5, random_state=0)
    train, test, y = data.bags[:60], data.bags[60:], data.y[:60]
    plain, calibrated = svm().fit(train, y), svm(calibrate=True).fit(train, y)
    assert not hasattr(plain, "predict_proba") and not hasattr(plain, "threshold_")
    score = calibrated.decision_function(test)
    np.testing.assert_allclose(score, plain.decision_function(test) - calibrated.threshold_, atol=1e-12)
    np.testing.assert_allclose(
        calibrated.decision_function_instances(test),
        plain.decision_function_instances(test) - calibrated.threshold_,
        atol=1e-12,
    )
    proba = calibrated.predict_proba(test)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-calibrated.exponent_ * score)), rtol=1e-12)
    np.testing.assert_array_equal(calibrated.predict(test) == 1, proba[:, 1] >= 0.5)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    held_out = cross_val_predict(svm(), train, y, cv=folds, method="decision_function")
    np.testing.assert_allclose(
        fit_threshold(held_out, y, np.ones(60)), (calibrated.threshold_, calibrated.exponent_), rtol=1e-6
    )
    scaled = calibrated.scaler_.transform(train.instances)
    K = instance_kernel(train.with_instances(scaled), gamma=calibrated.gamma_)
    precomputed = svm(kernel="precomputed", calibrate=True).fit(K, y)
    # With features, every fold scales by its training bags. Here, the scaling uses all bags.
    assert precomputed.threshold_ == pytest.approx(calibrated.threshold_, abs=0.2)


def test_pairs_of_many_classes_are_calibrated():
    y = np.arange(60) % 3
    X = np.random.default_rng(0).normal(size=(60, 4, 2)) + y[:, None, None]
    model = MissSVC(calibrate=True).fit(X, y)
    assert not hasattr(model, "predict_proba")
    shift = [svm.threshold_ for svm in model.pairs_.estimators_]
    plain = MissSVC().fit(X, y)
    np.testing.assert_allclose(model.intercept_, plain.intercept_ - shift, atol=1e-9)
    assert np.mean(model.predict(X) == y) > 0.6


@pytest.mark.study
@pytest.mark.parametrize(("svm", "gain"), [(MissSVC, 0.05), (InstanceMISVC, 0.03)])
def test_a_calibrated_threshold_improves_accuracy_on_elephant(svm, gain):
    data = fetch_elephant()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    plain = cross_val_predict(svm(), data.bags, data.y, cv=folds, method="decision_function")
    calibrated = cross_val_predict(
        svm(calibrate=True), data.bags, data.y, cv=folds, method="decision_function"
    )
    assert roc_auc_score(data.y, plain) > 0.9
    assert np.mean((calibrated >= 0) == data.y) > np.mean((plain >= 0) == data.y) + gain


# ---------------------------------------------------------------------- the plot


def test_points_of_the_plot_are_shares_with_exact_intervals():
    rng = np.random.default_rng(0)
    probability = np.round(rng.random(203), 2)
    positive = rng.random(203) < probability
    predicted, share, low, high = calibration_points(positive, probability, 8)
    cuts = np.searchsorted(predicted, probability)
    assert 6 <= len(predicted) <= 8 and (np.diff(predicted) > 0).all() and cuts.max() <= len(predicted)
    total = 0
    for point in range(len(predicted)):
        # All bags with the same value belong to the same run.
        values = [v for v in np.unique(probability) if _run_of(v, probability, 8) == point]
        members = np.isin(probability, values)
        total += members.sum()
        assert predicted[point] == pytest.approx(probability[members].mean())
        exact = binomtest(int(positive[members].sum()), int(members.sum())).proportion_ci(0.9, "exact")
        assert share[point] == pytest.approx(positive[members].mean())
        assert (low[point], high[point]) == pytest.approx((exact.low, exact.high))
    assert total == 203


def _run_of(value, probability, n_bins):
    ordered = np.sort(probability)
    starts = {float(ordered[round(k * len(ordered) / n_bins)]) for k in range(1, n_bins)}
    starts = {float(ordered[0])} | starts
    return sum(start <= value for start in starts) - 1


def test_the_plot_shows_every_model_with_its_log_loss(dependent):
    train, y_train, test, y_test = dependent
    models = {
        "plain": MIMixture("gaussian_diag", n_init=2, random_state=0).fit(train, y_train),
        "logistic": MILogisticRegression(random_state=0).fit(train, y_train),
    }
    display = plot_calibration(models, test, y_test)
    above, below = display.figure_.axes
    assert above is display.ax_
    texts = [text.get_text() for text in above.get_legend().get_texts()]
    for name, model in models.items():
        loss = -model.predict_log_proba(test)[np.arange(len(y_test)), y_test].mean()
        assert f"{name}: {loss:.2f}" in texts
    base = log_loss(y_test, np.full(len(y_test), y_test.mean()))
    assert above.get_legend().get_title().get_text() == f"log loss (baseline {base:.2f})"
    assert above.get_ylabel() == "share of positive bags" and below.get_ylabel() == "number of bags"
    held_out = plot_calibration(MILogisticRegression(random_state=0), train, y_train, cv=3)
    assert "MILogisticRegression: " in held_out.ax_.get_legend().get_texts()[0].get_text()


def test_invalid_plots_are_refused(dependent):
    bags, y, _, _ = dependent
    with pytest.raises(
        ValueError, match="MissSVC has no predict_proba, but a calibration plot needs probabilities"
    ):
        plot_calibration(MissSVC(), bags, y, cv=3)
    with pytest.raises(ValueError, match="y has 3 classes"):
        plot_calibration(MILogisticRegression(), bags, np.arange(len(y)) % 3, cv=3)
    with pytest.raises(ValueError, match="model has 0 classifiers; expected 1 to 5"):
        plot_calibration({}, bags, y)
    model = MILogisticRegression(random_state=0).fit(bags, y)
    with pytest.raises(ValueError, match=r"y has the classes \[3, 4\], but \w+ was fitted to \[0, 1\]"):
        plot_calibration(model, bags, y + 3)


def test_a_model_with_infinite_log_loss_is_plotted():
    class Certain(MILogisticRegression):
        def predict_proba(self, X):
            return np.tile([0.0, 1.0], (len(X), 1))

    bags = Bags(np.arange(30.0)[:, None], np.arange(31))
    y = np.arange(30) % 2
    display = plot_calibration(Certain().fit(bags, y), bags, y)
    assert "Certain: inf" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
