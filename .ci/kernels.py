"""Keep compiled kernels between runs: numba caches them next to their sources, so a fresh clone has none.

``python .ci/kernels.py take`` copies the kernels of an earlier run into the clone, before the tests.
``python .ci/kernels.py keep`` stores them after the tests, in ``${XDG_CACHE_HOME:-~/.cache}/bagwise-ci/``.
The name of the subfolder is a hash of the code of all kernels, the versions of Python, numba and llvmlite,
and the processor. The stored kernels are therefore identical to the ones that would be compiled. If the
folder is not writable, the kernels are compiled again.
"""

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import llvmlite
import numba
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

from bagwise._core.compiled.compiling import code_stamp

SOURCES = Path(__file__).parents[1] / "src" / "bagwise" / "_core" / "compiled"
COMPILED = SOURCES / "__pycache__"
KEPT = 5  # subfolders of about ten megabytes each


def folder() -> Path:
    """Return the folder that stores the kernels of this clone."""
    stamp = hashlib.sha256()
    versions = (platform.python_version(), numba.__version__, llvmlite.__version__)
    stamp.update(repr((*versions, get_host_cpu_name(), get_host_cpu_features().flatten())).encode())
    for source in sorted(SOURCES.glob("*.py")):
        stamp.update(f"{source.name} {code_stamp(source)} ".encode())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "bagwise-ci" / stamp.hexdigest()[:16]


def files(place: Path) -> list[Path]:
    """Return the files with compiled code and their index files."""
    return [path for ending in ("nbi", "nbc") for path in place.glob(f"*.{ending}")]


def take() -> None:
    """Copy stored kernels into the clone, and replace the ones that it has."""
    place = folder()
    if place.exists():
        os.utime(place)
        COMPILED.mkdir(exist_ok=True)
        for path in files(COMPILED):
            path.unlink()
        for path in files(place):
            shutil.copy(path, COMPILED)


def keep() -> None:
    """Store the clone's kernels if there are more than before, and delete the least recently used folders."""
    place = folder()
    place.parent.mkdir(parents=True, exist_ok=True)
    if len(files(COMPILED)) > len(files(place)):
        # Copy to a temporary folder first, so that other runs never take an incomplete one.
        new = Path(tempfile.mkdtemp(dir=place.parent))
        for path in files(COMPILED):
            shutil.copy(path, new)
        shutil.rmtree(place, ignore_errors=True)
        new.rename(place)
    by_age = sorted(place.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in by_age[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


if __name__ == "__main__":
    try:
        {"take": take, "keep": keep}[sys.argv[1]]()
    except (OSError, RuntimeError) as error:
        sys.stderr.write(f"kernels are not kept between runs: {error}\n")
