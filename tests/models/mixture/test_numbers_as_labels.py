"""Only the rule of a mixture interprets labels: here, labels are counts."""

import numpy as np
import pytest

from bagwise import Bags
from bagwise.families import GaussianDiag
from bagwise.models.mixture.build import build_model, prepare
from bagwise.rules import CountTable, Rule, RuleResult
from bagwise.solvers.control import Control
from bagwise.solvers.em import run_em


class Counted(Rule):
    """Rule whose labels are counts of positive instances; NaN is an unknown label."""

    def known_labels(self, y):
        return ~np.isnan(y)

    def unknown_labels(self, n_bags):
        return np.full(n_bags, np.nan)

    def pure_bags(self, y):
        return np.asarray(y) == 0.0

    def estep(self, log_odds, offsets, y, weight=None):
        log_odds = np.asarray(log_odds)
        parts = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        for i, label in enumerate(y):
            bag = log_odds[offsets[i] : offsets[i + 1]]
            exactly = np.zeros(len(bag) + 1)
            if not np.isnan(label):
                exactly[int(label)] = 1.0
            result = CountTable(exactly).estep(bag, [0, len(bag)], [-1 if np.isnan(label) else 1])
            values = result.log_likelihood, result.posterior, result.complement
            for part, value in zip(parts, values, strict=True):
                part.append(value)
        return RuleResult(*(np.concatenate(part) for part in parts), np.empty(0))


@pytest.mark.slow
@pytest.mark.parametrize("n_components", [(1, 1), (1, 2)], ids=str)
def test_a_mixture_learns_from_numbers_that_its_rule_reads(n_components):
    rng = np.random.default_rng(0)
    z = rng.random((60, 5)) < 0.3
    X = (rng.normal(size=(60, 5, 2)) + 3.0 * z[..., None]).reshape(300, 2)
    y = np.where(np.arange(60) % 4 == 3, np.nan, z.sum(axis=1))
    bags, weight = Bags(X, np.arange(0, 301, 5)), np.ones(60)
    ground = prepare(GaussianDiag(), "default", n_components, bags.blocks(y, weight))
    model, blocks = build_model(ground, Counted())
    summed_once = n_components[1] == 1 and bool((y == 0).any())
    assert blocks.n_bags == 60 - summed_once * (y == 0).sum()
    results = run_em(model, blocks, Control(1e-8, 300), n_init=3, rng=np.random.RandomState(0))
    best = min(results, key=lambda result: result.value)
    assert best.converged and (np.diff(best.history) <= 1e-9 * np.abs(best.history[:-1])).all()
    np.testing.assert_allclose(best.x.components[0].mean, 3.0, atol=0.5)
    assert np.exp(best.x.log_rate[1]) == pytest.approx(z.mean(), abs=0.05)
