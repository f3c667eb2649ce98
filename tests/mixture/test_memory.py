"""What a mixture needs beside its instances, measured from outside: they are not copied, in any precision."""

import json
import subprocess
import sys

import pytest

# The process compiles what it needs on a few bags, which it takes for many, and then looks at its peak.
PROGRAM = """
import json, sys, warnings
import numpy as np
import bagwise.blocks.base as base
from bagwise import Bags, MIMixture

family, task, missing = json.loads(sys.argv[1])
warnings.simplefilter("ignore")  # a few iterations are enough to see

def of_process(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def draw(n):
    X = np.random.default_rng(0).standard_normal((n, 50), dtype=np.float32)
    y = np.arange(n // 10) % 2
    X.reshape(-1, 10, 50)[y == 1, :3] += 1
    if family in ("bernoulli", "categorical"):
        np.abs(X, out=X)
        np.minimum(np.round(X, out=X), 1 if family == "bernoulli" else 2, out=X)
    if missing:
        X[::100, 3] = np.nan
    return Bags(X, np.arange(0, n + 1, 10)), y

def run(bags, y, model):
    if model is not None:
        model.predict_proba(bags), model.predict_instances(bags), model.score_samples(bags)
        return
    how = {"fit": {}, "unlabelled": {"supervision": "none"}, "components": {"n_components": 2}}.get(task, {})
    return MIMixture(family, n_init=4, max_iter=2, random_state=0, **how).fit(bags, y)

limit, base.LARGE = base.LARGE, 1000
small = draw(20_000)
model = run(*small, None) if task == "predict" else None
run(*small, model)
base.LARGE = limit
bags, y = draw(420_000)
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # forget the peak of the drawing
before = of_process("VmRSS")
run(bags, y, model)
print(json.dumps([of_process("VmHWM") - before, bags.instances.nbytes, bags.n_instances]))
"""

FAMILIES = ["gaussian", "gaussian_diag", "gaussian_spherical", "gaussian_tied", "bernoulli", "categorical"]
TASKS = [
    *((family, "fit", False) for family in FAMILIES),
    *((family, "predict", False) for family in ("gaussian", "categorical")),
    ("gaussian_diag", "fit", True),
    ("gaussian_diag", "unlabelled", False),
    ("gaussian_diag", "components", False),
    ("categorical", "components", False),
]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("task", TASKS, ids=str)
def test_the_peak_is_a_third_of_the_instances_and_five_numbers_each(task):
    found = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(task)], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    above, size, n_instances = json.loads(found.stdout)
    assert size == 420_000 * 50 * 4, "84 MB"
    assert above <= 0.3 * size + 5 * 8 * n_instances
