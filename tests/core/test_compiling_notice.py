"""The compiling notice is shown once while the compiler runs."""

import logging
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from bagwise._core.compiled import notice
from bagwise._core.compiled.notice import CompilingNotice
from bagwise._core.compiled.running import compiling


def compile_event(module="bagwise._core.compiled.or_"):
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


class Terminal:
    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def terminal(monkeypatch):
    terminal = Terminal()
    # Patch the module's `sys`, because pytest replaces sys.stderr when the test begins.
    monkeypatch.setattr(notice, "sys", SimpleNamespace(stderr=terminal, modules={}))
    monkeypatch.setattr(
        notice.multiprocessing, "current_process", lambda: SimpleNamespace(name="MainProcess")
    )
    return terminal


def compile_for(listener, seconds, event=None):
    listener.on_start(event or compile_event())
    time.sleep(seconds)
    listener.on_end(event or compile_event())


def test_the_notice_is_shown_once_while_the_compiler_runs(terminal):
    listener = CompilingNotice(patience=0.05)
    listener.on_start(compile_event())
    listener.on_start(compile_event())  # a nested compilation
    listener.on_end(compile_event())
    assert terminal.text == ""
    time.sleep(0.3)
    assert terminal.text.count("compiling (first run only") == 1
    listener.on_end(compile_event())
    compile_for(listener, 0.2)
    assert terminal.text.count("compiling (first run only") == 1


def test_short_compilations_add_up(terminal):
    listener = CompilingNotice(patience=0.5)
    compile_for(listener, 0.3)
    time.sleep(0.5)  # time between compilations does not count
    assert terminal.text == ""
    compile_for(listener, 0.5)
    assert terminal.text.count("compiling (first run only") == 1


def test_progress_lines_know_that_the_compiler_runs_also_after_the_notice(terminal):
    listener = CompilingNotice(patience=0.0)
    for _ in range(2):
        listener.on_start(compile_event())
        listener.on_start(compile_event())
        listener.on_end(compile_event())
        assert compiling.is_set()
        time.sleep(0.05)
        listener.on_end(compile_event())
        assert not compiling.is_set()
    assert terminal.text.count("compiling (first run only") == 1


def test_no_notice_for_other_packages_or_in_workers(terminal, monkeypatch):
    listener = CompilingNotice(patience=0.01)
    compile_for(listener, 0.1, compile_event("somebody.else"))
    monkeypatch.setattr(
        notice.multiprocessing, "current_process", lambda: SimpleNamespace(name="LokyProcess-1")
    )
    compile_for(listener, 0.1)
    assert terminal.text == ""


def test_without_a_terminal_the_notice_is_logged(terminal, monkeypatch, caplog):
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    listener = CompilingNotice(patience=0.01)
    with caplog.at_level(logging.INFO, logger="bagwise"):
        compile_for(listener, 0.2)
    assert terminal.text == "" and "compiling (first run only" in caplog.text


CODE = """
import numpy as np
from bagwise._core.compiled import notice
notice.CompilingNotice.__init__.__defaults__ = (0.05,)
from bagwise._core.compiled.or_ import *
from bagwise.rules import Or
Or().log_proba(np.zeros(4), np.array([0, 2, 4]))
"""


@pytest.mark.slow
def test_only_compiled_kernels_are_reported_not_cached_ones(tmp_path):
    pty = pytest.importorskip("pty", reason="needs a terminal")
    for expected in (1, 0):  # the second process loads it from the cache
        master, slave = pty.openpty()
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", CODE], env=environment, stderr=slave, check=False)
        os.close(slave)
        os.set_blocking(master, False)
        try:
            text = os.read(master, 10_000).decode()
        except (OSError, BlockingIOError):
            text = ""
        os.close(master)
        assert done.returncode == 0 and text.count("compiling (first run only") == expected, text
    assert np.any([path.suffix == ".nbi" for path in tmp_path.rglob("*")])
