"""The multi-instance mixture for EM: parameters, statistics of blocks of bags, and steps.

`MixtureParams` holds the parameters, and other functions compute densities from them. An E step is a
function of a block (`two_components`, `any_components`) that returns `Statistics`, which are added over
blocks. `BagMixture` implements the steps for `run_em`. `name_components` assigns components to classes if
the fit used no labels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bagwise._core.compiled.arrays import readonly
from bagwise.data.blocks import Block, Blocks, Sums
from bagwise.families import Family
from bagwise.families.parts import of_instances, picked, statistics_of
from bagwise.rules import Rule, RuleResult

if TYPE_CHECKING:
    from bagwise.models.mixture.build import Pool


# ---------------------------------------------------------------------- parameters


class MixtureParams(NamedTuple):
    """Parameters of the mixture, with the components of the positive class first.

    Attributes
    ----------
    log_rate : array of shape (2,)
        Log probability that an instance is negative, positive.
    log_weights : array of shape (n_components,)
        Log probability of each component within its class.
    components : list
        Parameters of the components, in the representation of their family.
    n_positive : int
        Number of components of the positive class.
    rule : Rule
        The rule, which may have parameters as well.
    """

    log_rate: np.ndarray
    log_weights: np.ndarray
    components: list[Any]
    n_positive: int
    rule: Rule

    @property
    def classes(self) -> tuple[slice, slice]:
        """Slices of the positive and the negative components."""
        return slice(None, self.n_positive), slice(self.n_positive, None)

    @property
    def log_joint(self) -> np.ndarray:
        """Joint log probability of class and component, for each component."""
        is_positive = np.arange(len(self.components)) < self.n_positive
        return self.log_weights + np.where(is_positive, self.log_rate[1], self.log_rate[0])


def pack_params(family: Family, params: MixtureParams) -> np.ndarray:
    """Return the parameters as a vector: log-rates, log-weights and components, without constraints."""
    parts = [family.pack(component) for component in params.components]
    return np.concatenate([params.log_rate, params.log_weights, *parts])


def unpack_params(family: Family, vector: np.ndarray, params: MixtureParams) -> MixtureParams:
    """Return the parameters of a vector from `pack_params`; rates and weights are normalized."""
    k = len(params.components)
    log_weights = vector[2 : 2 + k].copy()
    for part in params.classes:
        log_weights[part] -= logsumexp(log_weights[part])
    # Components of one family have vectors of the same length.
    vectors = vector[2 + k :].reshape(k, -1)
    components = [family.unpack(*each) for each in zip(vectors, params.components, strict=True)]
    log_rate = vector[:2] - logsumexp(vector[:2])
    return MixtureParams(log_rate, log_weights, components, params.n_positive, params.rule)


def component_log_joint(family: Family, X: Any, params: MixtureParams) -> np.ndarray:
    """Return the joint log density of class, component and instance: (n_components, n_instances)."""
    joint = np.stack([of_instances(family, "log_density", X, component) for component in params.components])
    return joint + params.log_joint[:, None]


def class_log_joint(joint: np.ndarray, n_positive: int) -> np.ndarray:
    """Sum the components of each class, negative and positive: shape (2, n_instances)."""
    if joint.shape[0] == 2 and n_positive == 1:
        return joint[::-1]
    return np.stack([logsumexp(joint[n_positive:], axis=0), logsumexp(joint[:n_positive], axis=0)])


def log_odds_of(classes: np.ndarray) -> np.ndarray:
    """Return the log-odds that an instance is positive; 0 if it has zero density in both classes."""
    with np.errstate(invalid="ignore"):
        log_odds = classes[1] - classes[0]
    return np.where(np.isneginf(classes).all(axis=0), 0.0, log_odds)


# ---------------------------------------------------------------------- the E step of a block


@dataclass(frozen=True)
class Statistics:
    """Result of an E step: log-likelihood, and the weight and the sums of each component.

    If it is requested, `cost` is the information cost: the weighted sum of -log P(+ | instances) over the
    bags that are not labeled 0. Before `BagMixture.complete`, `sums` may contain one of two components only.
    """

    log_likelihood: float
    weights: np.ndarray
    sums: np.ndarray
    rule: np.ndarray
    cost: float = 0.0

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.log_likelihood + other.log_likelihood,
            self.weights + other.weights,
            self.sums + other.sums,
            self.rule + other.rule,
            self.cost + other.cost,
        )


def two_components(
    family: Family, prior: Any, keeps_cost: bool, block: Block, params: MixtureParams
) -> Statistics:
    """Compute the statistics of a block for one component per class, with sums of the lighter one only.

    This takes one pass for the log-odds and one for the sums. With `keeps_cost`, the information cost is
    computed as well.
    """
    from bagwise._core.compiled.mixture import mixture_remainder

    # In place: allocating arrays of this size in every iteration takes as long as computing the sums.
    log_odds = of_instances(family, "log_odds", block.X, *params.components)
    log_odds += params.log_rate[1] - params.log_rate[0]
    result = params.rule.estep(log_odds, block.offsets, block.y, block.weight)
    arrays = readonly(log_odds, block.weight, result.posterior, result.complement, dtype=np.float64)
    value, *weights = mixture_remainder(arrays[0], *readonly(block.offsets), *arrays[1:])
    lighter = lighter_component(params)
    share = block.weight_of_each
    share *= (result.posterior, result.complement)[lighter]
    sums = statistics_of(family, block.X, share, params.components[lighter], prior)
    value += float(block.weight @ result.log_likelihood)
    cost = _cost_of(block, log_odds, params.rule, result) if keeps_cost else 0.0
    return Statistics(float(value), np.array(weights), sums, result.statistics, cost)


def any_components(
    family: Family, prior: Any, keeps_cost: bool, block: Block, params: MixtureParams
) -> Statistics:
    """Compute the statistics of a block for any number of components, with the sums of all of them.

    Positive components are computed only for the bags that may contain positive instances.
    """
    may_be_positive = ~params.rule.pure_bags(block.y)
    rows = np.flatnonzero(np.repeat(may_be_positive, np.diff(block.offsets)))
    instances: tuple[tuple[Any, Any], ...] = (picked(block.X, rows), rows), (block.X, slice(None))
    joint = np.full((len(params.components), len(block.X)), -np.inf)
    for k, component in enumerate(params.components):
        X, chosen = instances[int(k >= params.n_positive)]
        joint[k, chosen] = of_instances(family, "log_density", X, component) + params.log_joint[k]
    classes = class_log_joint(joint, params.n_positive)
    log_odds = log_odds_of(classes)
    result = params.rule.estep(log_odds, block.offsets, block.y, block.weight)
    each = block.weight_of_each
    value = each @ np.logaddexp(classes[0], classes[1]) + block.weight @ result.log_likelihood
    weights, sums = np.empty(len(params.components)), []
    for k, component in enumerate(params.components):
        is_positive = k < params.n_positive
        share = result.posterior if is_positive else result.complement
        with np.errstate(invalid="ignore"):
            within = np.exp(joint[k] - classes[int(is_positive)])
        # NaN: the class has zero density at the instance, and gets no weight from it.
        weight = each * share * np.where(np.isnan(within), 0.0, within)
        weights[k] = weight.sum()
        X, chosen = instances[int(not is_positive)]
        sums.append(statistics_of(family, X, weight[chosen], component, prior))
    cost = _cost_of(block, log_odds, params.rule, result) if keeps_cost else 0.0
    return Statistics(float(value), weights, np.stack(sums), result.statistics, cost)


def _cost_of(block: Block, log_odds: np.ndarray, rule: Rule, result: RuleResult) -> float:
    """Sum -log P(+ | instances) over the bags that are not labeled 0, which are positive or unlabeled."""
    ignored = block.y == -1
    log_proba = np.where(block.y == 1, result.log_likelihood, 0.0)
    if ignored.any():
        log_proba[ignored] = rule.log_proba(log_odds, block.offsets)[ignored, 1]
    return -float(block.weight @ log_proba)


def lighter_component(params: MixtureParams) -> int:
    """Return which of two components has the smaller rate in the parameters."""
    return 0 if params.log_rate[1] <= params.log_rate[0] else 1


# ---------------------------------------------------------------------- the model


# Returns the parameters of a start: (model, blocks, rng) -> params.
Start = Callable[["BagMixture", Blocks, np.random.RandomState], MixtureParams]


class FixedSums(NamedTuple):
    """Sums of the bags with only negative instances; they do not depend on the parameters."""

    weight: float
    sums: np.ndarray
    bag_log_likelihood: float


class BagMixture:
    """Mixture model of bags for EM: instances from components of one family, labels from a rule.

    The joint density of the instances and the label of a bag is ::

        log p(X_i, y_i) = sum_j log[pi p+(x_ij) + (1 - pi) p-(x_ij)] + log P(y_i | log-odds of bag i)

    where p+ and p- are mixtures of components. EM maximizes its weighted sum over bags, plus the log
    prior of the components.

    Parameters
    ----------
    family : Family
        Family of the components.
    prior : object
        Prior, as resolved by `Family.start`.
    rule : Rule
        Rule with latent labels, as resolved by `Rule.start`.
    n_components : (int, int)
        Numbers of positive and negative components.
    pools : (Pool, Pool)
        Instances from which the starts of the two classes are drawn.
    fixed_sums : FixedSums, optional
        Sums of the bags that EM does not iterate over.
    total : array, optional
        Sums of all instances that EM iterates over, for one component per class. Pass it if the sums are
        sufficient for the likelihood and do not depend on parameters. An E step then sums only the class
        with the smaller weight.
    start : callable, optional
        ``(model, blocks, rng) -> MixtureParams``, which returns the parameters of a start; by default
        `draw_either_way_round`.
    keeps_cost : bool
        Whether every E step also computes the information cost (`watch`).
    """

    def __init__(
        self,
        family: Family,
        prior: Any,
        rule: Rule,
        n_components: tuple[int, int],
        pools: tuple[Pool, Pool],
        *,
        fixed_sums: FixedSums | None = None,
        total: np.ndarray | None = None,
        start: Start | None = None,
        keeps_cost: bool = False,
    ):
        self.family = family
        self.prior = prior
        self.rule = rule
        self.n_components = n_components
        self.pools = pools
        self.fixed_sums = fixed_sums
        self.total = total
        self.keeps_cost = keeps_cost
        steps = any_components if total is None else two_components
        self.estep = functools.partial(steps, family, prior, keeps_cost)
        self.start: Start = BagMixture.draw_either_way_round if start is None else start

    # ------------------------------------------------------------------ starts

    def init(self, blocks: Blocks, rng: np.random.RandomState) -> MixtureParams:
        """Return the parameters of a start."""
        return self.start(self, blocks, rng)

    def draw_either_way_round(self, blocks: Blocks, rng: np.random.RandomState) -> MixtureParams:
        """Draw components around random instances, and swap the classes if that is more likely."""
        return self._swap_classes_if_likelier(self.draw_around_instances(blocks, rng), blocks)

    def draw_around_instances(self, blocks: Blocks, rng: np.random.RandomState) -> MixtureParams:
        """Draw components around random instances; the classes are equally frequent."""
        n_positive, n_negative = self.n_components
        sums, weights = [], []
        for pool, n in zip(self.pools, self.n_components, strict=True):
            for _ in range(n):
                weights.append(pool.weight / n)
                sums.append(pool.draw(rng) * weights[-1])
        log_weights = -np.log(np.repeat([n_positive, n_negative], self.n_components))
        components = self.family.mstep_all(sums, np.array(weights), self.prior)
        return MixtureParams(np.log([0.5, 0.5]), log_weights, components, n_positive, self.rule)

    def _swap_classes_if_likelier(self, params: MixtureParams, blocks: Blocks) -> MixtureParams:
        """Swap the classes of a start if this increases the likelihood of the bag labels: one pass.

        The classes are only swapped if both were drawn from the same instances. EM cannot swap them later: if
        all bags are positive, every bag keeps some instances in the positive class, even if this class should
        be the negative one.
        """
        is_alike = self.pools[0] is self.pools[1] and self.n_components[0] == self.n_components[1]
        if not (is_alike and self.rule.known_labels(blocks.y).any()):
            return params
        n = params.n_positive
        ways = (params, params._replace(components=[*params.components[n:], *params.components[:n]]))
        sums = blocks.total(_esteps, self.estep, ways)
        values = [self.complete(s, way).log_likelihood for s, way in zip(sums, ways, strict=True)]
        return ways[int(np.argmax(values))]

    # ------------------------------------------------------------------ the steps

    def watch(self, statistics: Statistics) -> float | None:
        """Return the information cost at the current parameters, in nats; None if it is not computed."""
        return statistics.cost if self.keeps_cost else None

    def complete(self, statistics: Statistics, params: MixtureParams) -> Statistics:
        """Add the sums that need no pass: those of the heavier class, and `fixed_sums`."""
        if self.total is not None:
            # The sums of the heavier class are computed as a difference, which loses no precision.
            both = [statistics.sums, self.total - statistics.sums]
            sums = np.stack(both if lighter_component(params) == 0 else both[::-1])
            value = statistics.log_likelihood
            for s, n, component, log_rate in zip(
                sums, statistics.weights, params.components, params.log_rate[::-1], strict=True
            ):
                value += self._log_density(s, n, component) + _times(n, log_rate)
            statistics = replace(statistics, log_likelihood=value, sums=sums)
        if self.fixed_sums is None:
            return statistics
        weight, sums_of_pure, value = self.fixed_sums
        value += self._log_density(sums_of_pure, weight, params.components[-1])
        value += _times(weight, params.log_rate[0])
        weights, sums = statistics.weights.copy(), statistics.sums.copy()
        weights[-1] += weight
        sums[-1] += sums_of_pure
        value += statistics.log_likelihood
        return replace(statistics, log_likelihood=value, weights=weights, sums=sums)

    def _log_density(self, sums: np.ndarray, weight: float, component: Any) -> float:
        return self.family.log_density_of_sums(sums, weight, component, self.prior) or 0.0

    def mstep(self, statistics: Statistics, params: MixtureParams) -> MixtureParams:
        """Return the parameters that maximize the expected log-likelihood for these statistics."""
        by_class = np.array([statistics.weights[part].sum() for part in params.classes])
        log_weights = np.empty(len(params.components))
        with np.errstate(divide="ignore"):
            log_rate = np.log(by_class[::-1] / by_class.sum())
            for part, total in zip(params.classes, by_class, strict=True):
                within = statistics.weights[part]
                log_weights[part] = np.log(within / total) if total > 0 else -np.log(len(within))
        components = self.family.mstep_all(statistics.sums, statistics.weights, self.prior)
        rule = params.rule.update(statistics.rule)
        return MixtureParams(log_rate, log_weights, components, params.n_positive, rule)

    def objective(self, statistics: Statistics, params: MixtureParams) -> float:
        """Return minus the log-likelihood, minus the log prior of the components and of the rule."""
        log_prior = self.family.log_prior_all(params.components, self.prior) + params.rule.log_prior()
        return -statistics.log_likelihood - log_prior

    def pack(self, params: MixtureParams) -> np.ndarray:
        """Return the parameters as a vector without constraints."""
        return pack_params(self.family, params)

    def unpack(self, vector: np.ndarray, params: MixtureParams) -> MixtureParams:
        """Return the parameters of a vector from `pack`."""
        return unpack_params(self.family, vector, params)


def _esteps(
    block: Block, estep: Callable[[Block, MixtureParams], Statistics], several: tuple[MixtureParams, ...]
) -> Sums:
    return Sums(estep(block, params) for params in several)


def _times(weight: float, log_probability: float) -> float:
    return float(weight * log_probability) if weight > 0 else 0.0


# ---------------------------------------------------------------------- classes of components


def name_components(family: Family, params: MixtureParams, negative: Blocks) -> MixtureParams:
    """Assign components to classes so that instances of negative bags are most probable: one pass."""
    everything = range(len(params.components))
    choices = list(combinations(everything, params.n_positive))
    values = negative.total(_log_likelihoods, family, params, choices)
    positive = choices[int(np.argmax(values))]
    order = [*positive, *(k for k in everything if k not in positive)]
    log_joint = params.log_joint[order]
    mine, others = params.classes
    log_rate = np.array([np.logaddexp.reduce(log_joint[others]), np.logaddexp.reduce(log_joint[mine])])
    components = [params.components[k] for k in order]
    log_weights = np.empty(len(order))
    for part, total in zip(params.classes, log_rate[::-1], strict=True):
        # A class with a rate of 0 has no weights to normalize.
        n = len(log_joint[part])
        log_weights[part] = log_joint[part] - total if total > -np.inf else -np.log(n)
    return params._replace(log_rate=log_rate, log_weights=log_weights, components=components)


def _log_likelihoods(block: Block, family: Family, params: MixtureParams, choices: list[Any]) -> np.ndarray:
    """Return the log-likelihood of instances as negative, for every choice of positive components."""
    joint = component_log_joint(family, block.X, params)
    rest = ([k for k in range(len(joint)) if k not in positive] for positive in choices)
    each = block.weight_of_each
    return np.array([each @ np.logaddexp.reduce(joint[mine], axis=0) for mine in rest])
