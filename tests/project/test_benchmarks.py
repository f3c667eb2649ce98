"""The benchmarks' own machinery, on problems that cost nothing."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def run(arguments, folder):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_every_benchmark_says_what_it_shows():
    main = importlib.import_module("benchmarks.__main__")
    assert {"containers", "rules", "ridge_logistic"} <= set(main.problems())
    for name in main.problems():
        module = importlib.import_module(f"benchmarks.{name}")
        assert module.TITLE and module.NOTE and callable(module.run)


def test_all_libraries_reach_the_same_objective(monkeypatch):
    contest = importlib.import_module("benchmarks.contest")
    problem = importlib.import_module("benchmarks.ridge_logistic")
    monkeypatch.setitem(problem.PROBLEMS, "tiny", {"n": 200, "d": 10})
    reached = {}
    for library, adapter in contest.adapters().items():
        for solver in adapter.SOLVERS["ridge_logistic"]:
            result = contest.measure("benchmarks.ridge_logistic", "tiny", library, solver)
            assert result["seconds"] > 0 and result["memory"] >= 0
            reached[solver] = result["objective"]
    assert next(iter(reached)).startswith("bagwise")
    assert max(reached.values()) - min(reached.values()) < 1e-4


def test_our_times_are_found_in_both_kinds_of_tables():
    our_times = importlib.import_module("benchmarks.compare").our_times
    wide = {"operation": "join", "bagwise (ms)": "1.5", "numpy (ms)": "3.0", "ratio": "0.50"}
    assert list(our_times(wide)) == [(("join", "bagwise (ms)"), 1.5)]
    tall = {"problem": "a", "library": "bagwise, fast", "time (s)": "0.1", "objective": "3.0"}
    assert list(our_times(tall)) == [(("a", "bagwise, fast", "time (s)"), 0.1)]
    assert list(our_times({**tall, "library": "scipy"})) == []


@pytest.fixture
def tiny_repository(tmp_path):
    """A repository with two commits of a package, the second half as slow, and a benchmark of it."""

    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    package = tmp_path / "src" / "bagwise"
    shutil.copytree(ROOT / "src/bagwise/_display", package / "_display")  # lays out tables
    shutil.copytree(ROOT / "benchmarks" / "libraries", tmp_path / "benchmarks" / "libraries")
    for name in ("__init__", "__main__", "compare", "harness"):
        shutil.copy(ROOT / "benchmarks" / f"{name}.py", tmp_path / "benchmarks")
    (tmp_path / "benchmarks" / "toy.py").write_text(
        "import bagwise\nTITLE = 'Toy'\nNOTE = 'A note.'\n\n\n"
        "def run():\n    return [{'what': 'sleep', 'bagwise (s)': bagwise.SECONDS, 'numpy (s)': 1.0}]\n"
    )
    git("init", "--quiet")
    for seconds in ("4.0", "2.0"):
        (package / "__init__.py").write_text(f"SECONDS = '{seconds}'\n")
        git("add", ".")
        git("commit", "--quiet", "-m", seconds)
    return tmp_path


def test_two_commits_are_compared_on_one_machine(tiny_repository):
    done = run(["toy", "--compare", "HEAD~1", "HEAD"], tiny_repository)
    assert done.returncode == 0, done.stderr
    assert "| toy / sleep / bagwise (s) | 4.000 | 2.000 | 0.50 |" in done.stdout
    assert "1 thread per process" in done.stdout
    # Without a head, the working tree as it is.
    (tiny_repository / "src" / "bagwise" / "__init__.py").write_text("SECONDS = '1.0'\n")
    assert "| 4.000 | 1.000 | 0.25 |" in run(["--compare", "HEAD~1"], tiny_repository).stdout
    trees = subprocess.run(["git", "worktree", "list"], cwd=tiny_repository, capture_output=True, text=True)
    assert trees.stdout.count("\n") == 1


def test_a_benchmark_that_a_commit_cannot_run_is_named_and_left_out(tiny_repository):
    (tiny_repository / "src" / "bagwise" / "__init__.py").write_text("")
    done = run(["--compare", "HEAD"], tiny_repository)
    assert "toy does not run with" in done.stdout and "has no attribute 'SECONDS'" in done.stdout
    assert "| toy / sleep / bagwise (s) | 2.000 | - | - |" in done.stdout


def test_mistakes_are_told(tiny_repository):
    assert "there is no benchmark 'x'; there are toy." in run(["x"], tiny_repository).stderr
    assert "cannot check out 'nowhere'" in run(["--compare", "nowhere"], tiny_repository).stderr


def test_all_benchmarks_together_write_the_results(tiny_repository, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tiny_repository / "src"))
    assert run([], tiny_repository).returncode == 0
    text = (tiny_repository / "benchmarks" / "RESULTS.md").read_text()
    assert (
        "## Toy\n\nA note.\n\n| what | bagwise (s) | numpy (s) |" in text and "1 thread per process" in text
    )
    run(["toy", "--json", "rows.json"], tiny_repository)
    assert json.loads((tiny_repository / "rows.json").read_text())[0]["what"] == "sleep"


def test_sections_of_the_page_are_written_one_by_one():
    main = importlib.import_module("benchmarks.__main__")
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text()
    about, sections = main.read_page(page)
    assert about + "".join(f"\n## {title}\n\n{text}" for title, text in sections.items()) == page
    titles = {importlib.import_module(f"benchmarks.{name}").TITLE for name in main.problems()}
    assert set(sections) <= titles
