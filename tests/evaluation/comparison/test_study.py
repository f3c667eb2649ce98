"""Simulated coverage of intervals and error rates of tests, as shown in docs/compare.md."""

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bagwise import Bags, compare


def halves(bags):
    """Return the means of the bags; every model uses one half of the columns."""
    sums = np.add.reduceat(bags.instances, np.asarray(bags.offsets)[:-1])
    return sums / np.asarray(bags.sizes)[:, None]


def first_half(bags):
    return halves(bags)[:, :3]


def second_half(bags):
    return halves(bags)[:, 3:]


def half_seen(part):
    return make_pipeline(FunctionTransformer(part), LogisticRegression())


# Two equally good models: they use different columns, and both halves are equally informative.
FIRST, SECOND = half_seen(first_half), half_seen(second_half)


def draw(n, rng):
    sizes = rng.integers(2, 6, n)
    of_bag = np.repeat(np.arange(n), sizes)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(len(of_bag), 6)) + 0.5 * (y[of_bag, None] - 0.5)
    X += 0.5 * rng.normal(size=(n, 6))[of_bag]
    return Bags(X, np.append(0, np.cumsum(sizes))), y


def coverage(n, n_draws, seed=0):
    """Return how often intervals contain the mean score of the fitted models on many more bags."""
    rng = np.random.default_rng(seed)
    more, its_y = draw(20_000, rng)
    covered = {"accuracy": 0, "roc_auc": 0, "neg_log_loss": 0}
    for seed_of_draw in range(n_draws):
        bags, y = draw(n, rng)
        comparison = compare(bags, y, {"first": FIRST}, random_state=seed_of_draw, verbose=0)
        true = {name: [] for name in covered}
        for train, _ in comparison.folds_:
            probability = clone(FIRST).fit(bags[train], y[train]).predict_proba(more)[:, 1]
            true["accuracy"].append(np.mean((probability >= 0.5) == its_y))
            true["roc_auc"].append(roc_auc_score(its_y, probability))
            true["neg_log_loss"].append(-log_loss(its_y, probability))
        for name in covered:
            low, high = comparison["first"].interval[name]
            covered[name] += low <= np.mean(true[name]) <= high
    return {name: count / n_draws for name, count in covered.items()}


def draw_groups(n_groups, rng, labels_by_group, of_each=10):
    """Return bags, labels and groups; 40 % of the variance between bags is between groups."""
    group = np.repeat(np.arange(n_groups), of_each)
    n = len(group)
    y = (rng.permutation(n_groups) % 2)[group] if labels_by_group else rng.integers(0, 2, n)
    of_bag = np.repeat(np.arange(n), 4)
    effect = np.sqrt(0.4) * rng.normal(size=(n_groups, 3))[group] + np.sqrt(0.6) * rng.normal(size=(n, 3))
    X = rng.normal(size=(len(of_bag), 6)) + 1.2 * (y[of_bag, None] - 0.5)
    X[:, :3] += 0.7 * effect[of_bag]
    return Bags(X, np.arange(0, len(of_bag) + 1, 4)), y, group


def coverage_of_groups(n_groups, labels_by_group, n_draws, seed=0):
    """Return how often the AUC interval contains the mean AUC of the fitted models on bags of new groups."""
    rng = np.random.default_rng(seed)
    more, its_y, _ = draw_groups(5_000, rng, False, of_each=1)
    covered, widths = 0, []
    for seed_of_draw in range(n_draws):
        bags, y, groups = draw_groups(n_groups, rng, labels_by_group)
        comparison = compare(
            bags, y, {"first": FIRST}, groups=groups, scoring="roc_auc", random_state=seed_of_draw, verbose=0
        )
        aucs, n_pairs = [], []
        for train, test in comparison.folds_:
            fitted = clone(FIRST).fit(bags[train], y[train])
            aucs.append(roc_auc_score(its_y, fitted.predict_proba(more)[:, 1]))
            n_pairs.append(y[test].sum() * (1 - y[test]).sum())
        low, high = comparison["first"].interval["roc_auc"]
        covered += low <= np.average(aucs, weights=n_pairs) <= high
        widths.append(high - low)
    return covered / n_draws, np.mean(widths)


def error_rates(n, repeats, n_draws, seed=0):
    """Return how often the corrected and the plain test separate two equally good models at the 5 % level."""
    rng = np.random.default_rng(seed)
    corrected = plain = 0
    for seed_of_draw in range(n_draws):
        bags, y = draw(n, rng)
        models = {"first": FIRST, "second": SECOND}
        comparison = compare(
            bags, y, models, scoring="neg_log_loss", repeats=repeats, random_state=seed_of_draw, verbose=0
        )
        by_name = {difference.name: difference for difference in comparison.differences(against="first")}
        corrected += by_name["second"].p < 0.05
        first, second = (comparison[name].scores["neg_log_loss"] for name in models)
        plain += ttest_rel(first, second).pvalue < 0.05
    return corrected / n_draws, plain / n_draws


@pytest.mark.study
@pytest.mark.parametrize("n", [60, 200])
def test_intervals_cover_the_score_of_the_fitted_models(n):
    shares = coverage(n, 300)
    assert all(0.88 <= share <= 0.99 for share in shares.values()), shares


@pytest.mark.study
@pytest.mark.parametrize("labels_by_group", [True, False])
@pytest.mark.parametrize("n_groups", [8, 12, 30])
def test_auc_intervals_cover_with_few_groups(n_groups, labels_by_group):
    share, width = coverage_of_groups(n_groups, labels_by_group, 300)
    assert 0.9 <= share <= 1.0, (share, width)


@pytest.mark.study
@pytest.mark.parametrize(("n", "repeats"), [(60, 1), (200, 1), (60, 3)])
def test_the_corrected_test_errs_as_seldom_as_it_says(n, repeats):
    corrected, plain = error_rates(n, repeats, 300)
    assert corrected <= 0.085 and plain > corrected, (corrected, plain)
