"""The multi-instance mixture as EM sees it: additive statistics of blocks of bags, and parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bagwise.data.blocks import Block, Blocks, Sums
from bagwise.families import Family
from bagwise.models.mixture.estep import BlockEStep, Statistics, lighter_component
from bagwise.models.mixture.params import MixtureParams, pack_params, unpack_params
from bagwise.models.mixture.start import Pool
from bagwise.rules import Rule

# Gives the parameters of a start: (model, blocks, rng) -> params.
Start = Callable[["BagMixture", Blocks, np.random.RandomState], MixtureParams]


class Known(NamedTuple):
    """Bags whose instances all are of the one negative component: summed up once, whatever the parameters."""

    weight: float
    sums: np.ndarray
    bag_log_likelihood: float


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
    known : Known, optional
        Bags that are no more passed over.
    total : array, optional
        Sums of all instances that are passed over, for one component a class: given if they determine a
        likelihood and need no parameters. Then an E step sums the lighter class only.
    start : callable, optional
        ``(model, blocks, rng) -> MixtureParams``, the parameters of a start; by default
        `draw_either_way_round`.
    keeps_cost : bool
        Whether every E step also sums up what the labels of bags not labelled 0 are worth (`watch`).
    """

    estep: BlockEStep

    def __init__(
        self,
        family: Family,
        prior: Any,
        rule: Rule,
        n_components: tuple[int, int],
        pools: tuple[Pool, Pool],
        *,
        known: Known | None = None,
        total: np.ndarray | None = None,
        start: Start | None = None,
        keeps_cost: bool = False,
    ):
        self.family = family
        self.prior = prior
        self.rule = rule
        self.n_components = n_components
        self.pools = pools
        self.known = known
        self.total = total
        self.keeps_cost = keeps_cost
        self.estep = BlockEStep(family, prior, lighter_only=total is not None, keeps_cost=keeps_cost)
        self.start: Start = BagMixture.draw_either_way_round if start is None else start

    # ------------------------------------------------------------------ starts

    def init(self, blocks: Blocks, rng: np.random.RandomState) -> MixtureParams:
        """Give the parameters of a start."""
        return self.start(self, blocks, rng)

    def draw_either_way_round(self, blocks: Blocks, rng: np.random.RandomState) -> MixtureParams:
        """Draw components around random instances, and exchange the classes if that is likelier."""
        return self._swap_classes_if_likelier(self.draw_around_instances(blocks, rng), blocks)

    def draw_around_instances(self, blocks: Blocks, rng: np.random.RandomState) -> MixtureParams:
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

    def _swap_classes_if_likelier(self, params: MixtureParams, blocks: Blocks) -> MixtureParams:
        """Exchange the classes of a start if they were drawn alike and the labels of bags say so: one pass.

        EM cannot do it later: where all bags are positive, a positive class that is rare to begin with is
        held in every one of them.
        """
        is_alike = self.pools[0] is self.pools[1] and self.n_components[0] == self.n_components[1]
        if not (is_alike and self.rule.known_labels(blocks.y).any()):
            return params
        n = params.n_positive
        ways = (params, params._replace(components=[*params.components[n:], *params.components[:n]]))
        found = blocks.total(_esteps, self.estep, ways)
        values = [self.complete(s, way).log_likelihood for s, way in zip(found, ways, strict=True)]
        return ways[int(np.argmax(values))]

    # ------------------------------------------------------------------ the steps

    def watch(self, statistics: Statistics) -> float | None:
        """Give what labels are worth at the present parameters, in nats, if that is kept."""
        return statistics.cost if self.keeps_cost else None

    def complete(self, statistics: Statistics, params: MixtureParams) -> Statistics:
        """Add what needs no pass: the sums of the heavier class, and those of known bags."""
        if self.total is not None:
            # The sums of the heavier class are what is left: subtraction loses nothing there.
            both = [statistics.sums, self.total - statistics.sums]
            sums = np.stack(both if lighter_component(params) == 0 else both[::-1])
            value = statistics.log_likelihood
            for s, n, component, log_rate in zip(
                sums, statistics.weights, params.components, params.log_rate[::-1], strict=True
            ):
                value += self._log_density(s, n, component) + _times(n, log_rate)
            statistics = replace(statistics, log_likelihood=value, sums=sums)
        if self.known is None:
            return statistics
        weight, known_sums, value = self.known
        value += self._log_density(known_sums, weight, params.components[-1])
        value += _times(weight, params.log_rate[0])
        weights, sums = statistics.weights.copy(), statistics.sums.copy()
        weights[-1] += weight
        sums[-1] += known_sums
        value += statistics.log_likelihood
        return replace(statistics, log_likelihood=value, weights=weights, sums=sums)

    def _log_density(self, sums: np.ndarray, weight: float, component: Any) -> float:
        return self.family.log_density_of_sums(sums, weight, component, self.prior) or 0.0

    def mstep(self, statistics: Statistics, params: MixtureParams) -> MixtureParams:
        """Give the best parameters for the statistics."""
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
        """Minus log-likelihood, minus log prior of the components and of the rule."""
        log_prior = self.family.log_prior_all(params.components, self.prior) + params.rule.log_prior()
        return -statistics.log_likelihood - log_prior

    def pack(self, params: MixtureParams) -> np.ndarray:
        """Write parameters as a vector without constraints."""
        return pack_params(self.family, params)

    def unpack(self, vector: np.ndarray, params: MixtureParams) -> MixtureParams:
        """Read what `pack` wrote."""
        return unpack_params(self.family, vector, params)


def _esteps(block: Block, estep: BlockEStep, several: tuple[MixtureParams, ...]) -> Sums:
    return Sums(estep(block, params) for params in several)


def _times(weight: float, log_probability: float) -> float:
    return float(weight * log_probability) if weight > 0 else 0.0
