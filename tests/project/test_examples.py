"""The examples run in limited time, and the short ones stay short."""

import ast
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Examples that must stay short.
SHORT = ["plot_slides", "plot_molecules", "plot_threads", "plot_positive_unlabeled", "plot_counts"]
PICTURES = {
    "plot_slides": ["heatmap.png"],
    "plot_molecules": ["molecule.png"],
    "plot_threads": ["path.png"],
    "plot_positive_unlabeled": ["prior.png"],
    "plot_counts": ["rules.png", "rule.png"],
    "plot_pictures": ["panels.pdf", "digits.png"],
    "plot_recordings": ["song.png", "territory.png"],
    "plot_comparison": ["comparison.png", "comparison.html"],
    "plot_larger_than_memory": ["memory.png"],
    "plot_cluster": ["workers.png"],
}
# Output that the text of an example refers to.
OUTPUT = {
    "plot_threads": "bag 'thread 004'",
    "plot_molecules": "bag '0007'",
    "plot_recordings": "a bag is positive if it has at least 3 positive instances",
    "plot_comparison": "The data support the assumption that one positive instance makes a bag positive",
    "plot_larger_than_memory": "identical coefficients: True",
    "plot_cluster": "identical coefficients: True\nidentical coefficients: True",
}
QUICK = ["plot_molecules"]
ALL = sorted(path.stem for path in EXAMPLES.glob("plot_*.py"))


def lines_of_code(source):
    """Count the lines of statements, without the text at the top, comments and blank lines."""
    used = set()
    for node in ast.parse(source).body[1:]:
        used |= set(range(node.lineno, node.end_lineno + 1))
    lines = source.splitlines()
    return sum(bool(lines[i - 1].strip()) and not lines[i - 1].strip().startswith("#") for i in used)


@pytest.mark.parametrize("name", SHORT)
def test_a_job_takes_no_more_than_fifteen_lines(name):
    source = (EXAMPLES / f"{name}.py").read_text()
    code = source.split("# %%", 1)[1]  # the part before creates the data
    assert lines_of_code('""\n' + code) <= 15


def run(command, folder):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(EXAMPLES.parent / "src"), str(EXAMPLES)]),
        "MPLBACKEND": "Agg",
        "PATH": os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    began = os.times()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    ended = os.times()
    return done.stdout, ended.children_user - began.children_user


def run_example(name, folder):
    for module in ("distributed", "h5py", "matplotlib", "pandas", "pyarrow"):
        pytest.importorskip(module, reason="the examples use all extras")
    out, seconds = run([sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")], folder)
    for picture in PICTURES.get(name, ()):
        assert (folder / picture).stat().st_size > 3000
    assert OUTPUT.get(name, "") in out
    return seconds


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_an_example_runs(name, tmp_path):
    run_example(name, tmp_path)


@pytest.mark.study
@pytest.mark.parametrize("name", ALL)
def test_every_example_runs_in_less_than_half_a_minute(name, tmp_path):
    assert run_example(name, tmp_path) < 30


@pytest.mark.study
def test_the_shell_script_needs_no_python_of_the_user(tmp_path):
    program = tmp_path / "bin" / "bagwise"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -W error -m bagwise "$@"\n')
    program.chmod(0o755)
    began = time.monotonic()
    out, seconds = run(["sh", str(EXAMPLES / "command_line.sh")], tmp_path)
    assert seconds < 30 and time.monotonic() > began
    assert out.rstrip().splitlines()[-3].startswith("0700,")
    for name in ("predictions.csv", "conformers.csv", "explanation.png", "calibration.png"):
        assert (tmp_path / name).exists()


# Hides packages from imports, as if they were not installed.
HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.slow
def test_the_first_example_of_the_readme_runs_after_its_install_command(tmp_path):
    text = (EXAMPLES.parent / "README.md").read_text()
    install = re.search(r"`(pip install [^`]*)`", text).group(1)
    optional = ["pandas", "polars", "pyarrow", "h5py", "openpyxl", "distributed", "torch", "anndata"]
    missing = [name for name in optional if name not in install]
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    program = HIDE.format(missing=missing) + code
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert output == re.search(r"```\n(accuracy.*?)```", text, re.DOTALL).group(1)
