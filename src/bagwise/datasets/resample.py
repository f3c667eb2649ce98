"""New samples made of bags at hand: positive and unlabeled bags, and copies with noise."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise.data.bags import Bags, as_bags
from bagwise.data.types import BagsLike
from bagwise.datasets._draw import check_count, check_number, nearest_count


def make_positive_unlabeled(
    bags: BagsLike,
    y: ArrayLike,
    *,
    n_positive: int,
    n_unlabeled: int,
    class_prior: float,
    binomial: bool = False,
    random_state: Seed = None,
) -> Bunch:
    """Hide the labels of labelled bags, as in learning from positive and unlabeled bags.

    `n_positive` bags are drawn from the positive ones and keep their label. `n_unlabeled` others
    are drawn from what is left, a share `class_prior` of them positive, and lose it. No bag is
    drawn twice.

    The unlabeled bags are a sample of the population in which the share of positive bags is
    `class_prior`: they, and not all the bags together, have the class prior that the estimators
    of `bagwise.models.pu` ask for.

    Parameters
    ----------
    bags : Bags, or what describes bags
        The labelled bags to draw from.
    y : array of shape (n_bags,)
        Their true labels: 0/1, -1/1 or booleans.
    n_positive : int
        Number of positive bags that keep their label.
    n_unlabeled : int
        Number of bags that lose it.
    class_prior : float in [0, 1]
        Share of positive bags among the unlabeled ones. Their number is the whole number nearest
        to ``class_prior * n_unlabeled``, halves upward.
    binomial : bool, default=False
        Whether their number is drawn, B(n_unlabeled, class_prior), instead: Algorithm 1 of the paper.
        A draw that asks for more bags than there are is refused.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw: the same seed gives the same bags.

    Returns
    -------
    data : Bunch
        `bags` (Bags), the labelled positive bags first, then the unlabeled ones in random order;
        `y`, what an estimator may see, 1 for a labelled positive and 0 for an unlabeled bag;
        `y_true`, the true labels, 0 or 1; `index`, the number of every bag in the input;
        `class_prior`, the realised share of positive bags among the unlabeled ones.

    Notes
    -----
    Algorithm 1 of the paper draws the number of unlabeled positive bags from a binomial
    distribution; by default it is fixed, so that two samples of one size have one class prior. For
    test bags of the same class prior draw more unlabeled bags and cut off the last ones, which are
    as random as the first: with ``binomial=True``, ``n_unlabeled`` = U + T and the last T as the
    test set, that is Algorithm 1 as printed.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama, "Convex formulation of multiple instance learning from positive
    and unlabeled bags", Neural Networks 105, 2018.

    Examples
    --------
    >>> from bagwise.datasets import make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(200, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=20, n_unlabeled=80, class_prior=0.3, random_state=0
    ... )
    >>> int(data.y.sum()), int(data.y_true[data.y == 0].sum()), data.class_prior
    (20, 24, 0.3)
    """
    bags = as_bags(bags)
    positive = _read_labels(y, len(bags))
    n_positive = check_count("n_positive", n_positive, minimum=1)
    n_unlabeled = check_count("n_unlabeled", n_unlabeled, minimum=1)
    class_prior = check_number("class_prior", class_prior, minimum=0, maximum=1)
    if not isinstance(binomial, (bool, np.bool_)):
        raise ValueError(f"binomial must be True or False; got {binomial!r}.")
    rng = check_random_state(random_state)
    if binomial:
        n_hidden = int(rng.binomial(n_unlabeled, class_prior))
    else:
        n_hidden = nearest_count(class_prior, n_unlabeled)

    pools = {1: np.flatnonzero(positive), 0: np.flatnonzero(~positive)}
    for label, needed in ((1, n_positive + n_hidden), (0, n_unlabeled - n_hidden)):
        if needed > pools[label].size:
            kind = "positive" if label else "negative"
            drawn = f", of which {n_hidden} were drawn to be positive," if binomial else ""
            raise ValueError(
                f"n_positive={n_positive}, n_unlabeled={n_unlabeled}{drawn} and class_prior={class_prior} "
                f"need {needed} {kind} bags but y has {pools[label].size}; "
                f"ask for fewer bags or another class_prior."
            )
    of_positive = rng.permutation(pools[1])[: n_positive + n_hidden]
    of_negative = rng.permutation(pools[0])[: n_unlabeled - n_hidden]
    unlabeled = rng.permutation(np.concatenate([of_positive[n_positive:], of_negative]))
    index = np.concatenate([of_positive[:n_positive], unlabeled])
    return Bunch(
        bags=bags[index],
        y=np.repeat([1, 0], [n_positive, n_unlabeled]),
        y_true=positive[index].astype(np.int64),
        index=index,
        class_prior=n_hidden / n_unlabeled,
    )


def augment_bags(
    bags: BagsLike,
    y: ArrayLike | None = None,
    *,
    n_copies: int | None = None,
    n_bags: int | None = None,
    noise: float = 0.01,
    random_state: Seed = None,
) -> Bunch:
    """Add copies of the bags, each feature shaken by noise in proportion to its size in the bag.

    With a_ik = max_j abs(x_ijk), the largest absolute value of feature k in bag i, a copy is::

        x'_ijk = x_ijk + noise * a_ik * e_ijk,   e_ijk ~ N(0, 1)

    so that a feature that is zero throughout a bag stays zero, and the scale of the features does
    not matter.

    **Split first, augment after.** A copy is all but equal to its original: with one in the
    training and the other in the test set, an estimator is tested on what it has learnt by heart,
    and the score is worthless. Augment the training bags only, or hand `source` to the splitter
    as its groups.

    Parameters
    ----------
    bags : Bags, or what describes bags
        The originals, dense. Integers become float64.
    y : array of shape (n_bags,), default=None
        Their labels, of any kind.
    n_copies : int, default=None
        Number of copies of every bag. Give this or `n_bags`; without either it is 1.
    n_bags : int, default=None
        Number of bags in the result. The originals to be copied are drawn at random, so that some
        have more copies than others.
    noise : float, default=0.01
        Standard deviation of the noise as a share of a_ik; 0 makes exact copies.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw: the same seed gives the same bits.

    Returns
    -------
    data : Bunch
        `bags` (Bags), the originals first and unchanged, then the copies, with the ids and the
        side columns of their originals; `y`, their labels, or None; `source`, the number of the
        original of every bag.

    Notes
    -----
    The paper speaks of noise of variance 0.01. Its authors' program has a standard deviation of
    0.01 times the maximum of the feature in the bag, and leaves instances alone whose first
    feature is zero. Here the maximum is that of the absolute values, which is a scale for features
    of any sign, and all instances are treated alike.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama, "Convex formulation of multiple instance learning from positive
    and unlabeled bags", Neural Networks 105, 2018.

    Examples
    --------
    Copies stay on the side of their original:

    >>> from sklearn.model_selection import GroupKFold
    >>> from bagwise.datasets import augment_bags, make_noisy_or_bags
    >>> few = make_noisy_or_bags(20, random_state=0)
    >>> data = augment_bags(few.bags, few.y, n_bags=100, random_state=0)
    >>> for train, test in GroupKFold(5).split(data.bags, data.y, groups=data.source):
    ...     assert not set(data.source[train]) & set(data.source[test])
    """
    bags = as_bags(bags)
    if sp.issparse(bags.instances):
        raise ValueError(
            "bags are sparse, and noise would fill them up; expected dense bags, "
            "such as bags.with_instances(bags.instances.toarray())."
        )
    if len(bags) == 0:
        raise ValueError("bags holds no bag; expected at least one to copy.")
    noise = check_number("noise", noise, minimum=0)
    rng = check_random_state(random_state)
    source = np.concatenate([np.arange(len(bags)), _draw_copies(len(bags), n_copies, n_bags, rng)])
    if y is not None:
        y = _one_per_bag(y, len(bags))[source]

    grown = bags[source]
    dtype = grown.instances.dtype
    X = grown.instances.astype(dtype if dtype.kind == "f" else np.float64)
    first_copy = grown.offsets[len(bags)]
    scale = noise * _largest_absolute_values(bags)[source[grown.bag_index[first_copy:]]]
    X[first_copy:] += scale * rng.standard_normal(scale.shape)
    return Bunch(bags=grown.with_instances(X), y=y, source=source)


def _draw_copies(
    n_originals: int, n_copies: int | None, n_bags: int | None, rng: np.random.RandomState
) -> np.ndarray:
    """Return the number of the original of every copy."""
    if n_copies is not None and n_bags is not None:
        raise ValueError(
            f"n_copies={n_copies!r} and n_bags={n_bags!r} were both given; expected one of them."
        )
    if n_bags is None:
        n_copies = 1 if n_copies is None else check_count("n_copies", n_copies, minimum=0)
        return np.tile(np.arange(n_originals), n_copies)
    n_bags = check_count("n_bags", n_bags, minimum=n_originals)
    return rng.randint(n_originals, size=n_bags - n_originals)


def _largest_absolute_values(bags: Bags) -> np.ndarray:
    """Return max_j abs(x_ijk), shape (n_bags, n_features); 0 for a bag without instances."""
    # In floating point before abs: the absolute value of the lowest int16 wraps to itself. fmax
    # passes over NaN, which would otherwise spread from one missing value to the whole bag.
    magnitudes = np.abs(bags.instances.astype(np.float64))
    filled = bags.sizes > 0
    largest = np.zeros(bags.shape)
    largest[filled] = np.fmax.reduceat(magnitudes, bags.offsets[:-1][filled], axis=0)
    return largest


def _one_per_bag(y: ArrayLike, n_bags: int) -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n_bags,):
        raise ValueError(f"y has the shape {y.shape}; expected one label for each of {n_bags} bags.")
    return y


def _read_labels(y: ArrayLike, n_bags: int) -> np.ndarray:
    """Return which bags are positive."""
    y = _one_per_bag(y, n_bags)
    labels = set(np.unique(y).tolist())
    if y.dtype.kind not in "biuf" or not (labels <= {0, 1} or labels <= {-1, 1}):
        named = ", ".join(map(repr, sorted(labels, key=str)[:5]))
        raise ValueError(f"y has the labels {named}; expected 0/1, -1/1 or booleans, such as y == 'active'.")
    return y == 1
