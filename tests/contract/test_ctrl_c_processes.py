"""Ctrl-C as it comes: SIGINT from another process, in fits, searches and the program.

Nothing depends on how fast the machine is: the process that is to be interrupted says when it is in the midst
of a step, and waits there for the signal.
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
# A solver that looks at its flag for the 20th time says so, and goes on when the flag is set.
WAIT_IN_A_STEP = """
n_looks = 0

def is_stopped(control):
    global n_looks
    n_looks += 1
    if n_looks == 20:
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
    """Send SIGINT to a process when it has said where it is."""
    if line not in process.stdout:  # reads until it comes
        pytest.fail(f"it ended: {end(process)}")
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
        print("it went on")
        """
    )
    interrupt(process)
    out, err = end(process)
    assert out == "" and err.endswith("KeyboardInterrupt\n") and process.returncode != 0


def test_the_second_interrupt_does_not_wait_for_a_step():
    process = start(
        """
        n_looks = 0

        def never_looks(control):
            global n_looks
            n_looks += 1
            if n_looks == 1:
                print("in a step", flush=True)
            if control.stop.is_set():
                print("still at it", flush=True)
                time.sleep(300)
            return False

        Control.is_stopped = property(never_looks)
        MIMixture(n_init=10**6, tol=1e-15, random_state=0).fit(data.bags, data.y)
        """
    )
    interrupt(process)
    interrupt(process, "still at it\n")
    out, err = end(process)
    assert out == "" and err.endswith("KeyboardInterrupt\n")


@pytest.mark.study  # how long joblib takes to end its processes is its own affair
def test_pairs_in_other_processes_end_with_the_main_one():
    """The signal meets the main process alone, as that of a program and not of a terminal does."""
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
        assert "in a step\n" in process.stdout, end(process)  # of the other process
        interrupt(process)
        _, err = end(process)
        assert "KeyboardInterrupt" in err and process.returncode != 0
        until = time.monotonic() + 60
        while time.monotonic() < until:
            os.killpg(process.pid, 0)
            time.sleep(0.1)
        pytest.fail("other processes go on")
    except ProcessLookupError:
        pass  # none of the group is left
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


@pytest.mark.study  # by chance
def test_interrupts_at_any_time_are_never_another_error():
    """An exception that strikes inside a kernel comes out as a SystemError, one time in three."""
    process = start(
        """
        data = make_mixture_bags(2000, separation=0.3, random_state=0)
        model = MIMixture(n_init=1, random_state=0).fit(data.bags, data.y)
        rng = np.random.default_rng(0)

        def run():
            model.fit(data.bags, data.y)
            model.predict(data.bags)

        run()  # so that all kernels are loaded: LLVM, which does that, does not stand interrupts
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
