"""A cluster for the tests that leave it alive, and scans whose blocks are small."""

import warnings

import pytest
from tests.data.cluster.machines import distributed, make_bags, make_cluster, write

from bagwise import scan_bags


@pytest.fixture(scope="module")
def client():
    """Two workers in their own processes, for the tests of a module that leave them alive.

    Threads of an open client call the `random` module, and hypothesis would report that as a fault of the
    tests that run meanwhile.
    """
    with make_cluster() as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture
def small_blocks(monkeypatch, large_from):
    """Make blocks of a few instances, and let nothing be too small for a cluster."""
    large_from(0)
    monkeypatch.setattr("bagwise.data.blocks.layout.block_rows", lambda _: 40)


@pytest.fixture
def scan(small_blocks, tmp_path):
    """A few hundred instances in row groups that cut bags."""
    bags, y = make_bags()
    found = scan_bags(write(tmp_path / "bags.parquet", bags, y))
    assert found.blocks().n_blocks > 10
    return found


@pytest.fixture(autouse=True)
def quiet():
    """Warnings of the cluster's own housekeeping are not ours."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="distributed")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        yield
