"""Keep compiled kernels between runs: numba caches them next to their sources, so a fresh clone has none.

``python .ci/kernels.py take`` before the tests copies what an earlier run compiled into the clone, and
``python .ci/kernels.py keep`` after them puts it aside, in ``${XDG_CACHE_HOME:-~/.cache}/bagwise-ci/``. A
folder there is named by the code of all kernels, the versions of Python, numba and llvmlite, and the
processor, so what is taken is what would be compiled. Where nothing can be written, they are compiled again.
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
KEPT = 5  # of ten megabytes each


def folder() -> Path:
    """Where the kernels of this clone are kept."""
    stamp = hashlib.sha256()
    versions = (platform.python_version(), numba.__version__, llvmlite.__version__)
    stamp.update(repr((*versions, get_host_cpu_name(), get_host_cpu_features().flatten())).encode())
    for source in sorted(SOURCES.glob("*.py")):
        stamp.update(f"{source.name} {code_stamp(source)} ".encode())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "bagwise-ci" / stamp.hexdigest()[:16]


def files(place: Path) -> list[Path]:
    """Machine code and its index."""
    return [path for ending in ("nbi", "nbc") for path in place.glob(f"*.{ending}")]


def take() -> None:
    """Copy kept kernels into the clone, in place of what it has."""
    place = folder()
    if place.exists():
        os.utime(place)
        COMPILED.mkdir(exist_ok=True)
        for path in files(COMPILED):
            path.unlink()
        for path in files(place):
            shutil.copy(path, COMPILED)


def keep() -> None:
    """Copy the clone's kernels aside if there are more than before; those used longest ago make room."""
    place = folder()
    place.parent.mkdir(parents=True, exist_ok=True)
    if len(files(COMPILED)) > len(files(place)):
        # Made under another name, so that nobody ever takes half of it.
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
