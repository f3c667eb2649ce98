import threading

import numpy as np
import pytest

from bagwise.data.blocks import MemoryBlocks
from bagwise.solvers import Control, Status, best_of, run_em


class CoinModel:
    """The textbook EM of two coins: an instance is the number of heads in ten throws of one coin."""

    def __init__(self, overstep=1.0):
        self.overstep = overstep

    def init(self, blocks, rng):
        return rng.uniform(0.2, 0.8, size=2)

    def estep(self, block, params):
        heads = block.X
        joint = heads * np.log(params) + (10 - heads) * np.log1p(-params) + np.log(0.5)
        each = np.logaddexp.reduce(joint, axis=1)
        share = np.exp(joint - each[:, None])
        return np.concatenate([[each.sum()], share.sum(0), (share * heads).sum(0)])

    def complete(self, statistics, params):
        return statistics

    def mstep(self, statistics, params):
        best = statistics[3:] / (10 * statistics[1:3])
        packed, target = self.pack(params), self.pack(best)
        return self.unpack(packed + self.overstep * (target - packed), params)

    def objective(self, statistics, params):
        return -statistics[0]

    def pack(self, params):
        return np.log(params) - np.log1p(-params)

    def unpack(self, vector, params):
        return 1 / (1 + np.exp(-vector))

    def watch(self, statistics):
        return statistics[1]


HEADS = np.array([[5.0], [9.0], [8.0], [4.0], [7.0], [9.0], [2.0]])
BLOCKS = MemoryBlocks(HEADS, np.arange(8), np.zeros(7), np.ones(7), most=4)


def fit(model=None, *, n_init=5, n_jobs=None, on_start=None, **control):
    return run_em(
        model or CoinModel(),
        BLOCKS,
        Control(**{"tol": 1e-12, "max_iter": 500, **control}),
        n_init=n_init,
        rng=np.random.RandomState(0),
        n_jobs=n_jobs,
        on_start=on_start,
    )


def test_em_finds_the_maximum_and_never_increases_the_objective():
    best = best_of(fit())
    assert best.status is Status.CONVERGED
    slope = [best_value(best.x + step) - best_value(best.x - step) for step in ([1e-4, 0.0], [0.0, 1e-4])]
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)
    assert (np.diff(best.history) <= 0).all()
    assert best.history[-1] == best.value and best.n_iter == len(best.history) - 1


def best_value(params):
    return -BLOCKS.total(CoinModel().estep, params)[0]


def test_an_mstep_that_oversteps_is_halved_until_the_objective_falls():
    model = CoinModel(overstep=6.0)
    first = CoinModel().init(BLOCKS, np.random.RandomState(np.random.RandomState(0).randint(2**31 - 1)))
    statistics = BLOCKS.total(model.estep, first)
    assert best_value(model.mstep(statistics, first)) > best_value(first), "the step must overstep"
    result = fit(model, n_init=1)[0]
    assert (np.diff(result.history) <= 1e-9 * abs(result.value)).all()
    assert result.value == pytest.approx(fit(n_init=1)[0].value, abs=1e-6)


def test_extrapolated_steps_reach_the_same_optimum_in_fewer_passes():
    """A model of half steps converges slowly."""
    calls = []

    class Counted(CoinModel):
        def estep(self, block, params):
            calls.append(1)
            return super().estep(block, params)

    def run(extrapolate):
        calls.clear()
        control = Control(1e-12, 500)
        rng = np.random.RandomState(0)
        results = run_em(Counted(overstep=0.2), BLOCKS, control, n_init=3, rng=rng, extrapolate=extrapolate)
        return results, len(calls)

    (plain, n_plain), (results, n_calls) = run(False), run(True)
    assert n_calls < 0.17 * n_plain  # 0.2 if the M step before an extrapolation took an E step
    for result, slow in zip(results, plain, strict=True):
        assert (np.diff(result.history) <= 1e-9 * abs(result.value)).all()
        assert result.converged and result.value == pytest.approx(slow.value, abs=1e-7)
        assert best_value(result.x) == result.value


@pytest.mark.parametrize("failure", ["singular", "worse"])
def test_a_bad_extrapolation_is_discarded(failure):
    calls = []

    class Bad(CoinModel):
        def mstep(self, statistics, params):
            return CoinModel(overstep=0.5).mstep(statistics, params)

        def unpack(self, vector, params):
            calls.append(1)
            if failure == "singular":
                raise np.linalg.LinAlgError("the covariance of a component is numerically singular")
            return np.array([0.01, 0.99])

    control, rng = Control(1e-12, 500), np.random.RandomState(0)
    (result,) = run_em(Bad(), BLOCKS, control, n_init=1, rng=rng, extrapolate=True)
    assert calls and result.converged
    assert (np.diff(result.history) <= 1e-9 * abs(result.value)).all()
    assert result.value == pytest.approx(fit(n_init=1)[0].value, abs=1e-9)


def test_model_whose_steps_only_increase_the_objective_stalls():
    class Climber(CoinModel):
        def mstep(self, statistics, params):
            return params

        def objective(self, statistics, params):
            self.calls = getattr(self, "calls", 0) + 1
            return float(self.calls)

    result = fit(Climber(), n_init=1)[0]
    assert result.status is Status.STALLED and result.n_iter == 0 and result.value == 1.0


def test_a_start_that_is_not_finite_is_reported_and_never_the_best():
    class Broken(CoinModel):
        def init(self, blocks, rng):
            return np.array([0.0, 1.0]) if rng.uniform() < 0.5 else super().init(blocks, rng)

        def estep(self, block, params):
            with np.errstate(all="ignore"):
                return super().estep(block, params)

    results = fit(Broken(), n_init=8)
    assert {result.status for result in results} == {Status.NOT_FINITE, Status.CONVERGED}
    assert best_of(results).converged


def test_max_iter_is_not_convergence():
    result = fit(n_init=1, max_iter=3)[0]
    assert result.status is Status.MAX_ITER and result.n_iter == 3


def test_tolerance_is_relative_to_the_objective():
    strict, loose = fit(n_init=1, tol=1e-12)[0], fit(n_init=1, tol=1e-3)[0]
    assert loose.n_iter < strict.n_iter
    gains = -np.diff(loose.history)
    assert gains[-1] <= 1e-3 * abs(loose.value) < gains[:-1].min()


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs):
    single, threaded = fit(), fit(n_jobs=n_jobs)
    assert [r.history for r in single] == [r.history for r in threaded]


def test_callbacks_receive_every_iteration_and_start():
    iterations, starts = [], []
    results = fit(
        n_init=2,
        on_iteration=lambda i, value: iterations.append((i, value)),
        on_start=lambda index, of, result: starts.append((index, of, result.value)),
    )
    assert starts == [(0, 2, results[0].value), (1, 2, results[1].value)]
    assert iterations[: results[0].n_iter] == list(enumerate(results[0].history))[1:]


@pytest.mark.parametrize("n_iter", [0, 1, 5])
def test_a_run_that_is_stopped_keeps_the_best_parameters_so_far(n_iter):
    stop = threading.Event()
    if n_iter == 0:
        stop.set()
    results = fit(n_init=4, stop=stop, on_iteration=lambda i, _: stop.set() if i == n_iter else None)
    whole = fit(n_init=1)[0]
    assert len(results) == 1, "starts that have not begun must be omitted"
    assert results[0].status is Status.INTERRUPTED and results[0].n_iter == n_iter
    assert results[0].history == whole.history[: n_iter + 1]
    assert best_value(results[0].x) == results[0].value


def test_stop_flag_ends_all_threads():
    stop, begun = threading.Event(), threading.Barrier(2, timeout=60)

    class Endless(CoinModel):
        def init(self, blocks, rng):
            begun.wait()
            return super().init(blocks, rng)

    results = fit(
        Endless(),
        n_init=8,
        n_jobs=2,
        stop=stop,
        tol=-1.0,
        max_iter=10**9,
        on_iteration=lambda i, _: stop.set() if i >= 50 else None,
    )
    assert [result.status for result in results] == [Status.INTERRUPTED] * 2


def test_a_second_interrupt_is_passed_on():
    class Interrupted(CoinModel):
        def estep(self, block, params):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Interrupted())


def test_starts_that_share_passes_equal_separate_starts(large_from):
    alone = fit()
    large_from(1)
    before = BLOCKS.n_passes
    together = fit()
    assert [r.history for r in together] == [r.history for r in alone]
    assert BLOCKS.n_passes - before == 1 + max(r.n_iter for r in alone)


def test_stop_flag_ends_starts_that_share_passes(large_from):
    large_from(1)
    stop = threading.Event()
    results = fit(
        n_init=4,
        stop=stop,
        tol=-1.0,
        max_iter=10**9,
        on_iteration=lambda i, _: stop.set() if i >= 50 else None,
    )
    assert [result.status for result in results] == [Status.INTERRUPTED] * 4
    assert all(best_value(result.x) == result.value for result in results)


def test_monitored_value_is_kept_for_start_and_every_iteration():
    model = CoinModel()
    (result,) = fit(model, n_init=1, tol=1e-8)
    params = model.init(
        BLOCKS, np.random.RandomState(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    )
    expected = []
    for _ in result.history:
        statistics = BLOCKS.total(model.estep, params)
        expected.append(statistics[1])
        params = model.mstep(statistics, params)
    np.testing.assert_allclose(result.watched, expected, rtol=1e-12)

    class Quiet(CoinModel):
        def watch(self, statistics):
            return None

    assert fit(Quiet(), n_init=1, tol=1e-8)[0].watched == ()
