"""Changes of the code that make a stored cell stale, and changes that do not."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from reproduction import all_experiments
from reproduction.code import Part, Sources
from reproduction.framework import Settings

import bagwise

PACKAGE = {
    "__init__.py": '_PUBLIC = {"inner": ["lazy"], "unused": ["orphan"]}\n',
    "inner/__init__.py": "from pack.inner.thing import lazy\nfrom pack.inner.other import other\n",
    "inner/thing.py": "def lazy():\n    from pack.helper import help\n\n    return help()\n",
    "inner/other.py": "def other():\n    return 1\n",
    "unused.py": "def orphan():\n    return 0\n",
    "_version.py": '__version__ = "1.0"\n',
    "helper.py": '"""Helps."""\n\nfrom pack._version import __version__\n\n\n'
    'def help():\n    """Help."""\n    return 2  # always\n',
    "drawn.py": "def draw():\n    return 3\n",
    "../trials/shared.py": "def seed():\n    return 4\n\n\ndef layout():\n    return 5\n",
    "../trials/mine.py": """from pack import lazy
from trials.shared import layout, seed

NOTE = "A note."
SCALE = 6


def cell(n):
    return _inner() * lazy() + seed()


def _inner():
    return SCALE


def report(results):
    from pack.drawn import draw

    return draw(), layout(), NOTE
""",
}
CELL = SimpleNamespace(__module__="trials.mine", __qualname__="cell")


@pytest.fixture
def package(tmp_path):
    for name, text in PACKAGE.items():
        path = (tmp_path / "pack" / name).resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "pack"


def sources(package):
    return Sources(package.parent / "trials", package)


def edit(folder, name, old, new):
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("../trials/mine.py", "_inner() * lazy()", "_inner() + lazy()"),
        ("../trials/mine.py", "return SCALE", "return 2 * SCALE"),
        ("../trials/mine.py", "SCALE = 6", "SCALE = 7"),
        ("../trials/mine.py", "SCALE = 6", "SCALE = 6\nprint('a statement for all')"),
        ("../trials/shared.py", "return 4", "return 5"),
        ("inner/thing.py", "return help()", "return -help()"),
        ("helper.py", "return 2", "return 3"),
        (
            "inner/__init__.py",
            "from pack.inner.thing import lazy",
            "from pack.inner.other import other as lazy",
        ),
    ],
)
def test_changed_code_of_a_cell_makes_it_stale(package, name, old, new):
    before = sources(package).key(CELL)
    edit(package, name, old, new)
    assert sources(package).key(CELL) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("../trials/mine.py", "A note.", "Another note."),
        ("../trials/mine.py", "return draw(), layout(), NOTE", "return NOTE, draw()"),
        ("../trials/shared.py", "return 5", "return 6"),
        ("drawn.py", "return 3", "return 4"),
        ("inner/other.py", "return 1", "return 2"),
        ("inner/__init__.py", "from pack.inner.other import other", ""),
        ("helper.py", "Helps.", "Assists."),
        ("helper.py", '"""Help."""', '"""Assist."""'),
        ("helper.py", "return 2  # always", "return (\n        2  # often\n    )"),
        ("_version.py", "1.0", "2.0"),
        ("__init__.py", "orphan", "other_orphan"),
    ],
)
def test_other_changes_keep_a_cell(package, name, old, new):
    before = sources(package).key(CELL)
    edit(package, name, old, new)
    assert sources(package).key(CELL) == before


@pytest.mark.parametrize(
    ("statement", "use", "expected"),
    [
        ("from pack import inner", "inner.other", {"pack.inner", "pack.inner.other", "pack.inner.thing"}),
        ("import pack.inner as r", "r.other", {"pack.inner", "pack.inner.other", "pack.inner.thing"}),
        ("import pack.drawn", "pack.lazy", {"pack.drawn", "pack.inner.thing", "pack.unused"}),
        ("import pack", "pack.lazy", {"pack.inner.thing", "pack.unused"}),
    ],
)
def test_module_imported_as_a_whole_counts_as_a_whole(package, statement, use, expected):
    (package / "../trials/mine.py").write_text(f"{statement}\n\n\ndef cell():\n    return {use}()\n")
    assert {Part(module) for module in expected} <= sources(package).parts(CELL)


def test_relative_imports_are_followed(package):
    edit(package, "../trials/mine.py", "from trials.shared import", "from .shared import")
    edit(package, "inner/thing.py", "from pack.helper import", "from ..helper import")
    assert {Part("trials.shared", "seed"), Part("pack.helper")} <= sources(package).parts(CELL)


def test_cell_without_source_is_refused(package):
    with pytest.raises(ValueError, match=r"is not defined in the module 'trials\.mine'"):
        sources(package).key(SimpleNamespace(__module__=CELL.__module__, __qualname__="absent"))
    with pytest.raises(ValueError, match="the module 'nowhere' has no source file"):
        sources(package).key(SimpleNamespace(__module__="nowhere", __qualname__="cell"))


# ---------------------------------------------------------------------- bagwise itself


def runs(name):
    return {cell.run for cell in all_experiments()[name].cells(Settings(quick=True))}


@pytest.mark.slow
def test_cells_depend_on_the_modules_of_bagwise_they_use(tmp_path):
    source = Path(bagwise.__file__).parent
    copy = shutil.copytree(source, tmp_path / "bagwise", ignore=shutil.ignore_patterns("__pycache__"))
    paths = {run: Sources(library=copy).key(run) for run in runs("milr-fig2")}
    machines = {run: Sources(library=copy).key(run) for run in runs("misssvm-fig1")}
    edit(copy, "solvers/smooth.py", "import numpy as np", "import numpy as np\n\nEDITED = True")
    assert all(Sources(library=copy).key(run) != key for run, key in paths.items())
    assert all(Sources(library=copy).key(run) == key for run, key in machines.items())


@pytest.mark.slow
def test_cells_do_not_import_by_computed_names():
    both = Sources()
    modules = {part.module for name in all_experiments() for run in runs(name) for part in both.parts(run)}
    assert len(modules) > 100
    for module in modules:
        text = both._file(module).read_text()
        assert "import_module" not in text and "__import__" not in text, module
