"""Families return equal results in both precisions, for selected rows, and in small parts."""

import numpy as np
import pytest

from bagwise.data.blocks import PickedRows
from bagwise.families import FAMILIES, Gaussian, make_family
from bagwise.families.moments import moments_of
from bagwise.families.parts import check_all, of_instances, start_statistics_of, statistics_of
from bagwise.models.mixture.model import log_odds_of

MATRICES = sorted(set(FAMILIES) - {"markov"})


def draw(name, *, missing, n=60):
    rng = np.random.default_rng(0)
    family = make_family(name)
    X = family.example(n, rng).astype(np.float32)
    if missing and family.missing != "refuse":
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, rng.random(n)


@pytest.mark.parametrize("part_values", [2**16, 20])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", MATRICES)
def test_what_a_family_gives_does_not_depend_on_how_instances_lie(name, missing, part_values, monkeypatch):
    monkeypatch.setattr("bagwise.families.parts._PART_VALUES", part_values)
    family = make_family(name)
    X, weight = draw(name, missing=missing)
    exact = X.astype(np.float64)
    prior = family.start(family.start_statistics(exact, weight), 2, "default")
    others = np.random.default_rng(1).permutation(120)[:60]
    around = np.full((120, X.shape[1]), 1e30, dtype=np.float32)
    around[np.sort(others)] = X
    start = family.mstep(family.statistics(exact[:0], weight[:0], None, prior), 0.0, prior)
    sums = [family.statistics(exact[:n], weight[:n], start, prior) for n in (20, 50)]
    first, second = family.mstep_all(sums, [weight[:20].sum(), weight[:50].sum()], prior)
    for form in (X, exact, PickedRows(around, np.sort(others))):
        for params in (first, second):
            actual = of_instances(family, "log_density", form, params)
            np.testing.assert_allclose(actual, family.log_density(exact, params), rtol=1e-12, atol=1e-12)
            sums = statistics_of(family, form, weight, params, prior)
            expected = family.statistics(exact, weight, params, prior)
            np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=1e-11)
        if not missing:
            actual = of_instances(family, "log_odds", form, first, second)
            joint = np.stack([family.log_density(exact, params) for params in (second, first)])
            np.testing.assert_allclose(actual, log_odds_of(joint), rtol=1e-10, atol=1e-11)
        again = family.start(start_statistics_of(family, form, weight), 2, "default")
        if isinstance(prior, str):  # the family does not estimate a prior
            assert again == prior
        else:
            for mine, its in zip(*(p if isinstance(p, tuple) else (p,) for p in (again, prior)), strict=True):
                np.testing.assert_allclose(mine, its, rtol=1e-11, atol=1e-13)
        check_all(family, form, second)
        assert statistics_of(family, form[:0], weight[:0], first, prior).shape == expected.shape


def test_the_instance_of_a_refusal_is_counted_from_the_first_part(monkeypatch):
    monkeypatch.setattr("bagwise.families.parts._PART_VALUES", 20)
    family = make_family("bernoulli")
    X, weight = draw("bernoulli", missing=False)
    X[41, 1] = 0.5
    for refuse in (lambda: check_all(family, X, None), lambda: start_statistics_of(family, X, weight)):
        with pytest.raises(ValueError, match=r"instance 41 has 0\.5 in feature 1"):
            refuse()


@pytest.mark.parametrize("far", [0.0, 1e8])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
def test_moments_add_up_to_those_of_all(pairs, missing, far):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3)) + far * np.arange(3)
    X[:30] += 5.0  # blocks with other means
    weight = rng.random(90) * 3
    if missing:
        X[rng.random(X.shape) < 0.3] = np.nan
        X[60:, 1] = np.nan  # a block without any value of a feature
    parts = [moments_of(X[rows], weight[rows], pairs=pairs) for rows in np.split(np.arange(90), [7, 30, 60])]
    total = parts[0] + (parts[1] + parts[2]) + parts[3]
    seen = ~np.isnan(X)
    mean = [np.average(X[seen[:, j], j], weights=weight[seen[:, j]]) for j in range(3)]
    D = np.where(seen, X - mean, 0.0)
    variance = weight @ np.square(D) / (weight @ seen - 1)
    assert total.total == pytest.approx(weight.sum())
    rtol = 1e-12 if far == 0 else 1e-7  # the mean takes eight of sixteen digits
    np.testing.assert_allclose(total.mean, mean, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(total.variance, variance, rtol=rtol)
    if pairs:
        V = (weight[:, None] * D).T @ D / (weight.sum() - 1)
        factor = np.sqrt(variance / np.diag(V))
        np.testing.assert_allclose(total.covariance, V * np.outer(factor, factor), rtol=rtol, atol=rtol)


def test_a_pattern_of_missing_values_may_be_every_rows_own(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    X[rng.random(X.shape) < 0.4] = np.nan
    family = Gaussian()
    prior = family.start(family.start_statistics(X, np.ones(40)), 2, "default")
    params = family.mstep(0.0 * np.ones((7, 6)), 0.0, prior)
    whole = family.log_density(X, params), family.statistics(X, np.ones(40), params, prior)
    monkeypatch.setattr("bagwise.families.parts._PART_VALUES", 6 * 3)  # three rows at a time
    np.testing.assert_allclose(family.log_density(X, params), whole[0], rtol=1e-12)
    np.testing.assert_allclose(
        family.statistics(X, np.ones(40), params, prior), whole[1], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("part_values", [2**16, 20])
def test_sequences_go_through_in_parts_and_picked_from_others(part_values, monkeypatch):
    monkeypatch.setattr("bagwise.families.parts._PART_VALUES", part_values)
    family = make_family("markov")
    rng = np.random.default_rng(0)
    X, weight, rows = family.example(60, rng), rng.random(30), np.arange(0, 60, 2)
    prior = family.start(start_statistics_of(family, X, np.ones(60)), 2, "default")
    chosen = X.take(rows)
    params = family.mstep(family.statistics(chosen, weight, None, prior), weight.sum(), prior)
    for form in (chosen, PickedRows(X, rows)):
        assert form.size == len(chosen.symbols)
        sums = statistics_of(family, form, weight, params, prior)
        np.testing.assert_allclose(sums, family.statistics(chosen, weight, params, prior), rtol=1e-12)
        actual = of_instances(family, "log_density", form, params)
        np.testing.assert_allclose(actual, family.log_density(chosen, params), rtol=1e-12)
        assert not statistics_of(family, form[:0], weight[:0], params, prior).any()
