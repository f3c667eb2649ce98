"""What all tests share."""

import pytest

from bagwise.data.blocks import base, cutting


@pytest.fixture
def large_from(monkeypatch):
    """Set how many numbers data may have before they count as large, and the size of a block."""

    def set_limits(n_values=None, *, block_bytes=None):
        if n_values is not None:
            monkeypatch.setattr(base, "LARGE", n_values)
        if block_bytes is not None:
            monkeypatch.setattr(cutting, "BLOCK_BYTES", block_bytes)

    return set_limits


COLLECTED = pytest.StashKey[list[pytest.Item]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Call studies slow as well, so that ``-m "not slow"`` leaves them out too."""
    for item in items:
        if item.get_closest_marker("study"):
            item.add_marker("slow")
    config.stash[COLLECTED] = list(items)


@pytest.fixture
def collected(pytestconfig):
    """Return all tests that were collected, also those that the markers leave out of this run."""
    return pytestconfig.stash[COLLECTED]
