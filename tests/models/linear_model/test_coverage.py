"""Simulated coverage of intervals and error rates of tests."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from bagwise import Bags, MILogisticRegression, SoftORLogisticRegression
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.linear_model.labeler import profile_band


def within_three_errors(covered):
    """Return whether the coverage of 95 % intervals is 95 % within three simulation errors."""
    covered = np.asarray(covered)
    error = np.sqrt(0.95 * 0.05 / len(covered))
    return bool((np.abs(covered.mean(axis=0) - 0.95) <= 3 * error).all())


class Design:
    """Distribution of simulated data sets, and the model for them.

    `sizes(rng)` returns the sizes of the bags, `truth` contains intercept and coefficients, and `labeler` is
    P(+ | n positive instances). Features are normal with one `correlation`, or have a t distribution with
    `t` degrees of freedom.
    """

    def __init__(self, rule, sizes, truth, labeler, *, correlation=0.0, t=None):
        self.rule, self.sizes, self.truth, self.labeler = rule, sizes, np.array(truth), labeler
        self.correlation, self.t = correlation, t

    def draw(self, seed):
        rng = np.random.default_rng(seed)
        sizes, d = self.sizes(rng), len(self.truth) - 1
        offsets = np.append(0, np.cumsum(sizes))
        spread = np.linalg.cholesky((1 - self.correlation) * np.eye(d) + self.correlation)
        X = rng.normal(size=(offsets[-1], d)) @ spread.T
        if self.t is not None:
            X /= np.sqrt(rng.chisquare(self.t, size=(len(X), 1)) / self.t)
        positive = rng.random(len(X)) < expit(X @ self.truth[1:] + self.truth[0])
        y = rng.random(len(sizes)) < self.labeler(np.add.reduceat(positive, offsets[:-1]))
        return Bags(X, offsets), y.astype(int)

    def fit(self, seed):
        model = MILogisticRegression if self.rule == "or" else SoftORLogisticRegression
        n_init = 1 if self.rule == "or" else 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model(self.rule, alpha=0.0, n_init=n_init, random_state=0).fit(*self.draw(seed))

    def covered(self, n_sets):
        """Return which coefficients the intervals cover, for every data set with a table."""
        is_covered = []
        for seed in range(n_sets):
            table = self.fit(seed).inference()
            if table.message is None:
                low, high = table.confidence_interval().T
                is_covered.append((low <= self.truth) & (self.truth <= high))
        return np.array(is_covered)


def any_of_them(n):
    return n >= 1


def two_of_them(n):
    return n >= 2


def softly(n):
    return expit(2.0 * n - 3.0)


WEIGHTS = [-2.0, 1.0, -1.0, 0.5, 0.0]
DESIGNS = {
    "Table I of Chen et al.": Design("or", lambda r: np.full(100, 3), [-2.0, 1.0, -1.0, 0.0], any_of_them),
    "correlated, 150 bags": Design(
        "or", lambda r: 1 + r.poisson(3, 150), WEIGHTS, any_of_them, correlation=0.6
    ),
    "correlated, 400 bags": Design(
        "or", lambda r: 1 + r.poisson(3, 400), WEIGHTS, any_of_them, correlation=0.6
    ),
    "geometric sizes, t4": Design(
        "or", lambda r: r.geometric(1 / 8, 300), [-3.0, *WEIGHTS[1:]], any_of_them, t=4
    ),
    "soft rule, learned": Design(
        "count_logistic", lambda r: 1 + r.poisson(5, 200), [-1.0, 2.0, -1.0], softly
    ),
    "hard rule, learned": Design(
        "count_logistic", lambda r: 1 + r.poisson(5, 200), [-1.0, 2.0, -1.0], two_of_them
    ),
    "hard rule, equal sizes": Design(
        "count_logistic", lambda r: np.full(300, 8), [-1.0, 2.0, -1.0], two_of_them
    ),
}
NOTHING = Design("or", lambda r: np.full(200, 3), [-2.0, *np.zeros(10)], any_of_them)


def bands_covered(n_sets):
    """Return which values of the labeler the band covers, for every data set with a band."""
    counts, covered = np.array([0, 2, 3, 4]), []
    truth, correlate = expit(counts - 3.0), np.linalg.cholesky(0.5 * np.eye(3) + 0.5).T
    for seed in range(n_sets):
        rng = np.random.RandomState(seed)
        sizes = 1 + rng.geometric(0.1, size=500)
        X = rng.normal(size=(sizes.sum(), 3)) @ correlate
        positive = rng.random_sample(len(X)) < expit(X @ [5.0, -5.0, 0.0] - 4.5)
        offsets = np.append(0, np.cumsum(sizes))
        n = np.add.reduceat(positive, offsets[:-1])
        y = (rng.random_sample(500) < expit(n - 3.0)).astype(int)
        model = SoftORLogisticRegression(n_init=1, random_state=0).fit(Bags(X, offsets), y)
        if model.labeler_.message is None:
            low, high = profile_band(model.labeler_._likelihood, counts, 0.95).T
            covered.append((low <= truth) & (truth <= high))
    return covered


@pytest.mark.slow
def test_intervals_and_bands_cover_in_a_few_data_sets():
    for name in ("Table I of Chen et al.", "hard rule, learned"):
        coefficients = DESIGNS[name].covered(12)
        assert len(coefficients) >= 9 and np.mean(coefficients) > 0.85
    bands = bands_covered(4)
    assert len(bands) >= 3 and np.mean(bands) > 0.7


@pytest.mark.study
@pytest.mark.parametrize("name", DESIGNS)
def test_coefficients_are_covered_as_often_as_intervals_say(name):
    covered = DESIGNS[name].covered(400)
    assert len(covered) >= 340
    assert within_three_errors(covered), (len(covered), np.mean(covered, axis=0))


@pytest.mark.study
def test_the_labeler_is_covered_as_often_as_bands_say_at_the_default_penalty():
    covered = bands_covered(400)
    assert len(covered) >= 340
    assert within_three_errors(covered), (len(covered), np.mean(covered, axis=0))


@pytest.mark.slow
def test_where_no_feature_matters_score_tests_reject_as_often_as_they_say_and_wald_tests_more_often():
    score, wald, of_all = [], [], []
    for seed in range(80):
        model = NOTHING.fit(seed)
        table, by_wald = model.inference(), model.inference(intervals="wald")
        if table.message is None:
            score += table.p_value[1:].tolist()
            wald += by_wald.p_value[1:].tolist()
        of_all.append(table.score_p_value)
    error = np.sqrt(0.05 * 0.95 / len(score))
    assert abs(np.mean(np.array(score) < 0.05) - 0.05) <= 3 * error
    assert np.mean(np.array(wald) < 0.05) > 0.05 + 3 * error
    assert stats.kstest(of_all, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_p_values_of_a_useless_feature_are_uniform():
    design = DESIGNS["Table I of Chen et al."]
    tables = [design.fit(1000 + seed).inference() for seed in range(200)]
    p, z = zip(*[(t.p_value[3], t.z[3]) for t in tables if t.message is None], strict=True)
    assert len(p) > 190 and stats.kstest(p, "uniform").pvalue > 0.01
    # The mean of z^2 is 1 with a standard error of sqrt(2 / 200).
    assert np.mean(np.square(z)) == pytest.approx(1.0, abs=0.25)


def null_rates_by_groups(n_sets):
    """Return how often a useless feature of 60 patients has p < 0.05, without and with groups."""
    groups, rejected = np.repeat(np.arange(60), 5), []
    for seed in range(n_sets):
        rng = np.random.RandomState(seed)
        X = rng.normal(size=(300, 3, 2))
        X[..., 1] = rng.normal(size=60)[groups][:, None]  # constant per patient
        effect = rng.normal(scale=1.5, size=60)[groups][:, None]
        y = (rng.random_sample((300, 3)) < expit(X[..., 0] - 1.5 + effect)).any(axis=1).astype(int)
        model = MILogisticRegression(alpha=0.0, n_init=1, random_state=0).fit(X, y)
        rejected.append([model.inference(groups=g).p_value[2] < 0.05 for g in (None, groups)])
    return np.mean(rejected, axis=0)


@pytest.mark.study
def test_tests_by_groups_reject_as_often_as_they_say():
    alone, by_groups = null_rates_by_groups(400)
    assert alone > 0.15
    assert abs(by_groups - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / 400), by_groups
