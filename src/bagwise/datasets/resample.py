"""New data sets from existing bags: positive and unlabeled bags, and copies with noise."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise._display.bunch import ShownBunch
from bagwise.data.bags import Bags, as_bags
from bagwise.data.types import BagsLike
from bagwise.datasets._draw import check_count, check_finite, nearest_count


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
    """Make positive and unlabeled bags for PU learning from labeled bags.

    `n_positive` bags are drawn from the positive bags and keep their label. `n_unlabeled` bags are drawn
    from the remaining bags and lose their label; the share of positive bags among them is `class_prior`. No
    bag is drawn twice.

    The unlabeled bags represent a population in which the share of positive bags is `class_prior`. The
    estimators in `bagwise.models.pu` need this class prior, not the share of positive bags in all bags.

    Parameters
    ----------
    bags : Bags, or any input that can be converted to Bags
        The labeled bags to draw from.
    y : array of shape (n_bags,)
        True labels of the bags: 0/1, -1/1 or booleans.
    n_positive : int
        Number of positive bags that keep their label.
    n_unlabeled : int
        Number of bags that lose their label.
    class_prior : float in [0, 1]
        Share of positive bags among the unlabeled bags. Their number is ``class_prior * n_unlabeled``,
        rounded to the nearest integer (halves are rounded up).
    binomial : bool, default=False
        Whether the number of positive unlabeled bags is instead drawn from a binomial distribution,
        B(n_unlabeled, class_prior), as in Algorithm 1 of the paper. An error is raised if this number exceeds
        the number of available bags.
    random_state : int, RandomState instance or None, default=None
        Random seed or generator; the same seed produces identical bags.

    Returns
    -------
    data : Bunch
        `bags` (Bags), with the labeled positive bags first, followed by the unlabeled bags in random order;
        `y`, the labels for an estimator, 1 for labeled positive bags and 0 for unlabeled bags;
        `y_true`, the true labels, 0 or 1; `index`, the index of every bag in the input;
        `class_prior`, the actual share of positive bags among the unlabeled bags.

    Notes
    -----
    Algorithm 1 of the paper draws the number of unlabeled positive bags from a binomial distribution. By
    default, this number is fixed here, so that all samples of the same size have the same class prior. To
    get test bags with the same class prior, draw additional unlabeled bags and use the last ones, which are
    in random order. Algorithm 1 corresponds to ``binomial=True`` and ``n_unlabeled`` = U + T, with the last T
    bags as the test set.

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
    class_prior = check_finite("class_prior", class_prior, minimum=0, maximum=1)
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
            drawn = f" (of which {n_hidden} were drawn as positive)" if binomial else ""
            raise ValueError(
                f"n_positive={n_positive}, n_unlabeled={n_unlabeled}{drawn} and class_prior={class_prior} "
                f"need {needed} {kind} bags but y has {pools[label].size}; "
                f"use fewer bags or a different class_prior."
            )
    of_positive = rng.permutation(pools[1])[: n_positive + n_hidden]
    of_negative = rng.permutation(pools[0])[: n_unlabeled - n_hidden]
    unlabeled = rng.permutation(np.concatenate([of_positive[n_positive:], of_negative]))
    index = np.concatenate([of_positive[:n_positive], unlabeled])
    return ShownBunch(
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
    """Add copies of the bags with noise that is proportional to the scale of each feature in the bag.

    With a_ik = max_j abs(x_ijk), the largest absolute value of feature k in bag i, a copy is::

        x'_ijk = x_ijk + noise * a_ik * e_ijk,   e_ijk ~ N(0, 1)

    Therefore, a feature that is zero in the whole bag remains zero, and the features do not have to be on the
    same scale.

    **Split before you augment.** A copy is nearly equal to its original. If one of them is in the training
    set and the other in the test set, the estimator is tested on training data, so the score is meaningless.
    Augment only the training bags, or pass `source` to the splitter as `groups`.

    Parameters
    ----------
    bags : Bags, or any input that can be converted to Bags
        The original bags, with dense instances. Integers are converted to float64.
    y : array of shape (n_bags,), default=None
        Labels of the bags, of any type.
    n_copies : int, default=None
        Number of copies of every bag. Pass either `n_copies` or `n_bags`. If neither is passed, there is one
        copy.
    n_bags : int, default=None
        Number of bags in the result. The bags to copy are drawn at random, so the number of copies can differ
        between bags.
    noise : float, default=0.01
        Standard deviation of the noise as a share of a_ik; with 0, the copies are exact.
    random_state : int, RandomState instance or None, default=None
        Random seed or generator; the same seed produces identical data.

    Returns
    -------
    data : Bunch
        `bags` (Bags), with the unchanged originals first, followed by the copies, which have the ids and
        side columns of their originals; `y`, the labels of all bags, or None; `source`, the index of the
        original of every bag.

    Notes
    -----
    According to the paper, the variance of the noise is 0.01. The authors' program uses a standard deviation
    of 0.01 times the maximum of the feature in the bag, and does not change instances whose first feature is
    zero. This function uses the maximum of the absolute values, which is a scale for features of any sign,
    and adds noise to all instances.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama, "Convex formulation of multiple instance learning from positive
    and unlabeled bags", Neural Networks 105, 2018.

    Examples
    --------
    With `source` as groups, each copy is in the same fold as the original:

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
            "bags are sparse, but noise would make them dense; expected dense bags, "
            "such as bags.with_instances(bags.instances.toarray())."
        )
    if len(bags) == 0:
        raise ValueError("bags is empty; expected at least one bag.")
    noise = check_finite("noise", noise, minimum=0)
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
    return ShownBunch(bags=grown.with_instances(X), y=y, source=source)


def _draw_copies(
    n_originals: int, n_copies: int | None, n_bags: int | None, rng: np.random.RandomState
) -> np.ndarray:
    """Return the index of the original bag for every copy."""
    if n_copies is not None and n_bags is not None:
        raise ValueError(
            f"n_copies={n_copies!r} and n_bags={n_bags!r} were both passed; expected only one of them."
        )
    if n_bags is None:
        n_copies = 1 if n_copies is None else check_count("n_copies", n_copies, minimum=0)
        return np.tile(np.arange(n_originals), n_copies)
    n_bags = check_count("n_bags", n_bags, minimum=n_originals)
    return rng.randint(n_originals, size=n_bags - n_originals)


def _largest_absolute_values(bags: Bags) -> np.ndarray:
    """Return max_j abs(x_ijk), shape (n_bags, n_features); 0 for bags without instances."""
    # Convert to float before abs, because the absolute value of the lowest int16 overflows. fmax ignores
    # NaN; otherwise, one missing value would affect the whole bag.
    magnitudes = np.abs(bags.instances.astype(np.float64))
    filled = bags.sizes > 0
    largest = np.zeros(bags.shape)
    largest[filled] = np.fmax.reduceat(magnitudes, bags.offsets[:-1][filled], axis=0)
    return largest


def _one_per_bag(y: ArrayLike, n_bags: int) -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n_bags,):
        raise ValueError(f"y has shape {y.shape}; expected one label for each of the {n_bags} bags.")
    return y


def _read_labels(y: ArrayLike, n_bags: int) -> np.ndarray:
    """Return a mask of the positive bags."""
    y = _one_per_bag(y, n_bags)
    labels = set(np.unique(y).tolist())
    if y.dtype.kind not in "biuf" or not (labels <= {0, 1} or labels <= {-1, 1}):
        named = ", ".join(map(repr, sorted(labels, key=str)[:5]))
        raise ValueError(f"y has the labels {named}; expected 0/1, -1/1 or booleans, such as y == 'active'.")
    return y == 1
