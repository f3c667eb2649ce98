"""Brute-force reference results for rules, by enumeration of all labelings of small bags."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from bagwise.rules import Rule


def enumerate_labels(log_odds: Any, label_probability: Any) -> Any:
    """Sum over all 2^m labelings z of one bag.

    Parameters
    ----------
    log_odds : array of shape (m,)
        Finite log-odds of the instances, with m <= 12 (approximately) because of the cost.
    label_probability : callable
        ``z -> P(y = 1 | z)`` for a tuple z of m zeros and ones.

    Returns
    -------
    dict
        For y in (0, 1): ``(log_likelihood, posterior (m,), covariance (m, m))`` of z given y.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.testing import enumerate_labels
    >>> log_likelihood, posterior, _ = enumerate_labels(np.zeros(2), lambda z: max(z))[1]
    >>> round(float(np.exp(log_likelihood)), 3), posterior.round(3).tolist()
    (0.75, [0.667, 0.667])
    """
    log_odds = np.asarray(log_odds, dtype=np.float64)
    z = np.array(list(product((0, 1), repeat=len(log_odds))), dtype=np.float64)
    # log P(z) = sum_j log sigma(+-eta_j), exact on both sides.
    log_prior = -np.logaddexp(0.0, np.where(z == 1, -log_odds, log_odds)).sum(axis=1)
    positive = np.array([label_probability(tuple(row.astype(int))) for row in z], dtype=float)
    results = {}
    for y in (0, 1):
        with np.errstate(divide="ignore"):
            joint = log_prior + np.log(positive if y else 1.0 - positive)
        log_likelihood = np.logaddexp.reduce(joint)
        weight = np.exp(joint - log_likelihood)
        mean = weight @ z
        covariance = (z - mean).T @ (weight[:, None] * (z - mean))
        results[y] = float(log_likelihood), mean, covariance
    return results


def check_rule(
    rule: Rule, *, sizes: Sequence[int] = (1, 2, 3, 5), n_bags: int = 30, random_state: int = 0
) -> None:
    """Compare a rule with brute-force results, and raise an AssertionError if they differ.

    For a rule with latent labels, likelihood, posterior, gradient and Hessian product are compared with the
    enumeration of all labelings. P(y = 1 | z) is computed with the rule at infinite log-odds. For a link, the
    gradient is compared with finite differences. For both, probabilities must sum to one, and unknown labels
    must not contribute to the likelihood.

    Parameters
    ----------
    rule : Rule
        The rule. Unset parameters are set for the random bags (`Rule.start`). Both labels must be possible
        for bags of all `sizes`.
    sizes : sequence of int
        Sizes of the random bags.
    n_bags : int
        Number of random bags.
    random_state : int
        Seed of the random bags and log-odds.

    Examples
    --------
    >>> from bagwise import Or
    >>> from bagwise.testing import check_rule
    >>> check_rule(Or())
    """
    rng = np.random.default_rng(random_state)
    all_sizes = rng.choice(sizes, size=n_bags)
    offsets = np.concatenate([[0], np.cumsum(all_sizes)])
    log_odds = rng.normal(scale=3.0, size=offsets[-1])
    v = rng.normal(size=offsets[-1])
    rule = rule.start(offsets, np.ones(n_bags, dtype=np.int8))
    log_proba = rule.log_proba(log_odds, offsets)
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, rtol=1e-12)

    unknown = np.full(n_bags, -1, dtype=np.int8)
    log_likelihood, gradient = rule.gradient(log_odds, offsets, unknown)
    assert not log_likelihood.any() and not gradient.any(), "an unknown label must not contribute"

    _check_mean_curvature(rule, log_odds, offsets, log_proba)
    for y in (0, 1):
        labels = np.full(n_bags, y, dtype=np.int8)
        log_likelihood, gradient = rule.gradient(log_odds, offsets, labels)
        np.testing.assert_allclose(log_likelihood, log_proba[:, y], rtol=1e-10, atol=1e-14)
        _check_by_differences(rule, log_odds, offsets, labels, gradient)
        if rule.has_latent_labels:
            _check_by_enumeration(rule, log_odds, offsets, y, gradient, v)


def _check_by_differences(
    rule: Rule, log_odds: Any, offsets: Any, labels: Any, gradient: Any, step: Any = 1e-5
) -> None:
    # The error of a central difference is about step^2 = 1e-10, plus rounding of 1e-16 / step = 1e-11.
    numeric = np.empty_like(gradient)
    index_in_bag = np.arange(len(log_odds)) - np.repeat(offsets[:-1], np.diff(offsets))
    for j in range(int(np.diff(offsets).max())):
        # Bags are independent, so one instance of every bag can be changed at the same time.
        moved = np.where(index_in_bag == j, step, 0.0)
        ahead, _ = rule.gradient(log_odds + moved, offsets, labels)
        back, _ = rule.gradient(log_odds - moved, offsets, labels)
        slope = np.repeat((ahead - back) / (2 * step), np.diff(offsets))
        numeric[index_in_bag == j] = slope[index_in_bag == j]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)


def _check_mean_curvature(rule: Rule, log_odds: Any, offsets: Any, log_proba: Any) -> None:
    """Check that the curvature of -log P, averaged over the labels, is the Fisher information."""
    matrices, information = {}, {}
    for y in (0, 1):
        labels = np.full(len(offsets) - 1, y, dtype=np.int8)
        _, gradient = rule.gradient(log_odds, offsets, labels)
        diagonal, factor = rule.curvature(log_odds, offsets, labels)
        matrices[y] = [
            np.diag(diagonal[a:b]) + np.outer(factor[a:b], factor[a:b]) for a, b in pairwise(offsets)
        ]
        information[y] = [np.outer(gradient[a:b], gradient[a:b]) for a, b in pairwise(offsets)]
    for i, (negative, positive) in enumerate(np.exp(log_proba)):
        mean = negative * matrices[0][i] + positive * matrices[1][i]
        fisher = negative * information[0][i] + positive * information[1][i]
        np.testing.assert_allclose(mean, fisher, rtol=1e-8, atol=1e-12)


def _check_by_enumeration(rule: Rule, log_odds: Any, offsets: Any, y: Any, gradient: Any, v: Any) -> None:
    labels = np.full(len(offsets) - 1, y, dtype=np.int8)
    estep = rule.estep(log_odds, offsets, labels)
    curved = rule.hessian_product(log_odds, offsets, labels, v)
    np.testing.assert_allclose(estep.posterior + estep.complement, 1.0, rtol=1e-12)
    for i in range(len(offsets) - 1):
        bag = slice(offsets[i], offsets[i + 1])
        eta = log_odds[bag]

        def label_probability(z: Any) -> Any:
            corner = np.where(np.array(z) == 1, np.inf, -np.inf)
            return float(np.exp(rule.log_proba(corner, np.array([0, len(z)]))[0, 1]))

        log_likelihood, posterior, covariance = enumerate_labels(eta, label_probability)[y]
        np.testing.assert_allclose(estep.log_likelihood[i], log_likelihood, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(estep.posterior[bag], posterior, rtol=1e-10, atol=1e-13)
        sigma = np.exp(-np.logaddexp(0.0, -eta))
        np.testing.assert_allclose(gradient[bag], posterior - sigma, rtol=1e-8, atol=1e-11)
        hessian = covariance - np.diag(sigma * (1 - sigma))
        np.testing.assert_allclose(curved[bag], hessian @ v[bag], rtol=1e-8, atol=1e-11)
