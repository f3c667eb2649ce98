"""Ctrl-C as a SIGINT from another process, during fits, searches and commands.

The tests do not depend on timing: the child process prints a line when it is within a step, and waits for the
signal.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.studies import always

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

BEGIN = """
import os, signal, sys, threading, time
import numpy as np
from bagwise import *
from bagwise.solvers import Control

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if tests run in the background
data = make_mixture_bags(60, separation=0.5, random_state=0)
"""
# At the 20th check of the stop flag, the solver prints a line, and waits until the flag is set.
WAIT_IN_A_STEP = """
n_checks = 0

def is_stopped(control):
    global n_checks
    n_checks += 1
    if n_checks == 20:
        print("in a step", flush=True)
        until = time.monotonic() + 300
        while not control.stop.is_set() and time.monotonic() < until:
            time.sleep(0.01)
    return control.stop.is_set()

Control.is_stopped = property(is_stopped)
"""
KEPT = """
try:
    model.fit(data.bags, data.y)
except KeyboardInterrupt:
    print("interrupted", model.converged_, model.predict(data.bags).shape, flush=True)
"""


def start(code, *, waits=True, **options):
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + waits * WAIT_IN_A_STEP + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def interrupt(process, line="in a step\n"):
    """Send SIGINT to a process after it has printed this line."""
    if line not in process.stdout:  # reads until the line appears
        pytest.fail(f"the process ended: {end(process)}")
    process.send_signal(signal.SIGINT)


def end(process):
    try:
        return process.communicate(timeout=300)
    finally:
        process.kill()


MODELS = [
    "MIMixture(n_init=1000, tol=1e-15, random_state=0)",
    "MIMixture(n_init=1000, tol=1e-15, random_state=0, n_jobs=2)",
    "MILogisticRegression(alpha=0.1, tol=1e-12, random_state=0)",
    "MILogisticRegression(l1_ratio=0.0, n_init=1000, tol=1e-12, random_state=0)",
    "MissSVC(n_init=1000, tol=1e-12, random_state=0)",
    "PUMILClassifier(n_candidates=50, random_state=0)",
]


@pytest.mark.parametrize("model", always([MODELS[1], MODELS[3]], MODELS))
def test_a_fit_ends_with_what_was_reached(model):
    process = start(f"model = {model}\n{KEPT}")
    interrupt(process)
    out, err = end(process)
    assert (out, err, process.returncode) == ("interrupted False (60,)\n", "", 0)


SEARCHES = ["cross_val_score(model, data.bags, data.y)", "GridSearchCV(model, grid).fit(data.bags, data.y)"]


@pytest.mark.parametrize("search", always(SEARCHES[:1], SEARCHES))
def test_a_search_ends_with_the_fit_inside_it(search):
    process = start(
        f"""
        from sklearn.model_selection import GridSearchCV, cross_val_score
        model, grid = MIMixture(n_init=5, tol=1e-15, random_state=0), {{"n_init": [4, 5]}}
        {search}
        print("the search continued")
        """
    )
    interrupt(process)
    out, err = end(process)
    assert out == "" and err.endswith("KeyboardInterrupt\n") and process.returncode != 0


def test_the_second_interrupt_does_not_wait_for_a_step():
    process = start(
        """
        n_checks = 0

        def is_stopped(control):
            global n_checks
            n_checks += 1
            if n_checks == 1:
                print("in a step", flush=True)
            if control.stop.is_set():
                print("still at it", flush=True)
                time.sleep(300)
            return False

        Control.is_stopped = property(is_stopped)
        MIMixture(n_init=10**6, tol=1e-15, random_state=0).fit(data.bags, data.y)
        """
    )
    interrupt(process)
    interrupt(process, "still at it\n")
    out, err = end(process)
    assert out == "" and err.endswith("KeyboardInterrupt\n")


@pytest.mark.study  # joblib can take long to end its processes
def test_pairs_in_other_processes_end_with_the_main_one():
    """Only the main process receives the signal, as if another program, not a terminal, sent it."""
    process = start(
        """
        from bagwise.models.wrappers.multiclass import OneVsOneBagClassifier

        class Slow(MIMixture):
            def fit(self, X, y, sample_weight=None):
                print("in a step", flush=True)
                time.sleep(300)

        OneVsOneBagClassifier(Slow(), n_jobs=2).fit(data.bags, np.arange(60) % 3)
        """,
        start_new_session=True,
    )
    try:
        assert "in a step\n" in process.stdout, end(process)  # printed by the child process
        interrupt(process)
        _, err = end(process)
        assert "KeyboardInterrupt" in err and process.returncode != 0
        until = time.monotonic() + 60
        while time.monotonic() < until:
            os.killpg(process.pid, 0)
            time.sleep(0.1)
        pytest.fail("child processes are still running")
    except ProcessLookupError:
        pass  # all processes of the group have ended
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("bagwise.cli", ["demo", "--bags", "40"]), ("reproduction.__main__", ["mimm-fig3", "--quick"])],
)
def test_the_program_ends_with_status_130(module, arguments, tmp_path):
    code = f"sys.path.insert(0, {str(ROOT)!r})\nfrom {module} import main\nsys.exit(main({arguments!r}))"
    process = start(code, cwd=tmp_path)
    interrupt(process)
    _, err = end(process)
    assert err.endswith("bagwise: stopped by Ctrl-C.\n") and process.returncode == 130
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.study  # the interrupts come at random times
def test_interrupts_at_any_time_are_never_another_error():
    """Without protection, one in three exceptions raised inside a kernel becomes a SystemError."""
    process = start(
        """
        data = make_mixture_bags(2000, separation=0.3, random_state=0)
        model = MIMixture(n_init=1, random_state=0).fit(data.bags, data.y)
        rng = np.random.default_rng(0)

        def run():
            model.fit(data.bags, data.y)
            model.predict(data.bags)

        run()  # loads all kernels; interrupts while LLVM loads kernels are not supported
        for method in (run, lambda: model.predict(data.bags)):
            for _ in range(100):
                timer = threading.Timer(rng.uniform(0, 0.03), os.kill, (os.getpid(), signal.SIGINT))
                try:
                    timer.start()
                    while True:
                        method()
                except KeyboardInterrupt:
                    pass
                timer.join()
        print("done")
        """,
        waits=False,
    )
    assert end(process) == ("done\n", "")
