"""Damaged files of compiled kernels: they count as absent, and numbers stay right."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import numba
from tests.fuzz.choosing import generator
from tests.fuzz.damaging import damage
from tests.fuzz.judging import require

_SOURCE = """
from bagwise._core.compiled.compiling import kernel

@kernel
def weighted(n, x):
    total = 0.0
    for i in range(n):
        total += x * i + (1.0 if i % 3 else 2.5)
    return total
"""
_EXPECTED = sum(0.25 * i + (1.0 if i % 3 else 2.5) for i in range(1000))


@functools.cache
def _stock() -> Path:
    """A module with a compiled kernel, and its machine code beside it."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "sums.py").write_text(_SOURCE)
    _call(folder)
    return folder


def _call(folder: Path) -> float:
    """Call the kernel as a new process would: from a module that was just loaded."""
    spec = importlib.util.spec_from_file_location("sums", folder / "sums.py")
    module = importlib.util.module_from_spec(spec)
    # Beside the module, wherever the environment (NUMBA_CACHE_DIR) would have machine code lie.
    with patch.object(numba.config, "CACHE_DIR", ""):
        spec.loader.exec_module(module)
        return module.weighted(1000, 0.25)


def run(seed: int, only: str | None = None) -> str:
    """Damage one file of machine code, and call the kernel."""
    rng = generator("machinecode", seed)
    stock = _stock()
    files = sorted((stock / "__pycache__").glob("*.nb?"))
    require(len(files) >= 2, "there is no machine code to damage")
    file = files[rng.integers(len(files))]
    whole = file.read_bytes()
    how, bad = damage(whole, rng)
    file.write_bytes(bad)
    try:
        for _ in range(2):  # the second call finds what the first one mended
            got = _call(stock)
            require(got == _EXPECTED, f"{file.suffix} {how}: the kernel gives {got}, not {_EXPECTED}")
    finally:
        for old in (stock / "__pycache__").glob("*.nb?"):
            old.unlink()
        _call(stock)
    return f"{file.name} {how}"
