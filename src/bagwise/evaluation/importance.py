"""What features are worth to a model of bags: what its score loses when they are shuffled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise.data.bags import as_bags, is_scan
from bagwise.data.bags.parts import feature_index
from bagwise.data.types import BagsLike

Features = Sequence[int | str] | int | str


def bag_permutation_importance(
    model: Any,
    X: BagsLike,
    y: ArrayLike,
    *,
    groups: Mapping[str, Features] | Sequence[Features] | None = None,
    n_repeats: int = 5,
    scoring: str | Callable[..., Any] | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Say what every feature is worth to a fitted model of bags.

    The values of a feature are shuffled over all instances, between bags too, so that the feature says
    nothing any more, and all else stays as it is; its importance is what the score of the model then loses.
    It works for every model of bags, wrappers and pipelines included, and asks nothing of its inside. Give it
    bags that the model has not learnt from: on others it says what the model uses, not what helps.

    Features that say the same stand in for each other: each of them may then seem worthless. Shuffle them
    together, as one of the `groups`.

    Parameters
    ----------
    model : fitted model of bags
        Whatever has a `score`, or what `scoring` asks for.
    X : Bags, list of arrays, 3-D or 2-D array
        The bags, in memory.
    y : array of shape (n_bags,) or (n_bags, n_labels)
        Their labels.
    groups : dict of lists or list of lists, optional
        Features, by number or by name, that are shuffled together: one order for all of them, so that what
        they say of each other stays. A dict has a name for each group. Every feature by itself by default.
    n_repeats : int, default=5
        How often each is shuffled.
    scoring : str or callable, optional
        A scorer of scikit-learn, such as "roc_auc", or ``scorer(model, X, y)``; `model.score` by default.
    random_state : int, RandomState or None, default=None
        Seed of the orders.

    Returns
    -------
    Bunch
        `names`, a list; `importances`, of shape (n_groups, n_repeats), with the mean and the standard
        deviation over repeats in `importances_mean` and `importances_std`, as
        `sklearn.inspection.permutation_importance` has them; `score`, that of the bags as they are.

    Notes
    -----
    One prediction of all bags for every group and repeat, and one copy of the instances.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, bag_permutation_importance, make_noisy_or_bags
    >>> data = make_noisy_or_bags(200, coef=[3.0, 0.0, 0.0], random_state=0)
    >>> model = MILogisticRegression(alpha=3.0, random_state=0).fit(data.bags[:100], data.y[:100])
    >>> found = bag_permutation_importance(model, data.bags[100:], data.y[100:], random_state=0)
    >>> found.names[found.importances_mean.argmax()]
    'x0'
    """
    if is_scan(X):
        raise ValueError(
            "bag_permutation_importance shuffles instances between bags and needs all of them in memory; "
            "pass scan[some].load(), with the numbers of as many bags as fit."
        )
    if not (isinstance(n_repeats, (int, np.integer)) and n_repeats >= 1):
        raise ValueError(f"n_repeats must be a whole number from 1; got {n_repeats!r}.")
    bags = as_bags(X)
    if not (sp.issparse(bags.instances) or isinstance(bags.instances, np.ndarray)):
        raise ValueError(
            "bag_permutation_importance needs instances that are rows of features; got "
            f"{type(bags.instances).__name__}."
        )
    names, columns = _read_groups(groups, bags, model)
    scorer, rng = check_scoring(model, scoring=scoring), check_random_state(random_state)
    score = float(scorer(model, bags, y))
    losses = np.empty((len(columns), n_repeats))
    for repeat in range(n_repeats):
        order = rng.permutation(bags.n_instances)
        for number, some in enumerate(columns):
            shuffled = bags.with_instances(_with_shuffled(bags.instances, some, order))
            losses[number, repeat] = score - scorer(model, shuffled, y)
    return Bunch(
        names=names,
        importances=losses,
        importances_mean=losses.mean(axis=1),
        importances_std=losses.std(axis=1),
        score=score,
    )


def _read_groups(groups: Any, bags: Any, model: Any) -> tuple[list[str], list[np.ndarray]]:
    """Names of what is shuffled, and the columns of each."""
    given = (
        bags.feature_names if bags.feature_names is not None else getattr(model, "feature_names_in_", None)
    )
    names = [f"x{i}" for i in range(bags.n_features)] if given is None else list(map(str, given))
    if groups is None:
        return names, [np.array([k]) for k in range(bags.n_features)]
    if not isinstance(groups, (Mapping, Sequence)) or isinstance(groups, str) or not len(groups):
        raise ValueError(
            f"groups must be lists of features, or a dict of them, at least one; got {groups!r}. Whoever "
            "wants every feature by itself leaves groups out."
        )
    members = list(groups.values()) if isinstance(groups, Mapping) else list(groups)
    lists: list[list[Any]] = [
        [one] if isinstance(one, (str, int, np.integer)) else list(one) for one in members
    ]
    columns = [np.unique([feature_index(f, bags, model) for f in some]) for some in lists]
    if not all(map(len, columns)):
        raise ValueError("groups has an empty list; expected at least one feature in each.")
    if isinstance(groups, Mapping):
        return list(map(str, groups)), columns
    return [", ".join(names[k] for k in some) for some in columns], columns


def _with_shuffled(instances: Any, columns: np.ndarray, order: np.ndarray) -> Any:
    """The instances with some columns in another order, in a copy."""
    if not sp.issparse(instances):
        moved = np.array(instances)
        moved[:, columns] = instances[np.ix_(order, columns)]
        return moved
    by_column = sp.csc_array(instances)
    kept = np.ones(by_column.shape[1])
    kept[columns] = 0.0
    others = by_column @ sp.diags_array(kept)
    placed = by_column[:, columns][order]
    place = sp.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), len(kept))
    )
    return type(instances)(sp.csr_array(others + placed @ place)).astype(instances.dtype)
