"""What all tests share."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Call studies slow as well, so that ``-m "not slow"`` leaves them out too."""
    for item in items:
        if item.get_closest_marker("study"):
            item.add_marker("slow")
