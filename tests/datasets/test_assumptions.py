"""The bags of the algorithmic unit tests contain the instances that the paper describes."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from bagwise import MISVC, SetKernelSVC
from bagwise.datasets import make_assumption_bags
from bagwise.testing import assumption_scores, check_assumption

KINDS = ("single_concept", "multiple_concepts", "false_frequency")
SOURCES = ("background", "concept 1", "concept 2", "poison")


def counts_of(data):
    """Return the number of instances of every source in every bag, counted bag by bag."""
    sources = np.split(data.bags.instance_columns["source"], data.bags.offsets[1:-1])
    return np.array([[np.sum(bag == source) for source in SOURCES] for bag in sources])


@pytest.mark.parametrize("part", ["train", "test"])
def test_positive_bags_of_one_concept_contain_it_and_poison_changes_sides(part):
    data = make_assumption_bags("single_concept", 201, part=part, random_state=1)
    background, first, second, poison = counts_of(data).T
    positive = data.y == 1
    assert positive.sum() == 101 and (background == 10).all()
    assert set((first + second)[positive]) == {1, 2, 3} and not (first + second)[~positive].any()
    assert (poison == (positive if part == "test" else ~positive)).all()
    assert first.sum() > 50 and second.sum() > 50


@pytest.mark.parametrize("part", ["train", "test"])
def test_positive_bags_of_two_concepts_contain_both(part):
    data = make_assumption_bags("multiple_concepts", 200, part=part, random_state=2)
    background, first, second, poison = counts_of(data).T
    positive = data.y == 1
    assert set(background) == set(range(1, 10))
    assert set(first[positive]) == {1, 2, 3} and (first == second)[positive].all()
    assert (first + second == 1)[~positive].all() and 0 < first[~positive].sum() < 100
    assert (poison == (positive if part == "test" else ~positive)).all()


def test_number_of_concept_instances_misleads_only_in_training():
    train, test = (
        counts_of(make_assumption_bags("false_frequency", 200, part=part, random_state=3))
        for part in ("train", "test")
    )
    y = make_assumption_bags("false_frequency", 200, random_state=3).y
    for counts in (train, test):
        assert (counts[y == 1, 1:] == [1, 1, 0]).all() and not counts[:, 3].any()
        assert (np.minimum(counts[y == 0, 1], counts[y == 0, 2]) == 0).all()
    assert set(train[y == 0, 1:3].sum(axis=1)) == {1}
    assert set(test[y == 0, 1:3].sum(axis=1)) == set(range(35, 45))


def test_features_have_the_documented_distributions():
    single, several = (
        make_assumption_bags(kind, 300, part="test", n_features=5, random_state=0)
        for kind in ("single_concept", "multiple_concepts")
    )
    documented = [
        (single, ("background", 0, 1), ("concept 1", 0, 3), ("concept 2", 1, 1), ("poison", -10, 0.1)),
        (several, ("background", 0, 1), ("concept 1", 2, 0.1), ("concept 2", 3, 0.1), ("poison", -10, 0.1)),
    ]
    for data, *sources in documented:
        for source, mean, deviation in sources:
            values = data.bags.instances[data.bags.instance_columns["source"] == source].ravel()
            assert stats.kstest(values, "norm", (mean, deviation)).pvalue > 1e-3, source
        concepts = np.char.startswith(data.bags.instance_columns["source"], "concept")
        assert (data.instance_y == concepts).all()


def test_instances_are_shuffled_and_seeds_repeat():
    data = make_assumption_bags(random_state=4)
    first = data.bags.instance_columns["source"][data.bags.offsets[:-1]]
    assert 0 < np.sum(first == "poison") < 60  # 150 bags of eleven instances contain poison
    again = make_assumption_bags(random_state=4)
    assert np.array_equal(data.bags.instances, again.bags.instances) and (data.y == again.y).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "poison"}, "kind is 'poison'; expected one of 'single_concept'"),
        ({"part": "valid"}, "part is 'valid'; expected 'train' or 'test'"),
        ({"n_bags": 1}, "n_bags is 1"),
        ({"n_features": 0}, "n_features is 0"),
    ],
)
def test_impossible_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_assumption_bags(**arguments)


class Oracle(ClassifierMixin, BaseEstimator):
    """Scores bags by the sources of their instances, which it recovers from the known distributions."""

    def __init__(self, count):
        self.count = count

    def fit(self, bags, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, bags):
        mean, spread = bags.instances.mean(axis=1), bags.instances.std(axis=1)
        of_concept = {
            "poison": mean < -5,
            "first": (abs(mean - 2) < 0.3) & (spread < 0.3),
            "second": (abs(mean - 3) < 0.3) & (spread < 0.3),
            "wide": (spread > 1.7) & (mean > -5),
            "shifted": (mean > 0.6) & (spread < 1.7),
        }
        present = {
            name: np.add.reduceat(mask.astype(float), bags.offsets[:-1]) for name, mask in of_concept.items()
        }
        return self.count(present)


BY_CONCEPT = {
    "single_concept": lambda n: n["wide"] + n["shifted"],
    "multiple_concepts": lambda n: np.minimum(n["first"], n["second"]),
    "false_frequency": lambda n: np.minimum(n["first"], n["second"]),
}
FORBIDDEN = {
    "single_concept": lambda n: -n["poison"],
    "multiple_concepts": lambda n: -n["poison"],
    "false_frequency": lambda n: n["first"] + n["second"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_model_of_the_concepts_passes_and_model_of_the_forbidden_signal_fails(kind):
    scores = check_assumption(Oracle(BY_CONCEPT[kind]), kind, random_state=5)
    assert scores.train_auc > 0.95 and scores.test_auc > 0.95
    cheat = Oracle(FORBIDDEN[kind])
    assert assumption_scores(cheat, kind, random_state=5) == (1.0, 0.0)
    message = f"Oracle fails the test '{kind}': its AUC is 1.00 on training bags and 0.00"
    with pytest.raises(AssertionError, match=message):
        check_assumption(cheat, kind, random_state=5)


def test_witness_model_passes_and_set_kernel_fails():
    assert check_assumption(MISVC(), n_bags=100).test_auc > 0.9
    with pytest.raises(AssertionError, match="SetKernelSVC fails the test 'single_concept'"):
        check_assumption(SetKernelSVC(), n_bags=100)
