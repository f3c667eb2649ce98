"""Folds during a fit: integers, splitters and splits, with bags of weight zero."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedKFold, cross_validate

from bagwise import (
    Bags,
    MILogisticRegressionCV,
    PUSetKernelClassifierCV,
    make_bag_pipeline,
    make_noisy_or_bags,
    make_positive_unlabeled,
)
from bagwise.models.base import Training
from bagwise.models.base.folds import bag_folds

Y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
WEIGHT = np.array([1, 1, 0, 2, 1, 0, 1, 1, 1, 1.0])


def training(weight=None):
    kept = np.ones(len(Y), dtype=bool) if weight is None else weight > 0
    bags = Bags(np.arange(len(Y))[:, None].astype(float), np.arange(len(Y) + 1))
    return Training(bags[kept], Y[kept], np.ones(len(Y))[kept] if weight is None else weight[kept])


def folds(cv, weight=None, **options):
    return bag_folds(cv, training(weight), weight, seed=0, remedy="Use something else.", **options)


def test_an_integer_cv_gives_stratified_shuffled_folds():
    expected = StratifiedKFold(3, shuffle=True, random_state=0).split(Y, Y)
    for (train, test), (train_too, test_too) in zip(folds(3), expected, strict=True):
        np.testing.assert_array_equal(train, train_too)
        np.testing.assert_array_equal(test, test_too)
    assert len(folds(99)) == 5


def test_splits_index_all_bags_and_lose_bags_of_weight_zero():
    splits = [([0, 1, 2, 3, 4], [5, 6, 7]), ([5, 6, 7, 8, 9], [1, 2, 3])]
    (train, test), (other, held) = folds(iter(splits), WEIGHT)
    indices = np.flatnonzero(WEIGHT)
    assert indices[train].tolist() == [0, 1, 3, 4] and indices[test].tolist() == [6, 7]
    assert indices[other].tolist() == [6, 7, 8, 9] and indices[held].tolist() == [1, 3]


def test_splits_can_be_masks():
    mask = np.arange(10) < 6
    ((train, test),) = folds([(mask, ~mask)], WEIGHT)
    assert np.flatnonzero(WEIGHT)[train].tolist() == [0, 1, 3, 4]
    assert np.flatnonzero(WEIGHT)[test].tolist() == [6, 7, 8, 9]


def test_a_splitter_sees_bags_with_weight_only():
    splits = folds(StratifiedKFold(2), WEIGHT)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(8))


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (
            [([0, 1], [10])],
            "fold 0 of cv must be two arrays, .*: indices from 0 to 9, or masks of the 10 bags",
        ),
        ([([0, 1], [3]), 3], "fold 1 of cv must be two arrays"),
        ([([1, 3], [4, 7])], "fold 0 of cv has no negative bag of non-zero weight for training"),
        ([([0, 1], [4]), ([0, 5], [4])], "fold 1 of cv has no positive bag of non-zero weight for training"),
        ([([0, 1], [2, 5])], "fold 0 of cv holds out no bag of non-zero weight"),
        ([([0, 1], [])], "fold 0 of cv holds out no bag of non-zero weight"),
    ],
)
def test_invalid_splits_are_refused_with_their_index(splits, message):
    with pytest.raises(ValueError, match=message):
        folds(splits, WEIGHT)


def test_a_class_with_a_single_bag_cannot_be_cross_validated():
    alone = np.where(np.isin(np.arange(10), [3, 5, 7, 9]), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"at least two sick and two well bags; .* Use something else\."):
        folds(3, alone, kinds=("well", "sick"))


GROUPS = np.array(["a", "a", "a", "a", "b", "b", "c", "c", "d", "d"])


@pytest.mark.parametrize("cv", [2, 99, GroupKFold(3), LeaveOneGroupOut()])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_groups_are_never_split(cv, weight):
    splits = folds(cv, weight, groups=GROUPS)
    names = GROUPS if weight is None else GROUPS[weight > 0]
    for train, test in splits:
        assert not set(names[train]) & set(names[test])
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(names)))
    if isinstance(cv, int):  # without its bag of weight zero, one group has no positive bag
        assert len(splits) == min(cv, 4 if weight is None else 3)


def test_folds_that_split_groups_are_refused():
    with (
        pytest.warns(UserWarning, match="groups parameter is ignored"),
        pytest.raises(ValueError, match=r"group 'c' in both training and held-out data; .*GroupKFold"),
    ):
        folds(KFold(3), groups=GROUPS)
    with pytest.raises(ValueError, match="fold 1 of cv has bags of the group 'c' in both training"):
        folds([([0, 1], [4]), ([4, 5, 6], [7, 8])], groups=GROUPS)
    with pytest.raises(ValueError, match=r"groups has the shape \(8,\), but there are 10 bags"):
        folds(3, WEIGHT, groups=GROUPS[:8])
    with pytest.raises(ValueError, match="bags of different groups; one class has a single group"):
        folds(3, groups=np.where(Y == 1, "sick", GROUPS))


@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA])
def test_bags_of_unknown_groups_do_not_become_one_group(unknown):
    groups = GROUPS.astype(object)
    groups[[3, 5]] = unknown
    with pytest.raises(ValueError, match="groups has no value for bag 3 and 1 more; every bag needs a group"):
        folds(3, groups=groups)


class RecordingGroupKFold(GroupKFold):
    """GroupKFold that records the groups passed to `split`."""

    recorded: list = []

    def split(self, X, y=None, groups=None):
        RecordingGroupKFold.recorded.append(np.asarray(groups))
        return super().split(X, y, groups)


def chosen_by_deviance():
    data = make_noisy_or_bags(60, random_state=0)
    return MILogisticRegressionCV(alphas=3, n_init=1, random_state=0), data.bags, data.y


def chosen_by_risk():
    full = make_noisy_or_bags(400, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    data = make_positive_unlabeled(
        full.bags, full.y, n_positive=30, n_unlabeled=60, class_prior=0.3, random_state=0
    )
    return PUSetKernelClassifierCV(degrees=(1,), class_prior=0.3, random_state=0), data.bags, data.y


@pytest.mark.parametrize("make", [chosen_by_deviance, chosen_by_risk])
def test_models_that_choose_by_folds_keep_groups_together(make):
    model, bags, y = make()
    groups = np.arange(len(bags)) % 9
    by_splits = list(GroupKFold(3).split(bags, y, groups))
    held = model.set_params(cv=by_splits).fit(bags, y)
    scores = "deviances_" if hasattr(held, "deviances_") else "risks_"
    expected = getattr(held, scores).copy()
    model.set_params(cv=GroupKFold(3)).fit(bags, y, groups=groups)
    np.testing.assert_array_equal(getattr(model, scores), expected)


@pytest.mark.parametrize("make", [chosen_by_deviance, chosen_by_risk])
def test_groups_are_passed_by_metadata_routing(make):
    """Cross-validation and pipelines pass groups without a request, as for scikit-learn's GroupKFold."""
    model, bags, y = make()
    groups = np.arange(len(bags)) % 9
    pipeline = make_bag_pipeline(model.set_params(cv=RecordingGroupKFold(2)))
    RecordingGroupKFold.recorded.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        cross_validate(pipeline, bags, y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise")
    expected = [groups[train] for train, _ in GroupKFold(3).split(bags, y, groups)]
    assert len(RecordingGroupKFold.recorded) == 3
    for recorded, train in zip(RecordingGroupKFold.recorded, expected, strict=True):
        np.testing.assert_array_equal(recorded, train)
