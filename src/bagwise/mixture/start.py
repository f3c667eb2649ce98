"""Where the starts of EM come from: random instances, blended with the average of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.families import Family


class Pool:
    """Instances around which the components of a class are started.

    A draw takes an instance x at random (by weight) and a share a, uniform from 0 to 1, and gives ::

        (1 - a) * mean statistics of the pool + a * statistics of x

    an M step of which is a component near x if a is near 1, and near the middle of the pool if it is
    near 0. In terms of statistics this works for any family. The instance is chosen by its rank in an
    order that depends on the instances alone: the same seed then gives the same start for
    any order of the bags and of the instances in them, and for a bag of weight two as for two bags.

    Parameters
    ----------
    family, prior : Family, object
        The family, and its resolved prior.
    X, weight : instances, array of shape (n_instances,)
        The instances of the pool, and their weights.
    is_labelled : bool
        Whether all of them are known to be of this class, which then starts in their middle.
    """

    def __init__(self, family: Family, prior: Any, X, weight, *, is_labelled: bool = False):
        self.family = family
        self.prior = prior
        self.X: Any = None if is_labelled else X
        self.each = weight
        self.weight = float(weight.sum())
        self.is_labelled = is_labelled
        nothing = family.statistics(X[:0], weight[:0], None, prior)
        # Where statistics need parameters, those of the prior must do at first.
        self.params = family.mstep(nothing, 0.0, prior)
        self.mean = family.statistics(X, weight, self.params, prior) / self.weight

    def draw(self, rng: np.random.RandomState) -> np.ndarray:
        """Draw the statistics of one component, for a weight of 1."""
        if self.is_labelled:
            return self.mean
        share = rng.random_sample()
        row = pick_instance(self.X, self.each, rng)
        one = self.family.statistics(self.X[row : row + 1], np.ones(1), self.params, self.prior)
        return (1 - share) * self.mean + share * one


def pick_instance(X, weight, rng: np.random.RandomState) -> int:
    """Draw the number of an instance by weight, in a way that depends on no order: see `Pool`."""
    place = rng.random_sample()
    order = np.argsort(_keys(X, rng))  # instances with equal keys are equal: which comes first is all one
    reached = np.cumsum(weight[order])
    return int(order[min(int(np.searchsorted(reached, place * reached[-1])), len(order) - 1)])


def _keys(X, rng: np.random.RandomState) -> np.ndarray:
    """Give every instance a number that depends on nothing but the instance (and the seed)."""
    if hasattr(X, "project"):
        return X.project(rng)
    return np.where(np.isnan(X), 0.0, X) @ rng.standard_normal(X.shape[1])
