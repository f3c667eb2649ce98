"""The E step of one block: what goes to the instances, wherever they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._core.compiled.arrays import readonly
from bagwise.data.blocks import Block
from bagwise.families import Family
from bagwise.families.parts import of_instances, statistics_of
from bagwise.models.mixture.params import MixtureParams, class_log_joint, component_log_joint, log_odds_of
from bagwise.rules import Rule, RuleResult


@dataclass(frozen=True)
class Statistics:
    """What an E step gives: log-likelihood, and for each component its weight and its sums.

    And what labels are worth: the weighted sum of -log P(+ | instances) over the bags not labelled 0, if it
    is kept. Until they are complete (`BagMixture.complete`), sums may be those of one component of two.
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


@dataclass(frozen=True)
class BlockEStep:
    """Statistics of a block of bags, as far as they need its instances.

    Attributes
    ----------
    family, prior
        As in `BagMixture`.
    lighter_only : bool
        Whether there is one component a class, and the sums of the lighter are enough.
    keeps_cost : bool
        Whether the labels of bags not labelled 0 are valued, too.
    """

    family: Family
    prior: Any
    lighter_only: bool
    keeps_cost: bool

    def __call__(self, block: Block, params: MixtureParams) -> Statistics:
        """Compute the statistics of a block."""
        if self.lighter_only:
            return self._two_components(block, params)
        return self._any_components(block, params)

    def _two_components(self, block: Block, params: MixtureParams) -> Statistics:
        """One component a class: a pass for the log-odds, and one for the sums of the lighter class."""
        from bagwise._core.compiled.mixture import mixture_remainder

        # In place: fresh arrays of this size, in every iteration, cost as much as the sums that fill them.
        log_odds = of_instances(self.family, "log_odds", block.X, *params.components)
        log_odds += params.log_rate[1] - params.log_rate[0]
        result = params.rule.estep(log_odds, block.offsets, block.y, block.weight)
        arrays = readonly(log_odds, block.weight, result.posterior, result.complement, dtype=np.float64)
        value, *weights = mixture_remainder(arrays[0], *readonly(block.offsets), *arrays[1:])
        lighter = lighter_component(params)
        share = block.weight_of_each
        share *= (result.posterior, result.complement)[lighter]
        sums = statistics_of(self.family, block.X, share, params.components[lighter], self.prior)
        value += float(block.weight @ result.log_likelihood)
        cost = self._cost_of(block, log_odds, params.rule, result)
        return Statistics(float(value), np.array(weights), sums, result.statistics, cost)

    def _any_components(self, block: Block, params: MixtureParams) -> Statistics:
        joint = component_log_joint(self.family, block.X, params)
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
            # A class that cannot have made the instance at all has no share of it to divide.
            weight = each * share * np.where(np.isnan(within), 0.0, within)
            weights[k] = weight.sum()
            sums.append(statistics_of(self.family, block.X, weight, component, self.prior))
        cost = self._cost_of(block, log_odds, params.rule, result)
        return Statistics(float(value), weights, np.stack(sums), result.statistics, cost)

    def _cost_of(self, block: Block, log_odds: np.ndarray, rule: Rule, result: RuleResult) -> float:
        """Sum -log P(+ | instances) over the bags not labelled 0: the labels that are used, or ignored."""
        if not self.keeps_cost:
            return 0.0
        ignored = block.y == -1
        log_proba = np.where(block.y == 1, result.log_likelihood, 0.0)
        if ignored.any():
            log_proba[ignored] = rule.log_proba(log_odds, block.offsets)[ignored, 1]
        return -float(block.weight @ log_proba)


def lighter_component(params: MixtureParams) -> int:
    """Say which of two components has the lesser weight, by the rates that the last step left."""
    return 0 if params.log_rate[1] <= params.log_rate[0] else 1
