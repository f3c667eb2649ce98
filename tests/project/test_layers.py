"""The packages of bagwise form layers: a module imports from its own package and from lower layers."""

import ast
from pathlib import Path

import bagwise

PACKAGE = Path(bagwise.__file__).parent

# Every package and its layer; docs/ARCHITECTURE.md has the picture. Packages of one layer do not import each
# other. The packages inside `models` are listed one by one.
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

# Imports upward that are meant: methods that hand over to a higher layer when they are called.
EXCEPTIONS = {("evaluation.comparison.comparison", "report")}  # Comparison.report() writes a page


def package_of(module):
    """Return the listed package that a module belongs to; "" for bagwise itself and for `models`."""
    parts = module.split(".")[1:]
    if parts[:1] == ["models"]:
        return ".".join(parts[:2]) if len(parts) > 1 else ""
    return parts[0] if parts else ""


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports_of(path, names):
    """Yield every module of bagwise that a file imports, at its top, in a function or for type checkers."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "bagwise")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            if node.module.split(".")[0] == "bagwise":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in names else node.module


def upward(sources):
    """Return the imports that do not go down, as "module imports module"."""
    names = dict(sources)
    found = []
    for module, path in names.items():
        package = package_of(module)
        if package in ("", "__main__"):
            continue
        for imported in imports_of(path, names):
            other = package_of(imported)
            # `import bagwise` itself loads nothing: its names are looked up when they are used.
            if other in (package, "") or LAYERS[other] < LAYERS[package]:
                continue
            if (module.removeprefix("bagwise."), other) not in EXCEPTIONS:
                found.append(f"{module} imports {imported}")
    return found


def test_every_import_goes_to_a_lower_layer():
    assert upward(modules()) == []


def test_every_package_has_a_layer_and_every_layer_a_package():
    packages = {package_of(module) for module, _ in modules()} - {"", "__main__"}
    assert packages == set(LAYERS)


def test_an_import_to_a_higher_layer_is_found(tmp_path):
    (tmp_path / "bad.py").write_text(
        "def late():\n    from bagwise.cli import main\n    import bagwise.models.svm.base\n"
    )
    sources = [*modules(), ("bagwise.models.trees.bad", tmp_path / "bad.py")]
    assert upward(sources) == [
        "bagwise.models.trees.bad imports bagwise.cli",
        "bagwise.models.trees.bad imports bagwise.models.svm.base",
    ]


def test_every_package_describes_itself():
    inits = [path for module, path in modules() if path.name == "__init__.py"]
    assert len(inits) > 30
    silent = [str(path) for path in inits if len(ast.get_docstring(ast.parse(path.read_text())) or "") < 20]
    assert silent == []
