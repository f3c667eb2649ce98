"""The interior-point form of the dual against the solver by pairs."""

import numpy as np
import pytest

from bagwise.solvers.dual import solve_dual
from bagwise.solvers.interior import solve_dual_interior


@pytest.mark.parametrize("rank", [2, 10, 60])
@pytest.mark.parametrize("seed", range(5))
def test_both_solvers_find_the_same_value(seed, rank):
    rng = np.random.default_rng(seed)
    n_points, n = 30, 50
    F = rng.normal(size=(n_points, rank))
    lower, upper = -rng.random(n), rng.random(n)
    share = rng.random()
    problem = {
        "q": rng.normal(size=n),
        "lower": lower,
        "upper": upper,
        "total": share * lower.sum() + (1 - share) * upper.sum(),
        "points": rng.integers(n_points, size=n),
    }
    ours = solve_dual_interior(F, **problem, tol=1e-10)
    other = solve_dual(F @ F.T, **problem, tol=1e-10)
    assert ours.converged
    assert ours.value == pytest.approx(other.value, rel=1e-8)
    assert ours.history[-1] == pytest.approx(ours.value, rel=1e-8), "what is reported is what is minimised"
    assert ours.x.sum() == pytest.approx(problem["total"], abs=1e-9)
    assert (ours.x >= lower).all() and (ours.x <= upper).all()
    assert ours.value - ours.gap <= other.value + 1e-9 * abs(other.value)
    np.testing.assert_allclose(ours.product, F @ F.T @ np.bincount(problem["points"], ours.x, n_points))


def test_many_free_variables_of_low_rank_take_few_steps():
    """A case in which pairs need millions of steps: nearly all variables are free, and the rank is small."""
    rng = np.random.default_rng(0)
    n = 400
    F = rng.normal(size=(n, 5))
    q = -F @ rng.normal(size=5) * 0.01
    found = solve_dual_interior(
        F, q, lower=np.zeros(n), upper=np.full(n, 1.0 / n), total=0.1, points=np.arange(n), tol=1e-10
    )
    assert found.converged and found.n_iter < 40
