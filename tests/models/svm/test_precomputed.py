"""SVMs with a precomputed kernel: the same fits as with the kernel, also in cross-validation."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.svm import SVC
from sklearn.utils import get_tags

from bagwise import (
    MISVC,
    Bags,
    InstanceMISVC,
    KernelBags,
    MissSVC,
    OneVsOneBagClassifier,
    SetKernelSVC,
    instance_kernel,
    make_noisy_or_bags,
    set_kernel,
)

MACHINES = [MissSVC, MISVC, InstanceMISVC]
DATA = make_noisy_or_bags(50, size=(1, 4), coef=[2.0, -2.0], intercept=-2.0, random_state=0)
TRAIN, TEST, Y = DATA.bags[:40], DATA.bags[40:], DATA.y[:40]
K = instance_kernel(TRAIN, gamma=0.5)
K_TEST = instance_kernel(TEST, TRAIN, gamma=0.5)


def test_instance_kernel_contains_all_pairs_of_instances():
    by_hand = np.exp(-0.5 * ((TEST.instances[:, None] - TRAIN.instances[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(K_TEST.instances, by_hand, rtol=1e-12)
    assert K.shape == (40, 40) and K_TEST.shape == (10, 40)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("cache_size", [2000, 0.06], ids=["matrix", "rows on demand"])
def test_precomputed_kernel_gives_the_same_fit(machine, cache_size):
    weight = np.arange(40) % 4  # bags with zero weight are left out, but their columns remain
    plain = machine(gamma=0.5, scale=None, cache_size=cache_size).fit(TRAIN, Y, weight)
    precomputed = machine(kernel="precomputed", cache_size=cache_size).fit(K, Y, weight)
    np.testing.assert_allclose(
        precomputed.decision_function(K_TEST), plain.decision_function(TEST), atol=1e-3
    )
    np.testing.assert_allclose(
        precomputed.decision_function_instances(K_TEST), plain.decision_function_instances(TEST), atol=1e-3
    )
    as_list = [np.array(bag) for bag in K]
    np.testing.assert_array_equal(
        clone_fit(precomputed, as_list, weight).decision_function(K_TEST),
        precomputed.decision_function(K_TEST),
    )
    again = pickle.loads(pickle.dumps(precomputed))
    np.testing.assert_array_equal(again.predict(K_TEST), precomputed.predict(K_TEST))
    assert len(pickle.dumps(precomputed)) < 0.2 * K.instances.nbytes, (
        "the model must not store the kernel matrix"
    )


def clone_fit(model, X, weight):
    return type(model)(**model.get_params()).fit(X, Y, weight)


def test_precomputed_kernel_with_many_classes():
    y = np.arange(40) % 3
    plain = MissSVC(gamma=0.5, scale=None).fit(TRAIN, y)
    precomputed = MissSVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        precomputed.decision_function(K_TEST), plain.decision_function(TEST), atol=1e-3
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_cross_validation_selects_rows_and_columns_by_bag(machine):
    assert get_tags(machine(kernel="precomputed")).input_tags.pairwise
    assert not get_tags(machine()).input_tags.pairwise
    folds = KFold(4)
    kwargs = {"cv": folds, "method": "decision_function"}
    plain = cross_val_predict(machine(gamma=0.5, scale=None), TRAIN, Y, **kwargs)
    precomputed = cross_val_predict(machine(kernel="precomputed"), K, Y, **kwargs)
    np.testing.assert_allclose(precomputed, plain, atol=1e-3)
    grid = {"C": [0.1, 10.0]}
    search = GridSearchCV(machine(gamma=0.5, scale=None), grid, cv=folds).fit(TRAIN, Y)
    precomputed_search = GridSearchCV(machine(kernel="precomputed"), grid, cv=folds).fit(K, Y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], precomputed_search.cv_results_["mean_test_score"]
    )


def test_kernel_bags_select_rows_and_columns():
    rows, columns = np.array([5, 0, 7]), np.array([3, 3, 1])
    part = K[np.ix_(rows, columns)]
    expected = instance_kernel(TRAIN[rows], TRAIN[columns], gamma=0.5)
    np.testing.assert_allclose(part.instances, expected.instances, rtol=1e-12)
    np.testing.assert_array_equal(part.offsets, expected.offsets)
    assert part.shape == (3, 3) and part.ids.tolist() == [5, 0, 7]
    assert type(K[:3]) is Bags and K[:3].n_features == K.n_features
    again = pickle.loads(pickle.dumps(part))
    assert again.shape == (3, 3) and np.array_equal(again.instances, part.instances)
    with pytest.raises(IndexError, match="bag 40 is out of range"):
        K[np.ix_([1], [40])]
    with pytest.raises(ValueError, match="kernels has 3 rows but 2 columns"):
        KernelBags(np.ones((3, 2)), [0, 3])


def test_set_kernel_svm_accepts_a_precomputed_bag_kernel():
    matrix, of_test = set_kernel(TRAIN, gamma=0.5), set_kernel(TEST, TRAIN, gamma=0.5)
    weight = np.arange(40) % 3 + 0.0
    plain = SetKernelSVC(gamma=0.5, scale=None).fit(TRAIN, Y, weight)
    precomputed = SetKernelSVC(kernel="precomputed").fit(matrix, Y, weight)
    np.testing.assert_allclose(
        precomputed.decision_function(of_test), plain.decision_function(TEST), atol=1e-3
    )
    precomputed.fit(matrix, Y, weight + 1)  # with zero weights, scikit-learn selects other columns
    theirs = SVC(C=10.0, kernel="precomputed", tol=1e-8).fit(matrix, Y, weight + 1)
    np.testing.assert_allclose(
        precomputed.decision_function(of_test), theirs.decision_function(of_test), atol=1e-3
    )
    assert not hasattr(precomputed, "predict_instances")
    kwargs = {"cv": KFold(4), "method": "decision_function"}
    np.testing.assert_allclose(
        cross_val_predict(SetKernelSVC(kernel="precomputed"), matrix, Y, **kwargs),
        cross_val_predict(SetKernelSVC(gamma=0.5, scale=None), TRAIN, Y, **kwargs),
        atol=1e-3,
    )


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (
            MissSVC(kernel="precomputed"),
            TRAIN,
            r"X has [0-9]+ instances with 2 values each, but",
        ),
        (MISVC(kernel="precomputed"), np.tril(np.ones((40, 40))), "X is not a kernel matrix: .* by 1;"),
        (SetKernelSVC(kernel="precomputed"), K, "needs one row of kernel values per bag, not per inst"),
        (OneVsOneBagClassifier(MissSVC(kernel="precomputed")), K, "pass KernelBags, which select rows and"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_invalid_kernel_matrices_are_refused(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, np.arange(40) % 3 if isinstance(model, OneVsOneBagClassifier) else Y)


def test_prediction_needs_kernel_values_of_all_training_instances():
    precomputed = MISVC(kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match=f"X has 2 features, but MISVC is expecting {TRAIN.n_instances}"):
        precomputed.predict(TEST)
