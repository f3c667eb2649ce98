"""The command line with ``--dask``."""

import pandas as pd
import pytest
from tests.data.cluster.machines import make_bags, write

from bagwise.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture
def file(small_blocks, tmp_path):
    bags, y = make_bags()
    return write(tmp_path / "bags.parquet", bags, y)


def test_fit_and_predict_on_a_cluster(file, client, tmp_path, capsys):
    on_cluster = ["--dask", client.scheduler.address]
    models = [tmp_path / name for name in ("local.bagwise", "cluster.bagwise")]
    for model, options in zip(models, (["--scan"], on_cluster), strict=True):
        assert main(["fit", str(file), "-m", "milr", "--cv", "2", "-o", str(model), *options]) == 0
    local = tmp_path / "local.parquet"
    assert main(["predict", str(models[0]), str(file), "--scan", "-o", str(local)]) == 0
    assert main(["predict", str(models[1]), str(file), *on_cluster, "-o", str(tmp_path / "folder")]) == 0
    capsys.readouterr()
    parts = [pd.read_parquet(part) for part in sorted((tmp_path / "folder").iterdir())]
    frame = pd.concat(parts, ignore_index=True)
    pd.testing.assert_frame_equal(frame, pd.read_parquet(local), rtol=0, atol=0)


def test_no_cluster_is_a_sentence(file, tmp_path, capsys):
    out = str(tmp_path / "m.bagwise")
    assert main(["fit", str(file), "-m", "milr", "--dask", "nonsense", "-o", out]) == 2
    assert "--dask nonsense: no connection to a cluster" in capsys.readouterr().err
    assert main(["predict", str(file), str(file), "-o", str(tmp_path / "folder")]) == 2
    assert "-o must end in .csv or .parquet, or name a folder with --dask" in capsys.readouterr().err
