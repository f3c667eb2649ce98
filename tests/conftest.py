"""Fixtures and hooks of all tests."""

import pytest

from bagwise.data.blocks import base, cutting


@pytest.fixture
def large_from(monkeypatch):
    """Return a function that sets the number of values above which data are large, and the block size."""

    def set_limits(n_values=None, *, block_bytes=None):
        if n_values is not None:
            monkeypatch.setattr(base, "LARGE", n_values)
        if block_bytes is not None:
            monkeypatch.setattr(cutting, "BLOCK_BYTES", block_bytes)

    return set_limits


COLLECTED = pytest.StashKey[list[pytest.Item]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark studies as slow, so that ``-m "not slow"`` deselects them too."""
    for item in items:
        if item.get_closest_marker("study"):
            item.add_marker("slow")
    config.stash[COLLECTED] = list(items)


@pytest.fixture
def collected(pytestconfig):
    """Return all collected tests, including those that the markers deselect in this run."""
    return pytestconfig.stash[COLLECTED]
