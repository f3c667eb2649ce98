"""Where the starts of EM come from: random instances, blended with the average of many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise._core.compiled.arrays import readonly
from bagwise.data.blocks import Block, cut_rows, pick_instance, stack
from bagwise.families import Family
from bagwise.families.parts import part_rows, statistics_of


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
    survey : Survey
        Sums and a sample of the pool's instances.
    is_labelled : bool
        Whether all of them are known to be of this class, which then starts in their middle.
    """

    mean: np.ndarray
    sample: Sample
    weight: float
    params: Any

    def __init__(self, family: Family, prior: Any, survey: Survey, *, is_labelled: bool = False):
        self.family = family
        self.prior = prior
        self.sample = survey.sample
        self.weight = survey.weight
        self.is_labelled = is_labelled
        self.params = params_of_prior(family, survey.sample.X, prior)
        self.mean = survey.sums / survey.weight

    def draw(self, rng: np.random.RandomState) -> np.ndarray:
        """Draw the statistics of one component, for a weight of 1."""
        if self.is_labelled:
            return self.mean
        share = rng.random_sample()
        row = pick_instance(self.sample.X, self.sample.weight, rng)
        one = statistics_of(self.family, self.sample.X[row : row + 1], np.ones(1), self.params, self.prior)
        return (1 - share) * self.mean + share * one


class Sample(NamedTuple):
    """Some instances, their weights, and the keys by which they were chosen, unless they are all."""

    X: Any
    weight: np.ndarray
    keys: Any

    def joined_to(self, other: Sample) -> Sample:
        """Put two samples together."""
        keys = None if self.keys is None else np.concatenate([self.keys, other.keys])
        return Sample(stack([self.X, other.X]), np.concatenate([self.weight, other.weight]), keys)

    def least(self, most: int) -> Sample:
        """Keep the instances of the smallest keys; one of each, with the weight of all that equal it."""
        keys, rows, which = np.unique(self.keys, return_index=True, return_inverse=True)
        weight = np.bincount(which, self.weight, minlength=len(keys))
        return Sample(self.X[rows[:most]], weight[:most], keys[:most])


class Survey:
    """Sums of some instances, their weight, and all of them, or `most`: those that have the smallest keys.

    A key depends on nothing but the instance, and is as good as random: so they are a random sample, the same
    for any order and any cut, and for a weight of two as for two instances.
    """

    def __init__(self, sums: np.ndarray, weight: float, sample: Sample, most: int | None):
        self.sums = sums
        self.weight = weight
        self.sample = sample
        self._most = most

    def __add__(self, other: Survey) -> Survey:
        sample = self.sample.joined_to(other.sample)
        if self._most is not None:
            sample = sample.least(self._most)
        return Survey(self.sums + other.sums, self.weight + other.weight, sample, self._most)


def survey_block(block: Block, family: Family, prior: Any, most: int | None) -> Survey:
    """Sum a block up, and keep all its instances, or a sample."""
    each = block.weight_of_each
    params = params_of_prior(family, block.X, prior)
    sums = statistics_of(family, block.X, each, params, prior)
    if most is None:
        sample = Sample(block.X[:], each, None)
    elif most == 0:
        sample = Sample(block.X[:0], each[:0], np.empty(0, dtype=np.uint64))
    else:
        sample = Sample(block.X, each, content_of(block.X)).least(most)
    return Survey(sums, float(each.sum()), sample, most)


def params_of_prior(family: Family, X: Any, prior: Any) -> Any:
    """Give parameters where there are no data: where statistics need some, these must do at first."""
    nothing = statistics_of(family, X[:0], np.empty(0), None, prior)
    return family.mstep(nothing, 0.0, prior)


def content_of(X: Any) -> np.ndarray:
    """Give every instance a number that depends on nothing but the instance, as good as random."""
    from bagwise._core.compiled.content import content_keys

    keys = np.empty(len(X), dtype=np.uint64)
    for rows in cut_rows(len(X), part_rows(X)):
        part = X[rows]
        if isinstance(part, np.ndarray):
            words = part.astype(np.float64) + 0.0  # there is one zero, and one NaN
            words[np.isnan(words)] = np.nan
            words, offsets = words.ravel(), np.arange(0, words.size + 1, X.shape[1])
        else:
            words, offsets = part.symbols, part.offsets
        keys[rows] = content_keys(*readonly(words.view(np.uint64), offsets))
    return keys
