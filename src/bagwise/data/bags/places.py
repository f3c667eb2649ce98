"""Where a bag stands, by its id."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import numpy as np

from bagwise.data.bags.common import AnyBags
from bagwise.data.bags.parts import as_python


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


def numbers_of(bags: AnyBags, key: Any) -> Any:
    """Turn text ids in an index, one or several, into numbers of bags; any other index stays as it is."""
    several = isinstance(key, (list, np.ndarray)) and np.ndim(key) == 1 and len(key) > 0
    if not isinstance(key, str) and not (several and isinstance(key[0], str)):
        return key
    try:
        if isinstance(key, str):
            return place_of(bags.ids, key)
        texts = [str(as_python(value)) for value in bags.ids]
        places = dict(zip(texts, range(len(texts)), strict=True))
        # With ids that repeat, or are not there, one by one: that says which.
        is_plain = len(places) == len(texts) and all(each in places for each in key)
        return np.array([places[each] if is_plain else place_of(bags.ids, each) for each in key])
    except ValueError as error:
        raise KeyError(str(error)) from None
