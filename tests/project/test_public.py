"""Tests of public names, import time, README and documentation pages."""

import ast
import inspect
import os
import re
import shlex
import statistics
import subprocess
import sys
import time
import typing
from pathlib import Path

import pytest

import bagwise
from bagwise.cli.parser import make_parser
from bagwise.testing import all_estimators, all_rules, check_rule

ROOT = Path(__file__).parents[2]


def test_the_stub_names_what_the_package_exports():
    tree = ast.parse((ROOT / "src/bagwise/__init__.pyi").read_text())
    named = {
        alias.asname: node.module.removeprefix("bagwise.")
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert named.pop("__version__") == "_version"
    assert named == bagwise._WHERE | dict.fromkeys(bagwise._MODULES, "bagwise")


def test_the_stub_is_what_make_format_writes():
    command = [sys.executable, ROOT / "tools/write_stub.py", "--check"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_every_public_name_is_documented_with_an_example():
    texts = {name: getattr(bagwise, name).__doc__ or "" for name in bagwise._WHERE}
    assert len(texts) > 100
    assert not [name for name, text in texts.items() if len(text.strip()) <= 40]
    assert not [name for name, text in texts.items() if ">>>" not in text]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Bag'"):
        bagwise.Bag  # noqa: B018


@pytest.mark.parametrize("cls", all_rules(), ids=lambda cls: cls.__name__)
def test_every_public_rule_agrees_with_brute_force(cls):
    check_rule(cls())


def test_discovery_finds_estimators_and_rules():
    assert {cls.__name__ for cls in all_estimators()} >= {"MILogisticRegression", "OnInstances"}
    assert {cls.__name__ for cls in all_rules()} >= {"Or", "Mean", "SoftMax", "GeometricMean", "Max"}


def _seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def test_importing_bagwise_takes_less_than_three_tenths_of_a_second():
    """Use the best processor time of five runs with Python's startup; other tests run in parallel."""
    code = "import time, bagwise\nprint(time.process_time())"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.3


@pytest.mark.slow
def test_importing_bagwise_is_no_slower_than_a_part_of_scikit_learn():
    pairs = [(_seconds("import bagwise"), _seconds("import sklearn.linear_model")) for _ in range(5)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert ours < 1.3 * theirs


def test_heavy_libraries_wait_until_they_are_needed():
    code = (
        "import sys, bagwise, bagwise.cli\n"
        "for name in bagwise.__all__: getattr(bagwise, name)\n"
        "print(*{module.split('.')[0] for module in sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "bagwise" in loaded
    # scikit-learn itself loads pandas and rich if they are installed.
    heavy = loaded & {"numba", "matplotlib", "polars", "pooch", "h5py", "skops", "torch"}
    assert not heavy


def test_the_package_needs_no_tools_of_tests():
    for path in (ROOT / "src/bagwise").rglob("*.py"):
        assert not re.search(r"(?:from|import) (?:unittest|pytest)\b", path.read_text()), path


def test_the_architecture_page_names_every_package():
    page = (ROOT / "docs/ARCHITECTURE.md").read_text()
    packages = [path.parent for path in (ROOT / "src/bagwise").glob("*/__init__.py")]
    packages += [path.parent for path in (ROOT / "src/bagwise/models").glob("*/__init__.py")]
    assert len(packages) > 25
    assert not [path.name for path in packages if f"`{path.name}" not in page]


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert blocks
    scope = {}
    for block in blocks:
        exec(block, scope)


def test_the_readme_shows_what_its_example_prints(capsys):
    text = (ROOT / "README.md").read_text()
    example, output = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, flags=re.S).groups()
    exec(example, {})
    assert capsys.readouterr().out == output


def test_documented_commands_are_valid(capsys):
    """Every ``bagwise ...`` line of a code block in the documentation is accepted by the parser."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [page.read_text() for page in pages if "reproduction" not in page.parts]
    blocks = [block for text in texts for block in re.split(r"^```.*$", text, flags=re.M)[1::2]]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    commands = [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("bagwise ")]
    assert len(commands) >= 9
    parser, refused = make_parser(), []
    for command in commands:
        try:
            parser.parse_args(shlex.split(command, comments=True)[1:])
        except SystemExit as error:
            if error.code:
                refused.append(f"{command}: {capsys.readouterr().err.splitlines()[-1]}")
    assert not refused


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130


def test_the_page_of_models_names_every_estimator():
    text = (ROOT / "docs/which_model.md").read_text()
    absent = [cls.__name__ for cls in all_estimators() if f"`{cls.__name__}`" not in text]
    assert not absent


@pytest.mark.slow
def test_the_recipes_of_contributing_work_as_written(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.S)
    assert {
        "class And",
        "class UnitGaussian",
        "class CentroidClassifier",
        "class NearestBagClassifier",
        "EXPERIMENTS = [",
    } <= {line.split("(")[0].rstrip(":") for block in blocks for line in block.splitlines()}
    recipes = tmp_path / "recipes.py"
    recipes.write_text("\n".join(blocks))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # the folder of `reproduction`
    run = subprocess.run([sys.executable, recipes], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr


def test_the_type_of_a_fitted_estimator_is_known():
    """Type checkers infer Model, and not Any, for ``model = Model().fit(X, y)``."""
    fits = {cls.__name__: inspect.unwrap(cls.fit) for cls in all_estimators()}
    ours = {name: fit for name, fit in fits.items() if fit.__module__.startswith("bagwise.")}
    assert set(fits) - set(ours) <= {"BagPipeline"}  # its fit is that of scikit-learn's Pipeline
    assert not [name for name, fit in ours.items() if typing.get_type_hints(fit)["return"] is not typing.Self]
    assert not [
        f"{name}: {parameter}"
        for name, fit in ours.items()
        for parameter in list(inspect.signature(fit).parameters)[1:]
        if parameter not in fit.__annotations__
    ]


def test_rules_and_families_in_the_documentation_exist():
    from bagwise.families import FAMILIES
    from bagwise.rules import RULES

    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    named = re.findall(r"(?:MILogisticRegression|SoftORLogisticRegression)\(\"(\w+)\"", text)
    row = next(
        line for line in (ROOT / "docs/which_model.md").read_text().splitlines() if "vote softly" in line
    )
    named += re.findall(r"`\"(\w+)\"`", row)
    assert len(named) > 4 and set(named) <= set(RULES)
    table = re.findall(r"^\| ([a-z_][^|]*) \|", (ROOT / "docs/families.md").read_text(), flags=re.M)
    rows = {name.split()[0] for row in table if row != "family" for name in re.split(r", ", row)}
    assert rows == set(FAMILIES)
