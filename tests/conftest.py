"""What all tests share."""

from importlib.util import find_spec

import pytest

# Where the tests run on an installed wheel, which has no experiments.
collect_ignore = [] if find_spec("reproduction") else ["experiments", "pu/test_causes.py"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Call studies slow as well, so that ``-m "not slow"`` leaves them out too."""
    for item in items:
        if item.get_closest_marker("study"):
            item.add_marker("slow")
