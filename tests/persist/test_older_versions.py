"""Model files of older versions load, and their models return the same predictions as before."""

import lzma
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from tests.persist.models import DATA, forge
from tests.persist.stored_models import StoredBags, form_of, predictions

from bagwise import MILogisticRegression, OnInstances, load, make_bag_pipeline, save
from bagwise.persist import read_card, upgrades
from bagwise.persist.archive import nodes, read_schema
from bagwise.persist.known_types import OUR_TYPES

FOLDERS = sorted(Path(__file__).parent.glob("files_of_*"))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.bagwise.xz"))]

pytestmark = [
    pytest.mark.filterwarnings("ignore::bagwise.exceptions.VersionWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning"),
]


def files_by_type():
    """Return a file of format 1 for every type that such files contain."""
    files = {}
    for path in sorted(FOLDERS[0].glob("*.bagwise.xz")):
        content = lzma.decompress(path.read_bytes()).split(b"\n", 3)[3]
        for node in nodes(upgrades.upgrade(read_schema(content), 1)):
            if node["__module__"] == "bagwise":
                files.setdefault(node["__class__"], path.name.removesuffix(".bagwise.xz"))
    return files


FILE_WITH = files_by_type()


def unpacked(path, folder):
    model_file = folder / path.stem
    model_file.write_bytes(lzma.decompress(path.read_bytes()))
    return model_file


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".bagwise.xz"))
def test_a_model_of_an_older_version_predicts_what_it_predicted_then(path, tmp_path):
    name = path.name.removesuffix(".bagwise.xz")
    with np.load(path.parent / "bags.npz") as arrays:
        bags = StoredBags(arrays)
    with np.load(path.parent / "predictions.npz") as stored:
        expected = {key.split("/")[1]: stored[key] for key in stored.files if key.split("/")[0] == name}
    assert expected
    _, new = bags.train_and_new(form_of(name))
    result = predictions(load(unpacked(path, tmp_path)), new.instances if name == "RankScaler" else new)
    assert result.keys() >= expected.keys()
    for method, values in expected.items():
        np.testing.assert_allclose(result[method], values, rtol=1e-12, atol=1e-12, err_msg=method)


def test_there_is_a_small_file_for_every_stored_prediction():
    for folder in FOLDERS:
        with np.load(folder / "predictions.npz") as stored:
            names = {key.split("/")[0] for key in stored.files}
        assert {path.name.removesuffix(".bagwise.xz") for path in FILES if path.parent == folder} == names
        assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".bagwise.xz"))
def test_a_new_file_contains_no_path_of_our_modules(path, tmp_path):
    text = save(load(unpacked(path, tmp_path)), tmp_path / "new.bagwise").read_bytes().decode("latin-1")
    assert not re.search(r"\bbagwise\.[a-z_]", text.split("\n", 2)[2])


def test_a_file_names_scikit_learn_types_by_their_exporting_module(tmp_path):
    scaled = make_bag_pipeline(OnInstances(StandardScaler()), MILogisticRegression("mean", random_state=0))
    text = save(scaled.fit(DATA.bags, DATA.y), tmp_path / "model.bagwise").read_bytes().decode("latin-1")
    assert '"sklearn.preprocessing"' in text and "sklearn.preprocessing._" not in text


def test_no_identifier_of_an_older_version_is_gone():
    assert len(FILE_WITH) > 80 and set(FILE_WITH) <= set(OUR_TYPES)


def test_every_type_can_be_upgraded(tmp_path, monkeypatch):
    upgraded = set()

    def unchanged(identifier, state):
        upgraded.add(identifier)
        return type(state)(state)

    for identifier in FILE_WITH:
        monkeypatch.setitem(upgrades.UPGRADES, (1, identifier), partial(unchanged, identifier))
    for name in sorted(set(FILE_WITH.values())):
        load(unpacked(FOLDERS[0] / f"{name}.bagwise.xz", tmp_path))
    missed = sorted(set(FILE_WITH) - upgraded)
    assert not missed


def test_an_upgrade_renames_an_attribute_of_an_older_format(tmp_path, monkeypatch):
    def change(attributes):
        return {"weights_" if name == "coef_" else name: value for name, value in attributes.items()}

    monkeypatch.setitem(upgrades.UPGRADES, (1, "MILogisticRegression"), change)
    old = unpacked(FOLDERS[0] / "MILogisticRegression.bagwise.xz", tmp_path)
    model = load(old)
    assert not hasattr(model, "coef_") and model.weights_.shape == (1, 3)
    new = load(save(MILogisticRegression(random_state=0).fit(DATA.bags, DATA.y), tmp_path / "new.bagwise"))
    assert hasattr(new, "coef_") and not hasattr(new, "weights_")


def test_an_upgrade_may_add_and_remove_attributes(tmp_path, monkeypatch):
    def change(attributes):
        kept = {name: value for name, value in attributes.items() if name not in ("n_iter_", "tol")}
        return {
            **kept,
            "n_steps_": attributes["n_iter_"],
            "tolerance": attributes["tol"],
            "tol": attributes["tol"],
        }

    path = unpacked(FOLDERS[0] / "MILogisticRegression.bagwise.xz", tmp_path)
    before = load(path)
    monkeypatch.setitem(upgrades.UPGRADES, (1, "MILogisticRegression"), change)
    model = load(path)
    assert model.n_steps_ == before.n_iter_ and model.tol == model.tolerance == before.tol
    assert model.__dict__.keys() - before.__dict__.keys() == {"n_steps_", "tolerance"}


def test_the_card_of_an_older_version_names_the_class_as_new_cards_do(tmp_path):
    card = read_card(unpacked(FOLDERS[0] / "MILogisticRegression.bagwise.xz", tmp_path))
    assert card["class"] == "bagwise.MILogisticRegression"
    assert card["versions"]["bagwise"] == "0.2.0"


def test_a_type_of_a_newer_version_is_refused_with_the_version(tmp_path):
    def rename(members):
        schema = members["schema.json"].replace(b'"MILogisticRegression"', b'"MICoxRegression"')
        members["schema.json"] = schema

    path = save(MILogisticRegression(random_state=0).fit(DATA.bags, DATA.y), tmp_path / "model.bagwise")
    with pytest.raises(
        ValueError, match=r"'bagwise\.MICoxRegression', which bagwise .* does not provide; .*by bagwise"
    ):
        load(forge(path, rename), trusted=["bagwise.MICoxRegression"])
