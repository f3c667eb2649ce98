from dataclasses import replace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from bagwise import Bags, MissSVC, OneVsOneBagClassifier, make_noisy_or_bags
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.svm.problem import BagMarginProblem, InstanceGram, Labelling
from bagwise.similarity import InstanceKernel
from bagwise.solvers import Control


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(60, size=(1, 6), coef=[3.0, -3.0, 0.0], intercept=-1.5, random_state=0)


def small_problem(seed, *, max_bytes=1e9, one_positive=False, repeated=False):
    """Return the problem of nine bags with random weights, and the kernel matrix of their instances."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=9)
    X = rng.normal(size=(sizes.sum(), 2))
    if repeated:
        X[1::2] = X[::2][: len(X[1::2])]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    y = np.array([0, 1, 1, 0, 1, 0, 1, 0, 0])
    a, b, d = rng.uniform(0.5, 3.0, size=(3, 9))
    gram = InstanceGram(InstanceKernel("rbf", 0.5), X, 4, max_bytes=max_bytes)
    problem = BagMarginProblem(
        gram,
        offsets,
        y,
        instance_weight=a,
        bag_weight=0 * b if one_positive else b,
        unlabeled_weight=d,
        one_positive=one_positive,
        tol=1e-9,
    )
    return problem, rbf_kernel(X, gamma=0.5)


def random_labelling(problem, seed):
    """Return random labels, ties among them, and random witnesses, at least one per bag."""
    rng = np.random.default_rng(seed)
    positive = rng.choice([0.0, 0.5, 1.0], size=len(problem.unlabelled))
    witness = rng.random(len(problem.unlabelled)) < 0.5
    witness[problem.first] |= np.add.reduceat(witness.astype(int), problem.first) == 0
    return Labelling(positive, 1.0 - positive, witness)


def examples(problem, piece):
    """Return the weighted examples of a step, with one row of instance coefficients per example."""
    n = len(problem.negative) + len(problem.unlabelled)
    unit = np.eye(n)
    rows = [(unit[t], -1.0, w) for t, w in zip(problem.negative, problem.of_negative, strict=True)]
    for i, first in enumerate(problem.first):
        members = slice(first, first + problem.sizes[i])
        chosen = problem.unlabelled[members][piece.witness[members]]
        rows.append((unit[chosen].mean(axis=0), 1.0, problem.of_bag[i]))
    for j, t in enumerate(problem.unlabelled):
        rows.append((unit[t], 1.0, problem.of_unlabelled[j] * piece.positive[j]))
        rows.append((unit[t], -1.0, problem.of_unlabelled[j] * piece.negative[j]))
    Z, label, weight = (np.array(column) for column in zip(*rows, strict=True))
    return Z, label, weight


def primal_oracle(K, Z, label, weight):
    """Return the minimum of |f|^2 / 2 + sum weight * hinge over f = K alpha + b, from a cone solver."""
    n, m = len(K), len(label)
    values, axes = np.linalg.eigh(K)
    features = Z @ (axes * np.sqrt(np.maximum(values, 0.0)))  # f in coordinates: |f|^2 = |c|^2
    P = sp.csc_matrix(sp.block_diag([sp.eye(n), sp.csc_matrix((1 + m, 1 + m))]))
    q = np.concatenate([np.zeros(n + 1), weight])
    margin = np.hstack([label[:, None] * features, label[:, None], np.eye(m)])
    A = sp.csc_matrix(np.vstack([-margin, np.hstack([np.zeros((m, n + 1)), -np.eye(m)])]))
    b = np.concatenate([-np.ones(m), np.zeros(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-10
    return clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(2 * m)], settings).solve().obj_val


@pytest.mark.parametrize("max_bytes", [1e9, 2000])
@pytest.mark.parametrize("seed", range(5))
def test_step_agrees_with_a_generic_solver(seed, max_bytes):
    problem, K = small_problem(seed, max_bytes=max_bytes, repeated=seed == 4)
    near = problem.zero()
    for again in range(3):  # each starts from the solution for the previous labeling
        piece = random_labelling(problem, 10 * seed + again)
        near = problem.solve(piece, near, Control(1e-9, 100))
        Z, label, weight = examples(problem, piece)
        f = Z @ near.scores
        value = 0.5 * near.x @ K @ near.x + weight @ np.maximum(0.0, 1.0 - label * f)
        assert value == pytest.approx(primal_oracle(K, Z, label, weight), rel=1e-6)
        np.testing.assert_allclose(near.scores, K @ near.x + near.intercept, atol=1e-9)


@pytest.mark.parametrize("one_positive", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_labelling_bounds_the_objective_and_is_tight_at_its_point(seed, one_positive):
    problem, K = small_problem(seed, one_positive=one_positive)

    def above(piece, machine):
        Z, label, weight = examples(problem, piece)
        loss = weight @ np.maximum(0.0, 1.0 - label * (Z @ machine.scores))
        return 0.5 * machine.x @ K @ machine.x + loss

    machine = problem.solve(problem.start("ties"), problem.zero(), Control(1e-9, 100))
    piece = problem.linearize(machine)
    assert above(piece, machine) == pytest.approx(machine.value, rel=1e-9)
    for other in range(3):
        elsewhere = problem.solve(random_labelling(problem, other), machine, Control(1e-9, 100))
        assert above(piece, elsewhere) >= elsewhere.value - 1e-9


def test_labels_are_the_sign_of_f_and_witnesses_share_the_maximum():
    problem, _ = small_problem(0)
    scores = np.zeros(len(problem.negative) + len(problem.unlabelled))
    scores[problem.unlabelled] = 0.05 * (-1.0) ** np.arange(len(problem.unlabelled))
    scores[problem.unlabelled[0]] = 0.0
    piece = problem.linearize(replace(problem.zero(), scores=scores))
    inside = scores[problem.unlabelled]
    np.testing.assert_array_equal(piece.positive, 0.5 * (1.0 + np.sign(inside)))
    np.testing.assert_array_equal(piece.negative, 1.0 - piece.positive)
    largest = np.repeat(np.maximum.reduceat(inside, problem.first), problem.sizes)
    np.testing.assert_array_equal(piece.witness, inside == largest)


@pytest.mark.parametrize("max_bytes", [1e9, 8 * 12 * 9])
def test_rows_of_virtual_examples_follow_their_instances(max_bytes):
    X = np.random.default_rng(0).normal(size=(10, 2))
    gram = InstanceGram(InstanceKernel("rbf", 0.5), X, 2, max_bytes=max_bytes)
    K = rbf_kernel(X, gamma=0.5)
    for first, second in (([0, 1], [2, 3]), ([0, 1], [2, 5, 7]), ([4, 9], [2, 5, 7])):
        gram.set_means({0: np.array(first), 1: np.array(second)})
        Z = np.vstack([np.eye(10), np.eye(10)[first].mean(axis=0), np.eye(10)[second].mean(axis=0)])
        points = np.array([1, 10, 11, 6])
        np.testing.assert_allclose(gram.rows.square(points), (Z @ K @ Z.T)[np.ix_(points, points)])
        np.testing.assert_allclose(gram.rows.diagonal, (Z @ K @ Z.T).diagonal())
        np.testing.assert_allclose(gram.extend(K[3]), Z @ K[3])


def test_objective_matches_the_paper(data):
    model = MissSVC(C=2.0, bag_weight=3.0, unlabeled_weight=0.5, gamma=1.0).fit(data.bags, data.y)
    f = model.decision_function_instances(data.bags)
    positive = np.repeat(data.y == 1, data.bags.sizes)
    bag = model.decision_function(data.bags)[data.y == 1]
    V = model.support_vectors_
    norm = (model.dual_coef_ @ rbf_kernel(V, gamma=1.0) @ model.dual_coef_.T).item()

    def hinge(z):
        return np.maximum(0.0, 1.0 - z).sum()

    unlabelled = np.minimum(np.maximum(0, 1 - f[positive]), np.maximum(0, 1 + f[positive])).sum()
    expected = 0.5 * norm + 2.0 * hinge(-f[~positive]) + 3.0 * hinge(bag) + 0.5 * unlabelled
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    assert (np.diff(model.objective_history_) <= 0).all()


def test_default_weights_are_balanced_as_in_the_paper(data):
    n_negative, n_unlabelled = np.bincount(data.y, weights=data.bags.sizes)
    explicit = MissSVC(
        C=2.0, bag_weight=2 * n_negative / data.y.sum(), unlabeled_weight=2 * n_negative / n_unlabelled
    )
    default = MissSVC(C=2.0).fit(data.bags, data.y)
    np.testing.assert_allclose(
        explicit.fit(data.bags, data.y).decision_function(data.bags), default.decision_function(data.bags)
    )


def test_bags_of_one_without_unlabelled_weight_are_a_weighted_svm(data):
    X = data.bags.instances[data.bags.offsets[:-1]]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=60)
    model = MissSVC(C=3.0, bag_weight=5.0, unlabeled_weight=0.0, gamma=0.7, scale=None, tol=1e-10)
    model.fit(X, data.y, sample_weight=weight)
    svc = SVC(C=1.0, gamma=0.7, tol=1e-9)
    svc.fit(X, data.y, sample_weight=weight * np.where(data.y == 1, 5.0, 3.0))
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-6)


def test_zero_bag_weight_leaves_positive_bags_unlabelled(data):
    plain = MissSVC(bag_weight=0.0, gamma=1.0).fit(data.bags, data.y)
    f = plain.decision_function_instances(data.bags)
    # No loss favors positive scores, so all unlabeled instances get negative ones.
    assert (f[np.repeat(data.y == 1, data.bags.sizes)] < 0).all()


def test_class_weight_multiplies_the_balanced_default_weights(data):
    X, y = data.bags, data.y
    scores = [
        MissSVC(C=0.1, class_weight={1: factor}).fit(X, y).decision_function(X).mean()
        for factor in (0.1, 1.0, 10.0)
    ]
    assert scores[0] < scores[1] < scores[2]
    with pytest.raises(ValueError, match="class_weight must be positive for both classes"):
        MissSVC(class_weight={0: 0.0}).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", polynomial_kernel])
def test_sparse_instances_stay_sparse_and_give_the_same_svm(data, kernel):
    scaled = data.bags.with_instances(np.maximum(data.bags.instances, 0.0))
    sparse = scaled.with_instances(sp.csr_matrix(scaled.instances))
    model = MissSVC(kernel=kernel, scale=None, C=1.0)
    dense = model.fit(scaled, data.y).decision_function(scaled)
    model.fit(sparse, data.y)
    assert sp.issparse(model.support_vectors_)
    np.testing.assert_allclose(model.decision_function(sparse), dense, rtol=1e-4, atol=1e-4)
    assert hasattr(model, "coef_") == (kernel == "linear")


def test_matrix_larger_than_the_cache_gives_the_same_svm(data):
    whole = MissSVC(gamma=1.0).fit(data.bags, data.y)
    rows = MissSVC(gamma=1.0, cache_size=0.02).fit(data.bags, data.y)
    np.testing.assert_allclose(
        rows.decision_function(data.bags), whole.decision_function(data.bags), atol=1e-4
    )


def test_witnesses_are_the_highest_instances_of_positive_bags(data):
    model = MissSVC().fit(data.bags, data.y)
    f = model.decision_function_instances(data.bags)
    for i, label in enumerate(data.y):
        scores = f[data.bags.offsets[i] : data.bags.offsets[i + 1]]
        assert model.witnesses_[i] == (np.argmax(scores) if label == 1 else -1)
    np.testing.assert_array_equal(model.predict(data.bags), (model.decision_function(data.bags) > 0) * 1)


@pytest.mark.parametrize("init", ["positive", "negative", "random"])
def test_every_start_ends_at_a_stationary_point(data, init):
    model = MissSVC(init=init, random_state=0, n_init=2).fit(data.bags, data.y)
    assert model.converged_ and len(model.objectives_) == 2
    assert model.objective_ == model.objectives_.min()


def test_degenerate_bags_are_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    cases = {
        "one positive bag": (Bags(X, np.arange(0, 31, 3)), np.arange(10) == 0),
        "duplicated instances": (Bags(np.repeat(X, 2, axis=0), np.arange(0, 61, 6)), np.arange(10) % 2),
        "all features equal": (Bags(np.ones((30, 3)), np.arange(0, 31, 3)), np.arange(10) % 2),
        "a bag of 1,000 equal rows": (
            Bags(np.concatenate([np.repeat(X[:1], 1000, axis=0), X[1:]]), [0, 1000, 1010, 1020, 1029]),
            np.array([1, 0, 1, 0]),
        ),
    }
    for name, (bags, y) in cases.items():
        model = MissSVC().fit(bags, y)
        assert np.isfinite(model.decision_function_instances(bags)).all(), name
        assert model.converged_, name
        assert (np.diff(model.objective_history_) <= 0).all(), name


def test_many_classes_share_a_kernel_matrix_and_vote_in_pairs(data, monkeypatch):
    y = data.y + (np.arange(60) % 3 == 0)
    evaluated = []
    plain = InstanceKernel.__call__

    def count(self, X, Y):
        if isinstance(self.name, str):
            evaluated.append(X.shape[0] * Y.shape[0])
        return plain(self, X, Y)

    monkeypatch.setattr(InstanceKernel, "__call__", count)
    model = MissSVC(gamma=1.0).fit(data.bags, y)
    assert sum(evaluated) <= data.bags.n_instances**2
    assert model.decision_function(data.bags).shape == (60, 3)
    assert model.decision_function_instances(data.bags).shape == (data.bags.n_instances, 3)
    assert len(model.pairs_.estimators_) == 6 and not hasattr(model, "witnesses_")
    scaled = data.bags.with_instances(model.scaler_.transform(data.bags.instances))
    apart = OneVsOneBagClassifier(MissSVC(gamma=1.0, scale=None), both_ways=True).fit(scaled, y)
    np.testing.assert_allclose(model.decision_function(data.bags), apart.decision_function(scaled), atol=1e-5)
    without = MissSVC(gamma=1.0, cache_size=0.05).fit(data.bags, y)  # too small for the matrix
    np.testing.assert_array_equal(without.predict(data.bags), model.predict(data.bags))


def test_refit_to_many_classes_removes_attributes_of_two_classes(data):
    model = MissSVC().fit(data.bags, data.y)
    of_two = {"witnesses_", "objective_", "objective_history_", "objectives_"}
    assert of_two <= set(vars(model))
    model.fit(data.bags, data.y + (np.arange(len(data.y)) % 3 == 0))
    assert not of_two & set(vars(model))


def test_class_weights_of_many_classes_apply_by_label(data):
    y = np.array(["a", "b", "c"])[data.y + (np.arange(60) % 3 == 0)]
    weighted = MissSVC(C=0.1, class_weight={"a": 100.0}).fit(data.bags, y)
    assert np.mean(weighted.predict(data.bags) == "a") > np.mean(
        MissSVC(C=0.1).fit(data.bags, y).predict(data.bags) == "a"
    )


def test_probabilities_come_from_calibration(data):
    assert not hasattr(MissSVC(), "predict_proba")
    model = CalibratedClassifierCV(MissSVC(), ensemble=False, cv=3).fit(data.bags, data.y)
    proba = model.predict_proba(data.bags)
    assert proba.shape == (60, 2) and np.allclose(proba.sum(axis=1), 1.0)


def test_grid_search_finds_parameters(data):
    search = GridSearchCV(MissSVC(), {"C": [0.1, 10.0], "gamma": [0.5, 2.0]}, cv=3).fit(data.bags, data.y)
    assert search.best_estimator_.witnesses_.shape == (60,)


def test_bags_of_one_are_an_svc_except_for_the_unlabelled_term():
    """Instances of positive bags with f < 0 count with both labels: the only difference from `SVC`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=120) > 0).astype(int)
    kwargs = {"gamma": 0.25, "tol": 1e-10}
    ratio = (y == 0).sum() / (y == 1).sum()  # the default of bag_weight / C, and of unlabeled_weight / C
    ordinary = SVC(**kwargs, class_weight={1: ratio}).fit(X, y)
    labelled = MissSVC(C=1.0, scale=None, unlabeled_weight=0.0, **kwargs).fit(X, y)
    np.testing.assert_allclose(labelled.decision_function(X), ordinary.decision_function(X), atol=1e-4)

    default = MissSVC(C=1.0, scale=None, **kwargs).fit(X, y)
    score = default.decision_function(X)
    assert np.abs(score - ordinary.decision_function(X)).max() > 0.5
    positive = np.flatnonzero(y == 1)
    rows = np.concatenate([np.arange(120), positive])
    called = np.concatenate([y, (score[positive] > 0).astype(int)])
    weight = np.where(np.concatenate([y, np.ones(len(positive))]) == 1, ratio, 1.0)
    both = SVC(**kwargs).fit(X[rows], called, weight)
    np.testing.assert_allclose(score, both.decision_function(X), atol=1e-4)


def test_too_few_steps_warn_and_name_the_remedy(data):
    with pytest.warns(ConvergenceWarning, match="MissSVC reached max_iter=1 before tol"):
        MissSVC(max_iter=1).fit(data.bags, data.y)


def test_a_kernel_of_the_wrong_shape_is_refused(data):
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must return an array of shape"):
        MissSVC(kernel=lambda X, Y: np.ones(3)).fit(data.bags, data.y)


@pytest.mark.study
def test_steps_of_200_random_problems_agree_with_a_generic_solver():
    """Our objective is never larger by more than 1e-8.

    The problems differ in size, in kernel, in weights (over six orders of magnitude) and in separability.
    """
    worst = 0.0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 25))
        sizes = rng.integers(1, 6, size=n)
        width = int(rng.integers(1, 6))
        X = rng.normal(size=(sizes.sum(), width)) @ rng.normal(size=(width, width))  # correlated
        y = rng.integers(0, 2, size=n)
        y[:2] = 0, 1
        kernel = InstanceKernel(("rbf", "poly", "linear")[seed % 3], 0.5, 2, 1.0)
        a, b, d = 10.0 ** rng.uniform(-3, 3, size=(3, n))
        gram = InstanceGram(kernel, X, int((y == 1).sum()), max_bytes=1e9)
        offsets = np.append(0, np.cumsum(sizes))
        weights = {"instance_weight": a, "bag_weight": b, "unlabeled_weight": d}
        problem = BagMarginProblem(gram, offsets, y, **weights, tol=1e-10)
        piece, K = random_labelling(problem, seed), kernel(X, X)
        solution = problem.solve(piece, problem.zero(), Control(1e-10, 100))
        Z, label, weight = examples(problem, piece)
        ours = 0.5 * solution.x @ K @ solution.x + weight @ np.maximum(
            0.0, 1.0 - label * (Z @ solution.scores)
        )
        worst = max(worst, (ours - primal_oracle(K, Z, label, weight)) / ours)
    assert worst < 1e-8
