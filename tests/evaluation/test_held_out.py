"""Intervals of held-out scores, checked by closed forms, a solver, brute force and simulated coverage."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from bagwise.evaluation.held_out.intervals import _wins, auc_interval, mean_interval, share_interval


@pytest.mark.parametrize("hits", [0, 1, 7, 19, 20])
def test_shares_have_wilsons_interval(hits):
    low, high = share_interval(np.arange(20) < hits)
    np.testing.assert_allclose((low, high), proportion_confint(hits, 20, method="wilson"), atol=1e-9)


def test_wins_are_counted_as_pairs():
    rng = np.random.default_rng(0)
    above, below = rng.integers(0, 6, 30).astype(float), rng.integers(0, 6, 20).astype(float)
    pairs = (above[:, None] > below) + (above[:, None] == below) / 2
    beats, beaten = _wins(above, below)
    assert np.array_equal(beats, pairs.sum(axis=1)) and np.array_equal(beaten, pairs.sum(axis=0))


def test_auc_is_of_pairs_inside_folds_and_its_interval_solves_newcombes_equation():
    rng = np.random.default_rng(0)
    positive, fold = rng.random(90) < 0.4, np.arange(90) % 3
    score = rng.normal(size=90) + positive + 10 * fold  # scores of different folds are not comparable
    auc, low, high = auc_interval(positive, score, fold)
    parts = [
        (roc_auc_score(positive[fold == k], score[fold == k]), positive[fold == k].sum()) for k in range(3)
    ]
    m, n = np.array([p for _, p in parts]), np.array([30 - p for _, p in parts])
    assert auc == pytest.approx(np.average([a for a, _ in parts], weights=m * n))
    for end in (low, high):
        m_, n_ = m.mean(), n.mean()
        more = (m_ + n_) / 2 - 1
        variance = (
            end * (1 - end) * (1 + more * (1 - end) / (2 - end) + more * end / (1 + end)) / (m_ * n_) / 3
        )
        assert abs(end - auc) == pytest.approx(norm.ppf(0.975) * np.sqrt(variance), rel=1e-6)
    assert low < auc < high


def test_intervals_hold_on_to_zero_and_one():
    positive, fold = np.arange(40) < 20, np.zeros(40)
    auc, low, high = auc_interval(positive, positive * 1.0, fold)
    assert auc == high == 1.0 and 0.8 < low < 0.95
    auc, low, high = auc_interval(positive, -1.0 * positive, fold)
    assert auc == low == 0.0 and 0.05 < high < 0.2
    assert np.isnan(auc_interval(np.ones(4, bool), np.arange(4.0), np.zeros(4))).all()


def test_copies_of_a_bag_in_a_group_count_once():
    rng = np.random.default_rng(0)
    hits, groups = rng.random(50) < 0.7, np.arange(50)
    once = share_interval(hits, groups)
    assert share_interval(np.repeat(hits, 4), np.repeat(groups, 4)) == pytest.approx(once, abs=0.01)
    values = rng.normal(size=50)
    assert mean_interval(np.repeat(values, 4), np.repeat(groups, 4)) == pytest.approx(mean_interval(values))
    positive = rng.random(50) < 0.5
    score, fold = positive + rng.normal(size=50), np.zeros(50)
    interval = auc_interval(positive, score, fold, groups)
    again = auc_interval(*(np.repeat(a, 4) for a in (positive, score, fold, groups)))
    assert again == pytest.approx(interval, abs=0.02)


def test_interval_is_nan_with_too_few_groups():
    assert np.isnan(share_interval(np.arange(6) < 3, np.zeros(6))).all()
    positive, score = np.arange(8) % 2 == 1, np.arange(8.0)
    auc, low, high = auc_interval(positive, score, np.zeros(8), np.arange(8) // 4)
    assert auc == 0.625 and np.isnan([low, high]).all()


def resampled_auc_interval(positive, score, fold, groups):
    """Return the bootstrap interval of the AUC within folds, from resamples of groups."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    values = []
    for _ in range(1000):
        rows = np.concatenate([members[k] for k in rng.integers(0, len(members), len(members))])
        values.append(auc_interval(positive[rows], score[rows], fold[rows])[0])
    return np.quantile(values, [0.025, 0.975])


@pytest.mark.parametrize("seed", range(4))
def test_auc_interval_of_twelve_groups_is_as_wide_as_that_of_a_bootstrap(seed):
    rng = np.random.default_rng(seed)
    groups = np.arange(120) % 12
    positive, fold = rng.random(120) < 0.6, groups % 5  # two or three groups in each fold
    score = rng.normal(size=120) + 1.2 * positive
    _, low, high = auc_interval(positive, score, fold, groups)
    resampled_low, resampled_high = resampled_auc_interval(positive, score, fold, groups)
    assert 0.8 < (high - low) / (resampled_high - resampled_low) < 2.0


def test_groups_of_different_sizes_count_as_fewer_groups():
    rng = np.random.default_rng(0)
    hits = rng.random(60) < 0.7
    equal, different = np.arange(60) % 6, np.minimum(np.arange(60) // 2, 5)
    widths = [high - low for low, high in (share_interval(hits, groups) for groups in (equal, different))]
    assert widths[1] > 1.5 * widths[0]
    assert np.isfinite(mean_interval(hits * 1.0, different)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "size", "share", "distance"), [(60, 1, 0.5, 3.0), (100, 1, 0.3, 1.5), (300, 5, 0.4, 1.5)]
)
def test_intervals_cover_what_they_should(n, size, share, distance):
    rng = np.random.default_rng(0)
    truth = norm.cdf(distance / 2), norm.cdf(distance / np.sqrt(2))
    covered = np.zeros(2)
    for _ in range(400):
        groups = np.repeat(np.arange(n // size), size)
        positive = (rng.random(n // size) < share)[groups]
        fold = rng.permutation(np.arange(n // size) % 5)[groups]
        depends = np.sqrt(0.8) if size > 1 else 0.0
        noise = depends * rng.normal(size=n // size)[groups] + np.sqrt(1 - depends**2) * rng.normal(size=n)
        score = noise + distance * (positive - 0.5)
        passed_groups = groups if size > 1 else None
        low, high = share_interval((score > 0) == positive, passed_groups)
        covered[0] += low <= truth[0] <= high
        _, low, high = auc_interval(positive, score + 5 * fold, fold, passed_groups)
        covered[1] += low <= truth[1] <= high
    assert (covered / 400 > 0.92).all() and (covered / 400 < 0.995).all()
