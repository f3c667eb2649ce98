"""Scaling of instances: the parameter ``scale`` of the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from bagwise._core.compiled.arrays import readonly
from bagwise._core.precision import to_compute
from bagwise._core.sklearn_private import HasMethods, StrOptions
from bagwise.data.bags import Bags
from bagwise.data.bags.parts import LARGEST
from bagwise.data.blocks import Block, Blocks, ColumnRanges
from bagwise.models.base.labels import Training
from bagwise.models.base.rank_scaler import RankScaler

# Allowed values of `scale`, for `_parameter_constraints`.
SCALE_CONSTRAINT: list[Any] = [
    StrOptions({"standard", "minmax", "rank"}),
    HasMethods(["fit", "transform"]),
    None,
]

# Features whose values differ by at most this fraction are treated as constant.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
# Number of first instances to check: most features that vary have different values among them.
_FIRST = 100


def fit_scaler(scale: Any, blocks: Blocks) -> Any:
    """Fit the transformer selected by `scale` to the instances; return None if the instances do not change.

    Every instance has the weight of its bag. A feature that is constant in training becomes 0, in training
    and in new bags (`ignore_constants`). CSR instances stay sparse: "standard" then only divides, "minmax"
    divides by the largest absolute value, and "rank" subtracts the rank of zero. These three options and None
    are computed block by block in one pass. Other transformers are fitted to all instances at once. The
    output is an array for any ``sklearn.set_config(transform_output=...)``.
    """
    X = blocks.whole
    if isinstance(scale, str) and scale == "rank":
        scaler = RankScaler().set_output(transform="default")._fit_blocks(blocks)
        is_constant = np.array([len(values) == 1 for values in scaler.values_])
        return ignore_constants(scaler, is_constant) if is_constant.any() else scaler
    if isinstance(scale, str) and not sp.issparse(X):
        return blocks.total(moments_of_columns).as_scaler(scale)
    if scale is not None and X is None:
        raise TypeError(
            f"scale={scale!r} must be fitted to all instances at once, but the instances are read from "
            'files in blocks; use "standard", "minmax", "rank" or None, or pass X.load() if the bags fit in '
            "memory."
        )
    if scale is None and not sp.issparse(X) and _vary_at_once(blocks):
        return None
    ranges = blocks.total(ColumnRanges.of)
    is_constant = ~(ranges.least < ranges.largest)
    if scale is None:
        if not is_constant.any():
            return None
        unscaled = StandardScaler(with_mean=False, with_std=False).set_output(transform="default")
        return ignore_constants(unscaled.fit(np.zeros((1, len(is_constant)))), is_constant)
    X = to_compute(X) if isinstance(X, np.ndarray) else X
    scaler = _fit_to_all(scale, X, np.repeat(blocks.weight, np.diff(blocks.offsets)))
    if not is_constant.any():
        return scaler
    if affine_map(scaler) is not None or isinstance(scaler, RankScaler):
        return ignore_constants(scaler, is_constant)
    # For other transformers, which may replace features, constant features are set to their training value.
    constants = MinMaxScaler().fit(np.zeros((1, len(is_constant))))
    constants.scale_, constants.min_ = (~is_constant).astype(float), np.where(is_constant, ranges.least, 0.0)
    return Pipeline([("constants", constants.set_output(transform="default")), ("scale", scaler)])


def _vary_at_once(blocks: Blocks) -> bool:
    """Return whether no feature is constant in the first instances, so the others need no comparison."""
    counted = np.flatnonzero(blocks.weight)[:_FIRST]
    first = blocks.take(blocks.offsets[counted[np.diff(blocks.offsets)[counted] > 0]])
    return bool((first.min(axis=0, initial=np.inf) < first.max(axis=0, initial=-np.inf)).all())


def _fit_to_all(scale: Any, X: Any, weight: np.ndarray) -> Any:
    """Fit a scikit-learn scaler to CSR instances, or a clone of the transformer `scale` to any instances."""
    if isinstance(scale, str):
        scaler = StandardScaler(with_mean=False) if scale == "standard" else MaxAbsScaler()
    else:
        scaler = clone(scale)
    if hasattr(scaler, "set_output"):
        scaler.set_output(transform="default")
    fit_params = {}
    if not weight.all():
        X, weight = X[weight > 0], weight[weight > 0]
    if (weight != weight[0]).any() and has_fit_parameter(scaler, "sample_weight"):
        fit_params["sample_weight"] = weight
    return scaler.fit(X, **fit_params)


def ignore_constants(scaler: Any, is_constant: np.ndarray) -> Any:
    """Change a fitted scaler so that it transforms all values of the constant features to 0.

    The computed mean of a large constant differs from the constant because of rounding. The difference would
    act as a feature on which predictions depend, and new bags can have other values of it.
    """
    match scaler:
        case RankScaler():
            # All values get the rank 0.5, and the shift of 0.5 makes it 0.
            for j in np.flatnonzero(is_constant):
                scaler.cumulative_[j] = np.full(2, 0.5)
                scaler.shift_[j] = 0.5
        case MinMaxScaler():
            scaler.scale_[is_constant] = scaler.min_[is_constant] = 0.0
        case _:  # the two remaining scalers divide by `scale_`
            if isinstance(scaler, StandardScaler):
                scaler.with_std = True
            scaler.scale_ = np.where(is_constant, np.inf, 1.0 if scaler.scale_ is None else scaler.scale_)
    return scaler


@dataclass(frozen=True)
class ColumnMoments:
    """Column moments of `n` instances for a scaler; adding two objects yields the moments of both sets.

    `squares` is the weighted sum of squared deviations from the `mean`. Sums of two objects avoid
    cancellation by the method of Chan, Golub and LeVeque (1983).
    """

    n: int
    weight: float
    mean: np.ndarray
    squares: np.ndarray
    least: np.ndarray
    largest: np.ndarray

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        if not (self.n and other.n):
            return self if self.n else other
        weight = self.weight + other.weight
        share, difference = other.weight / weight, other.mean - self.mean
        return ColumnMoments(
            self.n + other.n,
            weight,
            self.mean + share * difference,
            self.squares + other.squares + self.weight * share * difference**2,
            np.minimum(self.least, other.least),
            np.maximum(self.largest, other.largest),
        )

    def as_scaler(self, scale: str) -> StandardScaler | MinMaxScaler:
        """Return the scikit-learn scaler, as if it had been fitted to the instances."""
        size = np.maximum(np.abs(self.least), np.abs(self.largest))
        is_constant = self.largest - self.least <= _ROUNDING * size
        scaler: StandardScaler | MinMaxScaler
        if scale == "minmax":
            scaler = MinMaxScaler().set_output(transform="default").fit(np.stack([self.least, self.largest]))
        else:
            scaler = (
                StandardScaler().set_output(transform="default").fit(np.stack([self.least, self.largest]))
            )
            mean = np.where(is_constant, self.least, self.mean)
            scaler.n_samples_seen_, scaler.mean_, scaler.var_ = self.n, mean, self.squares / self.weight
            scaler.scale_ = np.where(scaler.var_ > 0, np.sqrt(scaler.var_), 1.0)
        return ignore_constants(scaler, is_constant) if is_constant.any() else scaler


def moments_of_columns(block: Block) -> ColumnMoments:
    """Return the column moments of a block, over the instances of bags with a positive weight."""
    from bagwise._core.compiled.rows import column_moments

    X, weight = block.X, block.weight_of_each
    if not weight.all():
        X, weight = X[weight > 0], weight[weight > 0]
    X, weight = readonly(X, weight)
    p = X.shape[1]
    moments = np.zeros(p), np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf)
    column_moments(X, weight, *moments)
    return ColumnMoments(len(X), float(weight.sum()), *moments)


def affine_map(scaler: Any) -> tuple[np.ndarray | float, np.ndarray | float] | None:
    """Return (factor, shift) with ``scaler.transform(x) = x * factor + shift``; None for other scalers."""
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


def varying_features(scaler: Any) -> np.ndarray | None:
    """Return the mask of the features that a fitted scaler uses; None if it uses all or none."""
    if isinstance(scaler, RankScaler):
        varies = np.array([cumulative[-1] == 1.0 for cumulative in scaler.cumulative_])
    else:
        varies = np.atleast_1d(1.0 if (affine := affine_map(scaler)) is None else affine[0]) != 0
    return varies if varies.any() and not varies.all() else None


def _moves(scaler: Any) -> bool:
    """Return whether the scaler was fitted to dense instances and shifts their values."""
    return isinstance(scaler, MinMaxScaler) or (isinstance(scaler, StandardScaler) and scaler.with_mean)


class Scaled:
    """Mixin for estimators with the parameter `scale`, which use scaled instances."""

    scale: Any
    scaler_: Any

    def _fit_scaler(self, training: Training) -> Training:
        """Fit ``scaler_`` to the training instances; return the training data with scaled bags."""
        self.scaler_ = fit_scaler(self.scale, training.bags.blocks(training.y, training.weight))
        return training._replace(bags=self._scaled(training.bags))

    def _n_varying(self, bags: Bags) -> int:
        """Return the number of features of scaled bags that are not constant in training."""
        varies = varying_features(self.scaler_)
        return bags.n_features if varies is None else int(varies.sum())

    def _scaled_instances(self, bags: Bags) -> Any:
        """Return the scaled instances, in the precision of the scaler's output."""
        if self.scaler_ is None:
            return bags.instances
        if sp.issparse(bags.instances) and _moves(self.scaler_):
            raise ValueError(
                f"X is sparse, but {type(self).__name__} was fitted to dense instances, and "
                f"scale={self.scale!r} shifts all values, including zeros; pass dense instances "
                "(X.toarray()), or fit to sparse instances."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = self.scaler_.transform(bags.instances)
        if bags.instances.dtype.itemsize >= 8:
            return scaled
        is_lost = ~np.isfinite(scaled.data if sp.issparse(scaled) else scaled)
        if is_lost.any():
            # Differences and quotients of float32 values can overflow. Recompute only these entries in
            # float64, so that the values of a bag do not depend on the other bags.
            exact = self.scaler_.transform(bags.instances.astype(np.float64))
            scaled = scaled.astype(np.float64)
            values, others = (scaled.data, exact.data) if sp.issparse(scaled) else (scaled, exact)
            values[is_lost] = others[is_lost]
        return scaled

    def _scaled(self, bags: Bags) -> Bags:
        """Return bags with scaled float64 instances."""
        bags = bags.with_instances(self._scaled_instances(bags).astype(np.float64, copy=False))
        values = bags.instances.data if sp.issparse(bags.instances) else bags.instances
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        if not largest <= LARGEST:  # also true for NaN from overflow in a third-party scaler
            raise ValueError(
                f"X has values up to {largest:g} after scale={self.scale!r}, but "
                f"{type(self).__name__} accepts values up to {LARGEST:g}, because powers of larger values "
                'can overflow; rescale the features, or use scale="minmax".'
            )
        return bags
