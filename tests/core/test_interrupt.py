"""Ctrl-C sets a flag inside a block and raises an exception at its end."""

import signal
import threading
from types import SimpleNamespace

import pytest

from bagwise._core import interrupt
from bagwise._core.interrupt import interruptible, raise_if_stopped, stop_flag
from bagwise.solvers.result import SolverResult, Status, record_result


@pytest.fixture(autouse=True)
def keyboard():
    """Install the default SIGINT handler, which background processes lack, and check it afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    after = signal.signal(signal.SIGINT, before)
    assert after is signal.default_int_handler
    assert not stop_flag().is_set()


def press():
    signal.raise_signal(signal.SIGINT)


def test_the_first_interrupt_sets_a_flag_and_is_raised_at_the_end():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with interruptible() as stop:
            assert stop is stop_flag() and not stop.is_set()
            raise_if_stopped()
            press()
            assert stop.is_set()
            done.append("the rest of the block")
        done.append("not what follows")
    assert done == ["the rest of the block"]


def test_without_an_interrupt_nothing_happens():
    with interruptible() as stop:
        pass
    assert not stop.is_set()


def test_the_second_interrupt_ends_the_block_at_once():
    with pytest.raises(KeyboardInterrupt), interruptible():
        press()
        press()
        pytest.fail("the second interrupt did not raise")


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("i_call", [0, 1])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_while_a_block_begins_or_ends_leaves_nothing_behind(i_call, when, at_once, monkeypatch):
    calls, install = [], signal.signal

    def interrupted(*arguments):
        calls.append(arguments)
        is_hit = len(calls) == i_call + 1
        if is_hit and when == "before":
            press()
        before = install(*arguments)
        if is_hit and when == "after":
            press()
        return before

    monkeypatch.setattr("bagwise._core.interrupt.signal.signal", interrupted)
    with pytest.raises(KeyboardInterrupt), interruptible(at_once=at_once):
        pass
    monkeypatch.undo()
    assert interrupt._current is None and len(calls) <= 2


def test_the_second_interrupt_restores_the_usual_handler():
    after = []
    with pytest.raises(KeyboardInterrupt), interruptible():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
        after += [signal.getsignal(signal.SIGINT), stop_flag().is_set()]
    assert after == [signal.default_int_handler, False], "the state must be the same as after the block"


def test_it_is_a_decorator_whose_function_runs_again():
    @interruptible()
    def run(times):
        for _ in range(times):
            press()
        return times

    for _ in range(2):
        assert run(0) == 0
        with pytest.raises(KeyboardInterrupt):
            run(1)


def test_blocks_inside_another_share_its_flag_and_raise_too():
    with pytest.raises(KeyboardInterrupt), interruptible() as outer:
        with pytest.raises(KeyboardInterrupt), interruptible() as inner:
            assert inner is outer
            press()
        with pytest.raises(KeyboardInterrupt):
            raise_if_stopped()
        with pytest.raises(KeyboardInterrupt), interruptible():
            press()
            pytest.fail("the second interrupt did not raise")


@pytest.mark.parametrize(
    "error", [SystemError("a kernel returned a result with an exception set"), ValueError()]
)
def test_what_goes_wrong_after_an_interrupt_is_the_interrupt(error):
    """A scikit-learn search would continue after any other exception."""
    with pytest.raises(KeyboardInterrupt) as caught, interruptible():
        press()
        raise error
    assert caught.value.__cause__ is error
    with pytest.raises(type(error)), interruptible():
        raise error


def test_code_of_others_ends_at_once_and_a_fit_inside_it_after_its_step():
    with pytest.raises(KeyboardInterrupt), interruptible(), interruptible(at_once=True):
        press()
        pytest.fail("the first interrupt did not raise")
    steps = []
    with pytest.raises(KeyboardInterrupt), interruptible(at_once=True), interruptible():
        press()
        steps.append("waits")
    assert steps
    with pytest.raises(KeyboardInterrupt), interruptible():
        with interruptible(at_once=True):
            pass
        press()
        steps.append("waits again")
    assert steps == ["waits", "waits again"]


def test_a_stopped_fit_has_not_converged_even_if_a_start_has():
    model = SimpleNamespace(tol=1e-4)
    converged = SolverResult(None, 1.0, Status.CONVERGED, 1, (2.0, 1.0))
    record_result(model, [converged])
    assert model.converged_ is True
    with pytest.raises(KeyboardInterrupt), interruptible():
        press()
        record_result(model, [converged])
    assert model.converged_ is False and model.objective_ == 1.0
    record_result(model, [converged, SolverResult(None, 2.0, Status.INTERRUPTED, 0, (2.0,))])
    assert model.converged_ is False


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda signum, frame: None])
def test_a_program_that_has_its_own_handler_keeps_it(handler):
    signal.signal(signal.SIGINT, handler)
    with interruptible() as stop:
        assert signal.getsignal(signal.SIGINT) is handler
        press()
        assert not stop.is_set()
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is handler


def in_a_thread(function):
    """Start a function in a thread; return the thread and a list of its exceptions after it has begun."""
    raised, begun = [], threading.Event()

    def run():
        try:
            function(begun)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)
    return thread, raised


def wait_for_the_flag(begun):
    with interruptible() as stop:
        begun.set()
        assert stop.wait(60)


def test_a_block_in_a_worker_thread_is_stopped_by_the_main_thread():
    with pytest.raises(KeyboardInterrupt), interruptible():
        thread, raised = in_a_thread(wait_for_the_flag)
        assert thread.is_alive()
        press()
        thread.join(60)
    assert not thread.is_alive() and [type(error) for error in raised] == [KeyboardInterrupt]


def test_a_worker_thread_is_stopped_although_the_main_thread_does_not_wait():
    with pytest.raises(KeyboardInterrupt), interruptible(at_once=True):
        thread, raised = in_a_thread(wait_for_the_flag)
        press()
    thread.join(60)
    assert [type(error) for error in raised] == [KeyboardInterrupt]


def test_a_block_in_a_worker_thread_alone_leaves_signals_alone():
    def look(begun):
        with interruptible() as stop:
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert not stop.is_set()
        begun.set()

    thread, raised = in_a_thread(look)
    thread.join(60)
    assert not raised
