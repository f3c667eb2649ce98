"""Fits with torch: gradients, held-out bags, seeds, checkpoints, and use of the model without torch."""

import doctest
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from tests.hidden import run_without

from bagwise import AttentionMILClassifier, Bags, load_digit_bags, make_noisy_or_bags, save
from bagwise.models.attention.classifier import _Objective
from bagwise.models.attention.network import draw, layout, read
from bagwise.models.base import Training
from bagwise.models.base.folds import held_out_for_stopping
from bagwise.persist.checkpoints.store import Store

torch = pytest.importorskip("torch", reason="fits need torch")

DATA = make_noisy_or_bags(30, size=(1, 5), coef=[2.0, -2.0, 1.0], intercept=-1.0, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, size=30)
QUICK = {"hidden_sizes": (6,), "attention_size": 3, "max_epochs": 25, "random_state": 0}


def objective(bags, held_out, alpha=0.1, hidden=(5, 4), y=DATA.y):
    parts = layout(3, hidden, 2)
    x = draw(parts, np.random.RandomState(0), 0.2)
    x += np.random.RandomState(1).normal(scale=0.3, size=len(x))
    training = Training(bags, y, WEIGHT)
    return _Objective(bags.blocks(y, WEIGHT), training, held_out, parts, alpha), parts, x


def numpy_loss(parts, x, bags, weight, alpha):
    """Return the objective from the prediction code, which only uses NumPy."""
    model = AttentionMILClassifier(scale=None)
    model.network_, model.coef_, model.intercept_ = read(x, parts)
    model.scaler_, model.classes_, model.n_features_in_ = None, np.array([0, 1]), 3
    proba = model.predict_proba(bags)[np.arange(len(bags)), DATA.y]
    network = model.network_
    matrices = [network.tanh[0], network.gate[0], network.attention, model.coef_]
    matrices += [matrix for matrix, _ in network.layers]
    penalty = 0.5 * alpha * sum(float((matrix**2).sum()) for matrix in matrices)
    return float(-weight @ np.log(proba)) / weight.sum() + penalty


HELD_OUT = np.arange(30) % 5 == 0


def test_torch_and_numpy_agree_on_objective_and_held_out_loss():
    evaluate, parts, x = objective(DATA.bags, HELD_OUT)
    value, watched, _ = evaluate(x)
    learning, held_out = np.where(HELD_OUT, 0.0, WEIGHT), np.where(HELD_OUT, WEIGHT, 0.0)
    assert value == pytest.approx(numpy_loss(parts, x, DATA.bags, learning, 0.1), rel=1e-12)
    assert watched == pytest.approx(numpy_loss(parts, x, DATA.bags, held_out, 0.0), rel=1e-12)


def test_without_held_out_bags_the_objective_is_watched():
    evaluate, _, x = objective(DATA.bags, np.zeros(30, dtype=bool))
    value, watched, _ = evaluate(x)
    assert watched == value


def test_the_gradient_is_that_of_finite_differences():
    evaluate, parts, x = objective(DATA.bags, HELD_OUT)
    _, _, gradient = evaluate(x)
    learning, step = np.where(HELD_OUT, 0.0, WEIGHT), 1e-5
    numeric = np.empty_like(x)
    for k in range(len(x)):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[k] += sign * step
            ends.append(numpy_loss(parts, moved, DATA.bags, learning, 0.1))
        numeric[k] = (ends[0] - ends[1]) / (2 * step)
    assert (np.abs(numeric) > 1e-6).mean() > 0.9
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-9)


def test_sparse_bags_have_the_same_gradient():
    evaluate, _, x = objective(DATA.bags, HELD_OUT)
    sparse, _, _ = objective(DATA.bags.with_instances(sp.csr_array(DATA.bags.instances)), HELD_OUT)
    for ours, theirs in zip(sparse(x), evaluate(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_bags_that_are_held_out_do_not_move_the_weights():
    evaluate, _, x = objective(DATA.bags, HELD_OUT)
    other, _, _ = objective(DATA.bags, HELD_OUT, y=np.where(HELD_OUT, 1 - DATA.y, DATA.y))
    (value, watched, gradient), (again, moved, same) = evaluate(x), other(x)
    assert value == again and watched != moved
    np.testing.assert_array_equal(gradient, same)


def test_early_stopping_keeps_weights_of_the_lowest_held_out_loss():
    model = AttentionMILClassifier(**{**QUICK, "max_epochs": 200}, learning_rate=0.1, n_iter_no_change=15)
    model.fit(DATA.bags, DATA.y)
    assert model.converged_ and model.n_iter_ == model.best_epoch_ + 15 < 200
    assert model.best_epoch_ == np.argmin(model.validation_history_)
    assert model.objective_ == model.loss_history_[model.best_epoch_]
    rng = np.random.RandomState(0)
    held_out = held_out_for_stopping(DATA.y, 0.2, None, None, rng)
    proba = model.predict_proba(DATA.bags[held_out])[np.arange(held_out.sum()), DATA.y[held_out]]
    assert -np.log(proba).mean() == pytest.approx(model.validation_history_.min(), rel=1e-12)


def test_either_class_is_held_out_and_groups_stay_together():
    y = np.arange(40) % 4 == 0
    chosen = held_out_for_stopping(y.astype(int), 0.25, None, None, 0)
    assert chosen.sum() == 10 and (chosen & y).sum() in (2, 3)
    groups = np.repeat(np.arange(10), 4)
    together = held_out_for_stopping(y.astype(int), 0.25, None, groups, 0)
    assert 0 < together.sum() < 40 and len(set(groups[together]) & set(groups[~together])) == 0


def test_a_class_of_one_bag_cannot_be_held_out():
    y = np.zeros(30, dtype=int)
    y[3] = 1
    with pytest.raises(ValueError, match=r"one class has a single bag; use early_stopping=False\."):
        AttentionMILClassifier(**QUICK).fit(DATA.bags, y)
    AttentionMILClassifier(**QUICK, early_stopping=False).fit(DATA.bags, y)


def test_seeds_reproduce_fits_and_do_not_change_the_torch_generator():
    state = torch.get_rng_state()
    first, again = (AttentionMILClassifier(**QUICK).fit(DATA.bags, DATA.y) for _ in range(2))
    other = AttentionMILClassifier(**{**QUICK, "random_state": 1}).fit(DATA.bags, DATA.y)
    scores = first.decision_function(DATA.bags)
    np.testing.assert_array_equal(scores, again.decision_function(DATA.bags))
    assert not np.allclose(scores, other.decision_function(DATA.bags), rtol=1e-3)
    assert torch.equal(state, torch.get_rng_state())


def test_a_fit_uses_one_torch_thread_and_restores_the_setting(monkeypatch):
    before, n_threads = torch.get_num_threads(), []
    loss = _Objective.__call__

    def recording_call(self, x):
        n_threads.append(torch.get_num_threads())
        return loss(self, x)

    monkeypatch.setattr(_Objective, "__call__", recording_call)
    torch.set_num_threads(3)
    try:
        AttentionMILClassifier(**QUICK).fit(DATA.bags, DATA.y)
        assert set(n_threads) == {1} and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_a_fit_in_another_thread_is_the_same():
    local = AttentionMILClassifier(**QUICK).fit(DATA.bags, DATA.y)
    threaded = AttentionMILClassifier(**QUICK)
    thread = threading.Thread(target=threaded.fit, args=(DATA.bags, DATA.y))
    thread.start()
    thread.join()
    np.testing.assert_allclose(
        threaded.decision_function(DATA.bags), local.decision_function(DATA.bags), rtol=1e-9
    )


def test_units_of_features_do_not_matter_by_default():
    bags = DATA.bags.with_instances(DATA.bags.instances * [1e-6, 1.0, 1e5] + [0.0, 1e3, 0.0])
    ours, theirs = (AttentionMILClassifier(**QUICK).fit(X, DATA.y) for X in (bags, DATA.bags))
    np.testing.assert_allclose(
        ours.decision_function(bags), theirs.decision_function(DATA.bags), rtol=1e-6, atol=1e-8
    )


def test_bags_and_images_with_a_nine_are_predicted():
    data = load_digit_bags(200, random_state=0)
    model = AttentionMILClassifier((32,), 16, max_epochs=80, random_state=0)
    model.fit(data.bags[:150], data.y[:150])
    test = data.bags[150:]
    assert roc_auc_score(data.y[150:], model.decision_function(test)) > 0.9
    z = data.instance_y[data.bags.offsets[150] :]
    assert roc_auc_score(z, model.decision_function_instances(test)) > 0.9


@pytest.mark.parametrize("sizes", [(), (4, 0), (2.5,), ("4",)])
def test_invalid_hidden_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match=r"hidden_sizes is .*; expected the number of units in every layer"):
        AttentionMILClassifier(sizes).fit(DATA.bags, DATA.y)


class CutOffError(Exception):
    """Raised to interrupt a fit."""


@pytest.mark.parametrize("epoch", [1, 12])
def test_an_interrupted_fit_resumes_with_identical_results(epoch, tmp_path, monkeypatch):
    model, path = AttentionMILClassifier(**QUICK), tmp_path / "fit.checkpoint"
    whole = AttentionMILClassifier(**QUICK).fit(DATA.bags, DATA.y)
    put, left = Store.put, [epoch + 1]

    def failing_put(store, *args, **kwargs):
        left[0] -= 1
        if left[0] < 0:
            raise CutOffError
        put(store, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "put", failing_put)
        with pytest.raises(CutOffError):
            model.fit(DATA.bags, DATA.y, checkpoint=path)
    asked = []
    loss = _Objective.__call__
    monkeypatch.setattr(_Objective, "__call__", lambda self, x: asked.append(x) or loss(self, x))
    model.fit(DATA.bags, DATA.y, checkpoint=path)
    assert len(asked) == len(whole.loss_history_) - epoch - 1 and not path.exists()
    np.testing.assert_array_equal(model.loss_history_, whole.loss_history_)
    np.testing.assert_array_equal(model.decision_function(DATA.bags), whole.decision_function(DATA.bags))


LATER = """
import numpy as np, bagwise
model = bagwise.load(sys.argv[1])
with np.load(sys.argv[2]) as expected:
    bags = bagwise.Bags(expected["X"], expected["offsets"])
    for name in ("predict", "predict_proba", "decision_function", "predict_instances",
                 "decision_function_instances", "attention_instances"):
        np.testing.assert_array_equal(getattr(model, name)(bags), expected[name])
bagwise.save(model, sys.argv[1] + "2")
"""


def test_a_saved_model_predicts_and_is_saved_again_without_torch(tmp_path):
    pytest.importorskip("skops", reason="model files need skops")
    model = AttentionMILClassifier(**QUICK).fit(DATA.bags, DATA.y)
    path = save(model, tmp_path / "model.bagwise")
    names = ("predict", "predict_proba", "decision_function", "predict_instances")
    names += ("decision_function_instances", "attention_instances")
    predictions = {name: getattr(model, name)(DATA.bags) for name in names}
    np.savez(tmp_path / "predictions.npz", X=DATA.bags.instances, offsets=DATA.bags.offsets, **predictions)
    run_without(["torch"], LATER, path, tmp_path / "predictions.npz")
    assert (tmp_path / "model.bagwise2").exists()


def test_fitted_weights_are_arrays_of_numpy():
    model = AttentionMILClassifier(**QUICK).fit(DATA.bags, DATA.y)
    network = model.network_
    arrays = [*network.tanh, *network.gate, network.attention, model.coef_]
    arrays += [array for layer in network.layers for array in layer]
    assert all(type(array) is np.ndarray and array.dtype == np.float64 for array in arrays)


def test_the_example_of_the_docstring_runs():
    test = doctest.DocTestParser().get_doctest(
        AttentionMILClassifier.__doc__.replace("  # doctest: +SKIP", ""), {}, "example", None, 0
    )
    assert len(test.examples) == 4
    assert doctest.DocTestRunner().run(test).failed == 0


def test_large_bags_give_the_same_fit(large_from):
    small = AttentionMILClassifier(**QUICK).fit(DATA.bags, DATA.y)
    large_from(0)
    large = AttentionMILClassifier(**QUICK).fit(Bags(DATA.bags.instances, DATA.bags.offsets), DATA.y)
    np.testing.assert_allclose(
        large.decision_function(DATA.bags), small.decision_function(DATA.bags), rtol=1e-9
    )
