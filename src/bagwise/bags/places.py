"""Where a bag stands, by its id."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import numpy as np

from bagwise._bag_parts import as_python


def place_of(ids: np.ndarray, wanted: Any) -> int:
    """Find the place of a bag by its id, or by the text of it; an unknown one names the nearest."""
    known = [as_python(value) for value in ids]
    wanted = as_python(wanted)
    places = [place for place, value in enumerate(known) if value == wanted]
    if not places:
        places = [place for place, value in enumerate(known) if str(value) == str(wanted)]
    if len(places) == 1:
        return places[0]
    if places:
        raise ValueError(f"{len(places)} bags have the id {wanted!r}; select one by its number.")
    texts = list(map(str, known))
    near = [text for text in texts if str(wanted) in text][:3] or get_close_matches(str(wanted), texts)
    few = ", ".join(map(repr, near or texts[:3]))
    raise ValueError(f"there is no bag {wanted!r}; {'the nearest are' if near else 'there are'} {few}.")
