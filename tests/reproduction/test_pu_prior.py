"""Statements of the page about class priors: no collapse, intervals that cover, valid upper ends."""

import csv
from pathlib import Path

import numpy as np
import pytest
from reproduction.pu_prior import SETTINGS, cut_where_counted, draw_bags

PAGES = Path(__file__).parents[2] / "docs/reproduction"
ROWS = list(csv.DictReader((PAGES / "pu-prior-1.csv").read_text(encoding="utf-8").splitlines()))


def test_intervals_cover_the_prior_if_classes_are_separable():
    separable = [row for row in ROWS if row["bags"].startswith("separable")]
    assert len(separable) == 12
    for row in separable:
        assert row["below half"] == "0"
        assert abs(float(row["bias"])) < 0.02
        assert 85 <= float(row["covered, bootstrap"]) <= 95


def test_overlapping_classes_bias_estimates_upwards():
    overlapping = [row for row in ROWS if not row["bags"].startswith(("separable", "hardly"))]
    assert len(overlapping) == 12
    for row in overlapping:
        assert float(row["bias"]) > 0 and float(row["from 0"]) >= 90
        assert float(row["covered, bootstrap"]) >= 90


def test_draws_have_the_sizes_and_mean_prior_of_their_setting():
    shares = []
    for seed in range(40):
        bags, y, share = draw_bags(SETTINGS["small"], seed)
        assert (len(bags), y.sum()) == (90, 30)
        shares.append(share)
    assert np.mean(shares) == pytest.approx(0.3, abs=0.03)


def test_printed_cut_is_the_minimum_over_all_cuts():
    rng = np.random.default_rng(0)
    score, y = np.round(rng.normal(size=80), 1), np.repeat([1, 0], [30, 50])
    score[y == 1] += 1.0
    margin = 1.01 * (np.sqrt(np.log(40) / 60) + np.sqrt(np.log(40) / 100))
    shares = [(np.mean(score[y == 0] >= c), np.mean(score[y == 1] >= c)) for c in np.unique(score[y == 1])]
    below, above = min(shares, key=lambda pair: (pair[0] + margin) / pair[1])
    assert cut_where_counted(score, y) == pytest.approx(min(1.0, below / above))
