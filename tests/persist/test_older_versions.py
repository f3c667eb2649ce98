"""Model files of older versions load, and their models predict what they predicted then."""

import lzma
from pathlib import Path

import numpy as np
import pytest
from tests.persist.stored_models import StoredBags, form_of, predictions

from bagwise import load

FOLDERS = sorted(Path(__file__).parent.glob("files_of_*"))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.bagwise.xz"))]

pytestmark = [
    pytest.mark.filterwarnings("ignore::bagwise.exceptions.VersionWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning"),
]


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


def test_the_stored_files_are_small():
    assert len(FILES) > 60
    assert sum(path.stat().st_size for folder in FOLDERS for path in folder.iterdir()) < 1_000_000
