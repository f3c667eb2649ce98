"""The forms of PU-SKC's paper: equations 5 and 17, section 3.3, and the settings of its program."""

import os
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from bagwise import (
    Bags,
    ClassPriorEstimator,
    ClassPriorWarning,
    DSDDClassifier,
    LSDDClassifier,
    PUMILClassifier,
    PUSetKernelClassifier,
    make_pu_scorer,
    minimax_kernel,
    pearson_class_prior,
)

pytestmark = pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    truth = np.append(np.ones(20), np.arange(60) % 10 < 3)
    bags = [rng.normal(size=(rng.integers(2, 6), 3)) + 2.0 * positive for positive in truth]
    return Bags.from_list(bags), np.repeat([1, 0], [20, 60])


@pytest.mark.parametrize("degree", [1, 2])
def test_a_callable_kernel_without_scaling_is_equation_5(data, degree):
    bags, y = data
    kernel = partial(minimax_kernel, degree=degree)
    model = PUSetKernelClassifier(kernel, scale=None, class_prior=0.3, alpha=1.0).fit(bags, y)
    s = np.array([np.append(bag.min(axis=0), bag.max(axis=0)) for bag in bags])
    phi = (s @ s.T + 1.0) ** degree
    np.testing.assert_allclose(model.basis_(bags), phi, rtol=1e-12)
    score = phi @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(bags), score, rtol=1e-9, atol=1e-9)

    def objective(alpha, beta):
        """Equation 17 with the double hinge: pi (mean_P -g) + mean_U max(0, 1/2 + g/2, g) + penalty."""
        g = phi @ alpha + beta
        slack = np.maximum(0, np.maximum(0.5 + 0.5 * g[y == 0], g[y == 0]))
        return -0.3 * g[y == 1].mean() + slack.mean() + 0.5 * alpha @ alpha

    best = objective(model.coef_[0], model.intercept_[0])
    assert best == pytest.approx(model.objective_, rel=1e-7)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-3, 1e-2):
        for _ in range(30):
            moved = model.coef_[0] + size * rng.normal(size=80), model.intercept_[0] + size * rng.normal()
            assert objective(*moved) >= best - 1e-9


def test_degree_and_penalty_of_the_printed_kernel_are_searched_by_the_zero_one_risk(data):
    bags, y = data
    grid = {"kernel": [partial(minimax_kernel, degree=k) for k in (1, 2, 3)], "alpha": [1.0, 1e-3]}
    model = PUSetKernelClassifier(scale=None, class_prior=0.3)
    search = GridSearchCV(model, grid, scoring=make_pu_scorer(0.3), cv=5).fit(bags, y)
    assert search.best_params_["kernel"].keywords["degree"] in (1, 2, 3)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("ridge", [1.0, 1e5])
def test_the_class_prior_of_section_3_3(data, as_printed, ridge):
    bags, y = data
    kernel = partial(minimax_kernel, degree=2)
    phi = kernel(bags, bags)
    P, U = phi[y == 1], phi[y == 0]
    second, first = (P, U) if as_printed else (U, P)
    H, h = np.mean([np.outer(row, row) for row in second], axis=0), first.mean(axis=0)
    inverse = np.linalg.inv(H + ridge * np.eye(len(H)))
    expected = 1 / (2 * h @ inverse @ h - h @ inverse @ H @ inverse @ h)
    estimate = pearson_class_prior(bags, y, kernel=kernel, ridge=ridge, as_printed=as_printed)
    assert estimate == pytest.approx(expected, rel=1e-5)
    assert estimate == pearson_class_prior(
        list(bags), y == 1, kernel=kernel, ridge=ridge, as_printed=as_printed
    )


def test_only_the_corrected_form_estimates_a_known_prior():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [300, 1000])
    X = rng.normal(size=(1300, 1)) + 8.0 * (np.arange(1300) < 600)[:, None]
    assert pearson_class_prior(X, y, ridge=1e-3) == pytest.approx(0.3, abs=0.03)
    assert pearson_class_prior(X, y, ridge=1e-3, as_printed=True) < 0.05


def test_arguments_of_the_closed_form_are_checked(data):
    bags, y = data
    for other, options, message in (
        (y, {"ridge": 0.0}, "ridge must be > 0; got 0.0"),
        (y[1:], {}, r"y has the shape \(79,\), but there are 80 bags"),
        (np.ones(80), {}, "pearson_class_prior also needs unlabeled bags"),
    ):
        with pytest.raises(ValueError, match=message):
            pearson_class_prior(bags, other, **options)


def test_pumil_without_intercept_is_the_svm_of_equation_b1(data):
    bags, y = data
    model = PUMILClassifier(fit_intercept=False, max_iter=2, n_candidates=3, random_state=0).fit(bags, y)
    assert model.intercept_[0] == 0.0 and np.any(model.coef_)
    scores = model.decision_function(bags)
    by_instance = model.decision_function_instances(bags)
    # The score of a bag is the linear score of one of its instances, its key.
    for i, bag in enumerate(bags):
        assert np.abs(by_instance[bags.offsets[i] : bags.offsets[i + 1]] - scores[i]).min() < 1e-9, bag


@pytest.mark.parametrize("cls", [LSDDClassifier, DSDDClassifier])
def test_the_width_of_the_authors_kernel_is_one_over_two_gamma(data, cls):
    """The program has exp(-|x - z|^2 / (2 s^2)) and s = lambda = 0.01, and no intercept in DSDD."""
    bags, y = data
    s = 0.5
    options = {"fit_intercept": False} if cls is DSDDClassifier else {}
    model = cls(gamma=0.5 / s**2, alpha=0.25e-2, scale=None, random_state=0, **options).fit(bags, y)
    scores = model.decision_function_instances(bags)
    points, coef = (
        (model.support_vectors_, model.dual_coef_) if cls is DSDDClassifier else (model.centers_, model.coef_)
    )
    squares = ((bags.instances[:, None] - points) ** 2).sum(axis=2)
    np.testing.assert_allclose(scores, np.exp(-squares / (2 * s**2)) @ coef[0], atol=1e-9)
    assert np.ptp(scores) > 0


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BAGWISE_DATA"), reason="BAGWISE_DATA is not set")
def test_the_default_prior_in_the_protocol_of_table_3():
    """20 positive and 180 unlabeled bags: the least estimate has the smallest error, the interval holds."""
    from reproduction.pu import draw

    errors, covered, warned = [], [], []
    for dataset in ("elephant", "tiger"):
        for prior in (0.1, 0.3, 0.5, 0.7):
            for seed in (0, 1):
                sample = draw("printed", dataset, prior, seed)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model = ClassPriorEstimator().fit(sample.train, sample.y)
                values = {each.method: each.class_prior for each in (model.estimate_, model.check_)}
                errors.append([abs(v - prior) for v in (model.class_prior_, values["tail"], values["ratio"])])
                low, high = model.estimate_.interval()
                covered.append(low <= prior <= high)
                warned.append(any(issubclass(each.category, ClassPriorWarning) for each in caught))
    least, tail, ratio = np.mean(errors, axis=0)
    assert least < min(tail, ratio)
    assert np.mean(covered) >= 0.9
    assert all(warned)  # the classes overlap in every sample
