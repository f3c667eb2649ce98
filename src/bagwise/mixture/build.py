"""From bags and parts to the model that EM fits."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.families import Family
from bagwise.mixture.model import BagMixture, Start
from bagwise.mixture.start import Pool
from bagwise.rules import Rule


def read_n_components(n_components) -> tuple[int, int]:
    """Read the number of components of the positive and the negative class."""
    both = (n_components, n_components) if isinstance(n_components, Integral) else tuple(n_components)
    if len(both) == 2 and all(isinstance(n, Integral) and int(n) >= 1 for n in both):
        return int(both[0]), int(both[1])
    raise ValueError(
        f"n_components must be a number of at least 1, or two (positive, negative); got {n_components!r}."
    )


def build_model(
    family: Family,
    prior: Any,
    rule: Rule,
    n_components: tuple[int, int],
    bags: Bags,
    y: np.ndarray,
    weight: np.ndarray,
    start: Start | None = None,
) -> BagMixture:
    """Resolve the prior, find out what need not be computed again, and gather the starts' instances.

    Parameters
    ----------
    family, prior, rule, n_components, start
        As in `BagMixture`; the prior as the user gave it.
    bags, y, weight : Bags, arrays of shape (n_bags,)
        The training bags, the labels that may be used, as the rule reads them, and weights.
    """
    X, sizes = bags.instances, bags.sizes
    each = np.repeat(weight, sizes)
    resolved = family.start(X, each, sum(n_components), prior)
    is_complete = not (isinstance(X, np.ndarray) and np.isnan(X).any())
    pure = np.repeat(rule.pure_bags(y), sizes)

    def pool(rows: np.ndarray, *, is_labelled: bool = False) -> Pool:
        part = slice(None) if rows.all() or not rows.any() else np.flatnonzero(rows)
        return Pool(family, resolved, X[part], each[part], is_labelled=is_labelled)

    # Only where bags are pure do labels tell the classes' instances apart beforehand.
    if pure.any():
        pools = pool(~pure), pool(pure, is_labelled=n_components[1] == 1)
    else:
        everything = pool(np.ones_like(pure))
        pools = everything, everything
    return BagMixture(
        family,
        resolved,
        rule,
        n_components,
        pools,
        sums_need_params=family.statistics_need_params or (family.missing == "expect" and not is_complete),
        is_complete=is_complete,
        start=start,
    )
