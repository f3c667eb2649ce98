"""Kernels of instances far from the origin, such as Unix times and coordinates."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from bagwise import (
    MISVC,
    Bags,
    DSDDClassifier,
    InstanceMISVC,
    LSDDClassifier,
    MissSVC,
    PUMILClassifier,
    PUSetKernelClassifier,
    SetKernelSVC,
    make_noisy_or_bags,
)
from bagwise.similarity import InstanceKernel, resolve_gamma
from bagwise.similarity.centred import RisingPolynomial, far_origin

DATA = make_noisy_or_bags(30, size=(2, 5), n_features=3, random_state=0)


def clouds(seed=0):
    """Return rows around several points that are far from each other and from the origin."""
    rng = np.random.default_rng(seed)
    centres = np.array([0.0, 1.7e9, 1.7e9 + 1e6, -1e12, 3e5])
    return rng.normal(size=(40, 3)) + rng.choice(centres, size=(40, 1))


@pytest.mark.parametrize("gamma", [1e-12, 0.3, 7.0])
def test_gaussian_kernel_is_computed_from_differences(gamma):
    X, Y = clouds(0), clouds(1)
    Y[:5] = X[:5]
    expected = np.exp(-gamma * cdist(X, Y, "sqeuclidean"))
    kernel = InstanceKernel("rbf", gamma)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(kernel(sp.csr_array(X), sp.csr_array(Y)), expected, rtol=1e-9, atol=1e-300)
    alone = np.vstack([kernel(X[i : i + 1], Y) for i in range(len(X))])
    np.testing.assert_allclose(alone, kernel(X, Y), rtol=1e-9, atol=1e-300)


def test_single_precision_is_used_only_near_the_origin():
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    far = X * 16 + np.float32(2**20)
    for Z, digits in ((X, 1e-5), (far, 1e-9)):
        expected = np.exp(-0.3 * cdist(Z.astype(float), Z.astype(float), "sqeuclidean"))
        np.testing.assert_allclose(InstanceKernel("rbf", 0.3)(Z, Z), expected, atol=digits)


@pytest.mark.parametrize("scale", [1e150, 1e200, 1e300])
def test_the_gaussian_kernel_of_huge_values_is_finite(scale):
    X = np.array([[1.0, 2.0], [1.0, 2.0], [-1.0, 0.0]]) * scale
    assert InstanceKernel("rbf", 1.0)(X, X).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_gamma_scale_is_the_variance_far_from_the_origin(make):
    X = np.random.default_rng(0).normal(size=(50, 3)) + 1.7e9
    assert resolve_gamma("scale", make(X)) == pytest.approx(1 / (3 * X.var()), rel=1e-6)
    with pytest.raises(ValueError, match='gamma="scale" needs the variance of the instances, which over'):
        resolve_gamma("scale", make(X * 1e200))


MODELS = [
    SetKernelSVC(scale=None),
    MISVC(scale=None, random_state=0),
    InstanceMISVC(scale=None, random_state=0),
    MissSVC(scale=None, random_state=0),
    DSDDClassifier(scale=None, random_state=0),
    LSDDClassifier(scale=None, random_state=0),
    SetKernelSVC(scale=None, kernel="linear"),
    SetKernelSVC(scale=None, kernel="linear", bag_kernel="mean"),
    SetKernelSVC(scale=None, kernel="linear", bag_kernel="minimax"),
    MISVC(scale=None, kernel="linear", random_state=0),
    InstanceMISVC(scale=None, kernel="linear", random_state=0),
    MissSVC(scale=None, kernel="linear", random_state=0),
]


@pytest.mark.parametrize("shift", [1e6, 2.0**31, 2.0**33])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_svm_with_gaussian_or_linear_kernel_ignores_a_shift(model, shift):
    X = np.round(DATA.bags.instances * 64) / 64  # sums with these shifts are exact
    near, far = (DATA.bags.with_instances(X + s) for s in (0.0, shift))
    scores = model.fit(near, DATA.y).decision_function(near)
    moved = model.fit(far, DATA.y)
    np.testing.assert_allclose(moved.decision_function(far), scores, atol=1e-4)
    together = moved.decision_function(far)
    alone = np.concatenate([moved.decision_function(far[i : i + 1]) for i in range(len(far))])
    np.testing.assert_allclose(alone, together, rtol=1e-8, atol=1e-8)


def test_instance_order_does_not_matter_with_an_outlier():
    X = DATA.bags.instances.copy()
    X[0, 0] = -1e12
    bags = DATA.bags.with_instances(X)
    model = PUMILClassifier(scale=None, random_state=0).fit(bags, DATA.y)
    turned = Bags.from_list([bag[::-1] for bag in bags])
    np.testing.assert_allclose(
        model.decision_function(turned), model.decision_function(bags), rtol=1e-9, atol=1e-9
    )


def test_polynomial_kernel_that_rounding_ruins_is_reported():
    far = DATA.bags.with_instances(DATA.bags.instances + 1e7)
    for make in (MISVC, InstanceMISVC, MissSVC):
        with pytest.warns(ConvergenceWarning, match="scale the features"):
            model = make(scale=None, kernel="poly", random_state=0).fit(far, DATA.y)
        assert not model.converged_


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomial_kernel_is_shifted_to_a_central_point(degree):
    X, Y = (np.random.default_rng(seed).normal(size=(4, 2)) + 2.0**30 for seed in (0, 1))
    origin = far_origin(Y)
    kernel = RisingPolynomial("poly", 0.25, degree, 1.0, origin=origin)(X, Y)

    def polynomial(x, z):  # without rounding
        return (
            Fraction(1, 4) * sum(Fraction(a) * Fraction(b) for a, b in zip(x, z, strict=True)) + 1
        ) ** degree

    exact = [[float(polynomial(x, z) - polynomial(origin, z)) for z in Y] for x in X]
    np.testing.assert_allclose(kernel, exact, rtol=1e-13)
    assert far_origin(X - 2.0**30) is None and far_origin(sp.csr_array(X)) is None


@pytest.mark.parametrize("shift", [2.0**23, 2.0**27, 2.0**31])
@pytest.mark.parametrize("loss", ["double_hinge", "squared", "logistic"])
@pytest.mark.parametrize("kernel", ["set", "mean", "minimax"])
def test_polynomial_kernel_scores_a_bag_the_same_alone_and_with_others(kernel, loss, shift):
    far = DATA.bags.with_instances(np.round(DATA.bags.instances * 64) / 64 + shift)
    model = PUSetKernelClassifier(kernel, loss=loss, scale=None, class_prior=0.5).fit(far, DATA.y)
    assert model.converged_
    together = model.decision_function(far)
    alone = np.concatenate([model.decision_function(far[i : i + 1]) for i in range(len(far))])
    # The tolerance is the precision of features of this size.
    np.testing.assert_allclose(
        alone, together, atol=10 * shift * np.finfo(float).eps * np.abs(together).max()
    )


def test_the_squared_loss_far_away_is_least_squares():
    """Compare with a QR factorization, which does not square the features, from exact differences."""
    far = DATA.bags.with_instances(np.round(DATA.bags.instances * 64) / 64 + 2.0**27)
    model = PUSetKernelClassifier("mean", loss="squared", alpha=1e-3, scale=None, class_prior=0.4)
    scores = model.fit(far, DATA.y).decision_function(far)
    means = np.array([[float(sum(map(Fraction, column)) / len(column)) for column in bag.T] for bag in far])
    F = (means - means.mean(axis=0)) @ means.T / means.shape[1]
    P, U = F[DATA.y == 1], F[DATA.y == 0]
    # mean_U((1 + g)^2) / 4 - pi mean_P(g) + alpha |coef|^2 / 2; a second system adds the linear term.
    root = np.linalg.qr(
        np.vstack(
            [np.column_stack([U, np.ones(len(U))]) / np.sqrt(2 * len(U)), np.sqrt(1e-3) * np.eye(31)[:-1]]
        )
    ).R
    pull = np.append(0.4 * P.mean(axis=0) - 0.5 * U.mean(axis=0), 0.4 - 0.5)
    coef = np.linalg.solve(root, np.linalg.solve(root.T, pull))
    np.testing.assert_allclose(scores, F @ coef[:-1] + coef[-1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", [DSDDClassifier, LSDDClassifier])
def test_single_precision_bags_score_the_same_alone_and_with_others(make):
    model = make(scale=None, random_state=0)
    X = (np.round(DATA.bags.instances * 8) * 8 + 1e8).astype(np.float32)
    bags = DATA.bags.with_instances(X)
    together = model.fit(bags, DATA.y).decision_function(bags)
    alone = np.concatenate([model.decision_function(bags[i : i + 1]) for i in range(len(bags))])
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-9)
