"""Which class a component belongs to, when the fit used no labels."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bagwise.bags import Bags
from bagwise.mixture.model import MixtureParams, component_log_joint


def name_components(family, params: MixtureParams, negative: Bags, weight) -> MixtureParams:
    """Give components to classes such that the instances of negative bags are most probable."""
    joint = component_log_joint(family, negative.instances, params)
    each = np.repeat(weight, negative.sizes)
    everything = range(len(joint))

    def log_likelihood(positive) -> float:
        rest = [k for k in everything if k not in positive]
        return float(each @ np.logaddexp.reduce(joint[rest], axis=0))

    positive = max(combinations(everything, params.n_positive), key=log_likelihood)
    order = [*positive, *(k for k in everything if k not in positive)]
    p = params.n_positive
    rates = np.where(np.arange(len(joint)) < p, params.log_rate[1], params.log_rate[0])
    log_joint = (params.log_weights + rates)[order]
    log_rate = np.array([np.logaddexp.reduce(log_joint[p:]), np.logaddexp.reduce(log_joint[:p])])
    log_weights = log_joint - np.where(np.arange(len(joint)) < p, log_rate[1], log_rate[0])
    components = [params.components[k] for k in order]
    return MixtureParams(log_rate, log_weights, components, p, params.rule)
