"""Compare two commits: run the same benchmarks alternately with the package from each commit."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness import COMPARE_VARIABLE

ROUNDS = 5
FLOOR = 10.0  # MB: smaller values are replaced by this one
_UNITS = {"time": "s", "memory": "MB"}


@dataclass
class Comparison:
    """Times and memory for two commits.

    Attributes
    ----------
    rows : list of dict
        One row for every bagwise time and memory value in the tables: base, head, and their ratio.
    ratios : dict
        The ratios of all rows, for "time" and "memory".
    failures : list of str
        Benchmarks that fail on one side, and values that are missing on one side.
    """

    rows: list[dict] = field(default_factory=list)
    ratios: dict[str, dict[str, float]] = field(default_factory=lambda: {"time": {}, "memory": {}})
    failures: list[str] = field(default_factory=list)

    def summary(self, limit: float, mean: float, memory: float) -> tuple[list[str], bool]:
        """Return lines with the largest and mean ratios, and whether all are within the limits."""
        lines, is_fine = [], not self.failures
        for kind, most in (("time", limit), ("memory", memory)):
            ratios = self.ratios[kind]
            if ratios:
                worst = max(ratios, key=ratios.__getitem__)
                is_over = ratios[worst] > most
                is_fine &= not is_over
                over = sum(ratio > most for ratio in ratios.values())
                lines.append(
                    f"{'ABOVE THE LIMIT: ' if is_over else ''}largest of {len(ratios)} {kind} ratios: "
                    f"{ratios[worst]:.3f}, {worst} (limit {most:g}, {over} above)"
                )
            if ratios and kind == "time":
                average = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
                is_fine &= average <= mean
                lines.append(
                    f"{'ABOVE THE LIMIT: ' if average > mean else ''}geometric mean of time ratios: "
                    f"{average:.3f} (limit {mean:g})"
                )
        return lines + [f"FAILED: {failure}" for failure in self.failures], is_fine


def compare(root: Path, base: str, head: str | None, names: list[str], rounds: int = ROUNDS) -> Comparison:
    """Measure benchmarks with the package from both commits; the best of `rounds` is kept.

    The benchmarks in `root` run with the package from a worktree of each commit. Without `head`, the head
    side uses the package in `root` itself. The two sides alternate.
    """
    comparison = Comparison()
    with _worktree(root, base) as base_tree, _worktree(root, head) as head_tree:
        sides = {"base": base_tree, "head": head_tree}
        for name in names:
            start = time.perf_counter()
            best: dict[str, dict[tuple, float]] = {side: {} for side in sides}
            try:
                for i in range(rounds):
                    for side in list(sides)[:: 1 if i % 2 == 0 else -1]:
                        for key, value in _measure(root, sides[side], name).items():
                            best[side][key] = min(value, best[side].get(key, math.inf))
            except RuntimeError as error:
                commit = base if side == "base" else head or "the working tree"
                comparison.failures.append(f"{name} fails on the {side} side ({commit}): {error}")
            else:
                _add(comparison, name, best["base"], best["head"])
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return comparison


def _add(comparison: Comparison, name: str, base: dict[tuple, float], head: dict[tuple, float]) -> None:
    for key in base | head:
        *labels, kind = key
        label, unit = " / ".join([name, *labels]), _UNITS[kind]
        if key not in base or key not in head:
            side = "head" if key in base else "base"
            comparison.failures.append(f"{label} is missing on the {side} side")
            continue
        before, after = base[key], head[key]
        floor = FLOOR if kind == "memory" else 0.0
        ratio = max(after, floor) / max(before, floor)
        comparison.ratios[kind][label] = ratio
        comparison.rows.append(
            {
                "benchmark": label,
                "base": f"{before:.3g} {unit}",
                "head": f"{after:.3g} {unit}",
                "head / base": f"{ratio:.2f}",
            }
        )


@contextmanager
def _worktree(root: Path, commit: str | None) -> Iterator[Path]:
    """Check out a commit in a temporary folder, and remove it when the block ends."""
    if commit is None:
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="bagwise-bench-") as folder:
        tree = Path(folder) / "tree"
        add = ["git", "-C", str(root), "worktree", "add", "--quiet", "--detach", str(tree), commit]
        done = subprocess.run(add, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"cannot check out {commit!r}: {done.stderr.strip()}")
        try:
            yield tree
        finally:
            remove = ["git", "-C", str(root), "worktree", "remove", "--force", str(tree)]
            subprocess.run(remove, check=True, capture_output=True)


def _measure(root: Path, tree: Path, name: str) -> dict[tuple, float]:
    """Run one benchmark once with the package from a tree, and return its figures."""
    # The tree is first on the path, so that an installed bagwise is not used.
    path = os.pathsep.join(filter(None, [str(tree / "src"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, COMPARE_VARIABLE: "1"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "benchmarks", name, "--json", str(file)]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
        result = dict(figure for row in json.loads(file.read_text()) for figure in figures(row))
    if not result:
        raise RuntimeError("no row contains a bagwise time or memory value")
    return result


def figures(row: dict) -> Iterator[tuple[tuple, float]]:
    """Yield bagwise's times and memory values in a JSON row, each with its key.

    The key consists of the values before the first time or memory value, the column name and the kind.
    """
    labels: list[str] = []
    is_label = True
    for column, value in row.items():
        if isinstance(value, dict):
            is_label = False
            yield (*labels, column, value["kind"]), value["value"]
        elif is_label:
            labels.append(str(value))
