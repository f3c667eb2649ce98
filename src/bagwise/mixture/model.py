"""The multi-instance mixture as EM sees it: blocks of bags, additive statistics, parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bagwise._numba.arrays import readonly
from bagwise.blocks import cut, cut_rows
from bagwise.families import Family
from bagwise.mixture.start import Pool
from bagwise.rules import Rule

# A block has at most so many values and instances. It is read twice, the second time out of the
# processor's last cache; kernels see to the nearer ones themselves. Smaller blocks would cost more calls,
# and while one thread is between two calls the other cannot be.
BLOCK_VALUES = 2**20
BLOCK_INSTANCES = 2**16


# Gives the parameters of a start: (model, blocks, rng) -> params.
Start = Callable[["BagMixture", Sequence["Block | PureBlock"], np.random.RandomState], "MixtureParams"]


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


@dataclass(frozen=True)
class Statistics:
    """What an E step gives: log-likelihood, and for each component its weight and its sums."""

    log_likelihood: float
    weights: np.ndarray
    sums: np.ndarray
    rule: np.ndarray

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.log_likelihood + other.log_likelihood,
            self.weights + other.weights,
            self.sums + other.sums,
            self.rule + other.rule,
        )


@dataclass(frozen=True)
class Block:
    """Some bags: instances, offsets, labels as the rule reads them, and weights of bags and of instances.

    `total` holds the sums over all instances, where these determine a likelihood and need no parameters.
    """

    X: Any
    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    each: np.ndarray
    total: np.ndarray | None = None


@dataclass(frozen=True)
class PureBlock:
    """Instances known to be negative, of one component: summed up once, whatever the parameters.

    `X` is kept only if the family cannot tell the likelihood from the sums.
    """

    weight: float
    sums: np.ndarray
    bag_log_likelihood: float
    X: Any
    each: np.ndarray


class BagMixture:
    """Instances of each class from components of one family, bags labelled by a rule.

    The joint density of a bag's instances and label is ::

        log p(X_i, y_i) = sum_j log[pi p+(x_ij) + (1 - pi) p-(x_ij)] + log P(y_i | log-odds of bag i)

    where p+ and p- are mixtures of components. EM maximises its weighted sum over bags, plus the log
    prior of the components.

    Parameters
    ----------
    family : Family
    prior : object
        As resolved by `Family.start`.
    rule : Rule
        With latent labels, as resolved by `Rule.start`.
    n_components : (int, int)
        Of the positive and the negative class.
    pools : (Pool, Pool)
        Where starts are drawn from.
    sums_need_params : bool
        Whether statistics must be computed anew for every parameter.
    is_complete : bool
        Whether no instance has a missing value.
    start : callable, optional
        ``(model, blocks, rng) -> MixtureParams``, the parameters of a start; by default
        `draw_either_way_round`.
    """

    def __init__(
        self,
        family: Family,
        prior: Any,
        rule: Rule,
        n_components: tuple[int, int],
        pools: tuple[Pool, Pool],
        *,
        sums_need_params: bool,
        is_complete: bool,
        start: Start | None = None,
    ):
        self.family = family
        self.prior = prior
        self.rule = rule
        self.n_components = n_components
        self.pools = pools
        self.sums_need_params = sums_need_params
        self.is_complete = is_complete
        self.start: Start = BagMixture.draw_either_way_round if start is None else start

    # ------------------------------------------------------------------ the data in blocks

    def blocks(self, X, offsets, y, weight) -> list[Block | PureBlock]:
        """Cut bags into blocks; those whose instances all are known to be negative become sums."""
        one_each = self.n_components == (1, 1)
        is_pure = np.zeros(len(y), dtype=bool)
        if self.n_components[1] == 1 and not self.sums_need_params:
            is_pure = self.rule.pure_bags(y)
        sizes = np.diff(offsets)
        blocks: list[Block | PureBlock] = []
        if is_pure.any():
            blocks.append(self._pure_block(X, sizes, is_pure, y, weight))
            if is_pure.all():
                return blocks
        rows = np.flatnonzero(np.repeat(~is_pure, sizes))
        kept = X if len(rows) == X.shape[0] else X.take(rows, axis=0)
        offsets = np.concatenate([[0], np.cumsum(sizes[~is_pure])])
        y, weight = y[~is_pure], weight[~is_pure]
        for bags in cut(offsets, _instances_of_a_block(X)):
            within = offsets[bags.start : bags.stop + 1] - offsets[bags.start]
            part = kept[offsets[bags.start] : offsets[bags.stop]]
            each = np.repeat(weight[bags], np.diff(within))
            total = None
            if one_each and self.is_complete and not self.sums_need_params:
                total = self.family.statistics(part, each, None, self.prior)
                if not self._sums_suffice(total, each.sum()):
                    total = None
            of_bags, of_instances = readonly(weight[bags], each, dtype=np.float64)
            blocks.append(Block(part, within, y[bags], of_bags, of_instances, total))
        return blocks

    def _pure_block(self, X, sizes, is_pure, y, weight) -> PureBlock:
        rows = np.flatnonzero(np.repeat(is_pure, sizes))
        each = np.repeat(weight[is_pure], sizes[is_pure])
        sums: Any = 0.0
        for part in cut_rows(len(rows), _instances_of_a_block(X)):
            sums = sums + self.family.statistics(X.take(rows[part], axis=0), each[part], None, self.prior)
        # P(label | all negative) need not be 1, but it is the same whatever the instances look like.
        offsets = np.concatenate([[0], np.cumsum(sizes[is_pure])])
        result = self.rule.estep(np.full(len(rows), -np.inf), offsets, y[is_pure])
        keep = not self._sums_suffice(sums, each.sum())
        kept = X.take(rows, axis=0) if keep else None
        return PureBlock(float(each.sum()), sums, float(weight[is_pure] @ result.log_likelihood), kept, each)

    def _sums_suffice(self, sums, weight) -> bool:
        params = self.family.mstep(sums, float(weight), self.prior)
        return self.family.log_density_of_sums(sums, float(weight), params, self.prior) is not None

    # ------------------------------------------------------------------ the steps

    def init(self, blocks, rng) -> MixtureParams:
        """Give the parameters of a start."""
        return self.start(self, blocks, rng)

    def draw_either_way_round(self, blocks, rng) -> MixtureParams:
        """Draw components around random instances, and exchange the classes if that is likelier."""
        return self._swap_classes_if_likelier(self.draw_around_instances(blocks, rng), blocks)

    def draw_around_instances(self, blocks, rng) -> MixtureParams:
        """Draw components around random instances; the classes are equally frequent."""
        n_positive, n_negative = self.n_components
        sums, weights = [], []
        for pool, n in zip(self.pools, self.n_components, strict=True):
            for _ in range(n):
                sums.append(pool.draw(rng))
                weights.append(pool.weight / n)
        log_weights = -np.log(np.repeat([n_positive, n_negative], self.n_components))
        components = self.family.mstep_all(
            [s * w for s, w in zip(sums, weights, strict=True)], np.array(weights), self.prior
        )
        return MixtureParams(np.log([0.5, 0.5]), log_weights, components, n_positive, self.rule)

    def _swap_classes_if_likelier(self, params: MixtureParams, blocks) -> MixtureParams:
        """Exchange the classes of a start if they were drawn alike and the labels of bags say so.

        EM cannot do it later: where all bags are positive, a positive class that is rare to begin with is
        held in every one of them.
        """
        is_alike = self.pools[0] is self.pools[1] and self.n_components[0] == self.n_components[1]
        known = (self.rule.known_labels(block.y).any() for block in blocks if isinstance(block, Block))
        if not (is_alike and any(known)):
            return params
        n = params.n_positive
        turned = params._replace(components=[*params.components[n:], *params.components[:n]])

        def log_likelihood(params) -> float:
            return sum(self.estep(block, params).log_likelihood for block in blocks)

        return max((params, turned), key=log_likelihood)

    def estep(self, block: Block | PureBlock, params: MixtureParams) -> Statistics:
        """Compute the statistics of a block."""
        if isinstance(block, PureBlock):
            return self._known(block, params)
        if block.total is not None:
            return self._two_components(block, params)
        return self._any_components(block, params)

    def _known(self, block: PureBlock, params: MixtureParams) -> Statistics:
        *positive, negative = params.components
        density = self.family.log_density_of_sums(block.sums, block.weight, negative, self.prior)
        if density is None:
            density = float(block.each @ self.family.log_density(block.X, negative))
        value = block.bag_log_likelihood + density + _times(block.weight, params.log_rate[0])
        weights = np.append(np.zeros(len(positive)), block.weight)
        sums = np.stack([*(0.0 * block.sums for _ in positive), block.sums])
        return Statistics(value, weights, sums, self._no_rule_statistics())

    def _no_rule_statistics(self) -> np.ndarray:
        nothing = self.rule.estep(np.zeros(1), np.array([0, 1]), self.rule.unknown_labels(1))
        return 0.0 * nothing.statistics

    def _two_components(self, block: Block, params: MixtureParams) -> Statistics:
        """One component a class: a pass for the log-odds, and one for the sums of the lighter class."""
        from bagwise._numba.mixture import mixture_remainder

        positive, negative = params.components
        log_odds = self.family.log_odds(block.X, positive, negative)
        log_odds = log_odds + (params.log_rate[1] - params.log_rate[0])
        result = params.rule.estep(log_odds, block.offsets, block.y, block.weight)
        arrays = readonly(log_odds, block.weight, result.posterior, result.complement, dtype=np.float64)
        value, n_positive, n_negative = mixture_remainder(arrays[0], block.offsets, *arrays[1:])
        # The sums of the heavier class are what is left: subtraction loses nothing there.
        if n_positive <= n_negative:
            sums = self.family.statistics(block.X, block.each * result.posterior, positive, self.prior)
            both = np.stack([sums, block.total - sums])
        else:
            sums = self.family.statistics(block.X, block.each * result.complement, negative, self.prior)
            both = np.stack([block.total - sums, sums])
        for part, n, component, log_rate in zip(
            both, (n_positive, n_negative), params.components, params.log_rate[::-1], strict=True
        ):
            density = self.family.log_density_of_sums(part, n, component, self.prior)
            value += (density or 0.0) + _times(n, log_rate)
        value += float(block.weight @ result.log_likelihood)
        return Statistics(float(value), np.array([n_positive, n_negative]), both, result.statistics)

    def _any_components(self, block: Block, params: MixtureParams) -> Statistics:
        joint = component_log_joint(self.family, block.X, params)
        classes = class_log_joint(joint, params.n_positive)
        log_odds = log_odds_of(classes)
        result = params.rule.estep(log_odds, block.offsets, block.y, block.weight)
        value = block.each @ np.logaddexp(classes[0], classes[1]) + block.weight @ result.log_likelihood
        weights, sums = np.empty(len(params.components)), []
        for k, component in enumerate(params.components):
            is_positive = k < params.n_positive
            share = result.posterior if is_positive else result.complement
            with np.errstate(invalid="ignore"):
                within = np.exp(joint[k] - classes[int(is_positive)])
            # A class that cannot have made the instance at all has no share of it to divide.
            weight = block.each * share * np.where(np.isnan(within), 0.0, within)
            weights[k] = weight.sum()
            sums.append(self.family.statistics(block.X, weight, component, self.prior))
        return Statistics(float(value), weights, np.stack(sums), result.statistics)

    def mstep(self, statistics: Statistics, params: MixtureParams) -> MixtureParams:
        """Give the best parameters for the statistics."""
        classes = [slice(None, params.n_positive), slice(params.n_positive, None)]
        by_class = np.array([statistics.weights[part].sum() for part in classes])
        log_weights = np.empty(len(params.components))
        with np.errstate(divide="ignore"):
            log_rate = np.log(by_class[::-1] / by_class.sum())
            for part, total in zip(classes, by_class, strict=True):
                within = statistics.weights[part]
                log_weights[part] = np.log(within / total) if total > 0 else -np.log(len(within))
        components = self.family.mstep_all(statistics.sums, statistics.weights, self.prior)
        rule = params.rule.update(statistics.rule)
        return MixtureParams(log_rate, log_weights, components, params.n_positive, rule)

    def objective(self, statistics: Statistics, params: MixtureParams) -> float:
        """Minus log-likelihood, minus log prior of the components and of the rule."""
        log_prior = self.family.log_prior_all(params.components, self.prior) + params.rule.log_prior()
        return -statistics.log_likelihood - log_prior

    def pack(self, params: MixtureParams) -> np.ndarray:
        """Log-rates and log-weights, which `unpack` normalises, and the components."""
        parts = [self.family.pack(component) for component in params.components]
        return np.concatenate([params.log_rate, params.log_weights, *parts])

    def unpack(self, vector: np.ndarray, params: MixtureParams) -> MixtureParams:
        """Read what `pack` wrote."""
        k, p = len(params.components), params.n_positive
        log_weights = vector[2 : 2 + k].copy()
        for part in (slice(None, p), slice(p, None)):
            log_weights[part] -= logsumexp(log_weights[part])
        components, begin = [], 2 + k
        for component in params.components:
            size = len(self.family.pack(component))
            components.append(self.family.unpack(vector[begin : begin + size], component))
            begin += size
        log_rate = vector[:2] - logsumexp(vector[:2])
        return MixtureParams(log_rate, log_weights, components, p, params.rule)


def _instances_of_a_block(X) -> int:
    return max(1, min(BLOCK_INSTANCES, BLOCK_VALUES // X.shape[1]))


# ---------------------------------------------------------------------- densities of a mixture


def component_log_joint(family: Family, X, params: MixtureParams) -> np.ndarray:
    """Log probability of class and component, plus the log density: (n_components, n_instances)."""
    joint = np.stack([family.log_density(X, component) for component in params.components])
    rate = np.where(np.arange(len(joint)) < params.n_positive, params.log_rate[1], params.log_rate[0])
    return joint + (params.log_weights + rate)[:, None]


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


def _times(weight: float, log_probability: float) -> float:
    return float(weight * log_probability) if weight > 0 else 0.0
