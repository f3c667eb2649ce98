"""Bags that lie exactly on the boundary of a fitted classifier, and the check of what it calls them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from bagwise.data.bags import Bags

_LINES = 40  # segments between a negative and a positive bag
_HALVINGS = 54  # until the two ends are neighbouring floats
_STEPS = 60  # floats that are tried on either side of the crossing
_ATTEMPTS = 10  # other segments, if no float of these is a tie


def check_a_tie_is_positive(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Where the score is zero, or both classes have the same probability, the positive class is predicted.

    Ties are looked for on segments between bags of either class: bisection finds where the score changes its
    sign, and of the floats about it some give a score of exactly zero. An ``intercept_`` is rounded to
    that end. A classifier whose scores jump over
    zero has none and fails; name the check in ``_expected_failed_checks`` then.
    """
    estimator.fit(bags, y)
    if hasattr(estimator, "intercept_"):
        # Sums of coarser terms never cancel an intercept's last bits: leave it ten.
        estimator.intercept_ = np.round(1024 * np.asarray(estimator.intercept_)) / 1024
    tied = []
    for of_what in ("", "_instances"):
        if hasattr(estimator, f"predict{of_what}"):
            tied += _check_level(estimator, bags, of_what)
    assert tied, f"{type(estimator).__name__} has neither decision_function nor predict_proba"


def _check_level(estimator: Any, bags: Bags, of_what: str) -> list[str]:
    """Check the predictions of bags, or those of instances; give the methods that had a tie."""
    checked = []
    for name in ("decision_function", "predict_proba"):
        method = getattr(estimator, name + of_what, None)
        if method is None:
            continue
        score = partial(_score, method)
        # What rounds to no zero for bags of one may do so for larger ones, whose scores come of more numbers.
        sizes = [1] if of_what else range(1, int(bags.sizes.max()) + 1)
        tried = (
            _ties_are_positive(estimator, score, bags, size, attempt, name + of_what)
            for attempt, size in product(range(_ATTEMPTS), sizes)
        )
        assert any(tried), f"no tie by {name}{of_what} was found near the boundary, so nothing is checked"
        checked.append(name + of_what)
    return checked


def _ties_are_positive(
    estimator: Any, score: Callable[..., Any], bags: Bags, size: int, seed: int, method: str
) -> bool:
    """Whether there are ties among bags of one size; an AssertionError if one is not called positive."""
    near = _near_the_boundary(bags, score, size, seed)
    if near is None:
        return False
    # On the very same bags: rounding may depend on which others come along.
    label = getattr(estimator, "predict_instances" if method.endswith("_instances") else "predict")(near)
    value = score(near)
    wrong = (value >= 0) & (label != estimator.classes_[1])
    assert not wrong.any(), f"at {method} = {value[wrong][0]!r} the prediction is {label[wrong][0]!r}"
    return bool((value == 0).any())


def _score(method: Callable[[Bags], np.ndarray], bags: Bags) -> np.ndarray:
    """What is zero at a tie: the score, or the difference of the probabilities."""
    said = method(bags)
    return said if said.ndim == 1 else said[:, 1] - said[:, 0]


def _near_the_boundary(bags: Bags, score: Callable[[Bags], np.ndarray], size: int, seed: int) -> Bags | None:
    """Bags about the places where a score changes its sign, on segments between given ones, cut to a size.

    None where no two such bags have scores of either sign.
    """
    rng = np.random.default_rng(seed)
    ends = np.stack([bag[:size] for bag in bags if len(bag) >= size])
    value = score(_equal(ends))
    low, high = ends[value < 0], ends[value > 0]
    if not (len(low) and len(high)):
        return None
    low = low[rng.integers(len(low), size=_LINES)]
    high = high[rng.integers(len(high), size=_LINES)]
    left, right = np.zeros(_LINES), np.ones(_LINES)
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        below = score(_equal(_between(low, high, middle))) < 0
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    steps = np.arange(-_STEPS, _STEPS + 1) * np.finfo(float).eps
    places = (right[:, None] * (1.0 + steps)).ravel()
    low, high = (np.repeat(end, len(steps), axis=0) for end in (low, high))
    return _equal(_between(low, high, places))


def _between(low: np.ndarray, high: np.ndarray, place: np.ndarray) -> np.ndarray:
    share = place[:, None, None]
    return (1.0 - share) * low + share * high


def _equal(bags: np.ndarray) -> Bags:
    """Bags of one size, from a 3-D array."""
    n, size, width = bags.shape
    return Bags(bags.reshape(n * size, width), np.arange(n + 1) * size)
