"""Only one module uses private parts of scikit-learn, so that a new version can break only this module."""

import ast
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.pipeline import Pipeline

ROOT = Path(__file__).parents[2]
THE_ONE_FILE = ROOT / "src/bagwise/_core/sklearn_private.py"
FILES = [
    path
    for folder in ("src", "reproduction", "tests", "benchmarks", "docs")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path != THE_ONE_FILE
]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


# Private names of scikit-learn's classes, except one that every estimator defines (`sklearn_private.py`
# explains why), a name that our classes use as well, and one that notebooks call.
PRIVATE_NAMES = {
    name
    for cls in (BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, Pipeline)
    for name in dir(cls)
    if is_private(name)
} - {"_parameter_constraints", "_fit", "_repr_html_"}


def private_uses(source: str) -> list[str]:
    """Return the private modules, names and attributes of scikit-learn that a source uses."""
    used = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == "sklearn":
                used += [f"{module}.{alias.name}" for alias in names]
            case ast.Import(names=names):
                used += [alias.name for alias in names if alias.name.split(".")[0] == "sklearn"]
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name) if name in PRIVATE_NAMES:
                used.append(name)
            case ast.Attribute(attr=name) if name.startswith("_sklearn_"):
                used.append(name)
            case ast.Attribute() if ast.unparse(node).startswith("sklearn."):
                used.append(ast.unparse(node))
    return [name for name in used if any(map(is_private, name.split(".")))]


def test_no_other_file_uses_what_scikit_learn_keeps_private():
    assert len(FILES) > 500
    used = {str(path.relative_to(ROOT)): private_uses(path.read_text()) for path in FILES}
    assert not {path: names for path, names in used.items() if names}


@pytest.mark.parametrize(
    "source",
    [
        "from sklearn.utils._param_validation import Interval",
        "from sklearn.base import BaseEstimator, _fit_context",
        "from sklearn.utils import _param_validation as words",
        "import sklearn.utils._tags",
        "import sklearn\nsklearn.utils._tags.get_tags(model)",
        "pipeline._final_estimator",
        "model._validate_params()",
        "model._sklearn_output_config",
        "class Model:\n    def _get_metadata_request(self): ...",
    ],
)
def test_private_uses_are_seen(source):
    assert private_uses(source)


def test_the_one_file_is_where_private_names_are():
    assert private_uses(THE_ONE_FILE.read_text())
