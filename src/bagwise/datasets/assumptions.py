"""Simulated bags that reveal whether a model uses the absence or the number of instances."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise._display.bunch import ShownBunch
from bagwise.data.bags import Bags
from bagwise.datasets._draw import check_count, nearest_count, offsets_of

Kind = Literal["single_concept", "multiple_concepts", "false_frequency"]

KINDS = ("single_concept", "multiple_concepts", "false_frequency")
_SOURCES = ("background", "concept 1", "concept 2", "poison")
# Means and standard deviations of the features of an instance, by its source.
_SINGLE = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 1.0], [-10.0, 0.1]])
_TWO = np.array([[0.0, 1.0], [2.0, 0.1], [3.0, 0.1], [-10.0, 0.1]])
# Number of background instances per bag in the first test.
_BACKGROUND = 10


def make_assumption_bags(
    kind: Kind = "single_concept",
    n_bags: int = 300,
    *,
    part: Literal["train", "test"] = "train",
    n_features: int = 16,
    random_state: Seed = None,
) -> Bunch:
    """Draw the training or test bags of one of the three algorithmic unit tests by Raff and Holt (2023).

    A bag is positive because of the instances that it contains. The training bags also contain a simpler
    signal that a model must not use, and in the test bags this signal is reversed. A model that respects the
    assumption of a test has a test AUC above 0.5; a model that uses the forbidden signal has a test AUC below
    0.5.

    ===================  =============================================================================
    "single_concept"     A bag is positive if it contains a concept instance (the standard assumption).
                         The poison occurs in all negative training bags, and in no positive ones. A
                         model can therefore learn that a bag *without* poison is positive. In the
                         test bags, the poison occurs in positive bags only.
    "multiple_concepts"  A bag is positive if it contains instances of both concepts; a negative bag
                         contains an instance of one of them. Poison as above.
    "false_frequency"    Labels as in "multiple_concepts", without poison. In training, positive bags
                         contain two concept instances and negative bags one. A model can therefore
                         learn that a bag with more of them is positive. Negative test bags contain
                         35 to 44 instances of one concept.
    ===================  =============================================================================

    Parameters
    ----------
    kind : {"single_concept", "multiple_concepts", "false_frequency"}, default="single_concept"
        The test.
    n_bags : int, default=300
        Number of bags; half of them (rounded up) are positive.
    part : {"train", "test"}, default="train"
        Whether to draw training or test bags.
    n_features : int, default=16
        Number of features.
    random_state : int, RandomState instance or None, default=None
        Random seed or generator; the same seed produces identical bags.

    Returns
    -------
    data : Bunch
        `bags` (Bags) in random order, with the instance column "source" ("background", "concept 1",
        "concept 2" or "poison"); `y` (n_bags,); `instance_y` (n_instances,), 1 for instances of a concept.

    See Also
    --------
    bagwise.testing.check_assumption : Fit a model to the training bags, and check its AUC on the test bags.

    Notes
    -----
    The features of an instance are independent and normally distributed, with a mean and a standard
    deviation that depend on its source:

    =============  ===================  ==================================================
    source         "single_concept"     "multiple_concepts" and "false_frequency"
    =============  ===================  ==================================================
    background     N(0, 1)              N(0, 1)
    concept 1      N(0, 3)              N(2, 0.1)
    concept 2      N(1, 1)              N(3, 0.1)
    poison         N(-10, 0.1)          N(-10, 0.1), not in "false_frequency"
    =============  ===================  ==================================================

    A positive bag of "single_concept" contains one to three instances, each of a random concept, and every
    bag contains ten background instances. In the other tests, bags contain one to nine background
    instances. A positive bag of "multiple_concepts" contains one to three instances of each concept, and
    one of "false_frequency" contains one instance of each. The concept in a negative bag is random.

    The paper writes N(mean, I * scale). Here, as in torchmil's generators, the scale is the standard
    deviation. The paper does not specify the number of background instances in its first test.

    References
    ----------
    E. Raff and J. Holt, "Reproducibility in multiple instance learning: a case for algorithmic unit tests",
    NeurIPS 2023.

    Examples
    --------
    In the training bags, the negative bags contain the poison:

    >>> from bagwise.datasets import make_assumption_bags
    >>> data = make_assumption_bags("single_concept", 100, random_state=0)
    >>> poison = data.bags.instance_columns["source"] == "poison"
    >>> set(data.y[data.bags.bag_index[poison]].tolist()), int(poison.sum())
    ({0}, 50)
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join(map(repr, KINDS))}.")
    if part not in ("train", "test"):
        raise ValueError(f"part is {part!r}; expected 'train' or 'test'.")
    n_bags = check_count("n_bags", n_bags, minimum=2)
    n_features = check_count("n_features", n_features, minimum=1)
    rng = check_random_state(random_state)
    n_positive = nearest_count(0.5, n_bags)
    y = rng.permutation(np.repeat([1, 0], [n_positive, n_bags - n_positive]))
    counts = _draw_counts(kind, y, is_test=part == "test", rng=rng)

    source = np.repeat(np.tile(np.arange(len(_SOURCES)), n_bags), counts.ravel())
    offsets = offsets_of(counts.sum(axis=1))
    bag_index = np.repeat(np.arange(n_bags), np.diff(offsets))
    source = source[np.lexsort((rng.random_sample(source.size), bag_index))]
    mean, deviation = (_SINGLE if kind == "single_concept" else _TWO)[source].T
    X = mean[:, None] + deviation[:, None] * rng.standard_normal((source.size, n_features))
    return ShownBunch(
        bags=Bags(X, offsets, instance_columns={"source": np.asarray(_SOURCES)[source]}),
        y=y,
        instance_y=np.isin(source, (1, 2)).astype(np.int64),
    )


def _draw_counts(kind: str, y: np.ndarray, *, is_test: bool, rng: np.random.RandomState) -> np.ndarray:
    """Return the number of instances of every source in every bag: shape (n_bags, 4)."""
    n = len(y)
    is_positive = y == 1
    counts = np.zeros((n, len(_SOURCES)), dtype=np.int64)
    first = rng.random_sample(n) < 0.5  # whether a negative bag contains the first concept
    if kind == "single_concept":
        counts[:, 0] = _BACKGROUND
        n_concepts = rng.randint(1, 4, size=n)
        counts[:, 1] = rng.binomial(n_concepts, 0.5)
        counts[:, 2] = n_concepts - counts[:, 1]
        counts[~is_positive, 1:3] = 0
    else:
        counts[:, 0] = rng.randint(1, 10, size=n)
        is_frequency = kind == "false_frequency"
        each = np.ones(n, dtype=np.int64) if is_frequency else rng.randint(1, 4, size=n)
        alone = rng.randint(35, 45, size=n) if is_frequency and is_test else np.ones(n, dtype=np.int64)
        counts[:, 1] = np.where(is_positive, each, np.where(first, alone, 0))
        counts[:, 2] = np.where(is_positive, each, np.where(first, 0, alone))
    if kind != "false_frequency":
        counts[:, 3] = is_positive == is_test
    return counts
