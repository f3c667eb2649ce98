"""Predictions of a fitted network, which need NumPy only."""

from math import exp, tanh

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted
from tests.hidden import run_without

from bagwise import AttentionMILClassifier, Bags, make_noisy_or_bags
from bagwise.models.attention.network import draw, layout, read
from bagwise.testing import all_estimators

DATA = make_noisy_or_bags(12, size=(1, 5), n_features=3, random_state=0)


def by_hand(hidden=(4, 3), attention_size=2, seed=0):
    """Return a model with random weights instead of learned ones, without torch."""
    model = AttentionMILClassifier(hidden, attention_size, scale=None)
    parts = layout(3, hidden, attention_size)
    x = draw(parts, np.random.RandomState(seed), 0.3)
    x += np.random.RandomState(seed + 1).normal(scale=0.5, size=len(x))  # random biases, too
    model.network_, model.coef_, model.intercept_ = read(x, parts)
    model.classes_, model.scaler_ = np.array([0, 1]), None
    model.n_features_in_ = 3
    check_is_fitted(model)
    return model, parts, x


def sigma(value):
    return 1.0 / (1.0 + exp(-value))


def described(model, instance):
    h = [float(value) for value in instance]
    for matrix, bias in model.network_.layers:
        h = [
            max(0.0, sum(h[i] * matrix[i, j] for i in range(len(h))) + bias[j])
            for j in range(matrix.shape[1])
        ]
    return h


def energy(model, h):
    (V, c), (U, g), w = model.network_.tanh, model.network_.gate, model.network_.attention
    total = 0.0
    for k in range(len(w)):
        up = sum(h[i] * V[i, k] for i in range(len(h))) + c[k]
        gate = sum(h[i] * U[i, k] for i in range(len(h))) + g[k]
        total += w[k] * tanh(up) * sigma(gate)
    return total


@pytest.mark.parametrize("hidden", [(4,), (4, 3)])
def test_scores_and_attention_are_those_of_the_formula(hidden):
    model, _, _ = by_hand(hidden)
    scores, attention, alone = [], [], []
    for bag in DATA.bags:
        hs = [described(model, instance) for instance in bag]
        energies = [exp(energy(model, h)) for h in hs]
        shares = [e / sum(energies) for e in energies]
        contributions = [sum(u * v for u, v in zip(model.coef_, h, strict=True)) for h in hs]
        scores.append(sum(a * s for a, s in zip(shares, contributions, strict=True)) + model.intercept_)
        attention += shares
        alone += [s + model.intercept_ for s in contributions]
    assert len({round(share, 3) for share in attention}) > 10  # the weights vary
    np.testing.assert_allclose(model.decision_function(DATA.bags), scores, rtol=1e-12)
    np.testing.assert_allclose(model.attention_instances(DATA.bags), attention, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function_instances(DATA.bags), alone, rtol=1e-12)
    expected = [[sigma(-score), sigma(score)] for score in scores]
    np.testing.assert_allclose(model.predict_proba(DATA.bags), expected, rtol=1e-12)


def test_a_bag_is_the_mean_of_its_instances_weighted_by_attention():
    model, _, _ = by_hand()
    attention = model.attention_instances(DATA.bags)
    first = DATA.bags.offsets[:-1]
    np.testing.assert_allclose(np.add.reduceat(attention, first), 1.0, rtol=1e-14)
    counted = attention * model.decision_function_instances(DATA.bags)
    np.testing.assert_allclose(
        np.add.reduceat(counted, first), model.decision_function(DATA.bags), rtol=1e-12
    )


def test_an_instance_is_scored_as_a_bag_of_one():
    model, _, _ = by_hand()
    alone = Bags(DATA.bags.instances, np.arange(DATA.bags.n_instances + 1))
    scores = model.decision_function_instances(DATA.bags)
    np.testing.assert_allclose(model.decision_function(alone), scores, rtol=1e-14)
    np.testing.assert_array_equal(model.attention_instances(alone), 1.0)


def test_energies_of_any_size_give_attention():
    model, _, _ = by_hand()
    model.network_.attention[:] = [1e4, -1e4]
    attention = model.attention_instances(DATA.bags)
    assert np.isfinite(attention).all()
    np.testing.assert_allclose(np.add.reduceat(attention, DATA.bags.offsets[:-1]), 1.0, rtol=1e-14)


def test_sparse_instances_are_scored_as_dense_ones():
    model, _, _ = by_hand()
    sparse = DATA.bags.with_instances(sp.csr_array(DATA.bags.instances))
    np.testing.assert_allclose(
        model.decision_function(sparse), model.decision_function(DATA.bags), rtol=1e-12
    )


def test_initial_weights_have_the_requested_variance_and_no_bias():
    parts = layout(200, (100,), 50)
    x = draw(parts, np.random.RandomState(0), -0.7)
    network, coef, intercept = read(x, parts)
    ((matrix, bias),) = network.layers
    assert matrix.shape == (200, 100) and not bias.any() and intercept == -0.7 and coef.shape == (100,)
    assert matrix.var() == pytest.approx(2 / 300, rel=0.03)
    assert network.gate[0].var() == pytest.approx(2 / 150, rel=0.05)


WITHOUT_TORCH = """
import bagwise
from bagwise.testing import all_estimators

assert bagwise.AttentionMILClassifier not in all_estimators()
assert bagwise.MILogisticRegression in all_estimators()
data = bagwise.make_noisy_or_bags(10, random_state=0)
try:
    bagwise.AttentionMILClassifier().fit(data.bags, data.y)
except ImportError as error:
    print(error)
"""


def test_without_torch_the_model_is_not_listed_and_fit_raises():
    output = run_without(["torch"], WITHOUT_TORCH)
    assert "fit requires torch: pip install 'bagwise[torch]'" in output


def test_with_torch_the_model_is_listed():
    pytest.importorskip("torch", reason="without torch, all_estimators omits the network")
    assert AttentionMILClassifier in all_estimators()
