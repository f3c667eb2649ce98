"""The variants of LSDD and DSDD that explain a published table, compared with their formulas."""

import numpy as np
import pytest
from reproduction.pu_causes import CoefficientDSDD, RoundedLSDD

from bagwise import Bags
from bagwise.models.pu.dsdd import ramp
from bagwise.similarity import InstanceKernel


def noisy_copies(n_features, seed=0):
    """Return bags of two instances, four noisy copies of each bag; a quarter of the bags is positive."""
    rng = np.random.default_rng(seed)
    originals = rng.normal(size=(6, 2, n_features))
    X = np.concatenate([originals + 1e-3 * rng.normal(size=originals.shape) for _ in range(4)])
    return Bags.from_list(list(X)), np.repeat([1, 0, 0, 0], 6)


@pytest.mark.parametrize(("n_features", "width"), [(166, 1e-2), (230, 1e-2), (166, 1e-4)])
def test_printed_matrix_rounds_to_zero_in_many_dimensions(n_features, width):
    bags, y = noisy_copies(n_features)
    gamma, ridge = 0.5 / width**2, 1e-3
    model = RoundedLSDD(gammas=[gamma], alphas=[ridge], scale=None).fit(bags, y)
    centers = model.centers_
    # The matrix, vector and system of LSDD with exp(-d^2 / (2 s^2)), without normalization.
    H = (np.pi * width**2) ** (n_features / 2) * InstanceKernel("rbf", 0.5 * gamma)(centers, centers)
    K = InstanceKernel("rbf", gamma)(bags.instances, centers)
    positive = np.repeat(y, bags.sizes) == 1
    h = K[positive].mean(axis=0) - K[~positive].mean(axis=0)
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(H + ridge * np.eye(len(H)), h), rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_penalty_of_coefficients_is_minimised(fit_intercept):
    rng = np.random.default_rng(0)
    bags, y = Bags.from_list(list(rng.normal(size=(30, 2, 2)))), np.repeat([1, 0], [10, 20])
    model = CoefficientDSDD(
        gammas=[1.0], alphas=[0.05], scale=None, tol=1e-10, fit_intercept=fit_intercept, random_state=0
    )
    model.fit(bags, y)
    (coef,), (intercept,) = model.dual_coef_, model.intercept_
    assert len(coef) == bags.n_instances
    K = InstanceKernel("rbf", 1.0)(bags.instances, model.support_vectors_)
    sign = 2.0 * np.repeat(y, bags.sizes) - 1.0
    share = np.where(sign > 0, 0.5 / (sign > 0).sum(), 0.5 / (sign < 0).sum())

    def objective(coef, intercept):
        return 0.025 * coef @ coef + share @ ramp(sign * (K @ coef + intercept))

    least = objective(coef, intercept)
    assert least < objective(np.zeros(len(K)), 0.0) - 1e-3
    for step in 1e-4 * rng.normal(size=(200, len(K) + 1)):
        moved = intercept + fit_intercept * step[-1]
        assert objective(coef + step[:-1], moved) >= least - 1e-9
