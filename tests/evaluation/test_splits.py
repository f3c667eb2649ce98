"""Overlaps of training and test bags in split files, compared with sets; folds that keep sites together."""

import numpy as np
import pandas as pd
import pytest

from bagwise import check_splits, site_folds
from bagwise.cli import main

PATIENTS = {f"s{i}": f"p{i // 2}" for i in range(12)}


def write(path, frame, **options):
    frame.to_csv(path, **{"index": False, **options})
    return path


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame({"case_id": PATIENTS.values(), "slide_id": PATIENTS.keys(), "label": 0})
    return write(tmp_path / "dataset.csv", frame)


def expected_patients(first, second):
    return {PATIENTS[s] for s in first} & {PATIENTS[s] for s in second}


def clam(path, train, val, test):
    columns = {"train": pd.Series(train), "val": pd.Series(val), "test": pd.Series(test)}
    return write(path, pd.DataFrame(columns), index=True)


def test_files_of_clam_are_compared_with_the_table_of_patients(tmp_path, table):
    parts = ["s0", "s2", "s4", "s5"], ["s6", "s7"], ["s1", "s3", "s8", "s0"]
    torn = clam(tmp_path / "splits_0.csv", *parts)
    whole = clam(tmp_path / "splits_1.csv", ["s0", "s1", "s2", "s3"], ["s4", "s5"], ["s6", "s7"])
    report = check_splits([torn, whole], patient="case_id", table=table)
    train_test = next(o for o in report.overlaps if o.fold == "splits_0.csv" and o.parts == ("train", "test"))
    assert set(train_test.patients) == expected_patients(parts[0], parts[2]) == {"p0", "p1"}
    assert train_test.bags == ("s0",) and not train_test.duplicates and not report.is_clean
    assert report.folds["splits_0.csv"] == {"train": 4, "val": 2, "test": 4}
    assert all(o.is_clean for o in report.overlaps if o is not train_test) and len(report.overlaps) == 6
    assert check_splits(whole, patient="case_id", table=table).is_clean
    text = " ".join(str(report).split())
    assert "splits_0.csv: 1 bag ('s0'), 2 patients ('p0', 'p1') in both train and test." in text


def test_boolean_files_of_clam(tmp_path, table):
    frame = pd.DataFrame(
        {"train": [True, True, False], "val": False, "test": [False, False, True]}, index=["s0", "s2", "s1"]
    )
    path = write(tmp_path / "splits_0_bool.csv", frame, index=True)
    overlap = check_splits(path, patient="case_id", table=table).overlaps[1]
    assert overlap.parts == ("train", "test") and overlap.patients == ("p0",) and not overlap.bags


def test_fold_columns_of_patho_bench(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"case_id": PATIENTS.values(), "slide_id": PATIENTS.keys(), "label": 1})
    for k in range(3):
        frame[f"fold_{k}"] = np.where(rng.random(12) < 0.5, "train", "test")
    frame.loc[0, "fold_2"] = np.nan
    report = check_splits(write(tmp_path / "k=all.tsv", frame, sep="\t"), patient="case_id")
    for k, overlap in enumerate(report.overlaps):
        column = frame[f"fold_{k}"]
        parts = [frame["slide_id"][column == part] for part in ("train", "test")]
        assert set(overlap.patients) == expected_patients(*parts)
        assert overlap.fold == f"k=all.tsv: fold_{k}"
    assert len(report.overlaps) == 3 and report.has_patients


def test_paths_of_mil_baseline_find_duplicates_in_other_folders(tmp_path, table):
    frame = pd.DataFrame(
        {
            "train_slide_path": ["/a/s0.pt", "/a/s2.pt"],
            "train_label": [0, 1],
            "val_slide_path": ["/a/s4.pt", ""],
            "val_label": [0, np.nan],
            "test_slide_path": ["/b/S2.h5", "/a/s1.pt"],
            "test_label": [1, 0],
        }
    )
    path = write(tmp_path / "Camelyon_fold1.csv", frame)
    report = check_splits(path, patient="case_id", table=table)
    overlap = next(o for o in report.overlaps if o.parts == ("train", "test"))
    assert overlap.duplicates == ("/a/s2.pt",) and not overlap.bags
    assert set(overlap.patients) == expected_patients(["s0", "s2"], ["s2", "s1"]) == {"p0", "p1"}
    assert report.folds[overlap.fold] == {"train": 2, "val": 1, "test": 2}


def test_fold_index_and_split_columns(tmp_path):
    frame = pd.DataFrame({"slide": PATIENTS.keys(), "patient": PATIENTS.values(), "fold": np.arange(12) % 3})
    report = check_splits(write(tmp_path / "folds.csv", frame), patient="patient")
    assert [overlap.fold for overlap in report.overlaps] == [f"folds.csv: fold {k}" for k in range(3)]
    for k, overlap in enumerate(report.overlaps):
        is_test = frame["fold"] == k
        expected = expected_patients(frame["slide"][~is_test], frame["slide"][is_test])
        assert set(overlap.patients) == expected
    # pandas writes an index as a column without a name, which is not the id of the bag
    indexed = write(tmp_path / "indexed.csv", frame.set_index(frame.index + 100), index=True)
    again = check_splits(indexed, patient="patient")
    assert [overlap.patients for overlap in again.overlaps] == [o.patients for o in report.overlaps]
    frame["split"] = np.where(np.arange(12) < 6, "Training", "test")
    whole = check_splits(write(tmp_path / "split.csv", frame.drop(columns="fold")), patient="patient")
    assert whole.is_clean and whole.folds == {"split.csv": {"train": 6, "test": 6}}


def test_splits_of_python_and_unknown_patients():
    splits = [(np.array(["s0", "s9", "x"]), ["s1", "s2"]), (["s4"], ["s6", "s4"])]
    report = check_splits(splits, patient=PATIENTS)
    assert report.overlaps[0].patients == ("p0",) and report.overlaps[1].bags == ("s4",)
    assert report.without_patient == ("x",)
    assert not check_splits(splits).has_patients


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({"slide": ["a"], "stage": ["b"]}, {}, "no splits found in the columns 'slide', 'stage'"),
        ({"x": ["a", "b"], "fold_0": ["train", "test"]}, {}, "no column with the id of the bag in 'x'"),
        ({"slide": ["a", "b"], "fold_0": ["train", "test"]}, {"bag": "id"}, "no column 'id' in"),
        (
            {"slide": ["a", "b"], "fold_0": ["train", "test"]},
            {"patient": "case"},
            "no split file has a column",
        ),
        (
            {"slide": ["a", "a"], "case": ["p", "q"], "fold_0": ["train", "test"]},
            {"patient": "case"},
            "bag 'a' has two patients, 'p' and 'q'",
        ),
    ],
)
def test_unreadable_splits_are_refused(tmp_path, frame, options, message):
    path = write(tmp_path / "splits.csv", pd.DataFrame(frame))
    with pytest.raises(ValueError, match=message):
        check_splits(path, **options)


def test_command_exits_with_1_if_a_patient_is_on_both_sides(tmp_path, table, capsys):
    torn = str(clam(tmp_path / "splits_0.csv", ["s0"], ["s4"], ["s1"]))
    whole = str(clam(tmp_path / "splits_1.csv", ["s0", "s1"], ["s4"], ["s6"]))
    options = ["--labels", str(table), "--patient", "case_id"]
    assert main(["check", "--splits", torn, whole, *options]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "splits_0.csv: 1 patient ('p0') in both train and test." in out
    assert main(["check", "--splits", whole, *options]) == 0
    assert "No overlap." in capsys.readouterr().out
    assert main(["check", "--splits", torn]) == 0  # the bags differ
    assert "Patients were not compared" in capsys.readouterr().out
    assert main(["check", "--splits", torn, *options, "--json"]) == 1
    assert '"patients": ["p0"]' in capsys.readouterr().out.replace("\n", "").replace("  ", "")
    for wrong in ([], ["--splits", str(tmp_path / "none.csv")], [str(table), "--patient", "case_id"]):
        assert main(["check", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


# ------------------------------------------------------------------ sites


def test_sites_stay_together_and_classes_are_balanced():
    rng = np.random.default_rng(0)
    sites, y = rng.integers(12, size=400), rng.integers(2, size=400)
    folds = site_folds(y, sites, n_splits=4)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(400))
    for train, test in folds:
        assert not set(sites[train]) & set(sites[test]) and len(train) + len(test) == 400
        assert abs(y[test].mean() - y.mean()) < 0.1
    again = site_folds(y, sites, n_splits=4)
    assert all((a[1] == b[1]).all() for a, b in zip(folds, again, strict=True))


def test_sites_that_share_a_patient_are_in_one_fold():
    sites = np.array(["a", "a", "b", "b", "c", "c", "d", "d"])
    patients = np.array([1, 2, 2, 3, 4, 5, 6, 7])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    for train, test in site_folds(y, sites, n_splits=3, groups=patients):
        assert not set(sites[train]) & set(sites[test]) and not set(patients[train]) & set(patients[test])
        assert len({"a", "b"} & set(sites[test])) in (0, 2)
    with pytest.raises(ValueError, match="there are 3 sites \\(sites that share a patient count as one\\)"):
        site_folds(y, sites, n_splits=4, groups=patients)


def test_folds_without_a_training_class_are_refused():
    with pytest.raises(ValueError, match="has no training bag of one class"):
        site_folds([0, 0, 1, 1], ["a", "a", "b", "b"], n_splits=2)
    with pytest.raises(ValueError, match="groups has no value for bag 1"):
        site_folds([0, 1], ["a", ""], n_splits=2)
