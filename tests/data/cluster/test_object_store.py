"""Bags in an object store, read by address."""

import os

import numpy as np
import pytest
from tests.data.cluster.machines import distributed, make_bags, make_cluster, write

from bagwise import MILogisticRegression, predict_frame, scan_bags

pytestmark = pytest.mark.slow

server_module = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")


@pytest.fixture(scope="module")
def store():
    """Start a local object store with a bucket; workers read its settings from the environment."""
    server = server_module.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    system.mkdir("bags")
    yield system
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture
def address(store, tmp_path):
    """Store the bags in two files, and return an address that matches both."""
    bags, y = make_bags()
    for i, part in enumerate((slice(0, 60), slice(60, 150))):
        store.put(str(write(tmp_path / f"{i}.parquet", bags[part], y[part])), f"bags/{i}.parquet")
    return "s3://bags/*.parquet"


def test_a_scan_of_addresses_gives_what_files_give(small_blocks, address, tmp_path):
    bags, y = make_bags()
    scan = scan_bags(address)
    np.testing.assert_array_equal(scan.load().instances, bags.instances)
    assert scan.ids.tolist() == bags.ids.tolist() and scan.y.tolist() == y.tolist()
    assert len(scan_bags("s3://bags")) == 150 and len(scan_bags("s3://bags/0.parquet")) == 60
    model = MILogisticRegression(n_init=1, random_state=0)
    expected = model.fit(scan_bags(f"{tmp_path}/*.parquet"), y).coef_.tobytes()
    assert model.fit(scan, y).coef_.tobytes() == expected
    with pytest.raises(FileNotFoundError, match="there is no file 's3://bags/none"):
        scan_bags("s3://bags/none*.parquet")
    with pytest.raises(ValueError, match=r"is an address; .* only Parquet"):
        scan_bags("s3://bags/x.npz", format="npz")


def test_an_object_that_changes_is_refused(small_blocks, store, address, tmp_path):
    scan = scan_bags(address)
    blocks = scan.blocks()
    assert blocks.total(lambda block: block.n_bags) == 150
    bags, y = make_bags(seed=1)
    store.put(str(write(tmp_path / "other.parquet", bags[:60], y[:60])), "bags/0.parquet")
    with pytest.raises(ValueError, match=r"'s3://bags/0\.parquet' has changed since it was scanned"):
        blocks.total(lambda block: block.n_bags)
    store.rm("bags/0.parquet")
    with pytest.raises(ValueError, match=r"'s3://bags/0\.parquet' no longer exists"):
        blocks.total(lambda block: block.n_bags)


@pytest.mark.study
def test_workers_read_by_the_address(small_blocks, address, tmp_path):
    scan = scan_bags(address)
    model = MILogisticRegression(n_init=1, random_state=0)
    expected = model.fit(scan, scan.y).coef_.tobytes()
    with make_cluster() as cluster, distributed.Client(cluster) as client:
        assert model.fit(scan.on(client), scan.y).coef_.tobytes() == expected
        with pytest.raises(ValueError, match="a folder that is complete or absent needs a file system"):
            predict_frame(model, scan.on(client), path="s3://bags/predictions")
