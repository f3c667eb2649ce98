"""Whether intervals of models that learn their rule cover the truth as often as they say: simulations."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from bagwise import Bags, MILogisticRegression, SoftORLogisticRegression, make_count_bags
from bagwise.exceptions import ConvergenceWarning
from bagwise.linear_model.labeler import profile_band


def within_three_errors(covered):
    """Whether shares of 95 % intervals that cover are what they should be, up to the simulation."""
    covered = np.asarray(covered)
    error = np.sqrt(0.95 * 0.05 / len(covered))
    return bool((np.abs(covered.mean(axis=0) - 0.95) <= 3 * error).all())


def coefficients_covered(n_sets):
    """For every data set with a table, which coefficients its intervals cover."""
    truth, covered = np.array([-1.0, 2.0, -1.0]), []
    for seed in range(n_sets):
        rng = np.random.RandomState(seed)
        data = make_count_bags(
            200,
            size=1 + rng.poisson(5, size=200),
            labeler=lambda n, m: expit(2.0 * n - 3.0),
            coef=truth[1:],
            intercept=truth[0],
            random_state=rng,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SoftORLogisticRegression(alpha=0.0, n_init=1, random_state=0).fit(data.bags, data.y)
        found = model.inference()
        if found.message is None:
            low, high = found.confidence_interval().T
            covered.append((low <= truth) & (truth <= high))
    return covered


def bands_covered(n_sets):
    """For every data set with a band, which values of the labeler it covers."""
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
    coefficients = coefficients_covered(12)
    assert len(coefficients) >= 9 and np.mean(coefficients) > 0.85
    bands = bands_covered(4)
    assert len(bands) >= 3 and np.mean(bands) > 0.7


@pytest.mark.study
def test_coefficients_beside_a_learned_rule_are_covered_as_often_as_intervals_say():
    covered = coefficients_covered(400)
    assert len(covered) >= 340
    assert within_three_errors(covered), (len(covered), np.mean(covered, axis=0))


@pytest.mark.study
def test_the_labeler_is_covered_as_often_as_bands_say_at_the_default_penalty():
    covered = bands_covered(400)
    assert len(covered) >= 340
    assert within_three_errors(covered), (len(covered), np.mean(covered, axis=0))


def null_rates_by_groups(n_sets):
    """How often a useless feature of 60 patients with five bags has p < 0.05, without and with groups."""
    groups, rejected = np.repeat(np.arange(60), 5), []
    for seed in range(n_sets):
        rng = np.random.RandomState(seed)
        X = rng.normal(size=(300, 3, 2))
        X[..., 1] = rng.normal(size=60)[groups][:, None]  # a number that belongs to the patient
        effect = rng.normal(scale=1.5, size=60)[groups][:, None]
        y = (rng.random_sample((300, 3)) < expit(X[..., 0] - 1.5 + effect)).any(axis=1).astype(int)
        model = MILogisticRegression(alpha=0.0, n_init=1, random_state=0).fit(X, y)
        rejected.append([model.inference(groups=g).p_value[2] < 0.05 for g in (None, groups)])
    return np.mean(rejected, axis=0)


@pytest.mark.slow
def test_tests_by_groups_reject_as_often_as_they_say():
    alone, by_groups = null_rates_by_groups(400)
    assert alone > 0.15
    assert abs(by_groups - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / 400), by_groups
