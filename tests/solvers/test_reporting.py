"""The destinations of the output of `verbose`."""

import io
import logging
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from bagwise import MILogisticRegression, MILogisticRegressionCV, MIMixture, make_noisy_or_bags
from bagwise._core import live_line
from bagwise._core.compiled.running import COMPILING, compiling
from bagwise._core.live_line import MinuteLine, PlainLine, Progress, Steps
from bagwise.solvers import reporting
from bagwise.solvers.reporting import Reporter


@pytest.fixture
def alone(monkeypatch):
    """Return a logger as in a plain script, without handlers and with the default level."""
    logger = logging.Manager(logging.RootLogger(logging.WARNING)).getLogger("bagwise")
    monkeypatch.setattr(reporting, "_logger", logger)
    return logger


def test_without_logging_messages_go_to_standard_error(alone, capsys):
    Reporter("Model", 2).iteration(3, 1.5)
    Reporter("Model", 2).iteration(4, 1.25)
    lines = ["Model: iteration 3: objective 1.5", "Model: iteration 4: objective 1.25"]
    assert capsys.readouterr().err.splitlines() == lines
    assert len(alone.handlers) == 1


def test_configured_logging_receives_messages_only_once(alone, capsys):
    heard = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    alone.addHandler(handler)
    Reporter("Model", 2).iteration(3, 1.5)
    assert heard == ["Model: iteration 3: objective 1.5"] and not capsys.readouterr().err


def test_without_verbose_nothing_is_printed_or_configured(alone, capsys):
    Reporter("Model", 0).iteration(3, 1.5)
    assert not capsys.readouterr().err and not alone.handlers and not alone.isEnabledFor(logging.INFO)


# ---------------------------------------------------------------------- the live line


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(params=["plain", "rich"])
def terminal(request, alone, monkeypatch, large_from):
    if request.param == "plain":
        for module in ("rich", "rich.console", "rich.live"):
            monkeypatch.setitem(sys.modules, module, None)
    else:
        pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm-256color")
    large_from(100)
    monkeypatch.setattr("bagwise._core.live_line._BETWEEN", 0.0)

    def watch():  # called in the test, because pytest replaces sys.stderr after the fixtures
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return watch


@pytest.mark.parametrize(
    "model",
    [
        MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0, verbose=1),
        MILogisticRegressionCV(alphas=3, cv=2, n_init=1, random_state=0, verbose=1),
        MIMixture(n_init=2, random_state=0, verbose=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_terminal_shows_progress_of_a_fit_in_a_single_line(model, terminal):
    data, stream = make_noisy_or_bags(200, random_state=0), terminal()
    model.fit(data.bags, data.y)
    output = stream.getvalue()
    assert type(model).__name__ in output
    last = output.rstrip().splitlines()[-1]
    assert f"objective {model.objective_:.6g}"[:15] in last
    assert "passes over 200 bags" in last
    assert reporting._line is None


def test_plain_progress_line_is_overwritten(terminal):
    if "rich.live" in sys.modules and sys.modules["rich.live"] is not None:
        pytest.skip("rich writes the line in another way")
    data, stream = make_noisy_or_bags(200, random_state=0), terminal()
    MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0, verbose=1).fit(data.bags, data.y)
    output = stream.getvalue()
    assert output.count("\n") == 1
    assert "pass 1, 100%" in output or "pass 2, 0%" in output
    assert "bags/s" in output


def test_a_fit_that_fails_ends_its_line(terminal):
    terminal()
    with pytest.raises(ValueError, match="NaN"):
        MILogisticRegression(verbose=1).fit([np.full((2, 2), np.nan), np.ones((1, 2))], [0, 1])
    assert reporting._line is None
    assert not reporting._is_fitting


def test_without_terminal_every_start_is_a_line(alone, capsys):
    data = make_noisy_or_bags(60, random_state=0)
    MILogisticRegression(l1_ratio=0.0, n_init=2, random_state=0, verbose=1).fit(data.bags, data.y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1] for line in lines] == [" start 1 of 2", " start 2 of 2"]


def test_remaining_time_is_that_of_the_current_pass(monkeypatch):
    clock = iter(np.arange(0.0, 100.0, 2.0))
    monkeypatch.setattr("bagwise._core.live_line.time.monotonic", lambda: next(clock))
    progress = Progress("Model", n_bags=100)
    progress.bags_done(10)
    progress.bags_done(10)
    assert progress.rate == 5.0
    assert progress.parts()[-1] == "0:16 left of this pass"
    assert "workers" not in " ".join(progress.parts())
    progress.n_blocks, progress.n_workers = 3, 2
    assert "2 of 3 blocks on 2 workers" in progress.parts()
    progress.bags_done(80)
    assert progress.n_passes == 1
    assert progress.share == 0.0


def test_a_narrow_terminal_cuts_the_line(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "30")
    PlainLine(Progress("SoftORLogisticRegression", doing="start 1 of 5", objective=1.5)).show()
    written = capsys.readouterr().err.replace("\r", "").replace("\x1b[K", "")
    assert written == "SoftORLogisticRegression | 0:00 | objective"[:29]


# ---------------------------------------------------------------------- time left, and a line per minute


class Clock:
    """A clock that only waiting moves. The task ends at `end`; the minute line runs in the same thread."""

    def __init__(self, monkeypatch, end):
        self.now, self.end = 0.0, end
        monkeypatch.setattr(live_line.time, "monotonic", lambda: self.now)
        fake = SimpleNamespace(Event=lambda: self, Thread=lambda target, **_: SimpleNamespace(start=target))
        monkeypatch.setattr(live_line, "threading", fake)

    def wait(self, seconds):
        self.now += seconds
        return self.now >= self.end


def test_time_left_is_that_of_the_remaining_steps(monkeypatch):
    clock = Clock(monkeypatch, 0)
    steps = Steps(4)
    clock.now = 30.0
    assert steps.left == ""  # no step has ended
    steps.complete(1)
    assert steps.left == "about 1:30 left"
    clock.now = 50.0
    assert steps.left == "about 1:10 left"
    clock.now = 120.0  # the second step takes longer than the first: two steps remain
    assert steps.left == "about 1:00 left"
    steps.complete(3)
    assert steps.left == "about 0:40 left"
    steps.complete(4)
    assert steps.left == ""


def test_without_terminal_a_line_is_written_every_minute(monkeypatch):
    lines = []
    Clock(monkeypatch, 150.0)
    progress = Progress("Model", doing="start 2 of 3", steps=Steps(3, 1, began=-30.0))
    MinuteLine(progress, lines.append)
    assert lines == [
        "Model: 1:00, about 0:30 left, start 2 of 3",
        "Model: 2:00, about 0:30 left, start 2 of 3",
    ]


def test_a_minute_line_mentions_the_compiler(monkeypatch):
    lines = []
    Clock(monkeypatch, 61.0)
    compiling.set()
    try:
        MinuteLine(Progress("Model"), lines.append)
    finally:
        compiling.clear()
    assert lines == [f"Model: 1:00, {COMPILING}"]


def test_a_run_of_less_than_a_minute_writes_no_line(monkeypatch):
    lines = []
    Clock(monkeypatch, 59.0)
    MinuteLine(Progress("Model"), lines.append)
    assert not lines


@pytest.mark.parametrize("verbose", [0, 1])
def test_minute_lines_need_verbose_and_end_with_the_fit(alone, capsys, monkeypatch, verbose):
    monkeypatch.setattr(live_line, "_MINUTE", 0.05)
    with reporting.shared_live_line():
        reporter = Reporter("Model", verbose)
        with reporter.progress(2) as begin:
            begin("")
            begin("first")
            time.sleep(0.3)
    assert reporting._line is None
    written = capsys.readouterr().err
    if verbose:
        assert "Model: 0:00, 1 of 2: first" in written.splitlines()
    else:
        assert not written
    time.sleep(0.1)
    assert not capsys.readouterr().err
    assert not any(
        thread.name == "bagwise-progress" and thread.is_alive() for thread in threading.enumerate()
    )


def test_starts_folds_and_steps_estimate_the_time_left(alone, terminal, monkeypatch):
    terminal()
    now = 0.0
    monkeypatch.setattr(live_line.time, "monotonic", lambda: now)
    result = SimpleNamespace(value=1.0)
    reports = {
        "start": lambda reporter: reporter.start(0, 4, result),
        "fold": lambda reporter: reporter.fold(0, 2, "setting", [], n_settings=2),
        "step": lambda reporter: reporter.step("second", n_steps=4),
    }
    for name, report in reports.items():
        with reporting.shared_live_line():
            reporter = Reporter("Model", 1)
            if name == "step":
                reporter.step("first", n_steps=4)
            now += 10.0
            report(reporter)
            assert reporting._line.progress.steps.left == "about 0:30 left", name


def test_steps_of_different_lengths_count_by_their_expected_time(monkeypatch):
    now = 0.0
    monkeypatch.setattr(live_line.time, "monotonic", lambda: now)
    steps = live_line.Steps(4, -1, expected=[1.0, 1.0, 600.0, 600.0])
    assert steps.left == "about 20:02 left"
    now = 4.0  # twice the expected time of two short steps changes little
    steps.complete(2)
    assert steps.left == "about 20:38 left"
    now = 1004.0
    steps.complete(3)
    assert steps.left == "about 16:04 left"
    steps.complete(4)
    assert steps.left == ""


def test_rounds_multiply_the_steps(alone, terminal):
    terminal()
    with reporting.shared_live_line():
        reporter = Reporter("Model", 1, n_rounds=3)
        reporter.step("first", n_steps=4)
        assert reporting._line.progress.steps.n_steps == 12
