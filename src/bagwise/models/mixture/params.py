"""The parameters of a mixture, and the densities they make."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bagwise.families import Family
from bagwise.families.parts import of_instances
from bagwise.rules import Rule


class MixtureParams(NamedTuple):
    """Parameters of the mixture; components of the positive class come first.

    Attributes
    ----------
    log_rate : array of shape (2,)
        Log probability that an instance is negative, positive.
    log_weights : array of shape (n_components,)
        Log probability of each component within its class.
    components : list
        Parameters of the components, as their family knows them.
    n_positive : int
        How many of the components are the positive class's.
    rule : Rule
        The rule, which may have parameters too.
    """

    log_rate: np.ndarray
    log_weights: np.ndarray
    components: list[Any]
    n_positive: int
    rule: Rule

    @property
    def classes(self) -> tuple[slice, slice]:
        """Which components are of the positive class, and of the negative."""
        return slice(None, self.n_positive), slice(self.n_positive, None)

    @property
    def log_joint(self) -> np.ndarray:
        """Log probability of class and component."""
        is_positive = np.arange(len(self.components)) < self.n_positive
        return self.log_weights + np.where(is_positive, self.log_rate[1], self.log_rate[0])


def pack_params(family: Family, params: MixtureParams) -> np.ndarray:
    """Write log-rates and log-weights, which `unpack_params` normalises, and the components as a vector."""
    parts = [family.pack(component) for component in params.components]
    return np.concatenate([params.log_rate, params.log_weights, *parts])


def unpack_params(family: Family, vector: np.ndarray, params: MixtureParams) -> MixtureParams:
    """Read what `pack_params` wrote."""
    k = len(params.components)
    log_weights = vector[2 : 2 + k].copy()
    for part in params.classes:
        log_weights[part] -= logsumexp(log_weights[part])
    components, begin = [], 2 + k
    for component in params.components:
        size = len(family.pack(component))
        components.append(family.unpack(vector[begin : begin + size], component))
        begin += size
    log_rate = vector[:2] - logsumexp(vector[:2])
    return MixtureParams(log_rate, log_weights, components, params.n_positive, params.rule)


def component_log_joint(family: Family, X: Any, params: MixtureParams) -> np.ndarray:
    """Log probability of class and component, plus the log density: (n_components, n_instances)."""
    joint = np.stack([of_instances(family, "log_density", X, component) for component in params.components])
    return joint + params.log_joint[:, None]


def class_log_joint(joint: np.ndarray, n_positive: int) -> np.ndarray:
    """Add components up to classes: (2, n_instances), negative and positive."""
    if joint.shape[0] == 2 and n_positive == 1:
        return joint[::-1]
    return np.stack([logsumexp(joint[n_positive:], axis=0), logsumexp(joint[:n_positive], axis=0)])


def log_odds_of(classes: np.ndarray) -> np.ndarray:
    """Log-odds that an instance is positive; 0 where neither class can have made it."""
    with np.errstate(invalid="ignore"):
        log_odds = classes[1] - classes[0]
    return np.where(np.isneginf(classes).all(axis=0), 0.0, log_odds)
