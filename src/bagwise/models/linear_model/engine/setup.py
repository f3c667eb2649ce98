"""From bags and a fitted scaler to the problem of a linear model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.blocks import Blocks, TransformedBlocks
from bagwise.models.base import affine_map
from bagwise.models.linear_model.engine.design import Design, Scaling
from bagwise.models.linear_model.engine.in_memory import InMemoryProblem
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.rules import Rule

# Beyond this many spreads from zero, scaling is done on the instances and not in the parameters.
_LARGEST_SHIFT = 1e4


def make_problem(
    blocks: Blocks, scaler: Any, rule: Rule, *, ridge: float = 0.0, fit_intercept: bool = True
) -> LinearBagProblem:
    """Set up the likelihood of bags: with all that makes it fast where they are few, else from blocks."""
    if not blocks.are_large:
        design = make_design(blocks.whole, blocks.offsets, scaler, fit_intercept=fit_intercept)
        return InMemoryProblem(design, blocks.y, blocks.weight, rule, ridge=ridge)
    blocks, scaling = scaled_blocks(blocks, scaler, fit_intercept=fit_intercept)
    return LinearBagProblem(blocks, scaling, rule, ridge=ridge)


def make_design(X: Any, offsets: np.ndarray, scaler: Any, *, fit_intercept: bool = True) -> Design:
    """Set up instances in memory for a linear model, with double precision."""
    transform, how = _ways_to_scale(scaler, fit_intercept=fit_intercept)
    X = (X if transform is None else transform(X)).astype(np.float64, copy=False)
    return Design(X if sp.issparse(X) else np.ascontiguousarray(X), offsets, **how)


def scaled_blocks(blocks: Blocks, scaler: Any, *, fit_intercept: bool = True) -> tuple[Blocks, Scaling]:
    """Set up blocks for a linear model, in whatever precision they lie."""
    transform, how = _ways_to_scale(scaler, fit_intercept=fit_intercept)
    if transform is not None:
        n_features = transform(np.zeros((1, blocks.n_features))).shape[1]
        blocks = TransformedBlocks(blocks, transform, n_features)
    return blocks, Scaling(blocks.n_features, **how)


def _ways_to_scale(scaler: Any, *, fit_intercept: bool) -> tuple[Callable[[Any], Any] | None, dict[str, Any]]:
    """A transformer of the instances, if they must be transformed, and the scaling that stays implicit."""
    affine = affine_map(scaler)
    if affine is not None and not fit_intercept:
        affine = affine[0], 0.0  # a shift of the features would be an intercept
    # With a mean far beyond the spread, x * factor + shift would cancel: then the features are scaled first.
    is_scaled = affine is None or np.abs(affine[1]).max(initial=0.0) > _LARGEST_SHIFT
    factor, shift = affine or (1.0, 0.0)
    how = {"factor": factor, "shift": shift, "is_scaled": is_scaled, "fit_intercept": fit_intercept}
    return scaler.transform if is_scaled else None, how
