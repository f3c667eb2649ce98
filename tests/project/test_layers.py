"""The packages of bagwise form layers: a module imports from its own package and from lower layers."""

import ast
import re
from pathlib import Path

import pytest

import bagwise

PACKAGE = Path(bagwise.__file__).parent

# Every package and its layer, as in docs/ARCHITECTURE.md. Packages of one layer do not import each other.
# The packages inside `models` are listed one by one; `models` itself imports nothing.
LAYERS = {
    "_version": 0,
    "exceptions": 0,
    "_core": 1,
    "_display": 1,
    "data": 2,
    "families": 3,
    "io": 3,
    "persist": 3,
    "rules": 3,
    "similarity": 3,
    "solvers": 3,
    "datasets": 4,
    "models.base": 4,
    "models.attention": 5,
    "models.linear_model": 5,
    "models.neighbors": 5,
    "models.pu": 5,
    "models.trees": 5,
    "models.wrappers": 5,
    "models.embedding": 6,
    "models.mixture": 6,
    "models.multilabel": 6,
    "models.svm": 6,
    "models.prototypes": 7,
    "models.ensemble": 8,
    "evaluation": 9,
    "report": 10,
    "cli": 11,
    "testing": 11,
}
# `import bagwise` makes every public name available, so it counts as the highest package with public names.
ALL_NAMES = "evaluation"

# Allowed imports from a higher layer, inside methods that need it.
EXCEPTIONS = {("evaluation.comparison.comparison", "report")}  # Comparison.report() writes a page

# Modules that may use `import_module`: for lazy public names, and for the file formats of the same package.
COMPUTED = {"bagwise", "bagwise.io.files"}


def package_of(module):
    """Return the listed package that a module belongs to; "" for bagwise itself."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2]) if parts[:1] == ["models"] else (parts or [""])[0]


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports_of(path, names):
    """Yield every bagwise module that a file imports: at the top, in functions or for type checkers."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "bagwise")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            if node.module.split(".")[0] == "bagwise":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    if node.module == "bagwise" and alias.name in bagwise._WHERE:
                        inner = f"bagwise.{bagwise._WHERE[alias.name]}"
                    yield inner if inner in names else node.module
        elif isinstance(node, ast.Name) and node.id in ("import_module", "__import__"):
            yield node.id


def upward(sources, others=()):
    """Return the imports that are not from a lower layer, as "module imports module"."""
    sources = dict(sources)
    names = {*sources, *dict(others)}
    imports = []
    for module, path in sources.items():
        package = package_of(module)
        if module in ("bagwise", "bagwise.__main__"):
            continue
        for imported in imports_of(path, names):
            if imported in ("import_module", "__import__"):
                is_meant = module in COMPUTED
            else:
                other = package_of(imported) or ALL_NAMES
                layer, below = LAYERS.get(package, -1), LAYERS.get(other, 99)
                is_meant = other == package or below < layer
                is_meant |= (module.removeprefix("bagwise."), other) in EXCEPTIONS
            if not is_meant:
                imports.append(f"{module} imports {imported}")
    return imports


def test_every_import_goes_to_a_lower_layer():
    assert upward(modules()) == []


def test_every_package_has_a_layer_and_every_layer_a_package():
    packages = {package_of(module) for module, _ in modules()}
    assert packages == set(LAYERS) | {"", "__main__", "models"}


@pytest.mark.parametrize(
    ("code", "imported"),
    [
        ("from bagwise.cli import main", "bagwise.cli"),
        ("def late():\n    import bagwise.models.svm.base", "bagwise.models.svm.base"),
        ("from bagwise import BagEnsembleClassifier", "bagwise.models.ensemble"),
        ("import bagwise", "bagwise"),
        ("from bagwise import models", "bagwise.models"),
        ("import bagwise.models", "bagwise.models"),
        ("from bagwise.models import *", "bagwise.models"),
        ("import bagwise.__main__", "bagwise.__main__"),
        ("from importlib import import_module\nimport_module('bagwise.cli')", "import_module"),
    ],
)
def test_an_import_from_a_higher_layer_is_reported(code, imported, tmp_path):
    (tmp_path / "bad.py").write_text(code)
    bad = ("bagwise.models.trees.bad", tmp_path / "bad.py")
    assert upward([bad], others=modules()) == [f"bagwise.models.trees.bad imports {imported}"]


def test_every_package_names_its_modules_in_its_docstring():
    silent = []
    for module, path in modules():
        if path.name == "__init__.py" and module != "bagwise":
            text = ast.get_docstring(ast.parse(path.read_text())) or ""
            inner = {p.stem for p in path.parent.glob("*.py")} | {
                p.parent.name for p in path.parent.glob("*/__init__.py")
            }
            # Modules with compiled loops are named after their package or formula, so they need no entry.
            listed = {"arrays", "compiling", "notice"} if module.endswith(".compiled") else inner
            names = set(re.findall(r"`(\w+)`", text))
            silent += [f"{module}.{name}" for name in sorted(listed - names) if not name.startswith("__")]
    assert silent == []
