"""`site_folds`: cross-validation folds that keep sites together."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedGroupKFold

from bagwise.data.bags.parts import group_of_each


def site_folds(
    y: ArrayLike,
    sites: ArrayLike,
    *,
    n_splits: int = 5,
    groups: ArrayLike | None = None,
    random_state: int | None = 0,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split bags into stratified folds that keep all bags of a site together.

    Slides of one hospital share scanner and stain, so a model can recognize the hospital instead of the
    disease. If the test bags come from other sites than the training bags, the score shows how well a model
    works at a new site. The folds are those of `StratifiedGroupKFold`.

    Parameters
    ----------
    y : array of shape (n_bags,)
        Labels of the bags.
    sites : array of shape (n_bags,)
        Site of every bag, for example the hospital, laboratory or scanner.
    n_splits : int, default=5
        Number of folds; at most the number of sites.
    groups : array of shape (n_bags,), optional
        Patients, which are kept together as well. If a patient has bags of two sites, both sites are in the
        same fold.
    random_state : int or None, default=0
        Seed of the order of the sites.

    Returns
    -------
    list of (train, test)
        Indices of bags, for the parameter `cv` of searches, `cross_validate` and `compare`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import site_folds
    >>> y, sites = np.arange(12) % 2, np.repeat(["a", "b", "c", "d"], 3)
    >>> folds = site_folds(y, sites, n_splits=2)
    >>> [set(sites[train]) & set(sites[test]) for train, test in folds]
    [set(), set()]
    """
    labels = np.asarray(y)
    codes = _together(group_of_each(sites, len(labels)), groups)
    n_groups = int(codes.max()) + 1
    if n_splits > n_groups:
        joined = " (sites that share a patient count as one)" if groups is not None else ""
        raise ValueError(
            f"n_splits is {n_splits}, but there are {n_groups} sites{joined}; use at most {n_groups} folds."
        )
    splitter = StratifiedGroupKFold(n_splits, shuffle=True, random_state=random_state)
    folds = [(train, test) for train, test in splitter.split(labels, labels, codes)]
    for index, (train, _) in enumerate(folds):
        if len(np.unique(labels[train])) < len(np.unique(labels)):
            raise ValueError(
                f"fold {index} has no training bag of one class, because all of them come from its test "
                "sites; use fewer folds, or another random_state."
            )
    return folds


def _together(sites: Any, groups: Any) -> np.ndarray:
    """Return codes of the sites; sites that share a group have the same code."""
    codes = np.unique(sites, return_inverse=True)[1]
    if groups is None:
        return codes
    of_groups = np.unique(group_of_each(groups, len(codes)), return_inverse=True)[1]
    n_sites, n_groups = int(codes.max()) + 1, int(of_groups.max()) + 1
    edges = sp.coo_array((np.ones(len(codes)), (codes, n_sites + of_groups)), shape=(n_sites + n_groups,) * 2)
    component = connected_components(edges, directed=False)[1]
    return np.unique(component[codes], return_inverse=True)[1]
