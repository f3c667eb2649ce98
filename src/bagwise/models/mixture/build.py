"""What comes before EM: a survey of the bags, starts, and a model that repeats no sum.

`prepare` resolves the prior on all instances. `build_model` surveys the bags (`Survey`): their sums, of which
EM need not repeat those that are known, and a sample of their instances, around which `Pool` draws starts.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from bagwise._core.compiled.arrays import readonly
from bagwise.data.blocks import (
    Block,
    Blocks,
    MemoryBlocks,
    SelectedBlocks,
    Sums,
    cut,
    cut_rows,
    hold,
    pick_instance,
    run_together,
    stack,
)
from bagwise.families import Family
from bagwise.families.parts import is_matrix, part_rows, start_statistics_of, statistics_of
from bagwise.families.refusal import rows_named_by
from bagwise.models.mixture.model import BagMixture, Known, Start
from bagwise.rules import Rule

# Starts are drawn from so many values, where there are more than can be kept.
_DRAWN_VALUES = 2**16

# The likelihood of labels is computed for so many instances at a time.
_AT_A_TIME = 2**16


def read_n_components(n_components: Any) -> tuple[int, int]:
    """Read the number of components of the positive and the negative class."""
    both = (n_components, n_components) if isinstance(n_components, Integral) else tuple(n_components)
    if len(both) == 2 and all(isinstance(n, Integral) and int(n) >= 1 for n in both):
        return int(both[0]), int(both[1])
    raise ValueError(
        f"n_components must be a number of at least 1, or two (positive, negative); got {n_components!r}."
    )


class Ground(NamedTuple):
    """What the fits under all rules stand on.

    Attributes
    ----------
    family, prior, n_components
        As in `BagMixture`.
    blocks : Blocks
        The bags; if they are few, in memory and in double precision.
    is_complete : bool
        Whether no instance has a missing value.
    """

    family: Family
    prior: Any
    n_components: tuple[int, int]
    blocks: Blocks
    is_complete: bool


def prepare(family: Family, prior: Any, n_components: tuple[int, int], blocks: Blocks) -> Ground:
    """Resolve the prior, as the user gave it, on all instances: one pass, or two if they are few."""
    if not blocks.are_large:
        blocks = hold(blocks, np.float64)
    sums, n_missing = blocks.total(_look_at_all, family, blocks.begins)
    resolved = family.start(sums, sum(n_components), prior)
    return Ground(family, resolved, n_components, blocks, n_missing == 0)


def look_at(block: Block, family: Family, begins: np.ndarray) -> Any:
    """Sum up what a family must know beforehand; a value that it refuses is named by its place among all."""
    with rows_named_by(np.r_[block.rows(begins)]):
        return start_statistics_of(family, block.X, block.weight_of_each)


def _look_at_all(block: Block, family: Family, begins: np.ndarray) -> Sums:
    has_missing = is_matrix(block.X) and any(
        np.isnan(block.X[rows]).any() for rows in cut_rows(len(block.X), part_rows(block.X))
    )
    return Sums((look_at(block, family, begins), int(has_missing)))


def build_model(
    ground: Ground, rule: Rule, start: Start | None = None, *, keeps_cost: bool = False
) -> tuple[BagMixture, Blocks]:
    """Find out what need not be computed again, and gather the instances of starts: one pass.

    Returns
    -------
    BagMixture, Blocks
        The model, and the bags that EM passes over: those of whose instances not all are known.
    """
    family, prior, n_components, blocks, is_complete = ground
    pure = rule.pure_bags(blocks.y)
    one_negative = n_components[1] == 1
    # Starts are drawn from all instances, or from so many as are little beside a block.
    many = blocks.n_instances * _DRAWN_VALUES // max(1, blocks.n_values)
    most = max(64, many) if blocks.are_large else None
    # Instances that are known to be of one component start it in their middle: none is drawn.
    none_drawn = one_negative and not pure.all()
    jobs = []
    for group, n_drawn in ((~pure, most), (pure, 0 if none_drawn else most)):
        if group.any():
            jobs.append(functools.partial(_survey, ground, group, n_drawn))
    surveys = run_together(blocks, jobs) if blocks.are_large else [job(blocks) for job in jobs]
    pool = Pool(family, prior, surveys[0])
    # Only where bags are pure do labels tell the classes' instances apart beforehand.
    negative = Pool(family, prior, surveys[-1], is_labelled=one_negative) if pure.any() else pool
    known, total = None, None
    # Else statistics must be computed anew for every parameter.
    are_sums_fixed = is_complete or family.missing != "expect"
    if are_sums_fixed and not family.statistics_need_params:
        last = surveys[-1]
        params = family.mstep(last.sums, last.weight, prior)
        suffice = family.log_density_of_sums(last.sums, last.weight, params, prior) is not None
        if pure.any() and one_negative and suffice:
            known = Known(last.weight, last.sums, _log_likelihood_of_pure(rule, blocks, pure))
            blocks = _select(blocks, ~pure)
            blocks = blocks if blocks.are_large else hold(blocks, recut=True)
        if n_components == (1, 1) and is_complete and suffice:
            total = 0.0 * surveys[0].sums if pure.all() else surveys[0].sums
    return (
        BagMixture(
            family,
            prior,
            rule,
            n_components,
            (pool, negative),
            known=known,
            total=total,
            start=start,
            keeps_cost=keeps_cost,
        ),
        blocks,
    )


def _survey(ground: Ground, group: np.ndarray, most: int | None, blocks: Blocks) -> Survey:
    return _select(blocks, group).total(survey_block, ground.family, ground.prior, most)


def _select(blocks: Blocks, wanted: np.ndarray) -> Blocks:
    """Select bags, which stay in their blocks: few of them by a copy in memory, many as they are read."""
    if not isinstance(blocks, MemoryBlocks) or blocks.are_large:
        return SelectedBlocks(blocks, wanted)
    if wanted.all():
        return blocks
    sizes = np.diff(blocks.offsets)
    offsets = np.append(0, np.cumsum(sizes[wanted]))
    runs, begin = [], 0
    for number in range(blocks.n_blocks):
        end = begin + int(np.count_nonzero(wanted[blocks.block(number).bags]))
        runs.append(slice(begin, end))
        begin = end
    X = blocks.X[np.flatnonzero(np.repeat(wanted, sizes))]
    return MemoryBlocks(X, offsets, blocks.y[wanted], blocks.weight[wanted], runs=runs, in_threads=False)


def _log_likelihood_of_pure(rule: Rule, blocks: Blocks, pure: np.ndarray) -> float:
    """Give the weighted log P(label | all negative): it need not be 0, but knows nothing of the instances."""
    y, weight = blocks.y[pure], blocks.weight[pure]
    offsets = np.append(0, np.cumsum(np.diff(blocks.offsets)[pure]))
    value = 0.0
    for bags in cut(offsets, _AT_A_TIME):
        within = offsets[bags.start : bags.stop + 1] - offsets[bags.start]
        result = rule.estep(np.full(within[-1], -np.inf), within, y[bags])
        value += float(weight[bags] @ result.log_likelihood)
    return value


# ---------------------------------------------------------------------- starts


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


@dataclass(frozen=True)
class Survey:
    """Sums of some instances, their weight, and all of them, or `most`: those that have the smallest keys.

    A key depends on nothing but the instance, and is as good as random: so they are a random sample, the same
    for any order and any cut, and for a weight of two as for two instances.
    """

    sums: np.ndarray
    weight: float
    sample: Sample
    most: int | None

    def __add__(self, other: Survey) -> Survey:
        sample = self.sample.joined_to(other.sample)
        if self.most is not None:
            sample = sample.least(self.most)
        return Survey(self.sums + other.sums, self.weight + other.weight, sample, self.most)


def survey_block(block: Block, family: Family, prior: Any, most: int | None) -> Survey:
    """Sum a block up, and keep all its instances, or a sample."""
    each = block.weight_of_each
    params = params_of_prior(family, block.X, prior)
    sums = statistics_of(family, block.X, each, params, prior)
    if most is None:
        sample = Sample(block.X[:], each, None)
    elif most == 0:
        # No view, which would keep all instances in memory.
        sample = Sample(block.X[np.empty(0, dtype=np.int64)], each[:0], np.empty(0, dtype=np.uint64))
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
