"""Fixtures: a cluster for tests that do not kill workers, and scans with small blocks."""

import warnings

import pytest
from tests.data.cluster.machines import distributed, make_bags, make_cluster, write

from bagwise import scan_bags


@pytest.fixture(scope="module")
def client():
    """Start two worker processes for the tests of a module that do not kill them.

    The scope is one module, because threads of an open client call the `random` module: hypothesis would
    report this as an error of other tests that run meanwhile.
    """
    with make_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def small_blocks(monkeypatch, large_from):
    """Use blocks of a few instances, and treat all data as large enough for a cluster."""
    large_from(0)
    monkeypatch.setattr("bagwise.data.blocks.layout.block_rows", lambda _: 40)


@pytest.fixture
def scan(small_blocks, tmp_path):
    """Return a scan of a few hundred instances; row groups end inside bags."""
    bags, y = make_bags()
    scan = scan_bags(write(tmp_path / "bags.parquet", bags, y))
    assert scan.blocks().n_blocks > 10
    return scan


@pytest.fixture(autouse=True)
def quiet():
    """Ignore warnings that `distributed` causes internally."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="distributed")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        yield
