"""SIGKILL during a fit: the same call in another process reaches the result of an uninterrupted fit.

The test does not depend on speed: after a fixed number of writes, the first process prints a line and waits
to be killed.
"""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.studies import always

from bagwise import make_noisy_or_bags, save_npz
from bagwise.persist.checkpoints import store as stores

pytestmark = pytest.mark.slow

# The code of both processes; `fit(checkpoint)` returns the values to compare.
COMMON = """
import sys, time
import numpy as np
import bagwise.data.blocks.base as base
from bagwise import *
from bagwise.persist.checkpoints import store
"""
# After `sys.argv[2]` writes, the process prints a line and waits to be killed.
WAIT = """
store._EVERY = store._SHARE = 0.0
write, n_writes = store.Store.write, 0

def counted(self):
    global n_writes
    write(self)
    n_writes += 1
    if n_writes == int(sys.argv[2]):
        print("waiting", flush=True)
        time.sleep(300)

store.Store.write = counted
fit(sys.argv[1])
print("finished", flush=True)
"""
FITS = {
    "ridge": """
        data = make_noisy_or_bags(200, n_features=5, random_state=0)

        def fit(checkpoint=None):
            model = MILogisticRegression(l1_ratio=0.0, tol=1e-10, n_init=3, random_state=0)
            model.fit(data.bags, data.y, checkpoint=checkpoint)
            return {"coef": model.coef_, "ends": model.objectives_}
        """,
    "path": """
        data = make_noisy_or_bags(200, n_features=20, random_state=0)

        def fit(checkpoint=None):
            path = milr_path(data.bags, data.y, tol=1e-9, checkpoint=checkpoint)
            return {"objectives": path.objectives, "alphas": path.alphas, "coefs": path.coefs}
        """,
    "cross-validation": """
        data = make_noisy_or_bags(100, n_features=6, random_state=0)

        def fit(checkpoint=None):
            model = MILogisticRegressionCV(alphas=6, cv=5, n_init=2, random_state=0)
            model.fit(data.bags, data.y, checkpoint=checkpoint)
            return {"deviances": model.deviances_, "objective": np.array([model.objective_])}
        """,
    "mixture": """
        data = make_mixture_bags(100, separation=0.7, random_state=0)

        def fit(checkpoint=None):
            model = MIMixture(n_init=4, n_jobs=2, random_state=0)
            model.fit(data.bags, data.y, checkpoint=checkpoint)
            mean = model.positive_components_[0].mean
            return {"mean": mean, "history": model.objective_history_, "ends": model.objectives_}
        """,
    "ridge of bags in a file": """
        base.LARGE = 100
        bags = scan_bags(FILE)

        def fit(checkpoint=None):
            model = MILogisticRegression(l1_ratio=0.0, tol=1e-10, n_init=3, random_state=0)
            model.fit(bags, Y, checkpoint=checkpoint)
            return {"coef": model.coef_, "ends": model.objectives_}
        """,
}


# Number of writes before the kill: during a start, a penalty, the folds, all starts, or the passes.
N_WRITES = {"ridge": 25, "path": 20, "cross-validation": 5, "mixture": 60, "ridge of bags in a file": 12}


@pytest.mark.parametrize("name", always(["ridge", "mixture"], FITS))
def test_kill(name, tmp_path, monkeypatch, large_from):
    code = textwrap.dedent(FITS[name])
    if "FILE" in code:
        data = make_noisy_or_bags(200, n_features=5, random_state=0)
        file = save_npz(tmp_path / "bags", data.bags)
        with np.load(file) as arrays:
            np.savez(file, **arrays)  # not compressed, so that it can be scanned
        np.save(tmp_path / "y.npy", data.y)
        code = f"FILE, Y = {str(file)!r}, np.load({str(tmp_path / 'y.npy')!r})\n" + code
    path = tmp_path / "checkpoint"
    process = subprocess.Popen(
        [sys.executable, "-c", COMMON + code + WAIT, str(path), str(N_WRITES[name])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert line == "waiting\n", err
    assert process.returncode == -signal.SIGKILL and path.exists()

    scope = {}
    large_from(2**23)  # restored afterwards, because the code can set it
    exec(COMMON + code, scope)
    entries, read = {}, stores.Store.read

    def reading(store):
        identity = read(store)
        entries.update(store.entries)
        return identity

    monkeypatch.setattr(stores.Store, "read", reading)
    resumed = scope["fit"](path)
    assert entries and not path.exists() and not list(tmp_path.glob(".*.part"))
    whole = scope["fit"]()
    assert resumed.keys() == whole.keys()
    for part in whole:
        if name == "mixture" or part == "deviances":
            np.testing.assert_array_equal(resumed[part], whole[part])
        else:
            rtol, atol = (0.0, 1e-6) if part.startswith("coef") else (1e-9, 0.0)
            np.testing.assert_allclose(resumed[part], whole[part], rtol=rtol, atol=atol)
