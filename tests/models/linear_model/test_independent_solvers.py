"""Objectives of linear models, compared with independent solvers and likelihoods.

The likelihood follows the definition of each rule, the gradient is computed by complex steps, and scipy
minimizes. For an L1 norm, every coefficient has a positive and a negative part with bounds. The solver starts
from our solution, because the problem has several local optima. For bags of one instance, which have a single
optimum, it also starts from zero.
"""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from bagwise import Bags, CountLogistic, MILogisticRegression, Threshold, milr_path
from bagwise.exceptions import ConvergenceWarning

RULES = {"or": "or", "mean": "mean", "two": Threshold(2)}


class Problem:
    """Random problem: random sizes, weights, correlated columns, and labels with or without noise."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(8, 50)), int(rng.integers(1, 8))
        self.alone = seed % 4 == 0  # bags of one: a convex problem
        self.rule = "or" if self.alone else list(RULES)[seed % 3]
        smallest = 2 if self.rule == "two" else 1
        self.sizes = np.ones(n, dtype=int) if self.alone else rng.integers(smallest, 7, size=n)
        mixing = rng.normal(size=(d, d)) if seed % 3 else np.eye(d)
        X = rng.normal(size=(self.sizes.sum(), d)) @ mixing + rng.normal(size=d)
        self.bags = Bags(X, np.append(0, np.cumsum(self.sizes)))
        signal = np.maximum.reduceat(X @ rng.normal(size=d), self.bags.offsets[:-1])
        noise = rng.choice([0.0, 1.0, 5.0]) * rng.normal(size=n)  # without noise, bags can be separable
        self.y = (signal + noise > np.median(signal + noise)).astype(int)
        self.y[:2] = 0, 1
        self.weight = rng.uniform(0.1, 3.0, size=n) if seed % 2 else np.ones(n)
        self.alpha = 10.0 ** rng.uniform(-2, 1)
        self.d, self.rng = d, rng
        inside = np.arange(self.sizes.max()) < self.sizes[:, None]
        self.rows = np.where(inside, self.bags.offsets[:-1, None] + np.arange(self.sizes.max()), 0)
        self.inside, self.X = inside, X

    def log_odds(self, params):
        """Return log-odds with a row per bag, for every row of parameters (coefficients, intercept)."""
        eta = self.X @ params[:, : self.d].T + params[:, self.d]
        return eta[self.rows].transpose(2, 0, 1)

    def log_likelihood(self, params, rule=None):
        """Return the log-likelihood per row of complex parameters; `rule` returns P(+ | count), if passed."""
        eta = self.log_odds(params)
        log_q = np.where(self.inside, -np.log1p(np.exp(eta)), 0.0)
        p = np.where(self.inside, 1.0 / (1.0 + np.exp(-eta)), 0.0)
        if self.rule == "or" and rule is None:
            nothing = log_q.sum(axis=2)
            each = np.where(self.y == 1, np.log(-np.expm1(nothing)), nothing)
        elif self.rule == "mean" and rule is None:
            q = np.where(self.inside, np.exp(log_q), 0.0)
            each = np.log(np.where(self.y == 1, p.sum(axis=2), q.sum(axis=2)) / self.sizes)
        else:  # add one instance after another to the counts
            row = np.zeros((*eta.shape[:2], eta.shape[2] + 1), dtype=complex)
            row[..., 0] = 1.0
            for j in range(eta.shape[2]):
                stays = row * (1.0 - p[..., j : j + 1])
                stays[..., 1:] += row[..., :-1] * p[..., j : j + 1]
                row = stays
            counts = np.arange(row.shape[2])
            chance = (counts >= 2).astype(complex)[None] if rule is None else rule(counts)
            chance = np.where(self.y[:, None] == 1, chance[:, None], 1 - chance[:, None])
            each = np.log((row * chance).sum(axis=2))
        return each @ self.weight


def with_gradient(value, x):
    """Return value and gradient from a single call with complex steps."""
    steps = x + 1e-30j * np.vstack([np.zeros(len(x)), np.eye(len(x))])
    values = value(steps)
    return float(values[0].real), values[1:].imag / 1e-30


def least(value, start, bounds=None):
    """Return the lowest value that scipy reaches."""
    best = np.inf
    options = {"maxiter": 5000, "maxfun": 20_000, "maxcor": 30, "ftol": 1e-16, "gtol": 1e-12}
    kwargs = {"jac": True, "method": "L-BFGS-B", "bounds": bounds, "options": options}
    for _ in range(3):  # restart at the solution with a new Hessian
        solution = minimize(lambda x: with_gradient(value, x), start, **kwargs)
        if not solution.fun < best:
            break
        best, start = solution.fun, solution.x
    return best


def elastic_net(problem, alpha, l1_ratio):
    """Return the objective as a function of positive parts, negative parts and the intercept."""
    d = problem.d

    def value(x):
        coef = x[:, :d] - x[:, d : 2 * d]
        penalty = l1_ratio * x[:, : 2 * d].sum(axis=1) + (1 - l1_ratio) / 2 * (coef * coef).sum(axis=1)
        return alpha * penalty - problem.log_likelihood(np.column_stack([coef, x[:, -1:]]))

    return value


def excess(problem, alpha, l1_ratio, coef, intercept, objective):
    """Check our reported objective, and return its relative difference from that of scipy."""
    value, d = elastic_net(problem, alpha, l1_ratio), problem.d
    ours = np.concatenate([np.maximum(coef, 0.0), np.maximum(-coef, 0.0), [intercept]])
    at_ours = float(value(ours[None].astype(complex))[0].real)
    assert objective == pytest.approx(at_ours, rel=1e-9)
    bounds = [(0, None)] * (2 * d) + [(None, None)]
    starts = [ours, np.zeros(2 * d + 1)] if problem.alone else [ours]
    theirs = min(least(value, start, bounds) for start in starts)
    return (at_ours - theirs) / abs(theirs)


def study(run, n_problems=200):
    """Run all seeds; return the largest result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy tries steps that overflow
        results = {seed: run(seed) for seed in range(n_problems)}
    return max(results.values())


def ridge(seed):
    problem = Problem(seed)
    model = MILogisticRegression(
        RULES[problem.rule],
        alpha=problem.alpha,
        l1_ratio=0.0,
        scale=None,
        tol=1e-10,
        n_init=2,
        random_state=0,
    ).fit(problem.bags, problem.y, sample_weight=problem.weight)
    return excess(problem, problem.alpha, 0.0, model.coef_[0], model.intercept_[0], model.objective_)


def path(seed):
    problem = Problem(seed)
    l1_ratio = (1.0, 0.5)[seed % 2]
    result = milr_path(
        problem.bags, problem.y, rule=RULES[problem.rule], alphas=4, l1_ratio=l1_ratio, scale=None,
        sample_weight=problem.weight, tol=1e-10, max_iter=1000,
    )  # fmt: skip
    parts = zip(result.alphas, result.coefs, result.intercepts, result.objectives, strict=True)
    return max(excess(problem, alpha, l1_ratio, *rest) for alpha, *rest in parts)


def learned_rule(seed):
    problem = Problem(seed)
    prior = 10.0 ** problem.rng.uniform(-3, 0)
    model = MILogisticRegression(
        CountLogistic(ridge=prior), alpha=problem.alpha, l1_ratio=0.0, scale=None, tol=1e-10, n_init=2,
        random_state=0, max_iter=1000,
    ).fit(problem.bags, problem.y, sample_weight=problem.weight)  # fmt: skip
    d = problem.d

    def value(x):
        start, slope = x[:, d + 1 : d + 2], np.exp(x[:, d + 2 :])
        log_likelihood = problem.log_likelihood(
            x[:, : d + 1], lambda counts: 1.0 / (1.0 + np.exp(-start - slope * counts))
        )
        penalties = problem.alpha * (x[:, :d] ** 2).sum(axis=1) + prior * (start**2 + slope**2)[:, 0]
        return 0.5 * penalties - log_likelihood

    ours = np.concatenate([model.coef_[0], model.intercept_, model.rule_.parameters()])
    at_ours = float(value(ours[None].astype(complex))[0].real)
    assert model.objective_ == pytest.approx(at_ours, rel=1e-9)
    return (at_ours - least(value, ours)) / abs(at_ours)


@pytest.mark.study
@pytest.mark.parametrize("run", [ridge, path, learned_rule], ids=lambda run: run.__name__)
def test_nothing_better_is_found_in_two_hundred_problems(run):
    assert study(run) < 1e-8


@pytest.mark.parametrize("run", [ridge, path, learned_rule], ids=lambda run: run.__name__)
def test_nothing_better_is_found_in_a_few(run):
    assert study(run, 6) < 1e-8
