"""Groups of instances inside bags, such as the slides of a patient."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bagwise.data.bags.parts import is_missing, without_mask


class InstanceGroups(NamedTuple):
    """The groups of all bags, ordered by bag and by first appearance in the bag.

    Attributes
    ----------
    names : array of shape (n_groups,)
        Value that the instances of the group share.
    bag : array of shape (n_groups,)
        Index of the bag.
    rank : array of shape (n_groups,)
        Index of the group in its bag.
    of_instance : array of shape (n_instances,)
        Index of the group of every instance.
    """

    names: np.ndarray
    bag: np.ndarray
    rank: np.ndarray
    of_instance: np.ndarray


def group_instances(bags: Any, by: str | ArrayLike) -> InstanceGroups:
    """Return the groups of instances in every bag; equal values in two bags are separate groups.

    Parameters
    ----------
    bags : Bags or ScannedBags
        The bags.
    by : str, or array of shape (n_instances,)
        Name of an instance column, such as "slide", or the group of every instance.
    """
    values = np.asarray(without_mask(_column(bags, by)))
    if values.shape != (bags.n_instances,):
        raise ValueError(
            f"by has the shape {values.shape}, but there are {bags.n_instances} instances; pass the name of "
            "an instance column, or one group per instance."
        )
    if values.dtype.kind in "Of" and any(is_missing(value) for value in values.tolist()):
        missing = next(i for i, value in enumerate(values.tolist()) if is_missing(value))
        raise ValueError(
            f"by has no value for the instance at index {missing}; every instance needs a group."
        )
    codes = np.unique(values, return_inverse=True)[1]
    bag_index = np.repeat(np.arange(len(bags)), bags.sizes)
    _, first, inverse = np.unique(
        np.column_stack([bag_index, codes]), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)  # instances are sorted by bag, so groups are sorted by bag as well
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    firsts = first[order]
    bag = bag_index[firsts]
    begins = np.searchsorted(bag, np.arange(len(bags)))
    return InstanceGroups(values[firsts], bag, np.arange(len(bag)) - begins[bag], position[inverse.ravel()])


def _column(bags: Any, by: str | ArrayLike) -> Any:
    if not isinstance(by, str):
        return by
    columns = getattr(bags, "instance_columns", {})
    if by not in columns:
        raise KeyError(
            f"there is no instance column {by!r}; the instance columns are {sorted(columns)}. "
            f"bags.merge(patient, column={by!r}) returns one bag per patient and adds this column."
        )
    return columns[by]
