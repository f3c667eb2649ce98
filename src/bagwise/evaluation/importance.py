"""Permutation importance of features for bag models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise._display.bunch import ShownBunch
from bagwise._display.parts import Table
from bagwise.data.bags import aligned, as_bags, is_scan
from bagwise.data.bags.parts import feature_index
from bagwise.data.types import BagsLike

Features = Sequence[int | str] | int | str
_SHOWN = 15  # features in the table


class Importances(ShownBunch):
    """The result of `bag_permutation_importance`, shown as a table of the most important features."""

    def _parts(self) -> list[str | Table]:
        order = np.argsort(-self.importances_mean, kind="stable")
        rows = [
            [self.names[k], f"{self.importances_mean[k]:.4f}", f"{self.importances_std[k]:.4f}"]
            for k in order[:_SHOWN]
        ]
        note = f"and {len(order) - _SHOWN:,} more" if len(order) > _SHOWN else ""
        table = Table.of(["feature", "mean", "std"], rows, note=note)
        n_repeats = self.importances.shape[1]
        repeats = "1 repeat" if n_repeats == 1 else f"{n_repeats} repeats"
        return [f"Decrease in the score ({self.score:.4f}) after shuffling, {repeats}", table]


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
    """Compute the permutation importance of every feature for a fitted bag model.

    The values of a feature are shuffled over all instances, across bags, so that the feature carries no
    information; all other features are unchanged. The importance is the resulting decrease in the model's
    score. It can be computed for every bag model, including wrappers and pipelines. Use bags that the model
    was not fitted to: on training bags, the importances show what the model uses, not what helps it to
    predict new bags.

    Correlated features can replace each other, so that each of them may seem unimportant. Shuffle such
    features together, as one of the `groups`.

    Parameters
    ----------
    model : fitted bag model
        Any model with `score`, or with the methods that `scoring` needs.
    X : Bags, list of arrays, 3-D or 2-D array
        Bags in memory.
    y : array of shape (n_bags,) or (n_bags, n_labels)
        Labels of the bags.
    groups : dict of lists or list of lists, optional
        Groups of features, as indices or names, that are shuffled together. All features of a group are
        shuffled in the same order, so that their dependence on each other is preserved. The keys of a dict
        are the names of the groups. By default, every feature is shuffled separately.
    n_repeats : int, default=5
        Number of times each feature or group is shuffled.
    scoring : str or callable, optional
        Name of a scikit-learn scorer, such as "roc_auc", or a function ``scorer(model, X, y)``. By default
        `model.score`.
    random_state : int, RandomState or None, default=None
        Seed of the random permutations.

    Returns
    -------
    Bunch
        The attributes are `names`, a list of the features or groups; `importances`, an array of shape
        (n_groups, n_repeats); `importances_mean` and `importances_std`, the mean and the standard deviation
        over repeats, as in `sklearn.inspection.permutation_importance`; and `score`, the score without
        shuffling.

    Notes
    -----
    The cost is one prediction of all bags per group and repeat, and memory for one copy of the instances.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, bag_permutation_importance, make_noisy_or_bags
    >>> data = make_noisy_or_bags(200, coef=[3.0, 0.0, 0.0], random_state=0)
    >>> model = MILogisticRegression(alpha=3.0, random_state=0).fit(data.bags[:100], data.y[:100])
    >>> result = bag_permutation_importance(model, data.bags[100:], data.y[100:], random_state=0)
    >>> result.names[result.importances_mean.argmax()]
    'x0'
    """
    if is_scan(X):
        raise ValueError(
            "bag_permutation_importance shuffles instances between bags and needs all of them in memory; "
            "pass scan[indices].load(), with the indices of as many bags as fit."
        )
    if not (isinstance(n_repeats, (int, np.integer)) and n_repeats >= 1):
        raise ValueError(f"n_repeats must be an integer >= 1; got {n_repeats!r}.")
    bags, y = as_bags(X), aligned("y", y, X)
    if not (sp.issparse(bags.instances) or isinstance(bags.instances, np.ndarray)):
        raise ValueError(
            "bag_permutation_importance needs instances in a dense or sparse matrix of features; got "
            f"{type(bags.instances).__name__}."
        )
    names, columns = _read_groups(groups, bags, model)
    scorer, rng = check_scoring(model, scoring=scoring), check_random_state(random_state)
    score = float(scorer(model, bags, y))
    losses = np.empty((len(columns), n_repeats))
    for repeat in range(n_repeats):
        order = rng.permutation(bags.n_instances)
        for index, group in enumerate(columns):
            shuffled = bags.with_instances(_with_shuffled(bags.instances, group, order))
            losses[index, repeat] = score - scorer(model, shuffled, y)
    return Importances(
        names=names,
        importances=losses,
        importances_mean=losses.mean(axis=1),
        importances_std=losses.std(axis=1),
        score=score,
    )


def _read_groups(groups: Any, bags: Any, model: Any) -> tuple[list[str], list[np.ndarray]]:
    """Return the names of the features or groups, and the column indices of each."""
    feature_names = (
        bags.feature_names if bags.feature_names is not None else getattr(model, "feature_names_in_", None)
    )
    names = (
        [f"x{i}" for i in range(bags.n_features)] if feature_names is None else list(map(str, feature_names))
    )
    if groups is None:
        return names, [np.array([k]) for k in range(bags.n_features)]
    if not isinstance(groups, (Mapping, Sequence)) or isinstance(groups, str) or not len(groups):
        raise ValueError(
            f"groups must be a non-empty list or dict of lists of features; got {groups!r}. To shuffle every "
            "feature separately, omit groups."
        )
    members = list(groups.values()) if isinstance(groups, Mapping) else list(groups)
    lists: list[list[Any]] = [
        [group] if isinstance(group, (str, int, np.integer)) else list(group) for group in members
    ]
    columns = [np.unique([feature_index(f, bags, model) for f in group]) for group in lists]
    if not all(map(len, columns)):
        raise ValueError("groups contains an empty list; each group needs at least one feature.")
    if isinstance(groups, Mapping):
        return list(map(str, groups)), columns
    return [", ".join(names[k] for k in group) for group in columns], columns


def _with_shuffled(instances: Any, columns: np.ndarray, order: np.ndarray) -> Any:
    """Return a copy of the instances with some columns permuted."""
    if not sp.issparse(instances):
        moved = np.array(instances)
        moved[:, columns] = instances[np.ix_(order, columns)]
        return moved
    by_column = sp.csc_array(instances)
    kept = np.ones(by_column.shape[1])
    kept[columns] = 0.0
    others = by_column @ sp.diags_array(kept)
    placed = by_column[:, columns][order]
    selection = sp.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), len(kept))
    )
    return type(instances)(sp.csr_array(others + placed @ selection)).astype(instances.dtype)
