"""Instance-level methods: closed forms, oracles, decreasing objectives, and positive instances found."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC

import bagwise
import bagwise._core.compiled.dual as dual_kernels
from bagwise import (
    Bags,
    DSDDClassifier,
    DSDDClassifierCV,
    LSDDClassifier,
    LSDDClassifierCV,
    PUMILClassifier,
    PUSetKernelClassifier,
    PUSetKernelClassifierCV,
    pu_risk_bound,
)
from bagwise.models.base import Training
from bagwise.models.pu.dsdd import RampProblem, ramp
from bagwise.models.pu.lsdd import LSDDScore, _signed_log
from bagwise.models.pu.pumil import distinct_bags
from bagwise.similarity import InstanceKernel
from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.control import Control


def pu_bags(n_positive=30, n_unlabeled=60, prior=0.3, seed=0, n_features=2):
    """Return bags, labels, true labels and instance labels; positive bags have one or two outliers."""
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(np.arange(n_unlabeled) < prior * n_unlabeled)
    truth = np.concatenate([np.ones(n_positive), hidden]).astype(int)
    bags, z = [], []
    for positive in truth:
        X = rng.normal(size=(rng.integers(2, 6), n_features))
        k = rng.integers(1, 3) if positive else 0
        X[:k] += 4.0
        bags.append(X)
        z += [1] * k + [0] * (len(X) - k)
    return Bags.from_list(bags), np.repeat([1, 0], [n_positive, n_unlabeled]), truth, np.array(z)


@pytest.mark.parametrize(
    "model",
    [
        LSDDClassifierCV(gammas=[1.0, 10.0], alphas=[1.0, 1e-2], random_state=0),
        DSDDClassifierCV(gammas=[1.0, 10.0], alphas=[1e-1, 1e-2], random_state=0),
        PUMILClassifier(C=10.0, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_bags_and_instances_are_classified(model):
    bags, y, truth, z = pu_bags(60, 120)
    model.fit(bags, y)
    assert model.score(bags, truth) > 0.75
    scores = model.decision_function_instances(bags)
    assert scores[z == 1].mean() > scores[z == 0].mean()
    np.testing.assert_array_equal(model.predict_instances(bags) == 1, scores > 0)


@pytest.mark.parametrize(
    "cls",
    [
        LSDDClassifier,
        LSDDClassifierCV,
        DSDDClassifier,
        DSDDClassifierCV,
        PUMILClassifier,
        PUSetKernelClassifier,
        PUSetKernelClassifierCV,
    ],
)
def test_coefficients_have_a_row_and_intercepts_are_arrays(cls):
    bags, y, _, _ = pu_bags()
    model = cls(random_state=0).fit(bags, y)
    names = [name for name in ("coef_", "dual_coef_") if hasattr(model, name)]
    assert len(names) == 1 and getattr(model, names[0]).shape[0] == 1 and getattr(model, names[0]).ndim == 2
    assert issubclass(cls, LSDDScore) or model.intercept_.shape == (1,)


# ---------------------------------------------------------------------- LSDD


def test_lsdd_solves_its_linear_system_whose_matrix_is_an_integral():
    bags, y, _, _ = pu_bags(n_features=1)
    model = LSDDClassifier(gamma=2.0, alpha=0.1, scale=None, n_centers=10_000).fit(bags, y)
    centers = model.centers_
    length = quad(lambda x: np.exp(-4.0 * x * x), -np.inf, np.inf)[0]
    for i, j in ((0, 1), (2, 5), (3, 3)):
        a, b = centers[i, 0], centers[j, 0]
        middle = 0.5 * (a + b)
        product = quad(
            lambda x, a=a, b=b: np.exp(-2 * (x - a) ** 2 - 2 * (x - b) ** 2), middle - 9, middle + 9
        )
        assert product[0] / length == pytest.approx(
            InstanceKernel("rbf", 1.0)(centers, centers)[i, j], abs=1e-9
        )
    H = InstanceKernel("rbf", 1.0)(centers, centers)
    K = InstanceKernel("rbf", 2.0)(bags.instances, centers)
    positive = np.repeat(y, bags.sizes) == 1
    h = K[positive].mean(axis=0) - K[~positive].mean(axis=0)
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(H + 0.1 * np.eye(len(H)), h), rtol=1e-8)
    np.testing.assert_allclose(model.decision_function_instances(bags), K @ model.coef_[0], rtol=1e-10)


@pytest.mark.parametrize(("n_features", "gammas"), [(1, [0.5, 2.0]), (3, [0.05, 0.2])])
def test_lsdd_compares_by_the_criterion_of_held_out_bags(n_features, gammas):
    bags, y, _, _ = pu_bags(10, 20, n_features=n_features)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y))
    alphas = [1.0, 0.1]
    model = LSDDClassifierCV(gammas=gammas, alphas=alphas, scale=None, n_centers=10_000, cv=splits)
    model.fit(bags, y)
    expected = np.zeros((2, 2))
    for i, gamma in enumerate(gammas):
        H = InstanceKernel("rbf", gamma / 2)(model.centers_, model.centers_)
        for j, alpha in enumerate(alphas):
            for train, test in splits:
                parts = []
                for rows in (train, test):
                    K = InstanceKernel("rbf", gamma)(bags[rows].instances, model.centers_)
                    positive = np.repeat(y[rows], bags[rows].sizes) == 1
                    parts.append(K[positive].mean(axis=0) - K[~positive].mean(axis=0))
                coef = np.linalg.solve(H + alpha * np.eye(len(H)), parts[0])
                # Normalized basis functions omit the integral of a square, (pi / (2 gamma))^(d/2).
                factor = (2 * gamma / np.pi) ** (n_features / 2)
                expected[i, j] += factor * (coef @ H @ coef - 2 * coef @ parts[1]) / 3
    assert np.argsort(model.criterion_.ravel()).tolist() == np.argsort(expected.ravel()).tolist()
    # The criterion contains logarithms of absolute values, on the same scale for all gammas.
    sizes = np.abs(model.criterion_.ravel())
    np.testing.assert_allclose(np.diff(sizes), np.diff(np.log(np.abs(expected.ravel()))), rtol=1e-8)
    best = np.unravel_index(np.argmin(expected), expected.shape)
    assert (model.gamma_, model.alpha_) == (gammas[best[0]], alphas[best[1]])


def test_signed_logarithms_keep_the_order_of_values():
    values = np.array([[-1.0, 2.0], [-1e-3, 0.0], [3.0, -2.0]])
    shift = np.array([[0.0], [5.0], [-3.0]])
    assert (
        np.argsort(_signed_log(values, shift).ravel()).tolist()
        == np.argsort((values * np.exp(shift)).ravel()).tolist()
    )
    assert np.isfinite(_signed_log(values, shift + 1e4)).all()


# ---------------------------------------------------------------------- DSDD


def ramp_problem(n=40, seed=0, alpha=0.02):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    sign = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return InstanceKernel("rbf", 0.5)(X, X), sign, np.full(n, 1.0 / n), alpha


def test_the_first_convex_step_is_a_support_vector_machine():
    K, sign, weight, alpha = ramp_problem()
    problem = RampProblem(K, sign, weight, alpha)
    first = problem.solve(problem.linearize(problem.zero()), problem.zero(), Control(1e-10, 100))
    svc = SVC(C=0.5 * weight[0] / alpha, kernel="precomputed", tol=1e-8).fit(K, sign)
    expected = svc.decision_function(K)
    np.testing.assert_allclose(first.product + first.intercept, expected, atol=1e-4)


def test_first_step_without_intercept_is_an_svm_through_the_origin():
    K, sign, weight, alpha = ramp_problem()
    problem = RampProblem(K, sign, weight, alpha, fit_intercept=False)
    first = problem.solve(problem.linearize(problem.zero()), problem.zero(), Control(1e-10, 100))
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
    svc = LinearSVC(
        C=0.5 * weight[0] / alpha, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000
    )
    np.testing.assert_allclose(first.product, svc.fit(root, sign).decision_function(root), atol=1e-4)
    assert first.intercept == 0.0 and abs(first.x.sum()) > 1e-3


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ramp_solution_is_a_local_minimum(fit_intercept):
    K, sign, weight, alpha = ramp_problem()
    problem = RampProblem(K, sign, weight, alpha, fit_intercept)
    start = problem.zero()
    result = minimize_cccp(problem, problem.linearize(start), start, Control(1e-9, 100))
    assert result.converged
    assert (np.diff(result.history) <= 1e-12).all()
    x, intercept = result.x.x, result.x.intercept

    def objective(x, intercept):
        f = K @ x
        return 0.5 * alpha * x @ f + weight @ ramp(sign * (f + intercept))

    assert objective(x, intercept) == pytest.approx(result.value, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = 1e-4 * rng.normal(size=len(x) + 1)
        step[-1] *= fit_intercept
        assert objective(x + step[:-1], intercept + step[-1]) >= result.value - 1e-9


def test_ramp_coefficients_satisfy_their_optimality_conditions():
    """Only points between the corners of the ramp have a gradient; points beyond -1 are ignored."""
    K, sign, weight, alpha = ramp_problem(alpha=1e-3)
    problem = RampProblem(K, sign, weight, alpha)
    start = problem.zero()
    solution = minimize_cccp(problem, problem.linearize(start), start, Control(1e-10, 100)).x
    z, pull = sign * (solution.product + solution.intercept), sign * solution.x / problem.bound
    assert (z < -1.01).any()
    np.testing.assert_allclose(pull[np.abs(z) > 1.001], 0.0, atol=1e-9)
    np.testing.assert_allclose(pull[np.abs(z) < 0.999], 1.0, atol=1e-9)
    assert abs(solution.x.sum()) < 1e-9


def test_outliers_change_the_hinge_but_not_the_ramp():
    rng = np.random.default_rng(0)
    X = np.append(np.concatenate([rng.normal(-2, 0.3, 20), rng.normal(2, 0.3, 20)]), np.full(3, -12.0))
    sign = np.repeat([-1.0, 1.0, 1.0], [20, 20, 3])
    K = np.outer(X, X)
    problem = RampProblem(K, sign, np.full(43, 1 / 43), 1e-3)
    start = problem.zero()
    hinge = problem.solve(problem.linearize(start), start, Control(1e-9, 100))
    result = minimize_cccp(problem, problem.linearize(start), start, Control(1e-9, 100))
    errors = [(sign[:40] * (p.product + p.intercept)[:40] <= 0).mean() for p in (hinge, result.x)]
    assert result.value < hinge.value
    assert errors[1] <= errors[0] and errors[1] == 0.0


def test_dsdd_samples_both_kinds_of_bags():
    bags, y, truth, _ = pu_bags(60, 120)
    model = DSDDClassifier(gamma=1.0, alpha=1e-2, max_instances=100, random_state=0).fit(bags, y)
    assert len(model.support_vectors_) <= 101
    assert model.score(bags, truth) > 0.95


def test_dsdd_sample_keeps_the_proportion_of_both_kinds():
    y = np.repeat([1, 0], [10, 90])
    instances = Bags(np.arange(100.0)[:, None], np.arange(101))
    model = DSDDClassifier(max_instances=50, random_state=0)
    drawn = model._draw(Training(instances, y, np.ones(100)))
    assert np.bincount(y[drawn]).tolist() == [45, 5]


# ---------------------------------------------------------------------- the choice of gamma and alpha


def test_dsdd_compares_by_the_loss_of_held_out_instances():
    bags, y, _, _ = pu_bags(10, 20)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y))
    gammas, alphas = [0.5, 2.0], [0.1, 0.01]
    model = DSDDClassifierCV(gammas=gammas, alphas=alphas, scale=None, tol=1e-2, cv=splits).fit(bags, y)
    expected = np.zeros((2, 2))
    for (i, gamma), (j, alpha) in product(enumerate(gammas), enumerate(alphas)):
        for train, test in splits:
            fold_model = DSDDClassifier(gamma=gamma, alpha=alpha, scale=None, tol=1e-2).fit(
                bags[train], y[train]
            )
            score = fold_model.decision_function_instances(bags[test])
            positive = np.repeat(y[test], bags[test].sizes) == 1
            expected[i, j] += (ramp(score[positive]).mean() + ramp(-score[~positive]).mean()) / 6
    # With tol=1e-2, the solution depends on the rounding of the kernel matrix, within this tolerance.
    np.testing.assert_allclose(model.criterion_, expected, rtol=1e-4)
    best = np.unravel_index(np.argmin(expected), expected.shape)
    assert (model.gamma_, model.alpha_) == (gammas[best[0]], alphas[best[1]])


@pytest.mark.parametrize("cls", [LSDDClassifier, DSDDClassifier])
def test_cv_model_equals_the_plain_model_with_its_parameters(cls):
    bags, y, _, _ = pu_bags()
    chosen = getattr(bagwise, f"{cls.__name__}CV")(alphas=[1e-3, 0.1], random_state=0).fit(bags, y)
    plain = cls(gamma=chosen.gamma_, alpha=chosen.alpha_, random_state=0).fit(bags, y)
    np.testing.assert_array_equal(
        chosen.decision_function_instances(bags), plain.decision_function_instances(bags)
    )
    assert chosen.alphas_.tolist() == [0.1, 1e-3]
    scale = cls(gamma="scale", random_state=0).fit(bags, y).gamma_
    np.testing.assert_allclose(chosen.gammas_, scale * np.array([0.1, 1.0, 10.0]), rtol=1e-12)


@pytest.mark.parametrize("cls", [LSDDClassifier, DSDDClassifier])
@pytest.mark.parametrize("parameter", ["gamma", "alpha"])
def test_lists_are_refused_and_the_message_names_the_cv_class(cls, parameter):
    bags, y, _, _ = pu_bags()
    named = rf"To choose among several values, use {cls.__name__}CV\({parameter}s=\.\.\.\)"
    message = rf"{parameter} of {cls.__name__} must be a single value; got .*\. {named}"
    with pytest.raises(ValueError, match=message):
        cls(**{parameter: [1.0, 10.0]}).fit(bags, y)
    with pytest.raises(TypeError, match="cv"):
        cls(cv=3)


@pytest.mark.parametrize("cls", [LSDDClassifierCV, DSDDClassifierCV])
def test_impossible_grids_are_refused(cls):
    bags, y, _, _ = pu_bags()
    for wrong in ({"gammas": [1.0, -1.0]}, {"gammas": ["wide"]}, {"alphas": []}, {"alphas": [0.0]}):
        with pytest.raises(
            ValueError, match="gammas must be values > 0, 'scale' or 'auto', and alphas must be"
        ):
            cls(**wrong).fit(bags, y)
    with pytest.raises(ValueError, match="all bags are positive"):
        cls().fit(bags, np.ones(len(y)))
    plain = cls.__name__.removesuffix("CV")
    with pytest.raises(ValueError, match=f"at least two positive .* Use {plain}, which needs no folds"):
        cls(gammas=[1.0, 2.0]).fit(bags[29:], y[29:])


# ---------------------------------------------------------------------- puMIL


def test_the_key_of_a_bag_is_its_instance_of_least_negative_density():
    bags, y, _, _ = pu_bags()
    model = PUMILClassifier(random_state=0).fit(bags, y)
    Z = model._scaled(bags)
    density = np.exp(
        -model.gamma_ * ((Z.instances[:, None, :] - model.negatives_[None, :, :]) ** 2).sum(axis=2)
    ).sum(axis=1)
    expected = [
        Z.instances[a:b][np.argmin(density[a:b])] @ model.coef_[0] + model.intercept_[0]
        for a, b in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
    ]
    np.testing.assert_allclose(model.decision_function(bags), expected, rtol=1e-9)


def test_pumil_svm_equals_libsvm_on_weighted_key_instances():
    bags, y, _, _ = pu_bags()
    model = PUMILClassifier(C=3.0, random_state=0).fit(bags, y)
    Z = model._scaled(bags)
    taken = 30 + np.argsort(-model.confidence_, kind="stable")[:30]
    keys = Z.instances[model._keys(Z, model.negatives_, model.negative_weights_)]
    points = np.vstack([keys[:30], model.confidence_[taken - 30, None] * keys[taken]])
    sign = np.repeat([1, -1], 30)
    svc = SVC(C=3.0, kernel="linear", tol=1e-8).fit(points, sign)
    np.testing.assert_allclose(model.coef_, svc.coef_, rtol=0.05, atol=0.05)

    def objective(coef, intercept):
        return 0.5 * coef @ coef + 3.0 * np.maximum(0.0, 1.0 - sign * (points @ coef + intercept)).sum()

    ours, theirs = (objective(m.coef_[0], m.intercept_[0]) for m in (model, svc))
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_pumil_svm_without_intercept_passes_through_the_origin():
    rng = np.random.default_rng(0)
    X, sign = rng.normal(size=(30, 3)) + 0.5, np.repeat([1.0, -1.0], 15)
    coef, intercept = PUMILClassifier(C=2.0, fit_intercept=False)._fit_machine(X, sign, np.ones(30))
    theirs = LinearSVC(loss="hinge", C=2.0, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, sign)

    def objective(w):
        return 0.5 * w @ w + 2.0 * np.maximum(0.0, 1.0 - sign * (X @ w)).sum()

    assert intercept == 0.0
    assert objective(coef) <= objective(theirs.coef_[0]) * (1 + 1e-3)


def test_pairwise_steps_with_huge_weights_stop_early(monkeypatch):
    """Integer data that no plane separates, with bounds of 1e40, would need ten million steps per SVM."""
    rng, steps = np.random.default_rng(2), []
    pair_steps = dual_kernels.pair_steps

    def counted(*arguments):
        steps.append(pair_steps(*arguments))
        return steps[-1]

    monkeypatch.setattr(dual_kernels, "pair_steps", counted)
    model = PUMILClassifier(C=100.0, fit_intercept=False, n_candidates=2, max_iter=1, random_state=0)
    model.fit(np.round(2 * rng.normal(size=(13, 3))), np.arange(13) % 2, rng.uniform(1e38, 2e38, size=13))
    assert sum(steps) < 2_000_000 and np.isfinite(model.coef_).all()


def test_the_f_measure_never_falls_and_the_search_ends():
    bags, y, _, _ = pu_bags()
    model = PUMILClassifier(max_iter=30, random_state=1).fit(bags, y)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.n_iter_ == len(model.objective_history_) - 1 < 30
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()


def test_max_iter_limits_the_generations():
    bags, y, _, _ = pu_bags()
    searches = (PUMILClassifier(max_iter=30, random_state=seed).fit(bags, y) for seed in range(30))
    whole = next(model for model in searches if model.n_iter_ > 1)
    stopped = clone(whole).set_params(max_iter=1).fit(bags, y)
    assert stopped.n_iter_ == 1 and not stopped.converged_
    np.testing.assert_array_equal(stopped.objective_history_, whole.objective_history_[:2])


def test_clones_of_the_best_replace_the_worst_candidates():
    rng = np.random.RandomState(0)
    candidates = rng.random_sample((10, 6))
    first = candidates.copy()
    machines = [SimpleNamespace(f_measure=f) for f in np.linspace(0.9, 0.0, 10)]
    model = PUMILClassifier(clone_rate=0.2)
    worse = SimpleNamespace(f_measure=-1.0)
    model._evolve(candidates, machines, rng, lambda changed: worse, Control(0.0, 1))
    np.testing.assert_array_equal(candidates[8:], first[[0, 0]])
    assert [machine.f_measure for machine in machines[8:]] == [0.9, 0.9]
    np.testing.assert_array_equal(candidates[1:8], first[1:8])


def test_candidates_move_only_if_this_improves_them():
    rng = np.random.RandomState(0)
    candidates = rng.random_sample((4, 6))
    first = candidates.copy()
    machines = [SimpleNamespace(f_measure=f) for f in (0.9, 0.5, 0.4, 0.3)]
    better = SimpleNamespace(f_measure=1.0)
    PUMILClassifier(clone_rate=0.0)._evolve(
        candidates, machines, rng, lambda changed: better, Control(0.0, 1)
    )
    np.testing.assert_array_equal(candidates[0], first[0])
    assert (candidates[1:] != first[1:]).any(axis=1).all() and machines[1:] == [better] * 3
    assert ((candidates >= 0) & (candidates <= 1)).all()


def test_many_negative_instances_are_drawn():
    bags, y, _, _ = pu_bags()
    assert len(PUMILClassifier(max_negatives=15, random_state=0).fit(bags, y).negatives_) == 15


def test_fewer_unlabeled_than_positive_bags_are_all_taken_as_negative():
    bags, y, _, _ = pu_bags(20, 5)
    assert np.isfinite(PUMILClassifier(random_state=0).fit(bags, y).decision_function(bags)).all()


def test_weights_are_repetitions_in_every_step_of_a_candidate():
    """Compare weights with copies of equal confidence; the last selected bag is selected in part."""

    class Recorded(PUMILClassifier):
        def _fit_machine(self, points, sign, weight):
            rows = np.repeat(np.column_stack([sign, points]), weight.astype(int), axis=0)
            self.rows_ = rows[np.lexsort(rows.T)]
            return super()._fit_machine(points, sign, weight)

    bags, y, _, _ = pu_bags(12, 20)
    rng = np.random.default_rng(3)
    weight, confidence = rng.integers(1, 4, len(y)), rng.random(20)
    assert weight[:12].sum() not in np.cumsum(weight[12:][np.argsort(-confidence)])  # one is selected in part
    copies = np.repeat(np.arange(len(y)), weight)
    samples = (
        (Training(bags, y, weight.astype(float)), confidence),
        (Training(bags[copies], y[copies], np.ones(len(copies))), np.repeat(confidence, weight[y == 0])),
    )
    everywhere = Bags(rng.normal(size=(200, 2)), np.arange(0, 201, 4))
    results = []
    for training, confidences in samples:
        model = Recorded(C=2.0, max_negatives=10_000)
        model.gamma_ = 0.3
        machine = model._build(training, confidences, np.zeros(training.bags.n_instances))
        keys = model._keys(everywhere, machine.negatives, machine.negative_weights)
        results.append((machine, model.rows_, keys))
    (weighted, rows, keys), (repeated, rows_too, keys_too) = results
    np.testing.assert_array_equal(rows, rows_too)
    np.testing.assert_array_equal(keys, keys_too)
    assert weighted.f_measure == repeated.f_measure
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-3)
    assert weighted.intercept == pytest.approx(repeated.intercept, rel=1e-3)


def test_weights_and_copies_give_the_same_fit_in_any_order():
    bags, y, _, _ = pu_bags(15, 30)
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, len(y))
    copies = rng.permutation(np.repeat(np.arange(len(y)), weight))
    weighted = PUMILClassifier(max_negatives=40, random_state=0).fit(bags, y, sample_weight=weight)
    repeated = PUMILClassifier(max_negatives=40, random_state=0).fit(bags[copies], y[copies])
    np.testing.assert_array_equal(weighted.decision_function(bags), repeated.decision_function(bags))
    confidence = dict(zip(np.flatnonzero((y == 0) & (weight > 0)), weighted.confidence_, strict=True))
    assert [confidence[k] for k in copies if y[k] == 0] == repeated.confidence_.tolist()


def test_equal_bags_of_a_kind_are_merged_and_their_weights_added():
    first, other = np.array([[1.0, 2.0], [0.0, 5.0]]), np.array([[3.0, 3.0]])
    training = Training(
        Bags.from_list([other, first, [[-0.0, 5.0], [1.0, 2.0]], first, other, first + 1.0]),
        np.array([0, 0, 0, 1, 0, 0]),
        np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    )
    distinct, indices = distinct_bags(training)
    assert indices[0] == indices[4] and indices[1] == indices[2] and len(set(indices.tolist())) == 4
    assert distinct.weight[indices].tolist() == [6.0, 5.0, 5.0, 4.0, 6.0, 6.0]
    assert distinct.y[indices].tolist() == training.y.tolist()
    for i, bag in enumerate(training.bags):
        merged = np.sort(distinct.bags[int(indices[i])], axis=0)
        np.testing.assert_array_equal(merged, np.sort(bag, axis=0))
    shuffled, _ = distinct_bags(Training(training.bags[::-1], training.y[::-1], training.weight[::-1]))
    np.testing.assert_array_equal(shuffled.bags.instances, distinct.bags.instances)


# ---------------------------------------------------------------------- Theorem 1


def test_bound_of_a_fixed_score_holds():
    rng = np.random.default_rng(0)
    prior, above = 0.4, []
    promised = pu_risk_bound(1.0, class_prior=prior, n_positive=30, n_unlabeled=50, delta=0.2)
    for _ in range(300):
        positive = rng.uniform(-0.5, 1.0, 30)
        hidden = rng.binomial(50, prior)
        unlabeled = np.append(rng.uniform(-0.5, 1.0, hidden), rng.uniform(-1.0, 0.5, 50 - hidden))
        empirical = -prior * positive.mean() + 0.5 * (1 + unlabeled).mean()  # |g| <= 1: (1 + g) / 2
        expected = -prior * 0.25 + 0.5 * (1 + prior * 0.25 - (1 - prior) * 0.25)
        above.append(expected - empirical)
    # The bound for all scores is loose for this score, but not by more than an order of magnitude.
    assert np.quantile(above, 0.8) <= promised <= 8 * np.quantile(above, 0.8)
    by_hand = np.sqrt(np.log(10) / 2) * (0.8 / np.sqrt(30) + 1 / np.sqrt(50))
    assert promised == pytest.approx(by_hand, rel=1e-12)
