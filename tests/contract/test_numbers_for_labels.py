"""Only rules and estimators interpret y: problems and solvers also work with a rule for continuous y."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, logsumexp

from bagwise import Or, Rule, make_noisy_or_bags
from bagwise.families import make_family
from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.fit import fit_null
from bagwise.models.linear_model.engine.problem import InMemoryProblem
from bagwise.models.mixture.build import build_model, prepare
from bagwise.models.prototypes.density_problem import DensityProblem
from bagwise.rules.base import RuleResult
from bagwise.solvers.control import Control
from bagwise.solvers.em import run_em
from bagwise.solvers.smooth import minimize_smooth


class NoisyCount(Rule):
    """y is the number of positive instances plus standard normal noise; computed by enumeration."""

    def labelings(self, log_odds, offsets, y):
        """Yield for every bag its rows, all labelings, and their joint log-probabilities with y."""
        for i, (a, b) in enumerate(pairwise(offsets)):
            z = np.array(list(product([0, 1], repeat=b - a)))
            log_p = -np.logaddexp(0, np.where(z, -log_odds[a:b], log_odds[a:b])).sum(axis=1)
            yield slice(a, b), z, log_p - 0.5 * (y[i] - z.sum(axis=1)) ** 2

    def estep(self, log_odds, offsets, y, weight=None):
        log_likelihood, posterior, complement = [], np.empty(len(log_odds)), np.empty(len(log_odds))
        for rows, z, joint in self.labelings(log_odds, offsets, y):
            log_likelihood.append(logsumexp(joint))
            share = np.exp(joint - log_likelihood[-1])
            posterior[rows], complement[rows] = share @ z, share @ (1 - z)
        return RuleResult(np.array(log_likelihood), posterior, complement, np.empty(0))

    def gradient(self, log_odds, offsets, y):
        result = self.estep(log_odds, offsets, y)
        return result.log_likelihood, result.posterior - expit(log_odds)

    def hessian_product(self, log_odds, offsets, y, v):
        product = -expit(log_odds) * expit(-log_odds) * v
        for rows, z, joint in self.labelings(log_odds, offsets, y):
            share = np.exp(joint - logsumexp(joint))
            centered = z - share @ z
            product[rows] += (share * (centered @ v[rows])) @ centered
        return product


def gradient_error(problem, at) -> float:
    return check_grad(*(lambda t, i=i: problem.value_and_gradient(t)[i] for i in (0, 1)), at)


@pytest.fixture(scope="module")
def data():
    data = make_noisy_or_bags(40, size=(1, 3), coef=[3.0, -3.0], intercept=0.0, random_state=0)
    noise = np.random.default_rng(0).normal(size=40)
    data.target = np.add.reduceat(data.instance_y, data.bags.offsets[:-1]) + noise
    assert data.target.min() < -1 and data.target.max() > 2
    return data


def test_a_rule_of_labels_refuses_continuous_targets(data):
    with pytest.raises(ValueError, match="y"):
        Or().gradient(np.zeros(data.bags.n_instances), data.bags.offsets, data.target)


def test_linear_problems_accept_continuous_targets(data):
    problem = InMemoryProblem(
        Design(data.bags.instances, data.bags.offsets), data.target, np.ones(40), NoisyCount(), ridge=0.01
    )
    theta = np.array([0.5, -0.5, 0.2])
    assert gradient_error(problem, theta) < 1e-5
    result = minimize_smooth(problem.value_and_gradient, theta, Control(1e-6, 200))
    assert result.converged and result.x[0] > 0 > result.x[1]


def test_the_null_model_accepts_continuous_targets(data):
    problem = InMemoryProblem(
        Design(data.bags.instances, data.bags.offsets), data.target, np.ones(40), NoisyCount()
    )
    theta = fit_null(problem, Control(1e-8, 100))
    assert theta[:2].tolist() == [0.0, 0.0]
    assert abs(problem.value_and_gradient(theta)[1][-1]) < 1e-7


def test_densities_accept_continuous_targets(data):
    problem = DensityProblem(data.bags.instances, data.bags.offsets, data.target, np.ones(40), NoisyCount())
    start = np.array([0.5, -0.5, 0.7, 0.7])
    assert gradient_error(problem, start) < 1e-5
    assert minimize_smooth(problem.value_and_gradient, start, Control(1e-5, 200)).converged


def test_mixtures_accept_continuous_targets(data):
    bags, weight = data.bags, np.ones(40)
    ground = prepare(make_family("gaussian"), "default", (1, 1), bags.blocks(data.target, weight))
    model, blocks = build_model(ground, NoisyCount())
    (result,) = run_em(model, blocks, Control(1e-6, 100), n_init=1, rng=np.random.RandomState(0))
    assert result.converged
    assert (np.diff(result.history) < 1e-9).all()
