"""Paired differences: the corrected resampled t-test, compared with a computation by hand."""

import statistics

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

from bagwise import MILogisticRegression, compare, make_noisy_or_bags
from bagwise.evaluation.comparison.differences import corrected_t


def _tail_of_t(value, df):
    """Return the upper tail of the t distribution by integration of the density, without scipy.stats."""
    scale = gamma((df + 1) / 2) / (np.sqrt(df * np.pi) * gamma(df / 2))
    return quad(lambda x: scale * (1 + x * x / df) ** (-(df + 1) / 2), value, np.inf)[0]


def test_the_corrected_t_test_is_what_one_computes_by_hand():
    differences = [0.05, -0.02, 0.11, 0.04, 0.07, 0.02, 0.09, 0.01, 0.03, 0.06]
    mean = sum(differences) / 10
    # Two repeats of five folds of 100 bags: 80 training bags and 20 held-out bags.
    variance = statistics.variance(differences) * (1 / 10 + 20 / 80)
    result = corrected_t(np.array(differences), 20 / 80)
    assert result[0] == pytest.approx(mean, rel=1e-12)
    assert result[3] == pytest.approx(2 * _tail_of_t(mean / variance**0.5, 9), rel=1e-8)
    for end in result[1:3]:  # at the ends of the interval, p is 5 %
        assert 2 * _tail_of_t(abs(end - mean) / variance**0.5, 9) == pytest.approx(0.05, rel=1e-6)


def test_splits_without_a_score_are_left_out():
    differences = np.array([0.1, np.nan, 0.2, 0.15])
    assert corrected_t(differences, 0.25) == corrected_t(differences[[0, 2, 3]], 0.25)


@pytest.mark.parametrize("values", [[0.1, 0.1, 0.1], [0.1], [0.0, 0.0]])
def test_no_test_is_made_of_differences_without_spread(values):
    mean, low, high, p = corrected_t(np.array(values), 0.25)
    assert mean == pytest.approx(values[0]) and np.isnan([low, high, p]).all()


def test_result_is_nan_without_scores():
    assert np.isnan(corrected_t(np.array([np.nan]), 0.25)).all()


def test_a_difference_is_that_of_the_scores_in_the_table():
    data = make_noisy_or_bags(44, random_state=0)  # four of five folds have nine bags
    models = {"or": MILogisticRegression(n_init=1), "mean": MILogisticRegression("mean", n_init=1)}
    comparison = compare(data.bags, data.y, models, random_state=0, verbose=0)
    for scoring in comparison.scoring:
        for difference in comparison.differences(scoring):
            of_two = (comparison[name].mean[scoring] for name in (difference.name, difference.against))
            assert difference.mean == pytest.approx(np.subtract(*of_two), abs=1e-12)
            assert difference.low <= difference.mean <= difference.high or np.isnan(difference.p)
