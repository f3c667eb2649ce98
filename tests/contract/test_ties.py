"""Ties are positive, for bags, instances and several labels; a bag check tests this for every estimator."""

import numpy as np
import pytest

from bagwise import (
    MILogisticRegression,
    MIMLLogisticRegression,
    MissSVC,
    MultiLabelBagClassifier,
    OneVsOneBagClassifier,
    SoftORLogisticRegression,
    make_noisy_or_bags,
)
from bagwise.models.base import is_as_probable, is_positive
from bagwise.testing.checks import check_a_tie_is_positive

DATA = make_noisy_or_bags(40, random_state=0)


def say_nothing(model):
    """Set the log-odds of every instance to zero."""
    model.coef_ = np.zeros_like(model.coef_)
    model.intercept_ = np.zeros_like(model.intercept_)
    return model


@pytest.mark.parametrize("model", [MILogisticRegression(), SoftORLogisticRegression("or")])
def test_an_instance_and_a_bag_of_one_with_probability_one_half(model):
    model = say_nothing(model.fit(DATA.bags, DATA.y))
    X = np.array(DATA.bags.instances[:3])[:, None]
    np.testing.assert_array_equal(model.predict_proba(X), 0.5)
    assert (model.predict(X) == 1).all() and (model.predict_instances(X) == 1).all()


def test_several_labels_each_with_a_tie():
    Y = np.column_stack([DATA.y, 1 - DATA.y])
    for model in (MIMLLogisticRegression(), MultiLabelBagClassifier(MILogisticRegression())):
        model.fit(DATA.bags, Y)
        for inner in getattr(model, "estimators_", [model]):
            say_nothing(inner)
        X = np.array(DATA.bags.instances[:3])[:, None]
        if isinstance(model, MultiLabelBagClassifier):
            assert (model.predict(X) == 1).all() and (model.predict_instances(X) == 1).all()
        else:  # an instance has exactly one class: the first label if all three are tied
            np.testing.assert_array_equal(model.predict_instances(X), [[1, 0]] * 3)


def test_a_duel_without_a_winner_goes_to_the_class_that_sorts_last():
    y = np.arange(40) % 3
    for model in (OneVsOneBagClassifier(MissSVC()), MissSVC()):
        model.fit(DATA.bags, y)
        if isinstance(model, MissSVC):
            model.dual_coef_, model.intercept_ = 0 * model.dual_coef_, 0 * model.intercept_
        else:
            for machine in model.estimators_:
                machine.dual_coef_, machine.intercept_ = 0 * machine.dual_coef_, 0 * machine.intercept_
        assert (model.predict(DATA.bags) == 2).all()


def test_a_tie_that_rounding_made_is_a_tie():
    below = np.nextafter(0.5, 0)
    np.testing.assert_array_equal(
        is_as_probable(np.array([0.5, below, 0.5, below]), np.array([0.5, below, 0.5 + 1e-15, 0.5])),
        [True, True, True, False],
    )


def test_a_score_of_zero_is_positive():
    np.testing.assert_array_equal(
        is_positive(np.array([0.0, -0.0, -5e-324, 5e-324])), [True, True, False, True]
    )


@pytest.mark.parametrize("model", [MissSVC(), MILogisticRegression()])
def test_ties_have_the_label_of_the_positive_class(model):
    model.fit(DATA.bags, np.where(DATA.y == 1, 7, 3))
    np.testing.assert_array_equal(model._labels_of(np.array([0.0, -5e-324])), [7, 3])
    np.testing.assert_array_equal(model._more_probable(np.array([[0.5, 0.5], [0.6, 0.4]])), [7, 3])


class _CallsTiesNegative(MissSVC):
    def _labels_of(self, scores):
        return self.classes_[(scores > 0).astype(int)]


class _CallsEvenOddsNegative(MILogisticRegression):
    def _more_probable(self, proba):
        return self.classes_[(proba[:, 1] > 0.5).astype(int)]


class _HasAnotherThreshold(MissSVC):
    def predict(self, X):
        return self.classes_[(self.decision_function(X) >= 0.1).astype(int)]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_CallsTiesNegative(), "a score of zero is predicted as negative"),
        (_CallsEvenOddsNegative(), "a probability of 1/2 is predicted as negative"),
        (_HasAnotherThreshold(), "not equal"),
    ],
)
def test_the_check_fails_where_predictions_do_not_follow_from_scores(model, message):
    with pytest.raises(AssertionError, match=message):
        check_a_tie_is_positive(model, DATA.bags, DATA.y)


def test_duels_both_ways_that_are_equal_but_for_rounding_tie():
    from bagwise.models.wrappers.multiclass import count_votes

    score = np.array([0.7, -3.0, 1e8])
    forth, back = np.tile(score, (3, 1)), np.tile(score, (3, 1))
    forth[1] *= 1 + 1e-13
    back[2] *= 1 + 1e-13
    votes = count_votes(np.hstack([forth, back]), 3)
    assert np.array_equal(votes[0], votes[1]) and np.array_equal(votes[0], votes[2])
