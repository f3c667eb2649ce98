"""A killed comparison resumes from its checkpoint."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
import bagwise.persist.checkpoints.store as store
store._EVERY = store._SHARE = 0.0  # written after every cell
from bagwise import compare
from tests.evaluation.comparison.recorders import FITTED, Dies, Recorder
from tests.evaluation.comparison.test_compare import make_indexed_bags
bags, y, _ = make_indexed_bags(30)
comparison = compare(bags, y, {"first": Recorder(), "dies": Dies()}, checkpoint=sys.argv[1], verbose=0)
print(len(FITTED), *comparison["dies"].scores["accuracy"])
"""


@pytest.mark.slow
def test_after_kill_9_the_same_call_goes_on(tmp_path):
    path = tmp_path / "run"

    def run(**environment):
        root = Path(__file__).parents[3]
        variables = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")]),
            **environment,
        }
        command = [sys.executable, "-c", SCRIPT, str(path)]
        return subprocess.run(command, capture_output=True, text=True, env=variables)

    killed = run(DIES_AT="4")  # one fit estimates the time, and two splits have finished
    assert killed.returncode == -signal.SIGKILL and path.exists()
    ended = run()
    assert ended.returncode == 0, ended.stderr
    n_fits, *scores = ended.stdout.split()
    # One fit that estimates the time and three splits, with the folds of the stored seed.
    assert int(n_fits) == 4 and len(scores) == 5 and not path.exists()
