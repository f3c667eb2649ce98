"""Adam with full gradients: steps, stopping, and the returned point."""

import numpy as np
import pytest

from bagwise.solvers.adam import adam
from bagwise.solvers.control import Control
from bagwise.solvers.result import Status

SCALES = np.array([1.0, 30.0, 0.1])


def bowl(x):
    value = 0.5 * float(SCALES @ (x - 1.0) ** 2)
    return value, value, SCALES * (x - 1.0)


def run(ask=bowl, start=(0.0, 0.0, 0.0), max_iter=50, patience=10**6, learning_rate=0.1, **control):
    settings = Control(0.0, max_iter, **control)
    return adam(ask, np.array(start), settings, learning_rate=learning_rate, patience=patience)


def test_steps_equal_those_of_torch():
    torch = pytest.importorskip("torch", reason="needs torch's Adam")
    theirs = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([theirs], lr=0.1)
    points = []

    def ask(x):
        points.append(x)
        return bowl(x)

    run(ask, max_iter=40)
    for point in points:
        np.testing.assert_allclose(point, theirs.detach().numpy(), rtol=1e-12, atol=1e-14)
        optimizer.zero_grad()
        (0.5 * (torch.from_numpy(SCALES) * (theirs - 1.0) ** 2).sum()).backward()
        optimizer.step()


def test_first_step_equals_the_learning_rate_in_every_coordinate():
    result = run(max_iter=1, learning_rate=0.25)
    np.testing.assert_allclose(result.x, 0.25, rtol=1e-6)


def test_adam_converges_near_the_minimum():
    result = run(max_iter=2000)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3)
    assert result.status is Status.CONVERGED and result.n_iter == len(result.history) - 1 == 2000


def test_best_monitored_point_is_returned_when_patience_runs_out():
    points = []

    def ask(x):
        points.append(x)
        value, _, gradient = bowl(x)
        return value, abs(len(points) - 8.0), gradient  # minimum at the eighth point, epoch 7

    result = run(ask, patience=5)
    assert result.best == 7 and result.n_iter == 12 and len(points) == 13
    np.testing.assert_array_equal(result.x, points[7])
    assert result.value == bowl(points[7])[0]
    assert result.watched == tuple(abs(n - 7.0) for n in range(13))


def test_first_of_equal_monitored_values_is_kept():
    result = run(lambda x: (*bowl(x)[:1], 1.0, bowl(x)[2]), patience=3)
    assert result.best == 0 and result.n_iter == 3


def test_value_that_is_not_finite_ends_the_run_with_the_best_point():
    calls = []

    def ask(x):
        calls.append(x)
        value, watched, gradient = bowl(x)
        return (np.nan if len(calls) == 5 else value), watched, gradient

    result = run(ask)
    assert result.status is Status.NOT_FINITE and len(result.history) == 4
    np.testing.assert_array_equal(result.x, calls[3])


def test_every_epoch_is_reported_with_its_value():
    reported = []
    result = run(max_iter=5, on_iteration=lambda iteration, value: reported.append((iteration, value)))
    assert reported == list(enumerate(result.history))
