"""Preparation of EM: prior, starts, and sums that are computed only once.

`prepare` resolves the prior on all instances. `build_model` computes a `Survey` of the bags: sums, some of
which EM does not need to compute again, and a sample of instances, from which `Pool` draws starts.
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
    ColumnRanges,
    MemoryBlocks,
    SelectedBlocks,
    Sums,
    TransformedBlocks,
    cut,
    cut_rows,
    hold,
    pick_instance,
    run_together,
    stack,
)
from bagwise.families import Family
from bagwise.families.parts import is_matrix, part_rows, start_statistics_of, statistics_of
from bagwise.families.refusal import columns_named_by, rows_named_by
from bagwise.models.mixture.model import BagMixture, FixedSums, Start
from bagwise.rules import Rule

# Sample size for starts, in values, if the bags are large.
_DRAWN_VALUES = 2**16

# The likelihood of labels is computed for this many instances at a time.
_AT_A_TIME = 2**16


def read_n_components(n_components: Any) -> tuple[int, int]:
    """Read the number of components of the positive and the negative class."""
    both = (n_components, n_components) if isinstance(n_components, Integral) else tuple(n_components)
    if len(both) == 2 and all(isinstance(n, Integral) and int(n) >= 1 for n in both):
        return int(both[0]), int(both[1])
    raise ValueError(
        f"n_components must be an integer >= 1 or two of them, (positive, negative); got {n_components!r}."
    )


class Ground(NamedTuple):
    """Shared input of the fits with all rules.

    Attributes
    ----------
    family, prior, n_components
        As in `BagMixture`.
    blocks : Blocks
        The bags; small data are in memory, in float64.
    is_complete : bool
        Whether no instance has a missing value.
    constants : Constants or None
        The constant features, which the blocks no longer contain.
    """

    family: Family
    prior: Any
    n_components: tuple[int, int]
    blocks: Blocks
    is_complete: bool
    constants: Constants | None


@dataclass(frozen=True)
class Constants:
    """Features that are constant in training, and that a mixture leaves out.

    Attributes
    ----------
    varies : array of bool, shape (n_features,)
        Mask of the other features.
    values : array of shape (n_features,)
        Smallest observed value of every feature. A constant feature has no other value.
    """

    varies: np.ndarray
    values: np.ndarray

    @property
    def columns(self) -> np.ndarray:
        """The indices of the other features."""
        return np.flatnonzero(self.varies)

    def left_out(self, X: Any) -> Any:
        """Return instances without the constant features."""
        return np.ascontiguousarray(X[:, self.varies])

    def filled_in(self, X: Any) -> np.ndarray:
        """Return instances with all features, the inverse of `left_out`."""
        filled = np.tile(self.values, (len(X), 1))
        filled[:, self.varies] = X
        return filled


def prepare(family: Family, prior: Any, n_components: tuple[int, int], blocks: Blocks) -> Ground:
    """Resolve the user's prior on all instances: one pass, or two if the bags are small.

    If some features are constant, it takes another pass.
    """
    if not blocks.are_large:
        blocks = hold(blocks, np.float64)
    sums, is_complete, constants = look_at_all(family, blocks)
    if constants is not None:
        blocks = TransformedBlocks(blocks, constants.left_out, int(constants.varies.sum()))
        if not blocks.are_large:
            blocks = hold(blocks)
        sums, is_complete, _ = look_at_all(family, blocks)
    with columns_named_by(None if constants is None else constants.columns):
        resolved = family.start(sums, sum(n_components), prior)
    return Ground(family, resolved, n_components, blocks, is_complete, constants)


def look_at_all(family: Family, blocks: Blocks) -> tuple[Any, bool, Constants | None]:
    """Return the start statistics of a family, whether no value is missing, and constants to leave out."""
    sums, n_missing, *ranges = blocks.total(_look_at, family, blocks.begins)
    constants = None
    if ranges and not family.describes_constants:
        varies = ranges[0].least < ranges[0].largest
        if varies.any() and not varies.all():
            constants = Constants(varies, ranges[0].least)
    return sums, n_missing == 0, constants


def _look_at(block: Block, family: Family, begins: np.ndarray) -> Sums:
    """Examine a block; row indices in errors refer to all instances."""
    with rows_named_by(np.r_[block.rows(begins)]):
        sums = start_statistics_of(family, block.X, block.weight_of_each)
    if not is_matrix(block.X):
        return Sums((sums, 0))
    has_missing = any(np.isnan(block.X[rows]).any() for rows in cut_rows(len(block.X), part_rows(block.X)))
    return Sums((sums, int(has_missing), ColumnRanges.of(block)))


def build_model(
    ground: Ground, rule: Rule, start: Start | None = None, *, keeps_cost: bool = False
) -> tuple[BagMixture, Blocks]:
    """Build the model for EM, with a sample of instances for starts: one pass.

    Returns
    -------
    BagMixture, Blocks
        The model, and the bags that EM iterates over. Bags are left out if all their instances are known to
        be negative and their sums are sufficient.
    """
    family, prior, n_components, blocks, is_complete, _ = ground
    pure = rule.pure_bags(blocks.y)
    one_negative = n_components[1] == 1
    # Starts are drawn from all instances, or from a sample that is small compared with a block.
    many = blocks.n_instances * _DRAWN_VALUES // max(1, blocks.n_values)
    most = max(64, many) if blocks.are_large else None
    # A component with labeled instances starts at their mean, so no instances need to be drawn.
    none_drawn = one_negative and not pure.all()
    jobs = []
    for group, n_drawn in ((~pure, most), (pure, 0 if none_drawn else most)):
        if group.any():
            jobs.append(functools.partial(_survey, ground, group, n_drawn))
    surveys = run_together(blocks, jobs) if blocks.are_large else [job(blocks) for job in jobs]
    pool = Pool(family, prior, surveys[0])
    # Labels identify the class of instances before the fit only in pure bags.
    negative = Pool(family, prior, surveys[-1], is_labelled=one_negative) if pure.any() else pool
    fixed_sums, total = None, None
    # Otherwise, statistics depend on the parameters and must be computed in every iteration.
    are_sums_fixed = is_complete or family.missing != "expect"
    if are_sums_fixed and not family.statistics_need_params:
        last = surveys[-1]
        params = family.mstep(last.sums, last.weight, prior)
        suffice = family.log_density_of_sums(last.sums, last.weight, params, prior) is not None
        if pure.any() and one_negative and suffice:
            fixed_sums = FixedSums(last.weight, last.sums, _log_likelihood_of_pure(rule, blocks, pure))
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
            fixed_sums=fixed_sums,
            total=total,
            start=start,
            keeps_cost=keeps_cost,
        ),
        blocks,
    )


def _survey(ground: Ground, group: np.ndarray, most: int | None, blocks: Blocks) -> Survey:
    return _select(blocks, group).total(survey_block, ground.family, ground.prior, most)


def _select(blocks: Blocks, wanted: np.ndarray) -> Blocks:
    """Select bags, without changing the blocks: copy small data, and filter large data as they are read."""
    if not isinstance(blocks, MemoryBlocks) or blocks.are_large:
        return SelectedBlocks(blocks, wanted)
    if wanted.all():
        return blocks
    sizes = np.diff(blocks.offsets)
    offsets = np.append(0, np.cumsum(sizes[wanted]))
    runs, begin = [], 0
    for i in range(blocks.n_blocks):
        end = begin + int(np.count_nonzero(wanted[blocks.block(i).bags]))
        runs.append(slice(begin, end))
        begin = end
    X = blocks.X[np.flatnonzero(np.repeat(wanted, sizes))]
    return MemoryBlocks(X, offsets, blocks.y[wanted], blocks.weight[wanted], runs=runs, in_threads=False)


def _log_likelihood_of_pure(rule: Rule, blocks: Blocks, pure: np.ndarray) -> float:
    """Return the weighted log P(label | all negative), which may differ from 0 but does not depend on X."""
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
    """Instances from which the starts of a class are drawn.

    A draw takes a random instance x (by weight) and a share a, uniform between 0 and 1, and returns ::

        (1 - a) * mean statistics of the pool + a * statistics of x

    An M step on these statistics results in a component near x if a is near 1, and near the mean of the pool
    if a is near 0. Because it uses statistics, this works for any family. The instance is chosen by its rank
    in an order that depends only on the instances. The same seed therefore leads to the same start for any
    order of bags and instances, and a bag of weight two is equivalent to two bags.

    Parameters
    ----------
    family, prior : Family, object
        The family, and its resolved prior.
    survey : Survey
        Sums and a sample of the pool's instances.
    is_labelled : bool
        Whether all instances are known to be of this class, which then starts at their mean.
    """

    mean: np.ndarray
    sample: InstanceSample
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
        """Draw the statistics of one component, normalized to weight 1."""
        if self.is_labelled:
            return self.mean
        share = rng.random_sample()
        row = pick_instance(self.sample.X, self.sample.weight, rng)
        of_instance = statistics_of(
            self.family, self.sample.X[row : row + 1], np.ones(1), self.params, self.prior
        )
        return (1 - share) * self.mean + share * of_instance


class InstanceSample(NamedTuple):
    """Sample of instances, with their weights and keys (``keys`` is None if all instances are included)."""

    X: Any
    weight: np.ndarray
    keys: Any

    def joined_to(self, other: InstanceSample) -> InstanceSample:
        """Return the union of two samples."""
        keys = None if self.keys is None else np.concatenate([self.keys, other.keys])
        return InstanceSample(stack([self.X, other.X]), np.concatenate([self.weight, other.weight]), keys)

    def least(self, most: int) -> InstanceSample:
        """Keep the instances with the smallest keys; equal instances are merged and their weights added."""
        keys, rows, inverse = np.unique(self.keys, return_index=True, return_inverse=True)
        weight = np.bincount(inverse, self.weight, minlength=len(keys))
        return InstanceSample(self.X[rows[:most]], weight[:most], keys[:most])


@dataclass(frozen=True)
class Survey:
    """Sums and total weight of instances, and a sample: all, or the `most` with the smallest keys.

    A key is a hash of the instance, so these instances are a random sample. The sample does not depend on
    the order or on the division into blocks, and an instance of weight two is equivalent to two instances.
    """

    sums: np.ndarray
    weight: float
    sample: InstanceSample
    most: int | None

    def __add__(self, other: Survey) -> Survey:
        sample = self.sample.joined_to(other.sample)
        if self.most is not None:
            sample = sample.least(self.most)
        return Survey(self.sums + other.sums, self.weight + other.weight, sample, self.most)


def survey_block(block: Block, family: Family, prior: Any, most: int | None) -> Survey:
    """Compute the survey of a block."""
    each = block.weight_of_each
    params = params_of_prior(family, block.X, prior)
    sums = statistics_of(family, block.X, each, params, prior)
    if most is None:
        sample = InstanceSample(block.X[:], each, None)
    elif most == 0:
        # Not a view, because a view keeps all instances in memory.
        sample = InstanceSample(block.X[np.empty(0, dtype=np.int64)], each[:0], np.empty(0, dtype=np.uint64))
    else:
        sample = InstanceSample(block.X, each, content_of(block.X)).least(most)
    return Survey(sums, float(each.sum()), sample, most)


def params_of_prior(family: Family, X: Any, prior: Any) -> Any:
    """Return parameters that use no data: initial values for statistics that require parameters."""
    nothing = statistics_of(family, X[:0], np.empty(0), None, prior)
    return family.mstep(nothing, 0.0, prior)


def content_of(X: Any) -> np.ndarray:
    """Return a hash of every instance."""
    from bagwise._core.compiled.content import content_keys

    keys = np.empty(len(X), dtype=np.uint64)
    for rows in cut_rows(len(X), part_rows(X)):
        part = X[rows]
        if isinstance(part, np.ndarray):
            # Map all zeros to +0, and all NaNs to one value.
            values = part.astype(np.float64) + 0.0
            values[np.isnan(values)] = np.nan
            values, offsets = values.ravel(), np.arange(0, values.size + 1, X.shape[1])
        else:
            values, offsets = part.symbols, part.offsets
        keys[rows] = content_keys(*readonly(values.view(np.uint64), offsets))
    return keys
