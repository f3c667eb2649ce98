"""The estimated time of a comparison: after the list of models, from fits that cost little."""

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from bagwise import Bags, compare, make_noisy_or_bags, save_bags, scan_bags
from bagwise.evaluation.comparison import perform, running
from bagwise.evaluation.comparison.estimate import small_sample
from bagwise.evaluation.comparison.plan import read_labelled


class Slow(ClassifierMixin, BaseEstimator):
    """Classifier whose fits take a time in proportion to the number of instances."""

    def __init__(self, seconds=2e-4):
        self.seconds = seconds

    def fit(self, X, y):
        time.sleep(self.seconds * X.n_instances)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def run(bags, y, models, notes=None, **options):
    """Return the comparison, and all notes and steps in the order in which they are shown."""
    shown = [] if notes is None else notes

    class Steps:
        def __init__(self, n_steps, expected):
            assert len(expected) in (0, n_steps)
            self.expected = expected

        def __enter__(self):
            return shown.append

        def __exit__(self, *_):
            pass

    plan = perform.Plan(bags, y, models, random_state=0, **options)
    return perform.perform(plan, n_jobs=1, checkpoint=None, note=shown.append, progress=Steps), shown


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    return Bags(rng.normal(size=(4000, 2)), np.arange(0, 4001, 100)), np.arange(40) % 2


def test_models_are_listed_before_any_fit(large, monkeypatch):
    shown = []
    fitted = []
    fit = Slow.fit
    monkeypatch.setattr(Slow, "fit", lambda *arguments: fitted.append(list(shown)) or fit(*arguments))
    run(*large, {"slow": Slow(0.0)}, notes=shown)
    assert fitted[0][:2] == ["1 model and 2 baselines: slow.", "40 bags in 5 folds."]
    assert fitted[0][2:] == [
        "estimating the time: most frequent label",
        "estimating the time: size of the bag",
        "estimating the time: slow",
    ]


def test_the_estimate_costs_at_most_five_percent_and_is_of_the_right_order(large, monkeypatch):
    running._have_run.clear()
    seconds = []
    fit = Slow.fit

    def timed(self, X, y):
        seconds.append(self.seconds * X.n_instances)
        return fit(self, X, y)

    monkeypatch.setattr(Slow, "fit", timed)
    comparison, shown = run(*large, {"slow": Slow()})
    n_estimates = len(seconds) - 5
    assert n_estimates == 1 and sum(seconds[:n_estimates]) < 0.05 * sum(seconds)
    (estimate,) = (note for note in comparison.notes_ if note.startswith("Estimated time: "))
    assert shown.index(estimate) < shown.index("slow, split 1 of 5")


def test_the_sample_has_few_small_bags_of_every_class_with_their_columns(tmp_path):
    data = make_noisy_or_bags(200, size=(2, 40), random_state=0)
    sizes = data.bags.sizes
    bags = Bags(
        data.bags.instances,
        data.bags.offsets,
        instance_columns={"row": np.arange(data.bags.n_instances)},
        bag_columns={"bag": np.arange(200)},
    )
    labelled = read_labelled(bags, data.y, np.arange(200) // 2)
    sample, y, groups, train, test = small_sample(labelled)
    assert sample.n_instances < 0.05 * bags.n_instances
    assert np.bincount(y).tolist() == [3, 3] and len(np.unique(groups)) == 6
    assert train.tolist() == test.tolist() == list(range(6))
    chosen = sample.bag_columns["bag"]
    assert sizes[chosen[y == 1]].max() <= np.sort(sizes[data.y == 1])[2]
    rows = sample.instance_columns["row"]
    np.testing.assert_array_equal(sample.instances, bags.instances[rows])
    assert (sample.sizes >= 2).all()

    save_bags(tmp_path / "bags.parquet", bags, data.y)
    scan = scan_bags(tmp_path / "bags.parquet")
    whole = small_sample(read_labelled(scan, data.y, None))[0]
    assert len(whole) == 6 and whole.n_instances == np.sort(sizes[chosen]).sum()


def test_the_ensemble_is_compared_by_name():
    data = make_noisy_or_bags(24, size=3, random_state=0)
    comparison, _ = run(data.bags, data.y, ["ensemble"], cv=2)
    assert [result.name for result in comparison.results] == ["ensemble"]
    assert comparison["ensemble"].error is None and "compare(X, y, ['ensemble'], " in comparison.code_
    named = compare(data.bags, data.y, ("ensemble",), cv=2, random_state=0, verbose=0)
    np.testing.assert_array_equal(named.oof_["ensemble"], comparison.oof_["ensemble"])
