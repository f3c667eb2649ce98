"""Checkpoints of other fits and damaged ones are refused with an error that shows the reason and a remedy."""

import os
import pathlib

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from bagwise import (
    Bags,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    PUSetKernelClassifierCV,
    SoftORLogisticRegression,
    make_noisy_or_bags,
    milr_path,
)
from bagwise.persist.checkpoints import file as files
from bagwise.persist.checkpoints.identity import described
from bagwise.persist.checkpoints.store import Store
from bagwise.rules import CountTable

DATA = make_noisy_or_bags(40, random_state=0)
REMEDY = r"; pass another path, or delete the file to start again\.$"


class CutOffError(Exception):
    """Raised to interrupt a fit."""


@pytest.fixture
def cut_off(monkeypatch, tmp_path):
    """Return a function that interrupts a fit after a few steps and returns the path of its checkpoint."""

    def run(model, n=3, fit=None):
        path = tmp_path / "fit.checkpoint"
        with monkeypatch.context() as patch:
            put, left = Store.put, [n]

            def few(store, *args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise CutOffError
                put(store, *args, **kwargs)

            patch.setattr(Store, "put", few)
            with pytest.raises(CutOffError):
                fit(path) if fit else clone(model).fit(DATA.bags, DATA.y, checkpoint=path)
        return path

    return run


RIDGE = MILogisticRegression(l1_ratio=0.0, random_state=0)


@pytest.mark.parametrize(
    ("changed", "name", "before", "now"),
    [
        ({"alpha": 2.0}, "alpha", "1.0", "2.0"),
        ({"tol": 1e-7}, "tol", "1e-06", "1e-07"),
        ({"random_state": 1}, "random_state", "0", "1"),
        ({"random_state": None}, "random_state", "0", "None"),
        ({"rule": "mean"}, "rule", "'or'", "'mean'"),
        ({"rule": CountTable([0.1, 0.9])}, "rule", "'or'", r"CountTable\(.*"),
        ({"scale": StandardScaler(with_mean=False)}, "scale", "'standard'", r"StandardScaler\(.*"),
        ({"class_weight": {0: 1.0, 1: 2.0}}, "class_weight", "None", r"{0: 1.0, 1: 2.0}"),
        ({"max_iter": 201}, "max_iter", "1000", "201"),
    ],
    ids=str,
)
def test_another_parameter(changed, name, before, now, cut_off):
    path = cut_off(RIDGE)
    kept = path.read_bytes()
    with pytest.raises(
        ValueError, match=rf"belongs to a fit with {name}={before}, but this fit has {name}={now}{REMEDY}"
    ):
        clone(RIDGE).set_params(**changed).fit(DATA.bags, DATA.y, checkpoint=path)
    assert path.read_bytes() == kept


@pytest.mark.parametrize("changed", [{"verbose": 0, "n_jobs": 2}, {"n_jobs": None}])
def test_parameters_that_change_nothing_of_the_result_may_differ(changed, cut_off):
    model = MIMixture(n_init=3, random_state=0)
    path = cut_off(model)
    clone(model).set_params(**changed).fit(DATA.bags, DATA.y, checkpoint=path)
    assert not path.exists()


def first_changed():
    instances = DATA.bags.instances.copy()
    instances[0, 0] += 1e-12
    return Bags(instances, DATA.bags.offsets), DATA.y, None


def last_changed():
    instances = DATA.bags.instances.copy()
    instances[-1, -1] += 1e-12
    return Bags(instances, DATA.bags.offsets), DATA.y, None


def other_sizes():
    offsets = DATA.bags.offsets.copy()
    offsets[5] -= 1
    return Bags(DATA.bags.instances, offsets), DATA.y, None


def other_labels():
    y = DATA.y.copy()
    y[7] = 1 - y[7]
    return DATA.bags, y, None


def other_weights():
    return DATA.bags, DATA.y, np.arange(1.0, 41.0)


@pytest.mark.parametrize("change", [first_changed, last_changed, other_sizes, other_labels, other_weights])
def test_other_bags(change, cut_off):
    path = cut_off(RIDGE)
    bags, y, weight = change()
    with pytest.raises(
        ValueError,
        match=f"belongs to a fit of other bags: instances, sizes, labels or weights differ{REMEDY}",
    ):
        clone(RIDGE).fit(bags, y, sample_weight=weight, checkpoint=path)
    clone(RIDGE).fit(DATA.bags, DATA.y, checkpoint=path)


def test_another_version(cut_off, monkeypatch):
    path = cut_off(RIDGE)
    monkeypatch.setattr("bagwise.persist.checkpoints.identity.__version__", "9.9")
    with pytest.raises(
        ValueError, match=rf"was written by bagwise 0\.[\w.]+, but this is bagwise 9\.9{REMEDY}"
    ):
        clone(RIDGE).fit(DATA.bags, DATA.y, checkpoint=path)


def test_another_model(cut_off):
    path = cut_off(RIDGE)
    with pytest.raises(
        ValueError, match=f"fit of MILogisticRegression, but this is a fit of SoftORLogistic.*{REMEDY}"
    ):
        SoftORLogisticRegression(random_state=0).fit(DATA.bags, DATA.y, checkpoint=path)
    with pytest.raises(
        ValueError, match=f"fit of MILogisticRegression, but this is a fit of milr_path{REMEDY}"
    ):
        milr_path(DATA.bags, DATA.y, checkpoint=path)


@pytest.mark.parametrize("changed", [{"alphas": 5}, {"eps": 0.1}, {"both_ways": False}, {"rule": "mean"}])
def test_another_path(changed, cut_off):
    path = cut_off(None, fit=lambda path: milr_path(DATA.bags, DATA.y, checkpoint=path))
    with pytest.raises(ValueError, match=f"belongs to a fit with {next(iter(changed))}=.*{REMEDY}"):
        milr_path(DATA.bags, DATA.y, checkpoint=path, **changed)
    milr_path(DATA.bags, DATA.y, checkpoint=path)


def test_another_warm_start(cut_off):
    model = MILogisticRegression(l1_ratio=0.0, warm_start=True, random_state=0).fit(DATA.bags, DATA.y)
    path = cut_off(None, 1, fit=lambda path: model.fit(DATA.bags, DATA.y, checkpoint=path))
    with pytest.raises(
        ValueError, match=f"belongs to a fit with start=.*, but this fit has start=None{REMEDY}"
    ):
        clone(model).fit(DATA.bags, DATA.y, checkpoint=path)
    model.fit(DATA.bags, DATA.y, checkpoint=path)


@pytest.mark.parametrize(
    "model",
    [
        MILogisticRegressionCV(alphas=4, n_init=1, random_state=0),
        PUSetKernelClassifierCV(class_prior=0.4, alphas=(1.0,), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_folds_that_differ_between_calls(model, cut_off):
    splitter = StratifiedKFold(3, shuffle=True)  # draws other folds every time
    model = clone(model).set_params(cv=splitter)
    path = cut_off(model)
    with pytest.raises(ValueError, match=f"belongs to a fit with different folds; .* cv splitter .*{REMEDY}"):
        clone(model).fit(DATA.bags, DATA.y, checkpoint=path)
    assert path.exists()


def test_other_groups(cut_off):
    model, groups = MILogisticRegressionCV(alphas=4, cv=3, n_init=1, random_state=0), np.arange(40) // 2
    path = cut_off(None, fit=lambda path: model.fit(DATA.bags, DATA.y, groups=groups, checkpoint=path))
    with pytest.raises(
        ValueError, match=f"belongs to a fit with groups=array.*, but this fit has groups=None{REMEDY}"
    ):
        clone(model).fit(DATA.bags, DATA.y, checkpoint=path)
    clone(model).fit(DATA.bags, DATA.y, groups=pd.Series(groups), checkpoint=path)
    assert not path.exists()


# ---------------------------------------------------------------------- damage

DAMAGES = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "a byte less": lambda data: data[:-1],
    "a byte more": lambda data: data + b"\0",
    "a bit turned": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "zeros": lambda data: b"\0" * len(data),
    "another file": lambda data: b"bag,x,y\n1,2,3\n",
    "a later format": lambda data: data.replace(b"bagwise checkpoint 1", b"bagwise checkpoint 2", 1),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(damage, cut_off):
    path = cut_off(RIDGE)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    kept = path.read_bytes()
    with pytest.raises(ValueError, match=REMEDY) as refused:
        clone(RIDGE).fit(DATA.bags, DATA.y, checkpoint=path)
    sentence = str(refused.value)
    assert sentence.startswith("checkpoint ") and str(path) in sentence and sentence.count(". ") == 0
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "forge",
    [
        lambda head: head.clear(),
        lambda head: head.update(entries=[1, 2]),
        lambda head: head.update(identity="mine"),
        lambda head: head["entries"].update(x={"end": {"array": ["|O", [1], 0]}}),
        lambda head: head["entries"].update(x={"end": {"array": ["<f8", [10**12], 0]}}),
        lambda head: head["entries"].update(x={"end": {"array": ["<f8", [2], -8]}}),
        lambda head: head["entries"].update(x={"end": {"pickle": "gASV"}}),
        lambda head: head["entries"].update(x={"end": {"tuple": 3, "dict": 4}}),
    ],
    ids=range(8),
)
def test_a_file_that_was_forged(forge, cut_off):
    path = cut_off(RIDGE)
    _, head, content = files.read_sealed(path, files.SEAL)
    forge(head)
    files.write_sealed(path, files.SEAL, head, content)
    with pytest.raises(ValueError, match=REMEDY):
        clone(RIDGE).fit(DATA.bags, DATA.y, checkpoint=path)


# ---------------------------------------------------------------------- paths


def test_invalid_paths(tmp_path):
    for path in (3, True, ["a"], ""):
        with pytest.raises(TypeError, match=r"checkpoint must be a file path or None; got"):
            RIDGE.fit(DATA.bags, DATA.y, checkpoint=path)
    with pytest.raises(IsADirectoryError, match="is a folder; pass the path of a file"):
        RIDGE.fit(DATA.bags, DATA.y, checkpoint=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere' to write to"):
        RIDGE.fit(DATA.bags, DATA.y, checkpoint=tmp_path / "nowhere/fit")


def test_paths_may_be_text_and_the_file_goes_when_the_fit_has_ended(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("fit", pathlib.Path("fit"), str(tmp_path / "fit")):
        clone(RIDGE).fit(DATA.bags, DATA.y, checkpoint=path)
        assert not os.listdir(tmp_path)


def test_of_a_fit_that_is_refused_nothing_stays(tmp_path):
    with pytest.raises(ValueError, match="solver='em' cannot be used"):
        MILogisticRegression("softmax", solver="em", random_state=0).fit(
            DATA.bags, DATA.y, checkpoint=tmp_path / "fit"
        )
    assert not os.listdir(tmp_path)


def test_descriptions_are_the_same_in_any_process():
    values = [
        1, True, None, "or", 0.1, np.float64(0.1), np.arange(3), [1.0, "a"], {"balanced": 2}, len, Bags,
        np.random.RandomState(3), StandardScaler(), CountTable([0.2, 0.8]), DATA.bags,
        StratifiedKFold(3, shuffle=True, random_state=1), np.array(["a", "b"]),
    ]  # fmt: skip
    shown = [described(value) for value in values]
    assert not [text for text in shown if " at 0x" in text.lower()]
    assert described(np.float64(0.1)) == described(0.1)
    assert described(np.arange(3)) != described(np.arange(1, 4))
    assert described(DATA.bags) != described(DATA.bags[::-1])
