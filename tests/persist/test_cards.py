"""Model cards in model files, and files of other versions."""

import hashlib
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from tests.persist.models import (
    DATA,
    forge,
    kernel,
)

import bagwise
from bagwise import (
    MISVC,
    Bags,
    BagStatistics,
    MILogisticRegression,
    OnInstances,
    load,
    make_bag_pipeline,
    save,
)
from bagwise.cli import main
from bagwise.exceptions import VersionWarning
from bagwise.persist import read_card


def test_the_card_says_what_the_model_is(tmp_path):
    named = Bags(DATA.bags.instances, DATA.bags.offsets, feature_names=["a", "b", "c", "d"])
    model = MILogisticRegression(alpha=0.5, tol=np.float64(1e-6), random_state=0).fit(named, DATA.y == 1)
    path = save(model, tmp_path / "model.bagwise")
    card = read_card(path)
    assert card["class"] == "bagwise.MILogisticRegression"
    assert card["parameters"].keys() == model.get_params().keys() and card["parameters"]["alpha"] == 0.5
    assert card["features"] == {"number": 4, "names": ["a", "b", "c", "d"]}
    assert card["classes"] == [False, True]
    assert card["training"]["digest"] == model.training_digest_ and card["trusted"] == []
    assert {"bagwise", "scikit-learn", "numpy", "skops", "python"} <= card["versions"].keys()
    # The card is plain text, and the rest is a standard zip archive.
    assert path.read_bytes().startswith(b"bagwise model 2\n")
    assert "schema.json" in zipfile.ZipFile(path).namelist()


def test_a_model_without_a_fit_has_a_card_too(tmp_path):
    path = save(
        make_bag_pipeline(OnInstances(PCA()), MILogisticRegression(alpha=np.inf)), tmp_path / "a.bagwise"
    )
    card = read_card(path)
    assert card["features"]["number"] is None and card["classes"] is None
    assert card["parameters"]["milogisticregression__alpha"] == "inf"
    assert load(path).get_params()["milogisticregression__alpha"] == np.inf


def test_cards_are_read_after_importing_the_package_only(fitted, tmp_path):
    path = save(fitted, tmp_path / "model.bagwise")
    code = f"import bagwise; print(bagwise.persist.read_card({str(path)!r})['class'])"
    child = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert child.stdout.strip() == "bagwise.MILogisticRegression"


def test_a_failed_save_leaves_the_old_file(fitted, tmp_path):
    path = save(fitted, tmp_path / "model.bagwise")
    before = path.read_bytes()
    with pytest.raises(TypeError, match="is the function"):
        save(MISVC(kernel=kernel), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save(fitted, tmp_path / "nowhere" / "model.bagwise")


def test_a_file_of_another_version_warns(fitted, tmp_path):
    def age(members):
        members["schema.json"] = members["schema.json"].replace(bagwise.__version__.encode(), b"0.0.0")

    path = forge(save(fitted, tmp_path / "model.bagwise"), age)
    with pytest.warns(VersionWarning, match=r"with bagwise 0\.0\.0"):
        load(path)


def test_without_skops_a_sentence_says_what_to_install(fitted, tmp_path):
    path = save(fitted, tmp_path / "model.bagwise")
    code = f"""
import sys
sys.modules["skops"] = None
import bagwise
from bagwise.cli import main
assert main(["show", {str(path)!r}]) == 0
try:
    bagwise.load({str(path)!r})
except ImportError as error:
    assert str(error) == "save and load need skops: pip install 'bagwise[persist]'"
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------- bagwise show


def test_show_shows_the_card(fitted, tmp_path, capsys):
    path = save(fitted, tmp_path / "model.bagwise")
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "MILogisticRegression" in out and fitted.training_digest_ in out and "0, 1" in out
    assert re.search(r"^  alpha +\S", out, flags=re.M)
    assert f"bagwise {bagwise.__version__}" in out and "trusted" not in out
    assert main(["show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == read_card(path)


def test_show_names_the_types_that_want_trust(tmp_path, capsys):
    model = make_pipeline(BagStatistics(), KNeighborsClassifier(algorithm="brute")).fit(DATA.bags, DATA.y)
    with pytest.warns(UserWarning, match="KNeighborsClassifier"):
        path = save(model, tmp_path / "model.bagwise")
    assert main(["show", str(path)]) == 0
    shown = "trusted=['sklearn.neighbors._classification.KNeighborsClassifier']"
    assert shown in capsys.readouterr().out


def test_show_tells_of_damage_in_one_sentence_with_status_2(fitted, tmp_path, capsys):
    path = save(fitted, tmp_path / "model.bagwise")
    whole = path.read_bytes()
    content = b"[1]\nnothing"
    no_card = b"bagwise model 2\n" + hashlib.sha256(content).hexdigest().encode() + b"\n" + content
    for damaged in (whole[:-1], b"", b"PK", no_card):
        path.write_bytes(damaged)
        assert main(["show", str(path)]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "model.bagwise" in err
    assert main(["show", str(tmp_path / "none.bagwise")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["show", str(tmp_path)]) == 2


def with_card(path, change):
    """Rewrite a model file with another card and a valid checksum, as an attacker would."""
    head, _, card, archive = path.read_bytes().split(b"\n", 3)
    content = json.dumps(json.loads(card) | change).encode() + b"\n" + archive
    path.write_bytes(head + b"\n" + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return path


@pytest.mark.parametrize(
    "change", [{"features": {"number": "x", "names": None}}, {"features": []}, {"parameters": 3}]
)
def test_show_refuses_a_forged_card_in_one_sentence(fitted, change, tmp_path, capsys):
    path = with_card(save(fitted, tmp_path / "model.bagwise"), change)
    assert main(["show", str(path)]) == 2
    assert "has metadata that bagwise.save did not write." in capsys.readouterr().err


def test_forged_versions_do_not_hide_why_a_file_is_refused(fitted, tmp_path):
    def rename(members):
        members["schema.json"] = members["schema.json"].replace(b"MILogisticRegression", b"MICoxRegression")

    path = forge(save(fitted, tmp_path / "model.bagwise"), rename)
    with pytest.raises(ValueError, match=r"MICoxRegression.* written by an unknown version"):
        load(with_card(path, {"versions": [1]}))


def test_a_pipeline_that_ends_in_boosting_has_a_card(tmp_path):
    model = make_pipeline(BagStatistics(), GradientBoostingClassifier(n_estimators=2)).fit(DATA.bags, DATA.y)
    with pytest.warns(UserWarning, match=r"'sklearn\.tree\._tree\.Tree'"):
        card = read_card(save(model, tmp_path / "model.bagwise"))
    assert card["class"] == "sklearn.pipeline.Pipeline" and card["training"]["digest"] is None
