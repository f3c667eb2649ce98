"""Tables written by workers equal those written locally."""

import sys

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from tests.data.cluster.machines import make_bags

from bagwise import Bags, MILogisticRegression, instance_frame, predict_frame, save_parquet, scan_bags

pytestmark = pytest.mark.slow

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def scan(small_blocks, monkeypatch, tmp_path):
    monkeypatch.setattr("bagwise.evaluation.cluster_frames.block_rows", lambda _: 5)
    bags, y = make_bags()
    bags = Bags(
        bags.instances,
        bags.offsets,
        ids=bags.ids,
        instance_columns={"x": np.arange(bags.n_instances)},
        bag_columns={"site": np.arange(len(bags)) % 3},
    )
    return scan_bags(save_parquet(tmp_path / "bags.parquet", bags, y))


@pytest.fixture
def model(scan):
    return MILogisticRegression(n_init=1, random_state=0).fit(scan, scan.y)


def test_every_worker_writes_its_part(scan, model, client, tmp_path):
    for table, labels in ((predict_frame, ()), (instance_frame, (scan.y,))):
        expected = table(model, scan, *labels)
        folder = table(model, scan.on(client), *labels, path=tmp_path / table.__name__)
        files = sorted(folder.iterdir())
        assert len(files) > 3
        frame = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
        pd.testing.assert_frame_equal(frame, expected, check_dtype=False, rtol=0, atol=0)
        pd.testing.assert_frame_equal(table(model, scan.on(client), *labels), expected, rtol=0, atol=0)


def test_a_folder_is_complete_or_absent(scan, model, client, tmp_path):
    class Refusing:
        classes_ = model.classes_

        def predict(self, bags):
            if "bag 149" in bags.ids:
                raise ValueError("not this one")
            return model.predict(bags)

    with pytest.raises(ValueError, match="not this one"):
        predict_frame(Refusing(), scan.on(client), path=tmp_path / "folder")
    assert not (tmp_path / "folder").exists() and not list(tmp_path.glob(".folder*"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("kept")
    with pytest.raises(FileExistsError, match="already exists"):
        predict_frame(model, scan.on(client), path=tmp_path / "folder")
