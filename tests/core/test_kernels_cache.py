"""The cache of machine code on disk: when it is used, and which files CI keeps."""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching

from bagwise._core.compiled import compiling

SOURCES = Path(compiling.__file__).parent
KEEPER = Path(__file__).parents[2] / ".ci" / "kernels.py"


HELPER = """
from bagwise._core.compiled.compiling import kernel


@kernel
def scaled(x):
    return 2.0 * x
"""
CALLER = """
from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.helper import scaled


@kernel
def call(x):
    return scaled(x) + 1.0
"""


@pytest.fixture(params=["next to the sources", "NUMBA_CACHE_DIR"])
def copied(request, tmp_path):
    """Copy the kernels and add two more; return a function that calls one of these in a new process.

    The function returns the result of the kernel, and the numbers of cache hits and of compilations. `before`
    is code to run first.
    """
    package = tmp_path / "bagwise"
    folder = package / "_core" / "compiled"
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for empty in (package, package / "_core"):
        (empty / "__init__.py").touch()
    (folder / "helper.py").write_text(HELPER)
    (folder / "caller.py").write_text(CALLER)
    env = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    env |= {"PYTHONPATH": str(tmp_path)}
    cache = folder / "__pycache__"
    if request.param == "NUMBA_CACHE_DIR":
        cache = tmp_path / "cache"
        env |= {"NUMBA_CACHE_DIR": str(cache)}
    code = (
        "from bagwise._core.compiled.caller import call\n"
        "print(call(3.0), len(call.stats.cache_hits), len(call.stats.cache_misses))"
    )

    def run(before=""):
        command = [sys.executable, "-c", before + code]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return tuple(map(float, done.stdout.split()))

    return folder, cache, run


def test_a_kernel_is_recompiled_if_code_changes_but_not_for_comments(copied):
    folder, cache, run = copied
    assert run() == (7, 0, 1) and run() == (7, 1, 0)
    commented = CALLER.replace("def call(x):", 'def call(x):\n    """Multiply and add."""  # a comment')
    (folder / "caller.py").write_text(f'"""A module."""\n# A comment, so that all lines move.\n{commented}')
    (folder / "helper.py").write_text(f"# A comment.\n{HELPER}")
    (folder / "other.py").write_text("# A module that the kernel does not import.")
    assert run() == (7, 1, 0)
    (folder / "helper.py").write_text(HELPER.replace("2.0", "5.0"))
    assert run() == (16, 0, 1) and run() == (16, 1, 0)
    (folder / "caller.py").write_text(CALLER.replace("+ 1.0", "+ 4.0"))
    assert run() == (19, 0, 1) and run() == (19, 1, 0)
    # The new machine code replaces the old one.
    assert len(list(cache.rglob("caller.call*.nbc"))) == 1


@pytest.mark.parametrize("copied", ["next to the sources"], indirect=True)
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_cache_that_cannot_be_read_counts_as_absent(copied, suffix):
    _, cache, run = copied
    run()
    files = list(cache.rglob(f"*.{suffix}"))
    assert len(files) == 2
    whole = files[0].read_bytes()
    for damage in (b"garbage", b"", whole[: len(whole) // 2]):
        for file in files:
            file.write_bytes(damage)
        assert run() == (7, 0, 1)
    assert run() == (7, 1, 0)


FULL = """
import errno, io, os
from numba.core import caching
class FullDisk(io.BytesIO):
    def write(self, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
caching.open = lambda path, mode: FullDisk() if "w" in mode else open(path, mode)
"""
REMOVED = """
import bagwise._core.compiled.caller, os, shutil
shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])
os.makedirs = lambda *args, **kwargs: os.mkdir("/proc/no-such-folder")
"""


@pytest.mark.slow
@pytest.mark.parametrize("copied", ["NUMBA_CACHE_DIR"], indirect=True)
@pytest.mark.parametrize("before", [FULL, REMOVED], ids=["full", "removed"])
def test_a_cache_that_cannot_be_written_is_not_used(copied, before):
    _, cache, run = copied
    assert run(before) == (7, 0, 1)
    assert not list(cache.rglob("*.nbc"))
    assert run() == (7, 0, 1) and run() == (7, 1, 0)


def test_without_the_classes_of_numba_its_own_cache_is_used(monkeypatch):
    assert compiling._kernel_cache() is not None
    monkeypatch.setattr(caching, "CompileResultCacheImpl", None)
    assert compiling._kernel_cache() is None


def test_kernels_are_imported_in_the_way_that_the_stamp_follows():
    imports = [
        (file.name, ast.unparse(node))
        for file in SOURCES.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "bagwise" in ast.unparse(node)
    ]
    assert imports
    wrong = [
        (file, text)
        for file, text in imports
        if not (text.startswith("from bagwise._core.compiled.") and is_at_the_top(SOURCES / file, text))
    ]
    assert not wrong


def is_at_the_top(file, text):
    return any(ast.unparse(node) == text for node in ast.parse(file.read_text()).body)


@pytest.fixture
def keeper(tmp_path, monkeypatch):
    """Return the script that copies machine code between clones, and a function that creates clones."""
    if not KEEPER.exists():
        pytest.skip("only a clone of the repository has .ci")
    spec = importlib.util.spec_from_file_location("kernels", KEEPER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def clone(name, source):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "helper.py").write_text(source)
        monkeypatch.setattr(module, "SOURCES", folder)
        monkeypatch.setattr(module, "COMPILED", folder / "__pycache__")
        return folder / "__pycache__"

    return module, clone


def compiled(cache):
    return {path.name: path.read_bytes() for path in cache.glob("*")}


def test_a_clone_takes_the_machine_code_of_an_equal_one_and_of_no_other(keeper):
    module, clone = keeper
    first = clone("one", "x = 1")
    first.mkdir()
    (first / "kernel.nbi").write_bytes(b"index")
    (first / "kernel.1.nbc").write_bytes(b"machine code")
    module.keep()
    second = clone("two", "x = 1  # a comment")
    module.take()
    assert compiled(second) == compiled(first) and len(compiled(second)) == 2
    other = clone("other", "x = 2")
    module.take()
    assert not other.exists()


def test_more_machine_code_replaces_less_and_the_oldest_is_removed(keeper, tmp_path):
    module, clone = keeper
    for i in range(module.KEPT + 2):
        cache = clone(f"clone{i}", f"x = {i}")
        cache.mkdir()
        (cache / "kernel.nbi").write_bytes(b"index")
        module.keep()
    assert len(list((tmp_path / "cache" / "bagwise-ci").iterdir())) == module.KEPT
    (cache / "another.nbi").write_bytes(b"index")
    module.keep()
    assert len(module.files(module.folder())) == 2
    (cache / "another.nbi").unlink()
    module.keep()
    assert len(module.files(module.folder())) == 2
