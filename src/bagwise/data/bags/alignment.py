"""Alignment of labels, weights and groups with an index, such as a pandas Series, to bag ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.bags.common import AnyBags
from bagwise.data.bags.parts import as_python


def aligned(name: str, values: Any, bags: Any) -> Any:
    """Reorder values with one entry per bag to the order of the bags, if their index consists of bag ids.

    Values are returned unchanged if they have no index, or if their index contains no bag id or is a default
    ``RangeIndex``. Bags without ids keep the order in which they were passed.

    Parameters
    ----------
    name : str
        Name of the argument, for the error message.
    values : array, pandas Series or DataFrame, or None
        The values.
    bags : Bags, ScannedBags or another collection of bags
        The bags.

    Returns
    -------
    The values; a Series or DataFrame is reordered if necessary.

    Raises
    ------
    ValueError
        If the index contains only some of the bag ids, or also contains other labels.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from bagwise import Bags
    >>> from bagwise.data.bags import aligned
    >>> bags = Bags(np.zeros((3, 1)), [0, 1, 3], ids=["a", "b"])
    >>> aligned("y", pd.Series([0, 1], index=["b", "a"]), bags).tolist()
    [1, 0]
    """
    index: Any = getattr(values, "index", None)
    if not isinstance(bags, AnyBags) or not bags._has_ids or not hasattr(index, "get_indexer"):
        return values
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return values
    ids = bags.ids
    is_id = np.asarray(index.isin(ids))
    if not is_id.any():
        return values
    if not is_id.all() or not index.is_unique or len(index) != len(ids):
        if not is_id.all():
            label = as_python(np.asarray(index)[np.argmin(is_id)])
            problem = f"{label!r} is not the id of a bag"
        elif not index.is_unique:
            problem = f"{as_python(np.asarray(index)[np.argmax(index.duplicated())])!r} occurs twice"
        else:
            absent = ids[np.argmin(np.isin(ids, np.asarray(index)))]
            problem = f"it lacks the bag {as_python(absent)!r}"
        raise ValueError(
            f"the index of {name} matches only some of the bag ids: {problem}. Pass {name}.loc[bags.ids] to "
            f"select by id, or {name}.to_numpy() if the values are in the order of the bags."
        )
    order = index.get_indexer(ids)
    return values if (order == np.arange(len(order))).all() else values.iloc[order]
