"""Where the words of `verbose` go."""

import logging

import pytest

from bagwise import reporting
from bagwise.reporting import Reporter


@pytest.fixture
def alone(monkeypatch):
    """A logger as a plain script finds it: nobody listens, and information is not asked for."""
    logger = logging.Manager(logging.RootLogger(logging.WARNING)).getLogger("bagwise")
    monkeypatch.setattr(reporting, "_logger", logger)
    return logger


def test_without_any_logging_the_words_go_to_standard_error(alone, capsys):
    Reporter("Model", 2).iteration(3, 1.5)
    Reporter("Model", 2).iteration(4, 1.25)
    lines = ["Model: iteration 3: objective 1.5", "Model: iteration 4: objective 1.25"]
    assert capsys.readouterr().err.splitlines() == lines
    assert len(alone.handlers) == 1


def test_a_program_that_listens_gets_the_words_alone(alone, capsys):
    heard = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    alone.addHandler(handler)
    Reporter("Model", 2).iteration(3, 1.5)
    assert heard == ["Model: iteration 3: objective 1.5"] and not capsys.readouterr().err


def test_without_verbose_nothing_is_said_and_nothing_is_set(alone, capsys):
    Reporter("Model", 0).iteration(3, 1.5)
    assert not capsys.readouterr().err and not alone.handlers and not alone.isEnabledFor(logging.INFO)
