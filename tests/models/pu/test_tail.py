"""Best bin estimation: cuts by exhaustive search, folds that only depend on the bags, unusual data."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, ClassPriorEstimator
from bagwise.models.base import Training
from bagwise.models.pu.sample import prior_splits
from bagwise.models.pu.tail import UpperTails, bag_vectors, deal_folds, out_of_fold_scores

# Most samples here are small, and the classes overlap or seem to.
pytestmark = pytest.mark.filterwarnings("ignore:negative bags seem:bagwise.exceptions.ClassPriorWarning")


def scores_of(n_positive, n_unlabeled, prior, seed=0, gap=3.0):
    """Return scores, labels and folds; scores have two decimals, so that there are ties."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(n_unlabeled) < prior
    truth = np.append(np.ones(n_positive, bool), hidden)
    score = np.round(rng.normal(size=len(truth)) + gap * truth, 2)
    return score, np.repeat([1, 0], [n_positive, n_unlabeled]), np.arange(len(truth)) % 5


def best_cut(score, y):
    """Return the cut with the smallest ratio including the margin, by trying all cuts."""
    n_positive, n_unlabeled = (y == 1).sum(), (y == 0).sum()
    margin = 1.01 * (np.sqrt(np.log(40) / (2 * n_unlabeled)) + np.sqrt(np.log(40) / (2 * n_positive)))

    def value(cut):
        share = np.mean(score[y == 1] >= cut)
        return (np.mean(score[y == 0] >= cut) + margin) / share if share > 0 else np.inf

    best = min(np.unique(score)[::-1], key=value)
    below = score[score < best]
    return 0.5 * (best + below.max()) if len(below) else -np.inf


@pytest.mark.parametrize("gap", [0.5, 3.0])
def test_tail_membership_counts_the_halves_with_the_bag_above_the_cut(gap):
    score, y, fold = scores_of(40, 90, 0.4, gap=gap)
    times = np.zeros(len(y))
    for chosen in combinations(range(5), 2):
        half = np.isin(fold, chosen)
        for side in (half, ~half):
            times[~side] += score[~side] >= best_cut(score[side], y[side])
    tails = UpperTails(score, y, fold)
    np.testing.assert_allclose(tails.membership(np.ones(len(y))), times / 10)
    shares = [np.mean(times[y == label]) / 10 for label in (0, 1)]
    estimate = tails.estimate(np.ones(len(y)), 90, 40)
    assert estimate.class_prior == pytest.approx(min(1.0, shares[0] / shares[1]))
    variance = (1 - shares[0]) / (90 * shares[0]) + (1 - shares[1]) / (40 * shares[1])
    assert estimate.log_error == pytest.approx(np.sqrt(variance))


def test_weights_are_repetitions_and_order_does_not_matter():
    score, y, fold = scores_of(30, 80, 0.3)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    again = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weight))
    n_bags = [float(weight[y == label].sum()) for label in (0, 1)]
    weighted = UpperTails(score, y, fold).estimate(weight.astype(float), *n_bags)
    repeated = UpperTails(score[again], y[again], fold[again]).estimate(np.ones(len(again)), *n_bags)
    assert weighted.class_prior == pytest.approx(repeated.class_prior, rel=1e-12)
    assert weighted.overlap == repeated.overlap


def test_empty_unlabeled_tail_gives_a_positive_estimate():
    score, y = np.append(np.full(50, 5.0), np.linspace(-1, 0, 100)), np.repeat([1, 0], [50, 100])
    estimate = UpperTails(score, y, np.arange(150) % 5).estimate(np.ones(150), 100, 50)
    assert estimate.class_prior == pytest.approx(0.5 / 101)
    low, high = estimate.interval(0.9)
    assert low < 0.001 and 0.03 < high < 0.06  # the rule of three


def test_a_half_without_positive_bags_puts_all_bags_into_the_tail():
    score, y, fold = np.array([3.0, 2.0, 1.0, 0.0]), np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1])
    estimate = UpperTails(score, y, fold).estimate(np.ones(4), 2, 2)
    assert 0 < estimate.class_prior <= 1.0 and estimate.overlap


def test_scores_are_out_of_fold():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3 // 2
    X[y == 1, 0] += 1.0
    weight = rng.integers(1, 3, 60).astype(float)
    splits = [
        (np.flatnonzero(np.arange(60) % 4 != k), np.flatnonzero(np.arange(60) % 4 == k)) for k in range(3)
    ]
    scores = out_of_fold_scores(X, y, weight, splits)
    assert np.isnan(scores[3::4]).all()  # no fold holds them out
    Z = StandardScaler().fit_transform(X, sample_weight=weight)
    candidates = []
    for C in (0.01, 0.1, 1.0):
        score, loss = np.full(60, np.nan), 0.0
        for train, test in splits:
            model = LogisticRegression(C=C).fit(Z[train], y[train], sample_weight=weight[train])
            odds = weight[train][y[train] == 1].sum() / weight[train][y[train] == 0].sum()
            score[test] = model.decision_function(Z[test]) - np.log(odds)
            loss += weight[test] @ np.logaddexp(0.0, np.where(y[test] == 1, -1, 1) * score[test])
        candidates.append((loss, score))
    np.testing.assert_allclose(scores, min(candidates, key=lambda c: c[0])[1], atol=1e-4)


def test_rotation_of_many_columns_does_not_change_scores():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 40)), np.arange(30) % 2
    splits = [(np.arange(10, 30), np.arange(10)), (np.arange(20), np.arange(10, 30))]
    few = out_of_fold_scores(X, y, np.ones(30), splits)
    # Additional columns of zeros do not change the scores.
    wide = np.hstack([X, np.zeros((30, 5))])
    np.testing.assert_allclose(out_of_fold_scores(wide, y, np.ones(30), splits), few, atol=1e-4)


def test_folds_depend_only_on_the_contents_of_bags():
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(size=(3, 2)) for _ in range(40)])
    y = np.arange(40) % 2
    fold = deal_folds(bags, y, 5)
    order = rng.permutation(40)
    np.testing.assert_array_equal(deal_folds(bags[order], y[order], 5), fold[order])
    for label in (0, 1):
        assert np.bincount(fold[y == label]).tolist() == [4] * 5
    twice = np.repeat(np.arange(40), 2)
    np.testing.assert_array_equal(deal_folds(bags[twice], y[twice], 5), fold[twice])
    alike = Bags.from_list([np.ones((2, 2))] * 40)
    assert np.bincount(deal_folds(alike, y, 5)).tolist() == [8] * 5


def test_explicit_splits_are_used_for_the_scores():
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(size=(3, 2)) + 3 * (k % 4 == 0) for k in range(60)])
    y = np.arange(60) % 3 // 2
    cv = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    model = ClassPriorEstimator(cv=cv).fit(bags, y)
    expected = out_of_fold_scores(bag_vectors(model._scaled(bags)), y, np.ones(60), cv)
    np.testing.assert_array_equal(model.scores_, expected)
    splits = prior_splits(4, Training(bags, y, np.ones(60)), None, "a model")
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(60))
    assert not np.array_equal(ClassPriorEstimator(cv=4).fit(bags, y).scores_, expected)


def test_callable_kernel_is_used_for_the_scores():
    rng = np.random.default_rng(0)
    # The classes differ in the size of the bags only, which is not a statistic of the features.
    sizes = np.append(np.full(60, 9), np.where(rng.random(150) < 0.3, 9, 2))
    bags = Bags.from_list([rng.uniform(size=(size, 2)) for size in sizes])
    y = np.repeat([1, 0], [60, 150])

    def kernel(rows, columns):
        return np.outer(rows.sizes, columns.sizes) / 81.0

    model = ClassPriorEstimator(kernel).fit(bags, y)
    assert model.class_prior_ == pytest.approx(np.mean(sizes[60:] == 9), abs=0.01)
    assert model.degree_ is None


def test_sparse_bags_are_read_at_both_levels():
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.5, size=(240, 6)).astype(float), np.repeat([1, 0], [60, 180])
    X[:120, 0] += 6.0
    for level in ("bag", "instance"):
        dense, sparse = (
            ClassPriorEstimator(level=level, scale=None).fit(Z, y).class_prior_ for Z in (X, sp.csr_matrix(X))
        )
        assert dense == pytest.approx(sparse, rel=1e-9) and dense == pytest.approx(1 / 3, abs=0.05)
