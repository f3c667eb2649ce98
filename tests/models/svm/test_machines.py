from itertools import product

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagwise import (
    MISVC,
    Bags,
    InstanceMISVC,
    MissSVC,
    OneVsOneBagClassifier,
    SetKernelSVC,
    make_noisy_or_bags,
    set_kernel,
)


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(60, size=(1, 6), coef=[3.0, -3.0, 0.0], intercept=-1.5, random_state=0)


def svm_value(K, sign, C):
    """Return the objective of an SVM that is fitted to these examples."""
    svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, sign)
    alpha = np.zeros(len(K))
    alpha[svc.support_] = svc.dual_coef_[0]
    return 0.5 * alpha @ K @ alpha + C * np.maximum(0.0, 1.0 - sign * svc.decision_function(K)).sum()


def tiny(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2))
    X[[1, 4, 8]] += 3.0
    return Bags(X, [0, 3, 6, 9, 11, 14]), np.array([1, 1, 1, 0, 0])


@pytest.mark.parametrize("seed", range(3))
def test_mi_svm_with_starts_finds_the_best_of_all_choices_of_witnesses(seed):
    bags, y = tiny(seed)
    model = MISVC(C=2.0, gamma=0.5, scale=None, n_init=30, random_state=0).fit(bags, y)
    K = rbf_kernel(bags.instances, gamma=0.5)
    values = {}
    for witnesses in product(range(0, 3), range(3, 6), range(6, 9)):
        chosen = [*witnesses, *range(9, 14)]
        values[witnesses] = svm_value(K[np.ix_(chosen, chosen)], np.repeat([1.0, -1.0], [3, 5]), 2.0)
    assert model.objective_ == pytest.approx(min(values.values()), rel=1e-4)
    assert model.objective_ >= min(values.values()) - 1e-6
    assert min(values, key=values.get) == tuple(model.witnesses_[:3] + bags.offsets[:3])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_instance_mi_svm_with_starts_finds_the_best_of_all_labellings(seed):
    bags, y = tiny(seed)
    model = InstanceMISVC(C=2.0, gamma=0.5, scale=None, n_init=40, random_state=0).fit(bags, y)
    K = rbf_kernel(bags.instances, gamma=0.5)
    best = np.inf
    for labels in product([1.0, -1.0], repeat=9):
        z = np.array([*labels, *[-1.0] * 5])
        if all(z[b : b + 3].max() > 0 for b in (0, 3, 6)):
            best = min(best, svm_value(K, z, 2.0))
    assert model.objective_ == pytest.approx(best, rel=1e-4)
    positive = model.predict_instances(bags)[:9].reshape(3, 3).any(axis=1)
    assert positive.all() or model.objective_ < 100


def test_mi_svm_is_miss_svm_without_the_unlabelled_term(data):
    ours = MISVC(C=4.0, gamma=1.0).fit(data.bags, data.y)
    miss = MissSVC(C=4.0, gamma=1.0, bag_weight=4.0, unlabeled_weight=0.0).fit(data.bags, data.y)
    np.testing.assert_allclose(ours.decision_function(data.bags), miss.decision_function(data.bags))


@pytest.mark.parametrize("machine", [MISVC, InstanceMISVC])
def test_bags_of_one_are_ordinary_examples(data, machine):
    X = data.bags.instances[data.bags.offsets[:-1]]
    model = machine(C=3.0, gamma=0.7, scale=None, tol=1e-10).fit(X, data.y)
    svc = SVC(C=3.0, gamma=0.7, tol=1e-9).fit(X, data.y)
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("machine", [MISVC, InstanceMISVC, SetKernelSVC])
def test_more_than_two_classes_go_through_one_against_one(data, machine):
    y = data.y + (np.arange(60) % 3 == 0)
    with pytest.raises(ValueError, match="OneVsOneBagClassifier"):
        machine().fit(data.bags, y)
    model = OneVsOneBagClassifier(machine(), both_ways=True).fit(data.bags, y)
    assert model.decision_function(data.bags).shape == (60, 3)
    assert len(model.estimators_) == 6


def test_both_ways_compares_two_scores_per_pair_of_classes(data):
    model = OneVsOneBagClassifier(MISVC(), both_ways=True).fit(data.bags, data.y)
    forth = MISVC().fit(data.bags, data.y).decision_function(data.bags)
    back = MISVC().fit(data.bags, 1 - data.y).decision_function(data.bags)
    np.testing.assert_allclose(model.decision_function(data.bags), 0.5 * (forth - back), atol=1e-6)


def test_class_weights_by_label_apply_in_every_pair_of_classes(data):
    y = np.array(["a", "b", "c"])[data.y + (np.arange(60) % 3 == 0)]
    heavy = OneVsOneBagClassifier(MISVC(C=0.01, class_weight={"a": 1000.0})).fit(data.bags, y)
    assert np.mean(heavy.predict(data.bags) == "a") > 0.9
    assert heavy.estimators_[0].class_weight == {"a": 1000.0, "b": 1.0}
    assert heavy.estimators_[2].class_weight == {"b": 1.0, "c": 1.0}


@pytest.mark.parametrize("normalize", ["average", "feature", None])
def test_set_kernel_svm_equals_svc_on_its_matrix(data, normalize):
    model = SetKernelSVC(C=2.0, gamma=1.5, normalize=normalize, scale=None, tol=1e-10)
    model.fit(data.bags, data.y)
    K = set_kernel(data.bags, gamma=1.5, normalize=normalize)
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-9).fit(K, data.y)
    np.testing.assert_allclose(model.decision_function(data.bags), svc.decision_function(K), atol=1e-5)
    assert hasattr(model, "decision_function_instances") == (normalize == "average")


def test_averaged_set_kernel_gives_means_of_instance_scores(data):
    model = SetKernelSVC().fit(data.bags, data.y)
    f = model.decision_function_instances(data.bags)
    means = np.add.reduceat(f, data.bags.offsets[:-1]) / data.bags.sizes
    np.testing.assert_allclose(model.decision_function(data.bags), means, atol=1e-10)
    assert not hasattr(SetKernelSVC(bag_kernel="minimax"), "predict_instances")


@pytest.mark.parametrize(
    "bag_kernel", ["minimax", "mean", lambda bags, other: set_kernel(bags, other, gamma=1)]
)
def test_other_kernels_of_bags_learn_too(data, bag_kernel):
    model = SetKernelSVC(bag_kernel=bag_kernel, C=10.0).fit(data.bags, data.y)
    assert model.score(data.bags, data.y) > 0.75
    assert model.objective_history_[0] >= model.objective_
