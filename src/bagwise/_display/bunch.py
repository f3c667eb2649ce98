"""`ShownBunch`: scikit-learn's `Bunch` with a short representation instead of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from bagwise._display.notebook import Shown
from bagwise._display.parts import Table

_LONGEST = 60  # characters of a value
_MOST_VALUES = 6  # of an array that is shown completely


class ShownBunch(Shown, Bunch):
    """A `Bunch` that consoles and notebooks show as a table of its entries."""

    def _parts(self) -> list[str | Table]:
        return [Table.of_facts([[name, describe_value(value)] for name, value in self.items()])]


def describe_value(value: Any) -> str:
    """Return a short value itself, and the type and shape of an array."""
    if isinstance(value, np.ndarray) and value.size > _MOST_VALUES:
        kind = "text" if value.dtype.kind in "UT" else str(value.dtype)
        return f"{kind} array of shape {value.shape}"
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
