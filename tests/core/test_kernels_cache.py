import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bagwise._core.compiled.compiling import forget_stale_code

KEEPER = Path(__file__).parents[2] / ".ci" / "kernels.py"


def test_machine_code_is_forgotten_when_any_source_changes_and_kept_otherwise(tmp_path):
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    (tmp_path / "helper.py").write_text("x = 1")
    forget_stale_code(tmp_path)
    code = cache / "kernel.f-1.py311.nbi"
    code.write_bytes(b"machine code")
    forget_stale_code(tmp_path)
    assert code.exists()
    (tmp_path / "helper.py").write_text("x = 2")
    forget_stale_code(tmp_path)
    assert not code.exists()


@pytest.fixture
def keeper(tmp_path, monkeypatch):
    """The script that carries machine code from clone to clone, and a function that makes clones for it."""
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
    one = clone("one", "x = 1")
    one.mkdir()
    forget_stale_code(one.parent)
    (one / "kernel.nbi").write_bytes(b"index")
    (one / "kernel.1.nbc").write_bytes(b"machine code")
    module.keep()
    two = clone("two", "x = 1")
    module.take()
    assert compiled(two) == compiled(one) and len(compiled(two)) == 3
    forget_stale_code(two.parent)
    assert (two / "kernel.nbi").exists(), "it is not stale"
    other = clone("other", "x = 2")
    module.take()
    assert not other.exists()


def test_more_machine_code_takes_the_place_of_less_and_the_oldest_make_room(keeper, tmp_path):
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


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_machine_code_that_is_damaged_is_made_anew(tmp_path, suffix):
    (tmp_path / "some_kernel.py").write_text(
        "from bagwise._core.compiled.compiling import kernel\n\n\n"
        "@kernel\ndef one_more(x):\n    return x + 1\n"
    )
    code = "import sys; sys.path.insert(0, '.'); from some_kernel import one_more; print(one_more(1))"

    def run():
        env = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    assert run().stdout == "2\n"
    files = list((tmp_path / "__pycache__").glob(f"*.{suffix}"))
    assert files
    whole = files[0].read_bytes()
    flipped = bytearray(whole)  # inside of the machine code, which no parser looks at
    flipped[len(whole) // 2] ^= 1
    for damage in (b"garbage", b"", bytes(flipped)):
        for file in files:
            file.write_bytes(damage)
        assert run().stdout == "2\n"
        assert files[0].read_bytes() != damage  # mended, too
