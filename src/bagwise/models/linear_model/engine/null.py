"""The model without features: where every fit and every path begins."""

from __future__ import annotations

import numpy as np

from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.in_memory import InMemoryProblem
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.solvers.control import Control
from bagwise.solvers.smooth import minimize_smooth


def fit_null(problem: LinearBagProblem, control: Control) -> np.ndarray:
    """Fit the intercept alone, and give all parameters, the coefficients being zero.

    All instances then have the same log-odds: bags of one size and label are alike, and one stands for all of
    them. So this costs next to nothing, however many instances there are.
    """
    sizes = np.diff(problem.offsets)
    labels, label = np.unique(problem.y, return_inverse=True)
    _, first, kind = np.unique(sizes * len(labels) + label, return_index=True, return_inverse=True)
    offsets = np.append(0, np.cumsum(sizes[first]))
    alike = Design(np.empty((offsets[-1], 0)), offsets, fit_intercept=problem.scaling.fit_intercept)
    weight = np.bincount(kind, problem.blocks.weight)
    alone = InMemoryProblem(alike, problem.y[first], weight, problem.rule)
    result = minimize_smooth(
        alone.value_and_gradient,
        np.zeros(1),
        control.without_checkpoint(),
        hessian_product=alone.hessian_product if problem.rule.has_latent_labels else None,
        has_kinks=problem.has_kinks,
    )
    return np.append(np.zeros(problem.n_features), result.x)
