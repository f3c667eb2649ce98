"""Findings of `inspect_bags` in bags and labels, and data without problems."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer

from bagwise import Bags, MILogisticRegression, OnInstances, make_bag_pipeline
from bagwise.data.bags import as_bags
from bagwise.evaluation.checks import inspect_bags
from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.labels import size_auc
from bagwise.evaluation.checks.rows import row_codes


def clean(n_bags=40, seed=0):
    """Return bags and labels without problems."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, size=n_bags)
    y = np.arange(n_bags) % 2
    rng.shuffle(y)
    bags = Bags(rng.normal(size=(sizes.sum(), 3)), np.concatenate([[0], np.cumsum(sizes)]))
    return bags, y


def inspect(bags, y=None):
    return {finding.topic: finding for finding in inspect_bags(bags, y).findings}


def changed(bags, **cells):
    """Return bags with a copy of the instances on which `change` was called."""
    X = bags.instances.copy()
    cells["change"](X)
    return bags.with_instances(X)


def test_clean_data_gives_nothing_but_ok():
    findings = inspect(*clean())
    assert {f.level for f in findings.values()} == {"ok"}
    assert len(findings) == 12


def test_sparse_instances_are_judged_as_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, size=(60, 5)) * rng.normal(size=(60, 5))
    X[:, 3] = 0
    X[7, 1] = np.nan
    X[20] = X[30]
    offsets, y = np.arange(0, 61, 3), np.arange(20) % 2
    dense = inspect_bags(Bags(X, offsets), y)
    sparse = inspect_bags(Bags(sp.csr_array(X), offsets), y)
    assert sparse.findings == dense.findings
    assert "sparse" in dict(sparse.facts)["values"]


def test_missing_values_are_reported_with_bag_instance_and_feature():
    bags, y = clean()
    bags = Bags(bags.instances, bags.offsets, ids=[f"b{i}" for i in range(40)], feature_names=list("uvw"))
    start = int(bags.offsets[5])

    def spoil(X):
        X[start + 1, 2] = np.nan

    finding = inspect(changed(bags, change=spoil), y)["values"]
    assert finding.level == "warning"
    assert "1 NaN value, in bag 'b5', instance 1, feature 'w'" in finding.text


def test_infinite_values_and_nan_are_counted_separately():
    def spoil(X):
        X[3, 0], X[4, 1] = np.inf, np.nan

    finding = inspect(changed(clean()[0], change=spoil))["values"]
    assert finding.level == "warning" and "1 NaN and 1 infinite values, the first in bag" in finding.text


def test_advice_about_missing_and_infinite_values_can_be_followed():
    X = np.random.default_rng(0).normal(size=(40, 3, 2))
    y = np.arange(40) % 2
    model = make_bag_pipeline(OnInstances(SimpleImputer()), MILogisticRegression(n_init=1))
    X[0, 0, 0] = np.inf
    message = (
        r"X contains infinity: .* replace infinite values .* or by NaN, which OnInstances\(SimpleImputer"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    finding = next(f for f in inspect_bags(as_bags(X)).findings if f.topic == "values")
    assert "Replace infinite values by finite ones or by NaN, and impute NaN" in finding.text
    X[np.isinf(X)] = np.nan
    with pytest.raises(
        ValueError, match=r"X contains NaN: .* OnInstances\(SimpleImputer\(\)\) in a pipeline"
    ):
        MILogisticRegression(n_init=1).fit(X, y)
    assert model.fit(X, y).predict(X).shape == (40,)


def test_empty_bags_are_found_with_their_names():
    bags = Bags(np.random.default_rng(0).normal(size=(4, 2)), [0, 2, 2, 4], ids=["a", "b", "c"])
    finding = inspect(bags, [0, 1, 0])["empty bags"]
    assert finding.level == "warning" and "1 bag without instances: 'b'" in finding.text


def test_constant_features_are_counted_and_named():
    def spoil(X):
        X[:, 1] = 7

    finding = inspect(changed(clean()[0], change=spoil))["constant features"]
    assert finding.level == "note" and "1 of 3 are constant: 1." in finding.text


def test_features_on_very_different_scales_are_named():
    def spoil(X):
        X[:, 0] *= 1e-3
        X[:, 2] *= 20

    finding = inspect(changed(clean()[0], change=spoil))["scales"]
    assert finding.level == "note" and "(feature 0)" in finding.text and "(feature 2)" in finding.text


def test_the_spread_of_a_feature_is_exact_far_from_zero_and_over_many_blocks():
    X = np.arange(300_000.0)[:, None] * np.linspace(1, 2, 8)
    columns = DataSet(Bags(1e9 + X, [0, 300_000])).columns
    np.testing.assert_allclose(columns.std, X.std(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(columns.low, 1e9)


def test_rows_repeated_within_a_bag_are_counted_separately():
    bags, y = clean()
    inside = int(bags.offsets[3])
    finding = inspect(changed(bags, change=lambda X: np.copyto(X[inside + 1], X[inside])), y)["repeated rows"]
    assert finding.level == "note"
    assert "1 of " in finding.text and "1 within the same bag (first in bag 3)" in finding.text
    assert "more than one bag" not in finding.text


def test_rows_shared_between_bags_of_different_labels_are_counted():
    bags, y = clean()
    a, b = (int(bags.offsets[i]) for i in (np.argmin(y), np.argmax(y)))
    finding = inspect(changed(bags, change=lambda X: np.copyto(X[a], X[b])), y)["repeated rows"]
    assert (
        "1 distinct row occurs in more than one bag, 1 of them in bags with different labels" in finding.text
    )
    assert "within the same bag" not in finding.text
    same = inspect(changed(bags, change=lambda X: np.copyto(X[a], X[b])), np.zeros(40))["repeated rows"]
    assert "0 of them in bags with different labels" in same.text


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8, bool])
def test_row_codes_agree_with_numpy_unique(dtype):
    X = np.random.default_rng(0).integers(0, 3, size=(500, 4)).astype(dtype)
    expected = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    for matrix in (X, sp.csr_array(X)):
        codes = row_codes(matrix)
        pairs = np.unique(np.column_stack([codes, expected]), axis=0)
        assert len(pairs) == codes.max() + 1 == expected.max() + 1


def test_zero_and_minus_zero_are_equal_and_so_are_two_nan():
    assert np.ptp(row_codes(np.array([[0.0, np.nan], [-0.0, np.nan]]))) == 0


def two_equal_bags(label):
    bags, y = clean()
    first, second = bags[0], bags[0][::-1]
    return Bags.from_list([first, second, *bags[2:]]), np.concatenate([[0, label], y[2:]])


def test_repeated_bag_is_reported_for_any_order_of_its_rows():
    finding = inspect(*two_equal_bags(0))["repeated bags"]
    assert (
        finding.level == "warning"
        and "1 bag has the same instances as another bag (bags 0, 1)" in finding.text
    )


def test_equal_bags_of_different_labels_are_called_a_contradiction():
    finding = inspect(*two_equal_bags(1))["repeated bags"]
    assert finding.level == "warning" and "no model can predict both correctly" in finding.text


def test_labels_in_order_of_the_bags_are_found_and_mixed_ones_not():
    bags, y = clean()
    assert inspect(bags, np.sort(y))["order"].level == "note"
    assert inspect(bags, np.sort(y)[::-1])["order"].level == "note"
    assert inspect(bags, np.arange(40) // 10)["order"].level == "note"
    assert inspect(bags, y)["order"].level == "ok"


def test_a_few_bags_in_order_are_no_finding_because_chance_does_that():
    bags, _ = clean()
    assert inspect(bags[:4], [0, 0, 1, 1])["order"].level == "ok"
    assert inspect(bags, np.arange(40) == 39)["order"].level == "ok"


def test_sorted_column_among_several_labels_is_reported():
    bags, y = clean()
    finding = inspect(bags, np.column_stack([y, np.sort(y), 1 - y]) == 1)["order"]
    assert finding.level == "note" and "label column 1." in finding.text


def sized(sizes):
    X = np.random.default_rng(0).normal(size=(int(np.sum(sizes)), 2))
    return Bags(X, np.concatenate([[0], np.cumsum(sizes)]))


def test_a_bag_size_that_gives_the_label_away_is_a_warning():
    bags, y = clean()
    assert inspect(sized(3 + 4 * y), y)["size and label"].level == "warning"
    assert "1 are larger (AUC 1.00" in inspect(sized(3 + 4 * y), y)["size and label"].text
    assert "1 are smaller" in inspect(sized(9 - 4 * y), y)["size and label"].text
    assert inspect(bags, y)["size and label"].level == "ok"
    assert inspect(sized(np.full(40, 3)), y)["size and label"].text == "all bags have the same size."


def test_the_size_is_compared_with_every_class_and_every_label():
    classes = np.random.default_rng(0).permutation(np.arange(60) % 3)
    finding = inspect(sized(2 + 5 * (classes == 2)), classes)["size and label"]
    assert finding.level == "warning" and "labeled 2 are larger" in finding.text
    several = np.column_stack([classes == 0, classes == 2])
    assert "labeled 1 are larger" in inspect(sized(2 + 5 * (classes == 2)), several)["size and label"].text


@pytest.mark.parametrize("seed", range(5))
def test_the_size_test_is_that_of_mann_and_whitney(seed):
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(seed)
    sizes, has = rng.integers(1, 9, size=50), rng.random(50) < 0.4
    auc, p_value = size_auc(sizes, has)
    expected = mannwhitneyu(sizes[has], sizes[~has], method="asymptotic")
    assert auc == pytest.approx(expected.statistic / (has.sum() * (~has).sum()))
    assert p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    ("y", "level", "text"),
    [
        (None, "note", "none, so only the instances were checked"),
        (np.ones(40), "warning", "only one class, 1.0"),
        (np.repeat(np.arange(4), 10), "note", "4 classes"),
        (np.repeat(["active", "inactive"], 20), "note", "choose the positive class with positive='inactive'"),
        (np.repeat([True, False], 20), "ok", "True is the positive class"),
        (np.arange(40) < 3, "warning", "class True has 3 bags: too few"),
        (np.where(np.arange(40) == 7, np.nan, 1), "warning", "1 bag without a label; the first is 7"),
        (np.array([None, "a"] * 20, dtype=object), "warning", "20 bags without a label"),
        (np.linspace(0, 1, 40), "note", "looks continuous"),
        (np.eye(40)[:, :6], "note", "6 label columns"),
        (np.zeros((40, 2)), "note", "2 columns with a single value: 0, 1"),
        (np.zeros((40, 2, 2)), "note", "not checked"),
        (np.full((40, 2), "a"), "note", "not checked"),
    ],
)  # fmt: skip
def test_every_kind_of_labels_is_described(y, level, text):
    finding = inspect(clean()[0], y)["labels"]
    assert finding.level == level and text in finding.text


def test_kernels_that_do_not_fit_in_memory_are_noted():
    many = Bags(np.random.default_rng(0).normal(size=(30_000, 1)), np.arange(0, 30_001, 2))
    finding = inspect(many)["kernel memory"]
    assert finding.level == "note" and "7.2 GB" in finding.text and "set kernels" in finding.text
    single = Bags(many.instances, np.arange(30_001))
    assert "sample of bags" in inspect(single)["kernel memory"].text


def test_text_instances_give_a_warning_and_do_not_crash():
    findings = inspect(Bags(np.array([["a"], ["b"]]), [0, 1, 2]), [0, 1])
    assert findings["values"].level == "warning" and "models need numeric values" in findings["values"].text


@pytest.mark.parametrize("shape", [(0, 3), (0, 0), (4, 0)])
def test_data_without_bags_instances_or_features_does_not_crash(shape):
    bags = Bags(np.zeros(shape), [0] if shape[0] == 0 else [0, 2, 4])
    assert inspect_bags(bags, np.zeros(len(bags))).count("warning") >= 1
    assert inspect_bags(bags).facts


def test_labels_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match=r"y has shape .* but there are 40 bags"):
        inspect_bags(clean()[0], [0, 1])


def test_facts_say_what_the_data_are():
    facts = dict(inspect_bags(*clean()).facts)
    assert facts["bags"] == "40" and facts["features"] == "3"
    assert facts["labels"] == "0: 20 bags (50%), 1: 20 bags (50%)"
    assert facts["bag sizes"].startswith("2 to 5, median")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("musk2", {"repeated rows": "17 of 6,598", "order": "sorted by", "values": "all finite"}),
        ("web1", {"repeated rows": "400 of 2,212", "scales": "feature"}),
        ("hja_birdsong", {"labels": "13 label columns"}),
        ("elephant", {"constant features": "120 of 230"}),
    ],
)
def test_benchmark_sets_have_their_documented_findings(name, expected):
    folder = os.environ.get("BAGWISE_DATA")
    if not folder:
        pytest.skip("BAGWISE_DATA does not name the folder of the benchmark sets")
    from bagwise import load_npz

    findings = inspect(*load_npz(Path(folder) / f"{name}.npz"))
    for topic, text in expected.items():
        assert text in findings[topic].text


def with_columns(**columns):
    bags, y = clean()
    return bags._replace(bag_columns={name: np.asarray(values) for name, values in columns.items()}), y


def test_several_bags_of_a_patient_are_to_stay_in_one_fold():
    bags, y = with_columns(
        patient=np.argsort(np.argsort(clean()[1], kind="stable")) // 2, age=np.arange(40) % 7
    )
    finding = inspect(bags, y)["groups"]
    assert finding.level == "note" and "40 bags form 20 groups in column 'patient'." in finding.text
    assert "groups=bags.bag_columns['patient']" in finding.text and "bags.merge('patient')" in finding.text
    alone, y = with_columns(patient=[f"p{i}" for i in range(40)], age=np.arange(40) % 7)
    assert inspect(alone, y)["groups"].level == "ok"


def test_a_column_with_few_values_for_many_bags_may_be_groups():
    values = [f"B{i % 10:02d}" for i in range(40)]
    finding = inspect(*with_columns(Charge_Nr=values))["groups"]
    assert finding.level == "note" and "column 'Charge_Nr' has 10 values for 40 bags" in finding.text
    assert "groups=bags.bag_columns['Charge_Nr']" in finding.text and "--groups Charge_Nr" in finding.text
    assert inspect(*with_columns(plate_no=np.arange(40) % 8))["groups"].level == "note"
    for columns in (
        {"age": np.arange(40) % 8},  # a measurement
        {"split": values},
        {"note": ["a", "b"] * 20},  # two values are rather a property than groups
        {"name": [f"n{i // 2}" for i in range(40)]},
        {"tissue": np.array(["healthy", "ill"])[clean()[1]]},
    ):
        assert inspect(*with_columns(**columns))["groups"].level == "ok"
    bags, _ = with_columns(kind=np.array(["a", "b", "c"])[np.arange(40) % 3])
    assert inspect(bags, np.arange(40) % 3)["groups"].level == "ok"  # the column is the label


def test_more_features_than_bags_on_similar_scales_suggest_ridge():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(40) % 2)
    wide = Bags(rng.normal(size=(80, 60)), np.arange(0, 81, 2))
    finding = inspect(wide, y)["features"]
    assert finding.level == "note" and finding.text.startswith("60 for 40 bags, on similar scales.")
    assert "MILogisticRegression(l1_ratio=0)" in finding.text
    MILogisticRegression(l1_ratio=0, n_init=1).fit(wide, y)  # the advice can be followed
    scaled = wide.with_instances(wide.instances * np.logspace(0, 3, 60))
    assert inspect(scaled, y)["features"].level == "ok"


def test_patients_with_bags_of_both_labels_are_named():
    bags, y = with_columns(patient_id=[f"p{i // 2}" for i in range(40)])
    mixed = [i // 2 for i in range(0, 40, 2) if y[i] != y[i + 1]]
    finding = inspect(bags, y)["groups"]
    assert (
        finding.level == "note"
        and f"{len(mixed)} groups have bags of different labels ('p{mixed[0]}'" in finding.text
    )
    assert "20 groups in column 'patient_id'" in finding.text


def test_patients_on_both_sides_of_a_split_are_a_warning():
    split = np.where(np.arange(40) < 20, "train", "test")
    bags, y = with_columns(split=split, patient=[f"p{i // 3}" for i in range(40)])
    finding = inspect(bags, y)["groups"]
    assert finding.level == "warning" and "1 group is divided by column 'split' ('p6')" in finding.text
    apart, y = with_columns(split=split, patient=[f"p{i // 4}" for i in range(40)])
    assert inspect(apart, y)["groups"].level == "note"


def test_instances_that_stand_in_several_bags_are_counted():
    bags, y = clean()
    shared = changed(bags, change=lambda X: X.__setitem__(-1, X[0]))
    finding = inspect(shared, y)["repeated rows"]
    assert finding.level == "note" and "1 distinct row occurs in more than one bag" in finding.text
