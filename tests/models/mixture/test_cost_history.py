"""The information cost in every EM iteration, compared with models that stopped there."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bagwise import MIMixture, Threshold, make_mixture_bags

DATA = make_mixture_bags(80, size=(2, 6), separation=2.5, positive_rate=0.2, random_state=0)
WEIGHT = 1.0 + np.arange(80) % 3


def fitted(max_iter, **options):
    model = MIMixture(n_init=1, max_iter=max_iter, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(DATA.bags, DATA.y, WEIGHT)


@pytest.mark.parametrize("supervision", ["bags", "negatives"])
@pytest.mark.parametrize(
    "options",
    [{}, {"n_components": (2, 1)}, {"family": "gaussian_diag", "rule": Threshold(2)}],
    ids=["gaussian", "components", "threshold"],
)
def test_the_cost_of_an_iteration_is_that_of_a_model_that_stopped_there(supervision, options):
    options = options | {"supervision": supervision}
    history = fitted(12, **options).information_cost_history_
    assert len(history) == len(fitted(12, **options).objective_history_) > 5
    positive, weight = DATA.bags[DATA.y == 1], WEIGHT[DATA.y == 1]
    for iteration in (1, 3, len(history) - 1):
        stopped = fitted(iteration, **options)
        expected = np.average(stopped.information_cost(positive), weights=weight)
        assert history[iteration] == pytest.approx(expected, rel=1e-9)


def test_ignoring_labels_costs_what_the_likelihoods_differ_by():
    """L(MM) - L(MIMM) = sum of -log P(+ | X_i), at equal parameters (section 7)."""
    model = fitted(30, supervision="negatives")
    bits = model.information_cost_history_[-1] * WEIGHT[DATA.y == 1].sum()
    # The likelihood of all labels: the density of the instances, and P(y | instances).
    density = WEIGHT @ model.score_samples(DATA.bags)
    log_proba = model.predict_log_proba(DATA.bags)[np.arange(80), DATA.y]
    with_labels = density + WEIGHT @ log_proba
    assert model.log_likelihood_ - with_labels == pytest.approx(bits * np.log(2), rel=1e-8)


def test_without_classes_there_is_no_cost():
    model = fitted(30, supervision="bags")
    assert hasattr(model, "information_cost_history_")
    model.set_params(supervision="none", max_iter=200, tol=1e-4).fit(DATA.bags, DATA.y)
    assert not hasattr(model, "information_cost_history_")
