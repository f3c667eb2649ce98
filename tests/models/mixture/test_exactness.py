"""E and M steps, compared with the enumeration of all labelings and the identities of the paper."""

import warnings
from itertools import product

import numpy as np
import pytest

from bagwise import Bags, MIMixture, make_mixture_bags
from bagwise.exceptions import ConvergenceWarning
from bagwise.families import FAMILIES, FraleyRaftery, Gaussian, GaussianDiag, make_family
from bagwise.models.mixture.build import build_model, prepare
from bagwise.models.mixture.model import MixtureParams
from bagwise.rules import Mean, Or
from bagwise.testing import enumerate_labels

SIZES = np.array([3, 1, 10, 2, 4, 5])
LABELS = np.array([1, 1, 1, 0, 0, -1], dtype=np.int8)


def make_model(family, X, y, weight, *, offsets=None, n_components=(1, 1), rule=None):
    """Return a model, and the blocks of bags for EM."""
    offsets = np.concatenate([[0], np.cumsum(SIZES)]) if offsets is None else offsets
    blocks = Bags(X, offsets).blocks(y, weight)
    ground = prepare(make_family(family), "default", n_components, blocks)
    return build_model(ground, rule or Or())


def brute_force(model, params, X, y, weight, sizes=SIZES):
    """Sum over all labelings and all choices of components, one bag at a time."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    family, p = model.family, params.n_positive
    K = len(params.components)
    rate = [params.log_rate[1] if k < p else params.log_rate[0] for k in range(K)]
    joint = np.stack(
        [family.log_density(X, c) + params.log_weights[k] + rate[k] for k, c in enumerate(params.components)]
    )
    by_class = np.stack([np.logaddexp.reduce(joint[p:], axis=0), np.logaddexp.reduce(joint[:p], axis=0)])
    value, share = 0.0, np.zeros((K, X.shape[0]))
    for i, size in enumerate(sizes):
        rows = np.arange(offsets[i], offsets[i + 1])
        total, positive = [], []
        for z in product((0, 1), repeat=int(size)):
            chance = max(z) if isinstance(model.rule, Or) else sum(z) / size
            allowed = {1: chance, 0: 1 - chance, -1: 1.0}[int(y[i])]
            if allowed > 0:
                total.append(by_class[list(z), rows].sum() + np.log(allowed))
                positive.append(z)
        log_p = np.logaddexp.reduce(total)
        posterior = np.exp(np.array(total) - log_p) @ np.array(positive)
        value += weight[i] * log_p
        for k in range(K):
            mine = posterior if k < p else 1 - posterior
            share[k, rows] = weight[i] * mine * np.exp(joint[k, rows] - by_class[int(k < p), rows])
    return value, share


@pytest.mark.parametrize("rate", [0.3, 0.8])
@pytest.mark.parametrize("rule", [Or(), Mean()], ids=["or", "mean"])
@pytest.mark.parametrize("n_components", [(1, 1), (2, 1), (1, 3)], ids=str)
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_estep_and_mstep_agree_with_enumeration(name, n_components, rule, rate):
    rng = np.random.default_rng(0)
    weight = rng.random(len(SIZES)) + 0.5
    X = make_family(name).example(SIZES.sum(), rng)
    model, blocks = make_model(name, X, LABELS, weight, n_components=n_components, rule=rule)
    params = model.init(blocks, np.random.RandomState(1))
    params = params._replace(log_rate=np.log([1 - rate, rate]))
    statistics = sum_up(model, blocks, params)
    value, share = brute_force(model, params, X, LABELS, weight)
    assert statistics.log_likelihood == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(statistics.weights, share.sum(axis=1), rtol=1e-10)
    sums = [
        model.family.statistics(X, w, c, model.prior) for w, c in zip(share, params.components, strict=True)
    ]
    np.testing.assert_allclose(statistics.sums, np.stack(sums), rtol=1e-10, atol=1e-11)
    new = model.mstep(statistics, params)
    expected = model.family.mstep_all(sums, share.sum(axis=1), model.prior)
    for a, b in zip(new.components, expected, strict=True):
        for part, other in zip(a, b, strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-10, atol=1e-11)
    positive = share[: n_components[0]].sum() / share.sum()
    np.testing.assert_allclose(np.exp(new.log_rate), [1 - positive, positive], rtol=1e-10)


@pytest.mark.parametrize("n_components", [(1, 1), (2, 3)], ids=str)
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_parameters_are_read_back_from_a_vector_and_half_a_step_leads_to_parameters(name, n_components):
    rng = np.random.default_rng(0)
    X = make_family(name).example(SIZES.sum(), rng)
    model, blocks = make_model(name, X, LABELS, np.ones(len(SIZES)), n_components=n_components)
    start = model.init(blocks, np.random.RandomState(1))
    updated = model.mstep(sum_up(model, blocks, start), start)
    again = model.unpack(model.pack(updated), start)
    halfway = model.unpack(0.5 * (model.pack(start) + model.pack(updated)), updated)
    for params in (again, halfway):
        assert np.exp(params.log_rate).sum() == pytest.approx(1)
        for part in (slice(None, n_components[0]), slice(n_components[0], None)):
            assert np.exp(params.log_weights[part]).sum() == pytest.approx(1)
        assert np.isfinite(sum_up(model, blocks, params).log_likelihood)
    np.testing.assert_allclose(again.log_rate, updated.log_rate, atol=1e-12)
    np.testing.assert_allclose(again.log_weights, updated.log_weights, atol=1e-12)
    for a, b in zip(again.components, updated.components, strict=True):
        for part, other in zip(a, b, strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-10, atol=1e-12)


def sum_up(model, blocks, params):
    return model.complete(blocks.total(model.estep, params), params)


@pytest.mark.parametrize("name", ["gaussian", "gaussian_diag", "bernoulli", "categorical"])
def test_missing_values_agree_with_enumeration_too(name):
    rng = np.random.default_rng(0)
    weight = np.ones(len(SIZES))
    X = make_family(name).example(SIZES.sum(), rng)
    X[rng.random(X.shape) < 0.3] = np.nan
    model, blocks = make_model(name, X, LABELS, weight)
    params = model.init(blocks, np.random.RandomState(1))
    statistics = sum_up(model, blocks, params)
    value, share = brute_force(model, params, X, LABELS, weight)
    assert statistics.log_likelihood == pytest.approx(value, rel=1e-10)
    for k, component in enumerate(params.components):
        expected = model.family.statistics(X, share[k], component, model.prior)
        np.testing.assert_allclose(statistics.sums[k], expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_class_that_has_died_out_takes_nothing_and_leaves_the_likelihood_finite(name):
    rng = np.random.default_rng(0)
    weight = rng.random(len(SIZES)) + 0.5
    X = make_family(name).example(SIZES.sum(), rng)
    model, blocks = make_model(name, X, np.full(len(SIZES), -1, dtype=np.int8), weight)
    params = model.init(blocks, np.random.RandomState(1))._replace(log_rate=np.array([0.0, -np.inf]))
    statistics = sum_up(model, blocks, params)
    each = np.repeat(weight, SIZES)
    expected = each @ model.family.log_density(X, params.components[1])
    assert statistics.log_likelihood == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(statistics.weights, [0.0, each.sum()], rtol=1e-12)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_predictions_are_the_posteriors_of_the_enumeration(name):
    rng = np.random.default_rng(3)
    X = make_family(name).example(40, rng)
    bags = Bags(X, np.arange(0, 41, 4))
    y = np.arange(10) % 2
    model = MIMixture(name, n_init=1, tol=1e-4, random_state=0).fit(bags, y)
    log_odds = model.decision_function_instances(bags)
    posterior = model.posterior_instances(bags, y)
    log_proba = model.predict_log_proba(bags)
    for i in range(10):
        eta = log_odds[4 * i : 4 * i + 4]
        expected = enumerate_labels(eta, lambda z: max(z))
        np.testing.assert_allclose(log_proba[i], [expected[0][0], expected[1][0]], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(posterior[4 * i : 4 * i + 4], expected[y[i]][1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.information_cost(bags), -log_proba[:, 1] / np.log(2))


@pytest.mark.slow
def test_the_objective_never_rises_over_two_hundred_random_problems():
    names = sorted(FAMILIES)
    rng = np.random.default_rng(0)
    for seed in range(200):
        name = names[seed % len(names)]
        sizes = rng.integers(1, 7, size=12)
        X = make_family(name).example(sizes.sum(), rng)
        if isinstance(X, np.ndarray) and seed % 3 == 0 and make_family(name).missing != "refuse":
            X[rng.random(X.shape) < 0.2] = np.nan
        y = rng.integers(0, 2, size=12)
        y[:2] = 0, 1
        model = MIMixture(
            name,
            supervision=("bags", "negatives", "none")[seed % 3],
            rule=("or", "mean")[seed % 2],
            n_components=(1, (1, 2), (2, 1))[(seed // 7) % 3],
            n_init=2,
            max_iter=30,
            tol=0.0,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # thirty iterations are enough
            model.fit(Bags(X, np.concatenate([[0], np.cumsum(sizes)])), y, sample_weight=rng.random(12) + 0.1)
        rises = np.diff(model.objective_history_)
        assert (rises <= 1e-9 * np.abs(model.objective_history_[1:]).clip(1)).all(), (
            seed,
            name,
            rises.max(),
        )
        assert np.isfinite(model.objectives_).all()


def test_finite_when_all_responsibilities_of_a_positive_bag_vanish():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 1000.0])
    y = np.array([0, 1, 0, 1], dtype=np.int8)
    model, blocks = make_model("gaussian", X, y, np.ones(4), offsets=[0, 10, 20, 30, 40])
    params = MixtureParams(
        np.log([1 - 1e-300, 1e-300]),
        np.zeros(2),
        model.family.mstep_all(
            [
                model.family.statistics(X[:20], 1e-3 * np.ones(20), None, model.prior),
                model.family.statistics(X[20:], np.ones(20), None, model.prior),
            ],
            [0.02, 20.0],
            model.prior,
        ),
        1,
        Or(),
    )
    for _ in range(3):
        statistics = sum_up(model, blocks, params)
        assert np.isfinite(statistics.log_likelihood) and np.isfinite(statistics.sums).all()
        assert statistics.weights[0] >= 2 - 1e-9, "every positive bag has a positive instance"
        params = model.mstep(statistics, params)


# ---------------------------------------------------------------------- identities


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"markov"}))
def test_bags_of_one_are_the_supervised_mode_after_one_mstep(name):
    rng = np.random.default_rng(0)
    X = make_family(name).example(60, rng)
    y = rng.integers(0, 2, size=60)
    model = MIMixture(name, n_init=1, tol=1e-12, random_state=0).fit(X, y)
    family = make_family(name)
    prior = family.start(family.start_statistics(X, np.ones(60)), 2, "default")
    sums = [family.statistics(X[y == k], np.ones((y == k).sum()), None, prior) for k in (1, 0)]
    expected = family.mstep_all(sums, [(y == 1).sum(), (y == 0).sum()], prior)
    for a, b in zip(model.params_.components, expected, strict=True):
        for part, other in zip(a, b, strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-10, atol=1e-12)
    assert model.positive_rate_ == pytest.approx(y.mean())
    assert model.n_iter_ == 2, "the second iteration changes nothing"


def test_the_likelihoods_of_mimm_and_mm_differ_by_the_positive_bags():
    data = make_mixture_bags(60, separation=1.5, random_state=0)
    X, offsets, y = data.bags.instances, data.bags.offsets, data.y.astype(np.int8)
    likelihoods, params = [], None
    for used in (y, np.where(y == 1, -1, 0).astype(np.int8)):
        model, blocks = make_model("gaussian", X, used, np.ones(len(y)), offsets=offsets)
        params = params or model.init(blocks, np.random.RandomState(0))
        likelihoods.append(sum_up(model, blocks, params).log_likelihood)
    fitted = MIMixture(n_init=1, tol=1.0, random_state=0).fit(data.bags, y)
    fitted._keep(params)
    log_positive = fitted.predict_log_proba(data.bags)[:, 1]
    assert likelihoods[0] - likelihoods[1] == pytest.approx(log_positive[y == 1].sum(), rel=1e-10)


def test_negative_bags_summed_once_change_nothing():
    data = make_mixture_bags(40, random_state=0)
    X, offsets, y = data.bags.instances, data.bags.offsets, data.y.astype(np.int8)

    class Needy(Gaussian):
        statistics_need_params = True

    statistics = []
    for family, n_passed_over in ((Gaussian(), (y == 1).sum()), (Needy(), len(y))):
        model, blocks = make_model(family, X, y, np.ones(len(y)), offsets=offsets)
        assert blocks.n_bags == n_passed_over
        statistics.append(sum_up(model, blocks, model.init(blocks, np.random.RandomState(0))))
    assert statistics[0].log_likelihood == pytest.approx(statistics[1].log_likelihood, rel=1e-12)
    np.testing.assert_allclose(statistics[0].sums, statistics[1].sums, rtol=1e-11, atol=1e-11)


def test_an_iteration_touches_only_instances_of_positive_bags():
    data = make_mixture_bags(40, random_state=0)
    touched = []

    class Watching(GaussianDiag):
        def log_odds(self, X, positive, negative):
            touched.append(len(X))
            return super().log_odds(X, positive, negative)

        def log_density(self, X, params):
            touched.append(len(X))
            return super().log_density(X, params)

    MIMixture(Watching(), n_init=1, random_state=0).fit(data.bags, data.y)
    assert set(touched) == {int(data.bags.sizes[data.y == 1].sum())}


def test_instances_in_many_blocks_are_instances_in_one(large_from):
    data = make_mixture_bags(200, random_state=0)
    whole = MIMixture(n_init=2, random_state=0).fit(data.bags, data.y)
    large_from(block_bytes=8 * 2 * 50)
    cut = MIMixture(n_init=2, random_state=0).fit(data.bags, data.y)
    np.testing.assert_allclose(cut.objectives_, whole.objectives_, rtol=1e-11)
    np.testing.assert_allclose(cut.predict_proba(data.bags), whole.predict_proba(data.bags), rtol=1e-8)


@pytest.mark.parametrize(("rule", "labels"), [(Or(), [1]), (Mean(), [0, 1])])
def test_classes_that_are_drawn_alike_start_the_better_way_round(rule, labels):
    data = make_mixture_bags(20, size=4, random_state=0)
    bags = data.bags[np.isin(data.y, labels)]
    y = data.y[np.isin(data.y, labels)].astype(np.int8)
    turns = 0
    model, blocks = make_model(
        "gaussian_diag", bags.instances, y, np.ones(len(y)), offsets=bags.offsets, rule=rule
    )
    for seed in range(10):
        drawn = [pool.draw(rng) for rng in [np.random.RandomState(seed)] for pool in model.pools]
        first = model.family.mstep(drawn[0] * model.pools[0].weight, model.pools[0].weight, model.prior)
        start = model.init(blocks, np.random.RandomState(seed))
        turned = start._replace(components=start.components[::-1])
        value, swapped_value = (sum_up(model, blocks, p).log_likelihood for p in (start, turned))
        assert value >= swapped_value
        turns += not np.array_equal(first.mean, start.components[0].mean)
    assert 0 < turns < 10  # only some starts swap the classes


def test_the_per_feature_prior_and_a_free_mean_reach_the_components():
    data = make_mixture_bags(40, random_state=0)
    default, other = (
        MIMixture("gaussian_diag", prior=prior, n_init=1, random_state=0).fit(data.bags, data.y)
        for prior in ("default", FraleyRaftery(kappa=0.0, per_feature=True))
    )
    assert (default.prior_.kappa, default.prior_.nu) == (0.01, 4.0)
    assert (other.prior_.kappa, other.prior_.nu) == (0.0, 3.0)
    np.testing.assert_allclose(other.prior_.scale, np.var(data.bags.instances, axis=0, ddof=1) / 4)


@pytest.mark.study
def test_em_of_two_hundred_random_problems_agrees_with_enumeration():
    """Compare likelihoods and weights of three iterations, for random sizes, rules and components."""
    names, worst = sorted(FAMILIES), 0.0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        name, rule = names[seed % len(names)], (Or(), Mean())[seed // len(names) % 2]
        sizes = rng.integers(1, 8, size=int(rng.integers(3, 9)))
        y = rng.choice(np.array([-1, 0, 1], dtype=np.int8), size=len(sizes))
        y[:2] = 0, 1
        weight = 10.0 ** rng.uniform(-1, 1, size=len(sizes))
        X = make_family(name).example(sizes.sum(), rng)
        n_components = tuple(rng.integers(1, 4, size=2).tolist())
        offsets = np.append(0, np.cumsum(sizes))
        model, blocks = make_model(name, X, y, weight, offsets=offsets, n_components=n_components, rule=rule)
        params, last = model.init(blocks, np.random.RandomState(seed)), np.inf
        for _ in range(3):
            statistics = sum_up(model, blocks, params)
            value, share = brute_force(model, params, X, y, weight, sizes)
            worst = max(worst, abs(statistics.log_likelihood - value) / abs(value))
            expected = share.sum(axis=1)
            worst = max(worst, float(np.abs(statistics.weights - expected).max() / expected.sum()))
            objective = model.objective(statistics, params)
            assert objective <= last + 1e-9 * abs(objective)
            params, last = model.mstep(statistics, params), objective
    assert worst < 1e-10
