"""Tests of the benchmark runner with small problems."""

import contextlib
import importlib
import json
import math
import shutil
import subprocess
import sys
import time
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


def test_figures_of_ours_are_found_in_every_unit():
    harness, find = importlib.import_module("benchmarks.harness"), find_figures
    wide = {"operation": "join", "bagwise (ms)": harness.milliseconds(0.0015), "numpy (ms)": "3.0"}
    assert find(wide) == {("join", "bagwise (ms)", "time"): 0.0015}
    tall = {
        "fit": "ridge",
        "n": 5,
        "seconds": harness.seconds(0.123456),
        "memory (MB)": harness.megabytes(31.4),
    }
    assert tall["seconds"] == "0.12" and tall["memory (MB)"] == "31"
    assert find(tall) == {
        ("ridge", "5", "seconds", "time"): 0.123456,
        ("ridge", "5", "memory (MB)", "memory"): 31.4,
    }
    assert find({"fit": "a peer", "seconds": "0.1"}) == {}


def find_figures(row):
    """Return the values that `--compare` reads from a row after a JSON round trip."""
    main, compare = (
        importlib.import_module("benchmarks.__main__"),
        importlib.import_module("benchmarks.compare"),
    )
    written = json.dumps({column: main.as_json(value) for column, value in row.items()})
    return dict(compare.figures(json.loads(written)))


def test_a_peer_is_only_measured_without_comparison(monkeypatch):
    harness = importlib.import_module("benchmarks.harness")
    calls = dict.fromkeys(("ours", "peer"), 0)

    def call(name):
        calls[name] += 1

    def run():
        return harness.race(2, ours=lambda: call("ours"), peers={"peer": lambda: call("peer")})

    assert 0 < run()["ours"] < 1e-3 and calls["ours"] > 1000 and calls["peer"] > 1000
    monkeypatch.setattr(harness, "COMPARING", True)
    calls["peer"] = 0
    assert math.isnan(run()["peer"]) and calls["peer"] == 0


def test_processor_time_counts_child_processes_and_no_waiting():
    stopwatch = importlib.import_module("benchmarks.harness").Stopwatch
    work = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\n"
    with stopwatch(processor=True) as ended:
        subprocess.run([sys.executable, "-c", work], check=True, capture_output=True)
    assert ended.seconds >= 0.3
    with stopwatch(processor=True) as waiting:
        time.sleep(0.3)
    assert waiting.seconds < 0.2
    pytest.importorskip("psutil")
    command = [sys.executable, "-c", work + "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        with stopwatch(processor=True) as running:
            child.stdout.readline()
        child.communicate(b"\n")
    assert running.seconds >= 0.2


def test_private_names_are_found_in_any_module():
    private = importlib.import_module("benchmarks.harness").private
    assert private("solve_dual").__module__.startswith("bagwise.")
    assert private("Control").__name__ == "Control"
    with pytest.raises(AttributeError, match="defines no 'solve_du'"):
        private("solve_du")


TOY = """
import bagwise
from benchmarks.harness import Figure, megabytes, seconds

TITLE, NOTE = "Toy", "A note."


def run():
    return [
        {
            "what": name,
            "bagwise (s)": seconds(time),
            "numpy (s)": "1.0",
            "memory (MB)": megabytes(bagwise.MEMORY),
        }
        for name, time in bagwise.TIMES.items()
    ]
"""


@pytest.fixture
def tiny_repository(tmp_path):
    """Create a repository with a benchmark and two commits of a package, the second twice as fast."""

    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "src" / "bagwise").mkdir(parents=True)
    shutil.copytree(ROOT / "benchmarks" / "libraries", tmp_path / "benchmarks" / "libraries")
    for name in ("__init__", "__main__", "compare", "harness"):
        shutil.copy(ROOT / "benchmarks" / f"{name}.py", tmp_path / "benchmarks")
    (tmp_path / "benchmarks" / "toy.py").write_text(TOY)
    git("init", "--quiet")
    for seconds in (4.0, 2.0):
        write_package(tmp_path, {"sleep": seconds, "wait": 1.0})
        git("add", ".")
        git("commit", "--quiet", "-m", str(seconds))
    return tmp_path


def write_package(repository, times, memory=100.0):
    text = f"TIMES, MEMORY = {times}, {memory}\n"
    (repository / "src" / "bagwise" / "__init__.py").write_text(text)


def test_two_commits_are_compared_on_one_machine(tiny_repository):
    done = run(["toy", "--compare", "HEAD~1", "HEAD"], tiny_repository)
    assert done.returncode == 0, done.stderr
    assert "| toy / sleep / bagwise (s) | 4 s | 2 s | 0.50 |" in done.stdout
    assert "| toy / sleep / memory (MB) | 100 MB | 100 MB | 1.00 |" in done.stdout
    assert "1 thread per process" in done.stdout and "numpy" not in done.stdout.split("| --- |")[1]
    assert "largest of 2 time ratios: 1.000, toy / wait / bagwise (s) (limit 1.25, 0 above)" in done.stdout
    assert "geometric mean of time ratios: 0.707 (limit 1.05)" in done.stdout
    assert "largest of 2 memory ratios: 1.000" in done.stdout
    # Without a head commit, the working tree is compared.
    write_package(tiny_repository, {"sleep": 1.0, "wait": 1.0})
    assert "| 4 s | 1 s | 0.25 |" in run(["--compare", "HEAD~1"], tiny_repository).stdout
    trees = subprocess.run(["git", "worktree", "list"], cwd=tiny_repository, capture_output=True, text=True)
    assert trees.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("times", "memory", "options", "expected"),
    [
        ((2.6, 0.8), 100.0, [], "ABOVE THE LIMIT: largest of 2 time ratios: 1.300, toy / sleep"),
        ((2.2, 1.1), 100.0, [], "ABOVE THE LIMIT: geometric mean of time ratios: 1.100 (limit 1.05)"),
        ((2.0, 1.0), 120.0, [], "ABOVE THE LIMIT: largest of 2 memory ratios: 1.200"),
        ((2.6, 1.0), 120.0, ["--limit", "1.4", "--mean", "1.2", "--memory", "1.3"], None),
        ((2.4, 0.8), 105.0, [], None),
    ],
)
def test_limits_decide_the_exit_status(tiny_repository, times, memory, options, expected):
    write_package(tiny_repository, dict(zip(("sleep", "wait"), times, strict=True)), memory)
    done = run(["--compare", "HEAD", "--rounds", "1", *options], tiny_repository)
    assert done.returncode == (expected is not None), done.stderr
    assert (expected or "") in done.stdout and done.stdout.count("ABOVE") == (expected is not None)


def test_little_memory_is_within_the_noise():
    compare = importlib.import_module("benchmarks.compare")
    comparison = compare.Comparison()
    key = ("fit", "memory (MB)", "memory")
    compare._add(comparison, "a", {key: 0.0}, {key: 9.0})
    compare._add(comparison, "b", {key: 2.0}, {key: 30.0})
    assert list(comparison.ratios["memory"].values()) == [1.0, 3.0]


def test_the_best_of_the_rounds_counts(monkeypatch, tmp_path):
    compare = importlib.import_module("benchmarks.compare")
    sides = []

    def measure(root, tree, name):
        sides.append(tree)
        return {("fit", "s", "time"): 10.0 - len(sides)}

    monkeypatch.setattr(compare, "_measure", measure)
    monkeypatch.setattr(compare, "_worktree", lambda root, commit: contextlib.nullcontext(commit))
    comparison = compare.compare(tmp_path, "old", "new", ["toy"], rounds=3)
    assert sides == ["old", "new", "new", "old", "old", "new"]
    assert comparison.ratios["time"] == {"toy / fit / s": 4.0 / 5.0}


def test_a_benchmark_that_one_side_cannot_run_fails_the_comparison(tiny_repository):
    (tiny_repository / "benchmarks" / "other.py").write_text(TOY.replace("TIMES", "OTHER"))
    write_package(tiny_repository, {"sleep": 2.0, "new": 1.0})
    with (tiny_repository / "src" / "bagwise" / "__init__.py").open("a") as file:
        file.write("OTHER = TIMES\n")
    done = run(["--compare", "HEAD", "--rounds", "1"], tiny_repository)
    assert done.returncode == 1
    assert "FAILED: other fails on the base side (HEAD): AttributeError" in done.stdout
    assert "has no attribute 'OTHER'" in done.stdout
    # The other benchmarks are still compared. A row that only one side has is a failure.
    assert "| toy / sleep / bagwise (s) | 2 s | 2 s | 1.00 |" in done.stdout
    assert "FAILED: toy / new / bagwise (s) is missing on the base side" in done.stdout
    assert "FAILED: toy / wait / bagwise (s) is missing on the head side" in done.stdout


def test_wrong_arguments_are_reported(tiny_repository):
    assert "unknown benchmark 'x'; expected any of toy." in run(["x"], tiny_repository).stderr
    assert "cannot check out 'nowhere'" in run(["--compare", "nowhere"], tiny_repository).stderr


def test_all_benchmarks_together_write_the_results(tiny_repository, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tiny_repository / "src"))
    assert run([], tiny_repository).returncode == 0
    text = (tiny_repository / "benchmarks" / "RESULTS.md").read_text()
    assert (
        "## Toy\n\nA note.\n\n| what | bagwise (s) | numpy (s) | memory (MB) |" in text
        and "1 thread per process" in text
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
