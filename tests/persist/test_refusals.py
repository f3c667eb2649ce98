"""Unsafe model files are not loaded, and models that could not be restored are not saved."""

import pickle
import re
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from tests.persist import forging
from tests.persist.models import DATA, assert_predicts_alike, kernel

from bagwise import (
    MISVC,
    BagStatistics,
    MILogisticRegression,
    load,
    make_bag_pipeline,
    save,
)
from bagwise.persist import read_card


class ThirdParty(MILogisticRegression):
    """A third-party estimator."""


def third_party_metric(y, predicted):
    return float(np.mean(y == predicted))


def test_any_flipped_bit_and_any_cut_is_detected(fitted, tmp_path):
    path = save(fitted, tmp_path / "model.bagwise")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in [*range(120), *rng.integers(len(whole), size=400), *range(len(whole) - 40, len(whole))]:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model\.bagwise"):
            load(path)
        with pytest.raises(ValueError, match=r"model\.bagwise"):
            read_card(path)
    for end in (0, 5, 16, 81, 82, 500, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"model\.bagwise"):
            load(path)


def test_other_files_are_refused_by_name(tmp_path):
    other = tmp_path / "other.bin"
    other.write_bytes(pickle.dumps(DATA.y))
    with pytest.raises(ValueError, match=r"other\.bin' is not a model written by bagwise\.save"):
        load(other)
    other.write_bytes(b"bagwise model 3\n" + 64 * b"0" + b"\n{}\n")
    with pytest.raises(ValueError, match="begins with 'bagwise model 3', but this version of bagwise reads"):
        load(other)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.bagwise")


def test_a_type_of_ours_without_an_identifier_can_be_trusted_as_any_other(tmp_path, monkeypatch):
    module = type(sys)("bagwise.plugin")
    module.ThirdParty = ThirdParty
    monkeypatch.setitem(sys.modules, "bagwise.plugin", module)
    monkeypatch.setattr(ThirdParty, "__module__", "bagwise.plugin")
    model = ThirdParty(random_state=0).fit(DATA.bags, DATA.y)
    with pytest.warns(UserWarning, match=re.escape("pass trusted=['bagwise.plugin.ThirdParty']")):
        path = save(model, tmp_path / "third_party.bagwise")
    with pytest.raises(ValueError, match=re.escape("pass trusted=['bagwise.plugin.ThirdParty']")):
        load(path)
    assert_predicts_alike(model, load(path, trusted=[ThirdParty]))


def test_types_of_strangers_are_refused_by_name_until_they_are_trusted(tmp_path):
    model = make_pipeline(BagStatistics(), RandomForestClassifier(3, random_state=0)).fit(DATA.bags, DATA.y)
    with pytest.warns(
        UserWarning, match=r"forest\.bagwise' contains .*'sklearn\.tree\._tree\.Tree', which may not be safe"
    ):
        path = save(model, tmp_path / "forest.bagwise")
    with pytest.raises(
        ValueError, match=r"forest\.bagwise' contains .*'sklearn\.tree\._tree\.Tree', which may not be safe"
    ):
        load(path)
    wanted = read_card(path)["trusted"]
    assert "sklearn.tree._tree.Tree" in wanted
    with pytest.raises(ValueError, match=r"contains 'sklearn.tree._tree.Tree', which may not be safe"):
        load(path, trusted=[name for name in wanted if name != "sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(load(path, trusted=wanted).predict(DATA.bags), model.predict(DATA.bags))


def test_a_validated_type_is_checked_unless_it_is_trusted(tmp_path):
    svm = SVC().fit(DATA.bags.instances, DATA.bags.instances[:, 0] > 0)
    path = save(svm, tmp_path / "svm.bagwise")

    def shift(schema, members):
        forging.set_attribute(schema, "SVC", "_gamma", forging.value("wide"))

    forging.forge_nodes(path, shift)
    with pytest.raises(ValueError, match=r"its SVC is inconsistent: _gamma is 'wide'"):
        load(path)
    assert load(path, trusted=[SVC])._gamma == "wide"


def test_a_third_party_estimator_is_trusted_by_its_class(tmp_path, monkeypatch):
    # Simulate a user's module, because pytest imports this file under a generated name.
    module = type(sys)("strangers_module")
    module.ThirdParty = ThirdParty
    monkeypatch.setitem(sys.modules, "strangers_module", module)
    monkeypatch.setattr(ThirdParty, "__module__", "strangers_module")
    model = ThirdParty(random_state=0).fit(DATA.bags, DATA.y)
    with pytest.warns(UserWarning, match=re.escape("pass trusted=['strangers_module.ThirdParty']")):
        path = save(model, tmp_path / "third_party.bagwise")
    with pytest.raises(ValueError, match=re.escape("pass trusted=['strangers_module.ThirdParty']")):
        load(path)
    for trusted in ([ThirdParty], "strangers_module.ThirdParty", ("strangers_module.ThirdParty",)):
        assert_predicts_alike(model, load(path, trusted=trusted))
    for wrong in (True, [3]):
        with pytest.raises(TypeError, match=r"trusted .*; expected"):
            load(path, trusted=wrong)


@pytest.mark.parametrize(
    ("model", "name", "shown"),
    [
        (MISVC(kernel=kernel), "kernel", "kernel"),
        (make_bag_pipeline(MISVC(kernel=lambda a, b: a @ b.T)), "misvc__kernel", "<lambda>"),
        (MISVC(kernel=partial(kernel)), "kernel", "partial"),
        (MISVC(kernel=np.dot), "kernel", "dot"),
        (MISVC(kernel=np.add), "kernel", "add"),
        (MISVC(kernel=len), "kernel", "len"),
        (MISVC(kernel=MISVC().fit), "kernel", "fit"),
    ],
)
def test_a_parameter_that_is_a_function_is_refused_with_its_name(model, name, shown, tmp_path):
    with pytest.raises(
        TypeError, match=f"the parameter '{name}' is the function .*{shown}.*cannot contain code"
    ):
        save(model, tmp_path / "model.bagwise")
    assert not list(tmp_path.iterdir())


def test_a_function_inside_a_part_is_refused_too(tmp_path):
    search = GridSearchCV(MILogisticRegression(), {"alpha": [1.0]}, scoring=make_scorer(third_party_metric))
    with pytest.raises(
        TypeError, match=r"contains the function '.*third_party_metric', but model files cannot"
    ):
        save(search, tmp_path / "model.bagwise")


def test_what_could_not_be_restored_is_refused_before_it_is_written(tmp_path):
    class Local(MILogisticRegression):
        """An estimator that cannot be imported by name."""

    for model in (Local(), MILogisticRegression(class_weight={None: 1.0})):
        with pytest.raises(TypeError, match="cannot be saved: restoring it failed"):
            save(model, tmp_path / "model.bagwise")
    with pytest.raises(TypeError, match="cannot be saved: keys must be"):
        save(MILogisticRegression(class_weight={(1, 2): 1.0}), tmp_path / "model.bagwise")
    assert not list(tmp_path.iterdir())


def test_what_is_no_estimator_is_refused(tmp_path):
    for wrong in (DATA.bags, MILogisticRegression, 3):
        with pytest.raises(TypeError, match="expected an estimator"):
            save(wrong, tmp_path / "model.bagwise")
