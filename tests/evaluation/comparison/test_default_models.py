"""models="default": suitable models are selected, omitted ones are reported, and all can be fitted."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold

from bagwise import Bags, compare, make_noisy_or_bags, make_positive_unlabeled, save_bags, scan_bags
from bagwise.evaluation.comparison.plan import cut_folds, read_labelled
from bagwise.evaluation.comparison.portfolio import FURTHER, OF_MANY_CLASSES, REPRESENTATIVES
from bagwise.evaluation.comparison.suited import facts_of, suited_models


def chosen(X, y, groups=None, cv=3, names=None):
    data = read_labelled(X, y, groups)
    folds = cut_folds(data, cv, 1, 0)
    entries, notes = suited_models(facts_of(data, folds), "accuracy", 0, names)
    return {entry.name: entry for entry in entries}, " ".join(notes)


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(30, size=(1, 4), coef=[3.0, -3.0], intercept=-2.0, random_state=0)


def test_small_dense_bags_have_all_families(data):
    entries, notes = chosen(data.bags, data.y)
    assert list(entries) == [model.name for model in (*REPRESENTATIVES, *FURTHER)] and notes == ""
    assert {entry.assumes for entry in entries.values()} == {
        None,  # the ensemble
        "one instance",
        "a share",
        "a count",
        "the whole bag",
    }


def test_sparse_instances_leave_out_what_does_not_take_them(data):
    bags = data.bags.with_instances(sp.csr_array(data.bags.instances))
    entries, notes = chosen(bags, data.y)
    assert "EM-DD" not in entries and "logistic, or rule" in entries and "bag statistics, SVM" in entries
    assert (
        "Left out because they do not support sparse instances: mixture, Gaussian; EM-DD; ensemble." in notes
    )


def test_missing_values_are_replaced_inside_the_training_bags(data):
    instances = data.bags.instances.copy()
    instances[::5, 0] = np.nan
    entries, notes = chosen(data.bags.with_instances(instances), data.y)
    assert "Missing values are replaced by medians of the training bags, unless a model accepts them" in notes
    search = entries["MI-SVM"].estimator  # the search includes the imputation step
    assert isinstance(search, GridSearchCV) and "oninstances" in search.estimator.named_steps
    assert isinstance(entries["mixture, Gaussian"].estimator, GridSearchCV)
    assert not hasattr(entries["mixture, Gaussian"].estimator.estimator, "steps")


def test_many_instances_leave_out_kernels_and_trees():
    sizes = np.full(40, 6000)
    bags = Bags(np.zeros((sizes.sum(), 1), dtype=np.float32), np.append(0, np.cumsum(sizes)))
    entries, notes = chosen(bags, np.arange(40) % 2, cv=10)
    assert not {"MI-SVM", "boosted trees", "EM-DD", "copied labels, forest"} & set(entries)
    assert {"logistic, or rule", "mixture, Gaussian", "bag statistics, logistic"} <= set(entries)
    assert "a fit to 216,000 instances would take too long" in notes


def test_the_ensemble_is_left_out_if_its_fits_would_take_long_unless_it_is_named():
    bags = Bags(np.zeros((48_000, 20), dtype=np.float32), np.arange(0, 48_001, 12))
    y = np.arange(4000) % 2
    entries, notes = chosen(bags, y)
    assert "ensemble" not in entries
    assert re.search(r"Left out because one fit would take about \d+ minutes: ensemble\.", notes)
    entries, notes = chosen(bags, y, names=["ensemble", "MissSVM"])
    assert list(entries) == ["ensemble", "MissSVM"] and notes == ""
    assert entries["ensemble"].family == "ensemble" and entries["ensemble"].assumes is None


def test_names_of_models_are_checked(data, tmp_path):
    with pytest.raises(
        ValueError, match="models contains the unknown name 'ensembel'; did you mean 'ensemble'"
    ):
        chosen(data.bags, data.y, names=["ensembel"])
    with pytest.raises(ValueError, match=r"unknown name 'qq'; expected 'logistic, or rule', .*'ensemble'"):
        chosen(data.bags, data.y, names=["qq"])
    sparse = data.bags.with_instances(sp.csr_array(data.bags.instances))
    with pytest.raises(ValueError, match=r"none of the models can be compared .* do not support sparse"):
        chosen(sparse, data.y, names=["EM-DD", "ensemble"])


def test_a_scan_has_only_what_streams(data, tmp_path):
    save_bags(tmp_path / "bags.parquet", data.bags, data.y)
    bags = scan_bags(tmp_path / "bags.parquet")
    entries, notes = chosen(bags, bags.y)
    assert {"logistic, or rule", "mixture, Gaussian", "bag statistics, SVM"} <= set(entries)
    assert "Left out because they cannot be fitted to scanned files: EM-DD; MI-SVM" in notes


def test_many_classes_have_models_that_take_them(data):
    entries, notes = chosen(data.bags, np.arange(30) % 3)
    assert {*entries} >= {"bag statistics, SVM", "logistic, or rule", OF_MANY_CLASSES[0].name}
    assert "because they support only two classes, and y has 3" in notes


def test_settings_are_chosen_by_groups_and_not_at_all_in_too_few_bags(data):
    entries, _ = chosen(data.bags, data.y, groups=np.arange(30) // 2)
    assert isinstance(entries["MI-SVM"].estimator.cv, StratifiedGroupKFold)
    y = np.arange(30) < 2
    entries, notes = chosen(data.bags, y, cv=2)
    assert not any(isinstance(entry.estimator, GridSearchCV) for entry in entries.values())
    assert "There are too few training bags to choose settings" in notes


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("classes", marks=pytest.mark.slow),
        *(pytest.param(kind, marks=pytest.mark.study) for kind in ("sparse", "missing", "groups", "scan")),
    ],
)
def test_every_model_that_is_taken_runs(kind, data, tmp_path):
    bags, y, groups = data.bags, data.y, None
    if kind == "sparse":
        bags = bags.with_instances(sp.csr_array(bags.instances))
    elif kind == "missing":
        instances = bags.instances.copy()
        instances[::5, 0] = np.nan
        bags, groups = bags.with_instances(instances), np.arange(30) // 2
    elif kind == "classes":
        y = np.arange(30) % 3
    elif kind == "groups":
        groups = np.arange(30) // 2
    elif kind == "scan":
        save_bags(tmp_path / "bags.parquet", bags, y)
        bags = scan_bags(tmp_path / "bags.parquet")
        y = bags.y
    comparison = compare(bags, y, groups=groups, cv=2, random_state=0, verbose=0)
    assert {result.name: result.error for result in comparison.rows if result.error} == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:negative bags seem:bagwise.exceptions.ClassPriorWarning")
def test_positive_and_unlabeled_bags_have_models_and_scores_of_their_own():
    full = make_noisy_or_bags(600, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    data = make_positive_unlabeled(
        full.bags, full.y, n_positive=30, n_unlabeled=60, class_prior=0.3, random_state=0
    )
    y = np.where(data.y == 1, 1.0, np.nan)
    comparison = compare(data.bags, y, cv=2, random_state=0, verbose=0)
    assert (
        comparison.from_unlabeled
        and comparison.scoring == ("roc_auc", "neg_pu_risk")
        and comparison.assumption_ is None
    )
    assert {result.name: result.error for result in comparison.rows if result.error} == {}
    again = compare(data.bags, data.y, "positive_unlabeled", cv=2, random_state=0, verbose=0)
    np.testing.assert_array_equal(again.oof_["LSDD"], comparison.oof_["LSDD"])
