"""All families: densities integrate to one, M steps maximize, and NaN is integrated out."""

import numpy as np
import pytest
from scipy import integrate
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from bagwise.families import (
    Bernoulli,
    Categorical,
    FraleyRaftery,
    Gaussian,
    GaussianDiag,
    GaussianSpherical,
    GaussianTied,
    Markov,
    make_family,
)
from bagwise.families.gaussian import GaussianParams
from bagwise.families.prior import GaussianPrior

GAUSSIANS = [Gaussian, GaussianDiag, GaussianSpherical]
ALL = [*GAUSSIANS, Bernoulli, Categorical, Markov]


def draw(family, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = family.example(n, rng)
    return X, rng.random(n)


def start(family, X, weight, prior="default"):
    return family.start(family.start_statistics(X, weight), 2, prior)


def fitted(cls, prior="default"):
    family = cls()
    X, weight = draw(family)
    resolved = start(family, X, weight, prior)
    sums = family.statistics(X, weight, None, resolved)
    return family, X, weight, resolved, sums, family.mstep(sums, weight.sum(), resolved)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_the_mstep_maximises_expected_density_plus_prior(cls):
    family, X, weight, prior, _, best = fitted(cls)

    def value(vector):
        params = family.unpack(vector, best)
        return -weight @ family.log_density(X, params) - family.log_prior(params, prior)

    at_best = family.pack(best)
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert value(at_best + 0.02 * rng.normal(size=len(at_best))) > value(at_best)
    result = minimize(value, at_best + 0.05 * rng.normal(size=len(at_best)), tol=1e-12)
    assert result.fun >= value(at_best) - 1e-9 * abs(value(at_best))


@pytest.mark.parametrize("cls", [GaussianDiag, GaussianSpherical, Gaussian], ids=lambda c: c.__name__)
def test_without_a_mean_prior_the_mstep_still_maximises(cls):
    family, X, weight, prior, _, best = fitted(cls, FraleyRaftery(kappa=0.0))
    np.testing.assert_allclose(best.mean, np.average(X, axis=0, weights=weight))

    def value(vector):
        params = family.unpack(vector, best)
        return -weight @ family.log_density(X, params) - family.log_prior(params, prior)

    rng = np.random.default_rng(1)
    at_best = family.pack(best)
    assert all(value(at_best + 0.02 * rng.normal(size=len(at_best))) > value(at_best) for _ in range(20))


def test_tied_covariances_maximise_together():
    family = GaussianTied()
    X, weight = draw(family)
    share = np.random.default_rng(2).random(len(X))
    weights = [weight * share, weight * (1 - share)]
    prior = start(family, X, weight)
    sums = [family.statistics(X, w, None, prior) for w in weights]
    best = family.mstep_all(sums, [w.sum() for w in weights], prior)

    def value(means, covariance):
        params = [GaussianParams(mean, covariance) for mean in means]
        data = sum(w @ family.log_density(X, p) for w, p in zip(weights, params, strict=True))
        return -data - family.log_prior_all(params, prior)

    rng = np.random.default_rng(1)
    means, factor = [p.mean for p in best], np.linalg.cholesky(best[0].covariance)
    least = value(means, best[0].covariance)
    for _ in range(20):
        moved = factor + 0.02 * np.tril(rng.normal(size=factor.shape))
        assert value(means, moved @ moved.T) > least
        assert value([m + 0.02 * rng.normal(size=3) for m in means], best[0].covariance) > least
    assert family.count_parameters(best) == 2 * 3 + 6


def test_tied_covariances_without_a_mean_prior_maximise_together():
    family = GaussianTied()
    X, weight = draw(family)
    share = np.random.default_rng(2).random(len(X))
    weights = [weight * share, weight * (1 - share)]
    prior = start(family, X, weight, FraleyRaftery(kappa=0.0))
    sums = [family.statistics(X, w, None, prior) for w in weights]
    best = family.mstep_all(sums, [w.sum() for w in weights], prior)
    about = [X - p.mean for p in best]
    spread = sum((w[:, None] * D).T @ D for w, D in zip(weights, about, strict=True))
    expected = (prior.scale + spread) / (weight.sum() + prior.nu + 3 + 1)
    np.testing.assert_allclose(best[0].covariance, expected, rtol=1e-10)

    def value(scale):
        params = [GaussianParams(p.mean, scale * p.covariance) for p in best]
        data = sum(w @ family.log_density(X, p) for w, p in zip(weights, params, strict=True))
        return -data - family.log_prior_all(params, prior)

    assert value(1.0) < min(value(0.999), value(1.001))


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_sums_give_the_total_log_density_and_log_odds_are_differences(cls):
    family, X, weight, prior, sums, best = fitted(cls)
    # The parameters of the first nine instances, whose mean differs from the origin of the sums.
    other = family.mstep(family.statistics(X[:9], weight[:9], None, prior), weight[:9].sum(), prior)
    for params in (best, other):
        expected = weight @ family.log_density(X, params)
        assert family.log_density_of_sums(sums, weight.sum(), params, prior) == pytest.approx(expected, 1e-12)
    np.testing.assert_allclose(
        family.log_odds(X, best, other),
        family.log_density(X, best) - family.log_density(X, other),
        rtol=1e-10,
        atol=1e-12,
    )


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_log_odds_are_linear_in_the_sufficient_statistics(cls):
    family, X, weight, prior, _, best = fitted(cls)
    other = family.mstep(family.statistics(X[:9], weight[:9], None, prior), weight[:9].sum(), prior)
    T = np.column_stack([np.ones(X.shape[0]), family.sufficient(X)])
    log_odds = family.log_odds(X, best, other)
    coefficients, *_ = np.linalg.lstsq(T, log_odds, rcond=None)
    np.testing.assert_allclose(T @ coefficients, log_odds, atol=1e-7)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_blocks_of_statistics_add_up_and_packing_is_reversible(cls):
    family, X, weight, prior, sums, best = fitted(cls)
    halves = [family.statistics(X[part], weight[part], None, prior) for part in (slice(15), slice(15, None))]
    np.testing.assert_allclose(halves[0] + halves[1], sums, rtol=1e-12, atol=1e-12)
    again = family.unpack(family.pack(best), best)
    for a, b in zip(again, best, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_a_component_without_weight_is_its_prior(cls):
    family, _, _, prior, sums, _ = fitted(cls)
    alone = family.mstep(0.0 * sums, 0.0, prior)
    assert all(np.isfinite(part).all() for part in alone)
    if cls is Gaussian:
        np.testing.assert_allclose(alone.mean, prior.mean)
        np.testing.assert_allclose(alone.covariance, prior.scale / (prior.nu + 3 + 2))


def test_the_mode_has_the_divisors_of_mclust():
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(30, 4)), rng.random(30)
    V = np.cov(X.T, aweights=None)
    unit_weight = np.ones(30)
    m, n, k = X.mean(0), w.sum(), 0.01
    xbar = w @ X / n
    W = (w[:, None] * (X - xbar)).T @ (X - xbar)
    B = W + (n * k / (n + k)) * np.outer(xbar - m, xbar - m)
    expected = {
        Gaussian: (V / 2 ** (2 / 4) + B) / (n + 2 * 4 + 4),
        GaussianDiag: (np.trace(V) / 4 / 2 ** (2 / 4) + np.diag(B)) / (n + 4 + 5),
        GaussianSpherical: (np.trace(V) / 4 / 2 ** (2 / 4) + np.trace(B)) / (4 * n + 6 + 2 + 4),
    }
    for cls, covariance in expected.items():
        family = cls()
        prior = start(family, X, unit_weight)
        mean, fitted_covariance = family.mstep(family.statistics(X, w, None, prior), n, prior)
        np.testing.assert_allclose(mean, (n * xbar + k * m) / (n + k), rtol=1e-12)
        np.testing.assert_allclose(fitted_covariance, covariance, rtol=1e-12)
    family = GaussianDiag()
    prior = start(family, X, unit_weight, "per_feature")
    fitted_covariance = family.mstep(family.statistics(X, w, None, prior), n, prior).variance
    np.testing.assert_allclose(fitted_covariance, (np.diag(V) / 4 + np.diag(B)) / (n + 3 + 2 + 1), rtol=1e-12)


def test_a_large_mean_costs_no_digits():
    X, weight = draw(Gaussian())
    for cls in GAUSSIANS:
        family = cls()
        near, far = (
            family.mstep(family.statistics(Y, weight, None, p), weight.sum(), p)
            for Y in (X, X + 2.0**30)
            for p in [start(family, Y, weight)]
        )
        np.testing.assert_allclose(far[1], near[1], rtol=1e-5)  # X + 2^30 has about eight digits left


# ---------------------------------------------------------------------- missing values


def test_gaussian_densities_integrate_a_missing_value_out():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(2, 2))
    params = GaussianParams(rng.normal(size=2), A @ A.T + 0.5 * np.eye(2))
    for x in (-1.0, 0.3):

        def density(hidden, x=x):
            return np.exp(Gaussian().log_density(np.array([[x, hidden]]), params)[0])

        expected, _ = integrate.quad(density, -np.inf, np.inf, epsabs=1e-13)
        actual = np.exp(Gaussian().log_density(np.array([[x, np.nan]]), params)[0])
        assert actual == pytest.approx(expected, rel=1e-9)
        # The expected statistics are the moments of the same integral.
        family, origin = Gaussian(), start(Gaussian(), rng.normal(size=(9, 2)), np.ones(9))
        sums = family.statistics(np.array([[x, np.nan]]), np.ones(1), params, origin)
        for power, actual in ((1, sums[0, 1]), (2, sums[2, 1])):

            def moment(hidden, power=power, density=density, middle=origin.mean[1]):
                return (hidden - middle) ** power * density(hidden)

            total, _ = integrate.quad(moment, -np.inf, np.inf, epsabs=1e-13)
            assert actual == pytest.approx(total / expected, rel=1e-8)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_gaussian_statistics_of_missing_values_are_conditional_moments(rate):
    """The reference inverts the covariance of the observed features, for every row."""
    rng = np.random.default_rng(0)
    n, d = 60, 9
    A = rng.normal(size=(d, d))
    scale = 10.0 ** rng.integers(-4, 5, size=d)  # features in different units
    params = GaussianParams(rng.normal(size=d) * scale, (A @ A.T + 0.1 * np.eye(d)) * np.outer(scale, scale))
    X = rng.normal(size=(n, d)) * scale
    X[rng.random(X.shape) < rate] = np.nan
    X[:3] = np.nan
    X[3:9] = np.where(np.isnan(X[9]), np.nan, rng.normal(size=(6, d)) * scale)  # rows with the same pattern
    weight = rng.random(n)
    weight[5] = 0.0
    prior = start(Gaussian(), rng.normal(size=(9, d)) * scale, np.ones(9))
    first, second = np.zeros(d), np.zeros((d, d))
    units = np.outer(scale, scale)
    C, mean = params.covariance / units, params.mean / scale
    for row, w in zip(X / scale, weight, strict=True):
        S = ~np.isnan(row)
        regression = C[:, S] @ np.linalg.inv(C[np.ix_(S, S)])
        expected = mean + regression @ (row - mean)[S]
        expected[S] = row[S]
        u = expected - prior.mean / scale
        spread = np.zeros((d, d))
        spread[np.ix_(~S, ~S)] = (C - regression @ C[S])[np.ix_(~S, ~S)]
        first += w * u
        second += w * (np.outer(u, u) + spread)
        density = multivariate_normal(mean[S], C[np.ix_(S, S)]).logpdf(row[S]) if S.any() else 0.0
        actual = Gaussian().log_density((row * scale)[None], params)[0] + np.log(scale[S]).sum()
        assert actual == pytest.approx(density, rel=1e-10, abs=1e-10)
    sums = Gaussian().statistics(X, weight, params, prior)
    np.testing.assert_allclose(sums[0] / scale, first, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums[1:] / units, second, rtol=1e-9, atol=1e-9)
    one_by_one = np.concatenate([Gaussian().log_density(row[None], params) for row in X])
    np.testing.assert_allclose(Gaussian().log_density(X, params), one_by_one, rtol=1e-11, atol=1e-11)


def test_a_diagonal_gaussian_agrees_with_the_full_one_on_missing_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    mean, variance = rng.normal(size=3), rng.random(3) + 0.2
    diagonal = GaussianDiag().log_density(X, _diag(mean, variance))
    full = Gaussian().log_density(X, GaussianParams(mean, np.diag(variance)))
    np.testing.assert_allclose(diagonal, full, rtol=1e-12, atol=1e-12)
    assert multivariate_normal(mean, np.diag(variance)).logpdf([0.1, 0.2, 0.3]) == pytest.approx(
        GaussianDiag().log_density(np.array([[0.1, 0.2, 0.3]]), _diag(mean, variance))[0]
    )


def _diag(mean, variance):
    from bagwise.families.gaussian_diag import DiagonalParams

    return DiagonalParams(mean, variance)


@pytest.mark.parametrize("cls", [Bernoulli, Categorical], ids=lambda c: c.__name__)
def test_discrete_families_sum_a_missing_value_out(cls):
    family, X, _, _, _, best = fitted(cls)
    row = X[:1].copy()
    values = np.arange(best.probability.shape[1]) if cls is Categorical else np.arange(2)
    n_values = int((best.probability[1] > 0).sum()) if cls is Categorical else 2
    every = np.repeat(row, n_values, axis=0)
    every[:, 1] = values[:n_values]
    row[0, 1] = np.nan
    expected = np.logaddexp.reduce(family.log_density(every, best))
    assert family.log_density(row, best)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("cls", [Gaussian, GaussianDiag, Bernoulli, Categorical], ids=lambda c: c.__name__)
def test_an_instance_without_any_value_says_nothing(cls):
    family, X, _, prior, _, best = fitted(cls)
    nothing = np.full((2, X.shape[1]), np.nan)
    np.testing.assert_array_equal(family.log_density(nothing, best), 0.0)
    assert np.isfinite(family.statistics(nothing, np.ones(2), best, prior)).all()


# ---------------------------------------------------------------------- samples and invalid input


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_samples_have_the_distribution_they_are_drawn_from(cls):
    family, _, _, prior, _, best = fitted(cls)
    drawn = family.sample(best, 20_000, np.random.RandomState(0))
    again = family.mstep(family.statistics(drawn, np.ones(20_000), best, prior), 20_000.0, prior)
    for a, b in zip(again, best, strict=True):
        np.testing.assert_allclose(a, b, atol=0.05 * max(1.0, float(np.abs(b).max())))


def test_values_that_a_family_cannot_make_are_refused():
    with pytest.raises(ValueError, match=r"needs features that are 0 or 1; instance 0 has 2 in feature 1"):
        start(Bernoulli(), np.array([[0.0, 2.0]]), np.ones(1))
    with pytest.raises(ValueError, match=r"instance 0 has 0.5 in feature 0"):
        start(Categorical(), np.array([[0.5]]), np.ones(1))
    with pytest.raises(ValueError, match="n_values"):
        start(Categorical(n_values=2), np.array([[2.0]]), np.ones(1))


@pytest.mark.parametrize("prior", [0.0, -1.0, "per_feature", None])
def test_a_discrete_family_needs_a_pseudo_count(prior):
    with pytest.raises(ValueError, match="pseudo-count > 0"):
        start(Bernoulli(), np.zeros((1, 1)), np.ones(1), prior)


def test_priors_that_do_not_fit_are_refused():
    X, weight = np.zeros((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match="'per_feature' requires family='gaussian_diag'"):
        start(Gaussian(), X, weight, "per_feature")
    with pytest.raises(ValueError, match="must be 'default', 'per_feature' or a FraleyRaftery"):
        start(GaussianDiag(), X, weight, 3.0)
    with pytest.raises(ValueError, match="kappa of FraleyRaftery must be >= 0"):
        start(Gaussian(), X, weight, FraleyRaftery(kappa=-1.0))
    with pytest.raises(ValueError, match=r"family must be one of .*'gaussian'"):
        make_family("gauss")


@pytest.mark.parametrize("cls", GAUSSIANS, ids=lambda c: c.__name__)
def test_constant_and_redundant_features_leave_no_singular_covariance(cls):
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    for X in (np.column_stack([x, 2 * x]), np.column_stack([x, 0 * x]), np.ones((30, 2))):
        family = cls()
        weight = np.ones(30)
        prior = start(family, X, weight)
        params = family.mstep(family.statistics(X, weight, None, prior), 30.0, prior)
        assert np.isfinite(family.log_density(X, params)).all()
        assert np.isfinite(family.log_prior(params, prior))


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 600])
def test_full_gaussians_do_not_depend_on_the_number_of_rows(n):
    rng = np.random.default_rng(n)
    X, weight = 1e3 + rng.normal(size=(n, 3)), rng.random(n)
    factors = rng.normal(size=(2, 3, 3))
    prior = GaussianPrior(np.full(3, 1e3), 0.01, 5.0, np.eye(3))
    positive, negative = (
        GaussianParams(1e3 + rng.normal(size=3), factor @ factor.T + np.eye(3)) for factor in factors
    )
    family = Gaussian()
    U = X - prior.mean
    sums = family.statistics(X, weight, None, prior)
    np.testing.assert_allclose(sums, np.vstack([weight @ U, (weight * U.T) @ U]), rtol=1e-12, atol=1e-12)
    assert (sums[1:] == sums[1:].T).all()
    log_odds = family.log_odds(X, positive, negative)
    assert log_odds.shape == (n,)
    if n:
        expected = multivariate_normal(*positive).logpdf(X) - multivariate_normal(*negative).logpdf(X)
        np.testing.assert_allclose(log_odds, expected, rtol=1e-10, atol=1e-11)
