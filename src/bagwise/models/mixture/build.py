"""From bags and parts to the model that EM fits."""

from __future__ import annotations

import functools
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from bagwise.data.blocks import Block, Blocks, SelectedBlocks, Sums, cut, cut_rows, hold, run_together
from bagwise.families import Family
from bagwise.families.parts import is_matrix, part_rows, start_statistics_of
from bagwise.families.refusal import rows_named_by
from bagwise.models.mixture.model import BagMixture, Known, Start
from bagwise.models.mixture.start import Pool, Survey, survey_block
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

    @property
    def sums_need_params(self) -> bool:
        """Whether statistics must be computed anew for every parameter."""
        family = self.family
        return family.statistics_need_params or (family.missing == "expect" and not self.is_complete)


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
    family, prior, n_components, blocks, _ = ground
    pure = rule.pure_bags(blocks.y)
    groups = [group for group in (~pure, pure) if group.any()]
    one_negative = n_components[1] == 1
    jobs = []
    for number, group in enumerate(groups):
        # Instances that are known to be of one component start it in their middle: none is drawn.
        none_drawn = number == 1 and one_negative
        jobs.append(functools.partial(_survey, ground, group, 0 if none_drawn else _most_drawn(blocks)))
    surveys = run_together(blocks, jobs) if blocks.are_large else [job(blocks) for job in jobs]
    pool = Pool(family, prior, surveys[0])
    # Only where bags are pure do labels tell the classes' instances apart beforehand.
    negative = Pool(family, prior, surveys[-1], is_labelled=one_negative) if pure.any() else pool
    known, total = None, None
    if not ground.sums_need_params:
        suffice = _sums_suffice(family, prior, surveys[-1])
        if pure.any() and one_negative and suffice:
            known = Known(surveys[-1].weight, surveys[-1].sums, _log_likelihood_of_pure(rule, blocks, pure))
            blocks = SelectedBlocks(blocks, ~pure)
            blocks = blocks if blocks.are_large else hold(blocks, recut=True)
        if n_components == (1, 1) and ground.is_complete and suffice:
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
    return SelectedBlocks(blocks, group).total(survey_block, ground.family, ground.prior, most)


def _most_drawn(blocks: Blocks) -> int | None:
    """How many instances starts are drawn from: all, or so many as are little beside a block."""
    many = blocks.n_instances * _DRAWN_VALUES // max(1, blocks.n_values)
    return max(64, many) if blocks.are_large else None


def _sums_suffice(family: Family, prior: Any, survey: Survey) -> bool:
    params = family.mstep(survey.sums, survey.weight, prior)
    return family.log_density_of_sums(survey.sums, survey.weight, params, prior) is not None


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
