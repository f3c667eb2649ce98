"""Which cases of a long test are run every time."""

from collections.abc import Iterable
from typing import Any

import pytest


def always(kept: Iterable[Any], cases: Iterable[Any]) -> list[Any]:
    """Give all cases of a test, those that are not kept as studies (`make test-studies`)."""
    kept, cases = list(kept), list(cases)
    assert all(case in cases for case in kept), "a case that is kept is none"
    return [case if case in kept else pytest.param(case, marks=pytest.mark.study) for case in cases]
