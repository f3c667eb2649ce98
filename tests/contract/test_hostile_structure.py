"""Weights, labels and categories that no model supports lead to one clear error, not to NaN."""

import numpy as np
import pytest

import bagwise
from bagwise import (
    Bags,
    ClassPriorEstimator,
    CountTable,
    MILogisticRegression,
    MIMixture,
    make_noisy_or_bags,
)

DATA = make_noisy_or_bags(20, size=(2, 4), n_features=3, random_state=0)


@pytest.mark.parametrize("size", [1e150, 1e-150])
@pytest.mark.parametrize("name", ["MILogisticRegression", "MIMixture", "MissSVC", "EMDD", "SetKernelSVC"])
def test_weights_whose_products_are_no_numbers_are_refused(name, size):
    model = getattr(bagwise, name)()
    with pytest.raises(
        ValueError, match=r"the largest sample_weight is 1e[+-]150, .* between 1e-50 and 1e\+50"
    ):
        model.fit(DATA.bags, DATA.y, sample_weight=np.full(20, size))


@pytest.mark.parametrize(("values", "word"), [([1.0], "negative"), ([0.0, 0.0, 0.0], "positive")])
@pytest.mark.parametrize("name", ["MILogisticRegression", "MIMixture", "DiverseDensity"])
def test_labels_that_a_table_of_counts_makes_impossible_are_refused(name, values, word):
    model = getattr(bagwise, name)(rule=CountTable(values))
    with pytest.raises(ValueError, match=rf"makes the label of a {word} bag with \d instances impossible"):
        model.fit(DATA.bags, DATA.y)


def test_a_count_table_is_refused_only_for_too_small_bags():
    rule, offsets = CountTable([0.0, 0.0, 1.0]), [0, 2, 3]
    assert rule.start(offsets, [1, 0]) is rule
    with pytest.raises(
        ValueError, match="positive bag with 1 instances impossible, because all of the first 2 values are 0"
    ):
        rule.start(offsets, [0, 1])


def test_categories_whose_table_would_fill_the_memory_are_refused():
    X = np.zeros((6, 2))
    X[3, 1] = 1e12
    with pytest.raises(ValueError, match=r"feature 1 has the category 1,000,000,000,000.*OrdinalEncoder"):
        MIMixture("categorical").fit(Bags(X, [0, 2, 4, 6]), [0, 1, 1])


@pytest.mark.parametrize("label", [0, 1])
def test_a_class_prior_from_one_bag_that_has_all_weight_is_refused(label):
    weight = np.where(DATA.y == label, 1e-12, 1.0)
    weight[np.argmax(DATA.y == label)] = 1e12
    word = ("unlabeled", "positive")[label]
    with pytest.raises(ValueError, match=f"one bag has nearly all of the weight of the {word} bags"):
        ClassPriorEstimator().fit(DATA.bags, DATA.y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_covariances_that_rounding_makes_singular_are_explained():
    rng = np.random.default_rng(2)
    bags = Bags(rng.normal(size=(40, 40)), np.arange(21) * 2)
    weight = 10.0 ** rng.integers(-12, 12, size=20)
    for seed in range(3):
        try:
            MIMixture(n_init=1, random_state=seed).fit(bags, np.arange(20) % 2, sample_weight=weight)
        except ValueError as error:
            assert type(error) is ValueError
            assert "is numerically singular" in str(error)


def test_an_ordinary_fit_is_left_alone():
    MILogisticRegression(random_state=0).fit(DATA.bags, DATA.y, sample_weight=np.full(20, 1e-20))


def test_a_machine_without_support_says_its_intercept():
    model = bagwise.SetKernelSVC(bag_kernel="minimax").fit(DATA.bags, DATA.y)
    model.support_bags_, model.dual_coef_ = model.support_bags_[:0], model.dual_coef_[:, :0]
    np.testing.assert_array_equal(model.decision_function(DATA.bags), np.full(20, model.intercept_[0]))


def test_a_linear_program_of_numbers_that_are_none_is_refused():
    from bagwise.solvers.l1_svm import minimize_l1_svm

    with pytest.raises(ValueError, match="the feature vectors of the bags contain infinite or NaN values"):
        minimize_l1_svm(np.array([[np.inf], [0.0]]), np.array([1.0, -1.0]), np.ones(2))
