"""Bags of handwritten digits: real images with true instance labels, without a download."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise._display.bunch import ShownBunch
from bagwise.data.bags import Bags
from bagwise.datasets._draw import (
    check_count,
    check_finite,
    draw_sizes,
    nearest_count,
    offsets_of,
)


def load_digit_bags(
    n_bags: int = 200,
    *,
    target: int = 9,
    at_least: int = 1,
    size: int | tuple[int, int] | ArrayLike = (5, 10),
    positive_share: float = 0.5,
    random_state: Seed = 0,
) -> Bunch:
    """Load bags of 8x8 handwritten digits, which are positive if they contain enough images of `target`.

    The images are from scikit-learn (`sklearn.datasets.load_digits`, 1797 images). With z_ij = 1
    for an image of the target digit, the label of a bag is::

        y_i = 1 if sum_j z_ij >= at_least, else 0

    Every image is used at most once. Training and test bags therefore never share an image, regardless of
    how the bags are split.

    Parameters
    ----------
    n_bags : int, default=200
        Number of bags.
    target : int from 0 to 9, default=9
        The digit that makes a bag positive. For a linear model, 0 is the easiest digit (area under the
        ROC curve of single images 1.000), 8 is the hardest (0.961), and 9 is in between (0.987).
    at_least : int, default=1
        Minimum number of target images in a positive bag. The value 1 is the standard assumption of
        multiple-instance learning; larger values are thresholds on the count.
    size : int, tuple (smallest, largest) or array of shape (n_bags,), default=(5, 10)
        Number of images per bag. An integer is used for all bags. A tuple is an inclusive range from which
        the sizes are drawn uniformly. A list or array contains the size of every bag. All sizes must be at
        least `at_least`.
    positive_share : float in [0, 1], default=0.5
        Share of positive bags. The number of positive bags is ``positive_share * n_bags``, rounded to the
        nearest integer (halves are rounded up). It is not random.
    random_state : int, RandomState instance or None, default=0
        Random seed or generator; the same seed produces identical bags.

    Returns
    -------
    data : Bunch
        `bags` (Bags) in random order, with pixels scaled from 0..16 to [0, 1] and the instance columns
        "digit" and "image" (the row in `load_digits`); `y` (n_bags,); `instance_y` (n_instances,), 1 for
        images of the target; `target`, `at_least`, `DESCR`.

    Notes
    -----
    Half of the positive bags (rounded up) contain exactly `at_least` images of the target. The other half
    contain one more, if the bag is large enough. Negative bags contain 0 to ``at_least - 1`` images of the
    target, with equal frequencies up to rounding; with the default, they contain none. All other images are
    drawn at random from the other nine digits.

    Examples
    --------
    >>> from bagwise.datasets import load_digit_bags
    >>> data = load_digit_bags(100, target=9)
    >>> len(data.bags), int(data.y.sum()), data.bags[0].shape[1]
    (100, 50, 64)
    >>> bool(data.instance_y[data.bags.bag_index == 0].max() == data.y[0])
    True
    """
    n_bags = check_count("n_bags", n_bags, minimum=1)
    target = check_count("target", target, minimum=0, maximum=9)
    at_least = check_count("at_least", at_least, minimum=1)
    positive_share = check_finite("positive_share", positive_share, minimum=0, maximum=1)
    rng = check_random_state(random_state)
    sizes = draw_sizes(n_bags, size, rng)
    if sizes.min() < at_least:
        raise ValueError(
            f"the smallest size is {sizes.min()}; expected at least {at_least} images per bag, "
            f"because at_least={at_least}."
        )

    n_positive = nearest_count(positive_share, n_bags)
    y = rng.permutation(np.repeat([1, 0], [n_positive, n_bags - n_positive]))
    n_targets = _draw_target_counts(y, at_least, rng)
    instance_y = _shuffle_within_bags(sizes, n_targets, rng)

    # sklearn.datasets is slow to import, and only this function needs it.
    from sklearn.datasets import load_digits

    digits = load_digits()
    image = np.empty(instance_y.size, dtype=np.int64)
    for wanted, description in ((1, f"images of the digit {target}"), (0, "images of other digits")):
        pool = np.flatnonzero((digits.target == target) == wanted)
        indices = np.flatnonzero(instance_y == wanted)
        if indices.size > pool.size:
            raise ValueError(
                f"n_bags={n_bags} and size={size!r} with positive_share={positive_share} and "
                f"at_least={at_least} need {indices.size} {description}, but only {pool.size} are "
                "available, and no image is used twice; reduce n_bags or size."
            )
        image[indices] = rng.permutation(pool)[: indices.size]
    bags = Bags(
        digits.data[image] / 16.0,
        offsets_of(sizes),
        feature_names=digits.feature_names,
        instance_columns={"digit": digits.target[image].astype(np.int64), "image": image},
    )
    return ShownBunch(
        bags=bags,
        y=y,
        instance_y=instance_y,
        target=target,
        at_least=at_least,
        DESCR=(
            f"{n_bags} bags of 8x8 handwritten digits (UCI Optical Recognition of Handwritten "
            f"Digits, from sklearn.datasets.load_digits); {n_positive} bags are positive, because they "
            f"contain at least {at_least} of the digit {target}."
        ),
    )


def _draw_target_counts(y: np.ndarray, at_least: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the number of target images in every bag, before truncation to the size of the bag.

    The counts have fixed frequencies and are assigned to bags at random. The total number of target images,
    and the error for too few images, are therefore deterministic.
    """
    n_targets = np.empty(y.size, dtype=np.int64)
    n_positive = int(y.sum())
    n_targets[y == 1] = at_least + rng.permutation(np.arange(n_positive) % 2)
    n_targets[y == 0] = rng.permutation(np.arange(y.size - n_positive) % at_least)
    return n_targets


def _shuffle_within_bags(sizes: np.ndarray, n_targets: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return random instance labels with `n_targets[i]` ones in bag i, at most the size of the bag."""
    bag_index = np.repeat(np.arange(sizes.size), sizes)
    position = np.arange(bag_index.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    in_order = (position < n_targets[bag_index]).astype(np.int64)
    return in_order[np.lexsort((rng.random_sample(bag_index.size), bag_index))]
