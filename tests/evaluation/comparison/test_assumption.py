"""Inference of the assumption behind labels: correct for simulated data, none for inconclusive data."""

from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    MISVC,
    Bags,
    BagStatistics,
    MILogisticRegression,
    SingleInstanceClassifier,
    SoftORLogisticRegression,
    compare,
    make_count_bags,
)


def draw(kind, n_bags, seed):
    """Return bags whose label depends on one instance, a count, a share, the whole bag or nothing."""
    rng = np.random.default_rng(seed)
    if kind == "one instance":
        data = make_count_bags(
            n_bags, size=(3, 8), labeler=1, coef=[3.0, -3.0, 0.0], intercept=-6.0, random_state=seed
        )
        return data.bags, data.y
    if kind == "a count":
        data = make_count_bags(
            n_bags, size=(3, 12), labeler=3, coef=[3.0, -3.0, 0.0], intercept=-1.0, random_state=seed
        )
        return data.bags, data.y
    sizes = np.exp(rng.uniform(np.log(2), np.log(30), n_bags)).astype(int)
    of_bag = np.repeat(np.arange(n_bags), sizes)
    X = rng.normal(size=(len(of_bag), 3))
    y = rng.random(n_bags) < 0.5
    if kind == "a share":
        X[:, 0] += rng.normal(size=n_bags)[of_bag]  # the share varies between bags
        positive = rng.random(len(of_bag)) < 1 / (1 + np.exp(-3 * (X[:, 0] - X[:, 1])))
        y = rng.random(n_bags) < np.bincount(of_bag, positive) / sizes
    elif kind == "the whole bag":  # the spread of a bag, not its location
        X[:, 0] = 2 * rng.normal(size=n_bags)[of_bag] + np.where(y, 1.5, 0.6)[of_bag] * X[:, 0]
    return Bags(X, np.append(0, np.cumsum(sizes))), y.astype(int)


def judged(kind, n_bags, seed, cv=5):
    models = {
        "or": MILogisticRegression("or", alpha=1.0, l1_ratio=0.0),
        "mean": MILogisticRegression("mean", alpha=1.0, l1_ratio=0.0),
        "count": SoftORLogisticRegression(alpha=1.0, n_init=1, tol=1e-4),
        "statistics": make_pipeline(
            BagStatistics(("mean", "std", "max")), StandardScaler(), LogisticRegression(C=0.1)
        ),
    }
    return compare(
        *draw(kind, n_bags, seed), models, cv=cv, scoring="neg_log_loss", random_state=seed, verbose=0
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one instance", "a count", "a share", "the whole bag"])
def test_the_true_assumption_is_inferred(kind):
    comparison = judged(kind, 150, 0, cv=3)
    assert comparison.assumption_.kind == kind
    assert comparison.assumption_.sentence.startswith("The data support the assumption that ")
    assert comparison.assumption_.sentence in repr(comparison).replace("-\n", "-").replace("\n", " ")
    assert len(comparison.assumption_.evidence) >= 4
    assert (comparison.assumption_.diagnosis is not None) == (kind in ("one instance", "a count"))


@pytest.mark.slow
def test_labels_that_mean_nothing_are_not_explained():
    comparison = judged("nothing", 100, 0, cv=3)
    assert comparison.assumption_.kind is None
    assert "No model is better than always predicting the most frequent" in comparison.assumption_.sentence


def test_bags_of_one_size_do_not_tell_a_share_from_a_count():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100 * 4, 2)) + np.repeat(rng.normal(size=(100, 1)), 4, axis=0)
    positive = rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.random(100) < positive.reshape(100, 4).mean(axis=1)
    models = {
        "mean": MILogisticRegression("mean", alpha=1.0, l1_ratio=0.0),
        "count": SoftORLogisticRegression(alpha=1.0, n_init=1, tol=1e-4),
        "statistics": make_pipeline(BagStatistics(("mean",)), LogisticRegression()),
    }
    comparison = compare(X.reshape(100, 4, 2), y, models, cv=3, random_state=0, verbose=0)
    assert comparison.assumption_.kind is None and "The data do not show" in comparison.assumption_.sentence


def test_assumption_is_none_if_a_kind_of_model_has_no_probabilities():
    # Labels depend on one instance, but the model with this assumption, MISVC, has no probabilities.
    models = {
        "copied": SingleInstanceClassifier(),
        "statistics": make_pipeline(BagStatistics(("max",)), LogisticRegression()),
        "misvm": MISVC(),
    }
    comparison = compare(*draw("one instance", 60, 0), models, cv=2, random_state=0, verbose=0)
    assert comparison["statistics"].mean["neg_log_loss"] > comparison["copied"].mean["neg_log_loss"]
    assert comparison.assumption_ is None


@pytest.mark.study
@pytest.mark.parametrize("n_bags", [60, 200])
def test_wrong_answers_are_rare_and_many_bags_give_right_ones(n_bags):
    for kind in ("one instance", "a count", "a share", "the whole bag", "nothing"):
        kinds = Counter(judged(kind, n_bags, seed).assumption_.kind for seed in range(20))
        wrong = sum(count for answer, count in kinds.items() if answer not in (kind, None))
        assert wrong <= 2, (kind, kinds)
        assert kind == "nothing" or n_bags < 200 or kinds[kind] >= 12, (kind, kinds)
