"""The destinations of the output of `verbose`."""

import io
import logging
import sys

import numpy as np
import pytest

from bagwise import MILogisticRegression, MILogisticRegressionCV, MIMixture, make_noisy_or_bags
from bagwise._core.live_line import PlainLine, Progress
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
