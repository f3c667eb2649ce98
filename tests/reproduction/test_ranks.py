"""Ranks of models over data sets: p values of scipy, corrections by hand, and groups of equal models."""

import numpy as np
import pytest
from reproduction.ranks import find_cliques, holm, rank_models, signed_rank_p
from scipy.stats import PermutationMethod, rankdata, wilcoxon


@pytest.mark.parametrize("n", [5, 9, 15])
def test_p_values_without_ties_equal_those_of_scipy(n):
    differences = np.random.default_rng(n).normal(0.3, size=n)
    assert signed_rank_p(differences) == pytest.approx(wilcoxon(differences, method="exact").pvalue)


def test_p_values_with_ties_and_zeros_enumerate_all_signs():
    rng = np.random.default_rng(0)
    for _ in range(5):
        differences = rng.integers(-3, 5, size=9) / 10
        expected = wilcoxon(
            differences, zero_method="wilcox", correction=False, method=PermutationMethod(n_resamples=10_000)
        )
        assert signed_rank_p(differences) == pytest.approx(expected.pvalue)


def test_equal_models_have_no_difference():
    assert signed_rank_p(np.zeros(5)) == 1.0
    assert signed_rank_p([0.3 - 0.1 - 0.2, 1e-16]) == 1.0


def test_five_data_sets_cannot_show_a_difference_at_five_per_cent():
    assert signed_rank_p([1, 2, 3, 4, 5]) == 2 / 32


def test_corrected_p_values_equal_those_of_holm():
    # By hand: .01 * 3, max(.03, .02 * 2), max(.04, .03 * 1).
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_ranks_are_means_over_data_sets_and_bars_span_equal_models():
    rng = np.random.default_rng(1)
    alike = rng.normal(size=(20, 3))
    scores = np.column_stack([alike, alike.min(axis=1) - rng.uniform(1, 2, size=20)])
    ranking = rank_models(["a", "b", "c", "worse"], scores)
    assert ranking.names[-1] == "worse" and ranking.ranks[-1] == 4.0
    expected = dict(zip("abc", rankdata(-scores, axis=1).mean(axis=0)[:3], strict=True))
    assert {
        name: rank for name, rank in zip(ranking.names, ranking.ranks, strict=True) if name != "worse"
    } == expected
    assert ranking.cliques == [(0, 2)] and ranking.friedman < 0.001
    assert (ranking.p[3, :3] < 0.05).all() and (ranking.p[:3, :3] > 0.05).all()


def test_pairs_along_a_bar_do_not_differ_and_bars_may_overlap():
    alike = np.ones((4, 4), dtype=bool)
    alike[1, 2] = alike[2, 1] = False  # although both are like the first
    assert find_cliques(alike) == [(0, 1), (2, 3)]
    alike = np.ones((4, 4), dtype=bool)
    alike[0, 3] = alike[3, 0] = False
    assert find_cliques(alike) == [(0, 2), (1, 3)]
