"""Curves of held-out scores compared with scikit-learn and brute force, and coverage of the bands."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from bagwise.evaluation.held_out.intervals import auc_interval
from bagwise.report import bands
from bagwise.report.bands import precision_recall_band, roc_band


def draw(n=150, n_folds=3, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    positive, fold = rng.random(n) < 0.4, np.arange(n) % n_folds
    score = rng.normal(size=n) + positive
    score = np.round(score) if ties else score
    return positive, score + 10.0 * fold, fold  # scores of different folds cannot be compared


@pytest.mark.parametrize("ties", [False, True])
def test_the_area_below_the_curve_is_the_auc_inside_folds(ties):
    positive, score, fold = draw(ties=ties)
    band = roc_band(positive, score, fold)
    assert band.area == pytest.approx(auc_interval(positive, score, fold)[0], abs=2e-3)
    assert band.n_folds == 3 and band.n_draws == 500
    assert (np.diff(band.y) >= -1e-12).all() and band.y[-1] == 1.0


def test_the_curve_of_one_fold_is_scikit_learns():
    positive, score, _ = draw()
    band = roc_band(positive, score, np.zeros(len(score)))
    false_alarm_rates, hit_rates, _ = roc_curve(positive, score, drop_intermediate=False)
    inside = np.array([x not in false_alarm_rates for x in band.x])  # elsewhere the curve may be vertical
    np.testing.assert_allclose(
        band.y[inside], np.interp(band.x[inside], false_alarm_rates, hit_rates), atol=1e-12
    )


@pytest.mark.parametrize("ties", [False, True])
def test_the_mean_precision_is_scikit_learns_average_weighted_by_positive_bags(ties):
    positive, score, fold = draw(n=300, ties=ties)
    parts = [average_precision_score(positive[fold == k], score[fold == k]) for k in range(3)]
    weights = [positive[fold == k].sum() for k in range(3)]
    band = precision_recall_band(positive, score, fold)
    assert band.area == pytest.approx(np.average(parts, weights=weights), abs=5e-3)
    assert band.y[-1] <= band.y[1] and band.low[0] >= 0 and band.high.max() <= 1


def test_bands_are_quantiles_over_resampled_bags():
    positive, score, fold = draw(n=60, n_folds=2)
    band = roc_band(positive, score, fold, seed=5)
    rng = np.random.default_rng(5)
    strata = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    curves = []
    for _ in range(band.n_draws):
        rows = np.concatenate([units[rng.integers(len(units), size=len(units))] for units in strata])
        height, pairs = 0.0, 0.0
        for k in (0, 1):
            in_fold = rows[fold[rows] == k]
            n_pairs = positive[in_fold].sum() * (~positive[in_fold]).sum()
            if n_pairs:
                false_alarm_rates, hit_rates, _ = roc_curve(
                    positive[in_fold], score[in_fold], drop_intermediate=False
                )
                assert 0.335 not in false_alarm_rates  # where the curve could be vertical
                height, pairs = (
                    height + n_pairs * np.interp(0.335, false_alarm_rates, hit_rates),
                    pairs + n_pairs,
                )
        curves.append(height / pairs)
    assert band.x[67] == pytest.approx(0.335)
    assert band.low[67] == pytest.approx(np.quantile(curves, 0.025), abs=1e-9)
    assert band.high[67] == pytest.approx(np.quantile(curves, 0.975), abs=1e-9)


def test_the_same_seed_gives_the_same_band_and_another_a_near_one():
    positive, score, fold = draw()
    band, same, other = (roc_band(positive, score, fold, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(band.low, same.low) and np.array_equal(band.high, same.high)
    assert not np.array_equal(band.low, other.low) and np.abs(band.low - other.low).max() < 0.1


def test_copies_of_bags_in_groups_do_not_narrow_the_band():
    positive, score, fold = draw(n=90)
    groups = np.arange(90)
    single = roc_band(positive, score, fold, groups)
    four = roc_band(*(np.repeat(a, 4) for a in (positive, score, fold, groups)))
    blind = roc_band(*(np.repeat(a, 4) for a in (positive, score, fold)))
    width, again, narrow = ((band.high - band.low).mean() for band in (single, four, blind))
    assert again == pytest.approx(width, rel=0.1) and narrow < 0.65 * width


def test_few_groups_have_no_band_and_folds_of_one_class_no_curve():
    positive, score, fold = draw()
    band = roc_band(positive, score, fold, np.arange(150) % 9)
    assert band.n_draws == 0 and np.isnan(band.low).all() and np.isfinite(band.y).all()
    assert roc_band(positive, score, np.arange(150)) is None
    mixed = np.where(positive, 0, fold + 1)
    assert precision_recall_band(positive, score, mixed) is None


def test_a_perfect_ranking_has_the_area_one():
    positive, fold = np.arange(40) < 20, np.arange(40) % 2
    assert roc_band(positive, positive * 1.0, fold).area == pytest.approx(1.0)
    assert precision_recall_band(positive, positive * 1.0, fold).area == pytest.approx(1.0)
    assert roc_auc_score(positive, positive) == 1.0


@pytest.mark.slow
def test_bands_cover_the_true_curve(monkeypatch):
    monkeypatch.setattr(bands, "_N_DRAWS", 120)
    at = np.array([0.1, 0.3, 0.5])
    truth = norm.cdf(norm.ppf(at) + 1.0)  # the scores of the classes are one standard deviation apart
    rng = np.random.default_rng(0)
    covered, widths = [], []
    for _ in range(80):
        positive, fold = np.arange(120) % 2 == 0, np.repeat(np.arange(4), 30)
        band = roc_band(positive, rng.normal(size=120) + positive, fold)
        low, high = (np.interp(at, band.x, end) for end in (band.low, band.high))
        covered.append((low <= truth) & (truth <= high))
        widths.append(high - low)
    # With folds of thirty bags, bands are slightly too wide, but still informative.
    assert (np.mean(covered, axis=0) > 0.9).all() and (np.mean(widths, axis=0) < 0.42).all()
