"""What ``scale=`` does to instances."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from bagwise._sklearn import HasMethods, StrOptions
from bagwise.bags import Bags
from bagwise.base.labels import Training
from bagwise.blocks.cutting import block_rows, cut_rows

# What `scale` may be, for `_parameter_constraints`.
SCALE_CONSTRAINT = [StrOptions({"standard", "minmax"}), HasMethods(["fit", "transform"]), None]


def fit_scaler(scale, bags: Bags, weight: np.ndarray | None = None):
    """Fit the transformer that ``scale=`` asks for on the instances; None for None.

    Every instance counts with the weight of its bag. CSR instances stay sparse: "standard" then divides
    only, and "minmax" divides by the largest absolute value.
    """
    if scale is None:
        return None
    sparse = sp.issparse(bags.instances)
    if isinstance(scale, str):
        scaler = {
            ("standard", False): StandardScaler,
            ("standard", True): lambda: StandardScaler(with_mean=False),
            ("minmax", False): MinMaxScaler,
            ("minmax", True): MaxAbsScaler,
        }[scale, sparse]()
    else:
        scaler = clone(scale)
    how = {}
    if weight is not None and (weight != weight[0]).any() and has_fit_parameter(scaler, "sample_weight"):
        how["sample_weight"] = np.repeat(weight, bags.sizes)
    if sparse or not isinstance(scale, str):
        return scaler.fit(bags.instances, **how)
    # A fit of all at once would need a copy of all.
    for rows in cut_rows(bags.n_instances, block_rows(bags.n_features)):
        scaler.partial_fit(bags.instances[rows], **{name: values[rows] for name, values in how.items()})
    return scaler


def affine_map(scaler) -> tuple[np.ndarray | float, np.ndarray | float] | None:
    """Write ``scaler.transform(x)`` as ``x * factor + shift``; None if it is not one of ours."""
    match scaler:
        case None:
            return 1.0, 0.0
        case StandardScaler(mean_=mean, scale_=scale):
            shift = 0.0 if mean is None or not scaler.with_mean else -mean / scale
            return 1.0 / scale, shift
        case MinMaxScaler():
            return scaler.scale_, scaler.min_
        case MaxAbsScaler():
            return 1.0 / scaler.scale_, 0.0
    return None


class Scaled:
    """Mixin of estimators with the parameter `scale` that work on instances as they come out of it."""

    scale: Any
    scaler_: Any

    def _fit_scaler(self, training: Training) -> Training:
        """Set ``scaler_``, fitted on the training instances; give the training bags, scaled."""
        self.scaler_ = fit_scaler(self.scale, training.bags, training.weight)
        return training._replace(bags=self._scaled(training.bags))

    def _scaled(self, bags: Bags) -> Bags:
        """Scale the instances; they are float64 afterwards."""
        instances = bags.instances if self.scaler_ is None else self.scaler_.transform(bags.instances)
        return bags.with_instances(instances.astype(np.float64, copy=False))
