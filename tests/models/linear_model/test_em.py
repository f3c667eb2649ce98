"""EM of MILR and SORLR: single steps compared with direct formulas, the optimum with other solvers."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression

from bagwise import (
    CountLogistic,
    CountTable,
    MILogisticRegression,
    SoftORLogisticRegression,
    Threshold,
    make_count_bags,
    make_noisy_or_bags,
)

DATA = make_noisy_or_bags(150, size=(1, 5), coef=[1.5, -1.5, 0.0, 0.7], intercept=-1.0, random_state=3)
COUNTS = make_count_bags(200, size=6, labeler=2, coef=[2.0, -2.0], random_state=0)


def em_by_hand(bags, y, theta, alpha):
    """Run an iteration of eq. 2 and section III: E step, working response, coordinate descent."""
    X = np.column_stack([bags.instances, np.ones(bags.n_instances)])
    p = expit(X @ theta)
    bag = 1 - np.multiply.reduceat(1 - p, bags.offsets[:-1])
    gamma = np.repeat(y / bag, bags.sizes) * p
    w = p * (1 - p)
    u = X @ theta + (gamma - p) / w
    new = theta.copy()
    for _ in range(3000):
        for k in range(len(new)):
            others = X @ new - X[:, k] * new[k]
            S = (w * X[:, k]) @ (u - others)
            soft = np.sign(S) * max(0.0, abs(S) - alpha) if k < len(new) - 1 else S
            new[k] = soft / (w @ X[:, k] ** 2)
    return new


@pytest.mark.parametrize("alpha", [0.0, 4.0])
def test_an_iteration_is_the_printed_one(alpha):
    options = {"alpha": alpha, "scale": None, "solver": "em", "warm_start": True, "max_iter": 1}
    model = MILogisticRegression(**options)
    theta = np.array([0.3, -0.2, 0.1, 0.0, -1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(DATA.bags, DATA.y)
        for _ in range(3):
            model.coef_, model.intercept_ = theta[None, :-1].copy(), theta[-1:].copy()
            model.fit(DATA.bags, DATA.y)
            assert len(model.objective_history_) == 2
            theta = em_by_hand(DATA.bags, DATA.y, theta, alpha)
            np.testing.assert_allclose(model.coef_[0], theta[:-1], atol=2e-3)
            np.testing.assert_allclose(model.intercept_, theta[-1:], atol=2e-3)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (DATA, {"alpha": 0.0}),
        (DATA, {"alpha": 2.0}),
        (DATA, {"alpha": 2.0, "l1_ratio": 0.0, "class_weight": "balanced"}),
        (DATA, {"alpha": 1.0, "l1_ratio": 0.5, "rule": "mean"}),
        (DATA, {"alpha": 1.0, "fit_intercept": False}),
        (COUNTS, {"alpha": 1.0, "rule": Threshold(2)}),
    ],
    ids=["likelihood", "lasso", "ridge", "mean", "no intercept", "threshold"],
)
def test_em_ends_at_the_optimum_of_newton(data, options):
    weight = 1.0 + np.arange(len(data.y)) % 2
    newton = MILogisticRegression(**options, random_state=0).fit(data.bags, data.y, weight)
    em = MILogisticRegression(**options, solver="em", max_iter=5000, random_state=0)
    em.fit(data.bags, data.y, weight)
    assert em.converged_ and em.n_iter_ > newton.n_iter_
    assert em.objective_ == pytest.approx(newton.objective_, rel=1e-7)
    np.testing.assert_allclose(em.coef_, newton.coef_, atol=1e-3)
    assert (np.diff(em.objective_history_) <= 0).all()


def test_too_few_em_iterations_cause_a_warning():
    with pytest.warns(ConvergenceWarning, match="reached max_iter=2 before tol"):
        MILogisticRegression(solver="em", max_iter=2).fit(DATA.bags, DATA.y)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "softmax",
            "rule='softmax' has no latent instance labels, which an E step needs; use solver='newton'",
        ),
        ("max", "rule='max' has no latent instance labels"),
    ],
)
def test_rules_that_em_is_not_for_are_refused(rule, message):
    with pytest.raises(ValueError, match=f"solver='em' cannot be used: {message}"):
        MILogisticRegression(rule, solver="em").fit(COUNTS.bags, COUNTS.y)


def test_many_bags_are_refused(large_from):
    large_from(100)
    with pytest.raises(ValueError, match=r"reads all instances in every iteration.*use solver='newton'"):
        MILogisticRegression(solver="em").fit(DATA.bags, DATA.y)


# ---------------------------------------------------------------------- learned rules (SORLR, section 4)


SOFT = make_count_bags(
    150, size=(2, 5), labeler=lambda n, m: expit(1.5 * n - 3.0), coef=[2.0, -2.0], random_state=0
)
LEARNED = [CountTable(), CountTable(monotone=True), CountLogistic(), CountLogistic(slope=2.0), Threshold()]


def posteriors_by_enumeration(bags, y, theta, rule):
    """Return eq. 11 and 12 of SORLR, and the log-likelihood, as sums over all instance labels."""
    eta = bags.instances @ theta[:-1] + theta[-1]
    gamma, counts, total = [], np.zeros((len(y), bags.sizes.max() + 1)), 0.0
    for i in range(len(y)):
        p = expit(eta[bags.offsets[i] : bags.offsets[i + 1]])
        z = np.array(list(product([0, 1], repeat=len(p))))
        n = z.sum(axis=1)
        label = np.exp(rule.log_labeler(np.arange(len(p) + 1), len(p))[y[i]])[n]
        joint = np.where(z == 1, p, 1 - p).prod(axis=1) * label
        gamma.append(joint @ z / joint.sum())
        np.add.at(counts[i], n, joint / joint.sum())
        total += np.log(joint.sum())
    return np.concatenate(gamma), counts, total


@pytest.mark.parametrize("rule", LEARNED[:3], ids=str)
def test_an_iteration_for_a_learned_rule_is_the_printed_one(rule):
    bags, y, alpha = SOFT.bags, SOFT.y, 0.5
    options = {"alpha": alpha, "scale": None, "solver": "em", "warm_start": True, "max_iter": 1}
    model = SoftORLogisticRegression(rule, **options)
    theta, start = np.array([0.4, -0.3, 0.1]), rule.start(bags.offsets, y)
    gamma, counts, total = posteriors_by_enumeration(bags, y, theta, start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(bags, y)
        model.coef_, model.intercept_ = theta[None, :-1].copy(), theta[-1:].copy()
        model.fit(bags, y)
    before = alpha / 2 * theta[:-1] @ theta[:-1] - total - start.log_prior()
    assert model.objective_history_[0] == pytest.approx(before, rel=1e-12)
    # Section 4.3: a Newton step for the weights.
    X = np.column_stack([bags.instances, np.ones(bags.n_instances)])
    p, ridge = expit(X @ theta), alpha * np.diag([1.0, 1.0, 0.0])
    step = np.linalg.solve((X.T * (p * (1 - p))) @ X + ridge, X.T @ (gamma - p) - ridge @ theta)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), theta + step, rtol=1e-9)
    # Section 4.3: the update of the labeler, with the pseudo-counts or the ridge of the rule.
    negative, positive = counts[y == 0].sum(axis=0), counts[y == 1].sum(axis=0)
    n = np.arange(len(negative))
    if isinstance(rule, CountTable):
        weight = negative + positive + 2 * rule.pseudo_count
        expected = (positive + rule.pseudo_count) / weight
        if rule.monotone:
            expected = IsotonicRegression().fit_transform(n, expected, sample_weight=weight)
        np.testing.assert_allclose(model.rule_.values, expected, rtol=1e-9)
    else:

        def expected_loss(v):
            odds = v[0] + v[1] * n
            return positive @ np.logaddexp(0, -odds) + negative @ np.logaddexp(0, odds) + 0.005 * v @ v

        best = minimize(
            expected_loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
        )
        np.testing.assert_allclose([model.rule_.intercept, model.rule_.slope], best.x, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("rule", LEARNED, ids=str)
def test_em_of_a_learned_rule_ends_at_the_joint_optimum_of_every_start(rule):
    weight = 1.0 + np.arange(len(SOFT.y)) % 2
    options = {"alpha": 1.0, "n_init": 2, "random_state": 0, "tol": 1e-7}
    joint = SoftORLogisticRegression(rule, max_iter=1000, **options).fit(SOFT.bags, SOFT.y, weight)
    em = SoftORLogisticRegression(rule, solver="em", max_iter=20000, **options)
    em.fit(SOFT.bags, SOFT.y, weight)
    assert em.converged_
    np.testing.assert_allclose(em.objectives_, joint.objectives_, rtol=1e-6)
    np.testing.assert_allclose(em.coef_, joint.coef_, atol=1e-3)
    assert (np.diff(em.objective_history_) <= 0).all()
    p = em.predict_proba(SOFT.bags)[:, 1]
    np.testing.assert_allclose(p, joint.predict_proba(SOFT.bags)[:, 1], atol=1e-3)


@pytest.mark.parametrize("rule", [*LEARNED[1:3], "threshold"], ids=str)
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_the_likelihood_is_monotone_in_em_of_a_learned_rule(rule, l1_ratio):
    model = SoftORLogisticRegression(
        rule, l1_ratio=l1_ratio, n_init=1, solver="em", max_iter=60, tol=1e-12, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="reached max_iter=60 before tol"):
        model.fit(SOFT.bags, SOFT.y)
    assert len(model.objective_history_) == 61
    assert (np.diff(model.objective_history_) <= 0).all()


@pytest.mark.slow
def test_the_lasso_objective_of_em_is_not_above_that_of_alternating_fits():
    options = {"l1_ratio": 1.0, "alpha": 2.0, "random_state": 0}
    other = SoftORLogisticRegression("count_table", **options).fit(SOFT.bags, SOFT.y)
    em = SoftORLogisticRegression("count_table", solver="em", max_iter=20000, **options)
    assert em.fit(SOFT.bags, SOFT.y).objective_ <= other.objective_ * (1 + 1e-6)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_printed_update_never_changes_the_threshold(k):
    """Case 3 of section 4.3: its expected loss is zero for the present threshold, whatever it is."""
    bags, y = COUNTS.bags, COUNTS.y
    model = SoftORLogisticRegression(Threshold(k), n_init=1, random_state=0).fit(bags, y)
    counts = model.predict_count(bags, y)
    below = counts.cumsum(axis=1) - counts  # P(N < v) for v = 0, 1, ...
    losses = below[y == 1].sum(axis=0) + (1 - below[y == 0]).sum(axis=0)
    assert losses[k] == pytest.approx(0.0, abs=1e-9)
    assert np.delete(losses, k).min() > 1.0


@pytest.mark.parametrize("rule", ["or", *LEARNED], ids=str)
def test_counts_given_the_label_are_equation_12(rule):
    model = SoftORLogisticRegression(rule, n_init=1, random_state=0).fit(SOFT.bags, SOFT.y)
    bags, y = SOFT.bags[:40], SOFT.y[:40]
    theta = np.append(model.coef_[0], model.intercept_)
    by_count = Threshold(1) if rule == "or" else model.rule_
    gamma, counts, _ = posteriors_by_enumeration(bags, y, theta, by_count)
    ours = model.predict_count(bags, y)
    np.testing.assert_allclose(ours, counts, atol=1e-12)
    np.testing.assert_allclose(model.posterior_instances(bags, y), gamma, atol=1e-12)
    # By total probability, both labels together have the distribution without a label.
    p = model.predict_proba(bags)
    both = [model.predict_count(bags, np.full(40, label)) for label in (0, 1)]
    mixed = p[:, :1] * both[0] + p[:, 1:] * both[1]
    np.testing.assert_allclose(mixed, model.predict_count(bags), atol=1e-12)


def test_counts_need_a_count_rule_only_for_labels():
    model = SoftORLogisticRegression("softmax", n_init=1, random_state=0).fit(SOFT.bags, SOFT.y)
    assert model.predict_count(SOFT.bags).shape == (150, 6)
    with pytest.raises(ValueError, match="predict_count with labels y needs a count rule, but the model has"):
        model.predict_count(SOFT.bags, SOFT.y)
