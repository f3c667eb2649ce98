"""Repeat the tests of the kernels with array bounds checks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Folders of tests that call the kernels directly or through few layers.
FOLDERS = (
    "rules",
    "solvers",
    "families",
    "similarity",
    *(f"models/{name}" for name in ("mixture", "prototypes", "svm", "linear_model", "trees", "neighbors")),
)


def run_checked(cache, *arguments):
    """Run Python with bounds checks and a separate cache, so that unchecked machine code is not reused."""
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **checked}, cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_kernel_that_leaves_its_array_is_reported(tmp_path):
    (tmp_path / "beyond.py").write_text(
        "import sys\n"
        "import numpy as np\n"
        "from bagwise._core.compiled.compiling import kernel\n"
        "@kernel\n"
        "def beyond(x):\n"
        "    return x[len(x)]\n"
        "beyond(np.ones(3))\n"
    )
    done = run_checked(tmp_path, tmp_path / "beyond.py")
    assert done.returncode == 1 and "IndexError: index is out of bounds" in done.stderr


@pytest.mark.study
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_kernel_leaves_its_arrays(folder, tmp_path):
    done = run_checked(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/{folder}")
    # Status 1 is allowed: sums have another order here, so tests close to their tolerance can fail.
    # Collection errors have another status, and crashes a negative one.
    assert done.returncode in (0, 1), done.stdout[-5000:]
    assert "IndexError" not in done.stdout, done.stdout[-5000:]
