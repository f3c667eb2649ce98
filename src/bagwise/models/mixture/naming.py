"""Which class a component belongs to, when the fit used no labels."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from bagwise.data.blocks import Block, Blocks
from bagwise.families import Family
from bagwise.models.mixture.params import MixtureParams, component_log_joint


def name_components(family: Family, params: MixtureParams, negative: Blocks) -> MixtureParams:
    """Give components to classes such that the instances of negative bags are most probable: one pass."""
    everything = range(len(params.components))
    choices = list(combinations(everything, params.n_positive))
    values = negative.total(_log_likelihoods, family, params, choices)
    positive = choices[int(np.argmax(values))]
    order = [*positive, *(k for k in everything if k not in positive)]
    log_joint = params.log_joint[order]
    mine, others = params.classes
    log_rate = np.array([np.logaddexp.reduce(log_joint[others]), np.logaddexp.reduce(log_joint[mine])])
    components = [params.components[k] for k in order]
    named = params._replace(log_rate=log_rate, log_weights=np.zeros(len(order)), components=components)
    return named._replace(log_weights=log_joint - named.log_joint)


def _log_likelihoods(block: Block, family: Family, params: MixtureParams, choices: list[Any]) -> np.ndarray:
    """Log-likelihood of instances as negative ones, for every choice of positive components."""
    joint = component_log_joint(family, block.X, params)
    rest = ([k for k in range(len(joint)) if k not in positive] for positive in choices)
    each = block.weight_of_each
    return np.array([each @ np.logaddexp.reduce(joint[mine], axis=0) for mine in rest])
