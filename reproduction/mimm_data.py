"""Code shared by the experiments on Foulds and Smyth's table 1: data, features and folds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bagwise import datasets
from bagwise.data.bags import Bags
from bagwise.families import Family, GaussianDiag

# Variance thresholds below which nearly constant columns in the image sets are dropped.
LEAST_VARIANCE = {"spread0.001": 0.001, "spread": 0.1, "spread0.5": 0.5}


class Fold(NamedTuple):
    """Preprocessed bags and labels, and the indices of training and test bags."""

    bags: Bags
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray


@cache
def fetched(dataset: str) -> tuple[Bags, np.ndarray]:
    """Return the bags of a data set with float values, and their labels."""
    data = getattr(datasets, f"fetch_{dataset}")()
    return data.bags.with_instances(np.asarray(data.bags.instances, dtype=np.float64)), data.y


def preparation(features: str) -> Any:
    """Return the transformer for a kind of features (see `folds`)."""
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import VarianceThreshold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

    pca = PCA(10, svd_solver="covariance_eigh")  # the default solver may be randomized
    steps = {
        "raw": [FunctionTransformer()],
        "varying": [VarianceThreshold()],
        "standard": [StandardScaler()],
        "range": [MinMaxScaler()],
        "pca_train": [StandardScaler(), pca],
        "pca_all": [StandardScaler(), pca],
        "pca_plain": [pca],
        "pca_range": [MinMaxScaler(), pca],
    }
    for name, least in LEAST_VARIANCE.items():
        steps[name] = [VarianceThreshold(least)]
        steps[f"pca_{name}"] = [VarianceThreshold(least), StandardScaler(), pca]
    return make_pipeline(*steps[features])


def folds(dataset: str, features: str, repeat: int, n_folds: int, seed: int) -> Iterator[Fold]:
    """Yield stratified folds; the transformer is fitted to training bags, for "pca_all" to all bags.

    "raw", "varying" (not constant), "spread" (variance of at least a value in `LEAST_VARIANCE`), "standard"
    and "range" (scaled to 0 to 1) are columns of the data. Names with "pca" denote ten principal components.
    """
    from sklearn.model_selection import StratifiedKFold

    bags, y = fetched(dataset)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
    for train, test in splitter.split(np.zeros(len(y)), y):
        learned_from = bags if features == "pca_all" else bags[train]
        transformer = preparation(features).fit(learned_from.instances)
        X = np.array(transformer.transform(bags.instances), order="C")
        yield Fold(bags.with_instances(X), y, train, test)


class AllColumns(GaussianDiag):
    """Diagonal covariances that include constant columns, whose variances have the paper's shared prior."""

    describes_constants = True


def family_of(features: str) -> str | Family:
    """Return the family: full covariances for principal components, diagonal covariances for columns."""
    return "gaussian" if features.startswith("pca") else AllColumns()
