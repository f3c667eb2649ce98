"""Median imputation before bag models that do not support missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.utils import get_tags

from bagwise.data.bags import is_scan
from bagwise.models.wrappers.pipeline import BagPipeline, OnInstances, make_bag_pipeline


def count_missing(bags: Any) -> int:
    """Return the number of missing values (NaN) of bags in memory; 0 for scanned files."""
    if is_scan(bags):
        return 0
    values = (
        bags.instances if isinstance(bags.instances, np.ndarray) else getattr(bags.instances, "data", None)
    )
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return 0
    return int(np.isnan(values).sum())


def entrance(estimator: Any) -> Any:
    """Return the estimator that receives the instances: the first step of a pipeline, or the model.

    In a search or a one-vs-rest classifier, this is the first step, or the model, of the wrapped estimator.
    """
    if getattr(estimator, "steps", None):
        return entrance(estimator.steps[0][1])
    inside = getattr(estimator, "estimator", None)
    is_wrapper = inside is not None and not hasattr(estimator, "_read")
    return entrance(inside) if is_wrapper else estimator


def accepts_missing(estimator: Any) -> bool:
    """Return whether a model supports missing values itself."""
    return bool(get_tags(entrance(estimator)).input_tags.allow_nan)


def impute_median(estimator: Any) -> BagPipeline:
    """Return a pipeline that replaces missing values by the medians of the training instances."""
    filling = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_bag_pipeline(OnInstances(filling), estimator)
