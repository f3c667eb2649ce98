"""Folds inside a fit: numbers, splitters and splits, with bags of weight zero."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from bagwise import Bags
from bagwise.base import Training
from bagwise.folds import bag_folds

Y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
WEIGHT = np.array([1, 1, 0, 2, 1, 0, 1, 1, 1, 1.0])


def training(weight=None):
    kept = np.ones(len(Y), dtype=bool) if weight is None else weight > 0
    bags = Bags(np.arange(len(Y))[:, None].astype(float), np.arange(len(Y) + 1))
    return Training(bags[kept], Y[kept], np.ones(len(Y))[kept] if weight is None else weight[kept])


def folds(cv, weight=None, **options):
    return bag_folds(cv, training(weight), weight, seed=0, remedy="Use something else.", **options)


def test_a_number_gives_stratified_shuffled_folds():
    expected = StratifiedKFold(3, shuffle=True, random_state=0).split(Y, Y)
    for (train, test), (train_too, test_too) in zip(folds(3), expected, strict=True):
        np.testing.assert_array_equal(train, train_too)
        np.testing.assert_array_equal(test, test_too)
    assert len(folds(99)) == 5


def test_splits_name_bags_as_they_were_given_and_lose_those_of_weight_zero():
    given = [([0, 1, 2, 3, 4], [5, 6, 7]), ([5, 6, 7, 8, 9], [1, 2, 3])]
    (train, test), (other, held) = folds(iter(given), WEIGHT)
    numbers = np.flatnonzero(WEIGHT)
    assert numbers[train].tolist() == [0, 1, 3, 4] and numbers[test].tolist() == [6, 7]
    assert numbers[other].tolist() == [6, 7, 8, 9] and numbers[held].tolist() == [1, 3]


def test_masks_are_splits_too():
    mask = np.arange(10) < 6
    ((train, test),) = folds([(mask, ~mask)], WEIGHT)
    assert np.flatnonzero(WEIGHT)[train].tolist() == [0, 1, 3, 4]
    assert np.flatnonzero(WEIGHT)[test].tolist() == [6, 7, 8, 9]


def test_a_splitter_sees_bags_with_weight_only():
    found = folds(StratifiedKFold(2), WEIGHT)
    assert sorted(np.concatenate([test for _, test in found])) == list(range(8))


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (
            [([0, 1], [10])],
            "fold 0 of cv must be two arrays, .*: numbers from 0 to 9, or masks of the 10 bags",
        ),
        ([([0, 1], [3]), 3], "fold 1 of cv must be two arrays"),
        ([([1, 3], [4, 7])], "fold 0 of cv has no negative bag of non-zero weight to learn from"),
        ([([0, 1], [4]), ([0, 5], [4])], "fold 1 of cv has no positive bag of non-zero weight to learn from"),
        ([([0, 1], [2, 5])], "fold 0 of cv holds out no bag of non-zero weight"),
        ([([0, 1], [])], "fold 0 of cv holds out no bag of non-zero weight"),
    ],
)
def test_splits_that_cannot_be_used_are_refused_by_their_number(splits, message):
    with pytest.raises(ValueError, match=message):
        folds(splits, WEIGHT)


def test_a_class_with_a_single_bag_cannot_be_cross_validated():
    alone = np.where(np.isin(np.arange(10), [3, 5, 7, 9]), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"at least two sick and two well bags; .* Use something else\."):
        folds(3, alone, kinds=("well", "sick"))
