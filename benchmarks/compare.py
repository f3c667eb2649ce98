"""Base against head: the same benchmarks on two commits of the package, on one machine, in turns."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROUNDS = 2


def compare(root: Path, base: str, head: str | None, names: list[str]) -> list[dict]:
    """Time benchmarks with the package of either commit.

    The benchmarks are those of `root`, the package is that of a worktree of the commit (for a head of None,
    that of `root` as it is). Commits take turns, and the best of their rounds counts.

    Parameters
    ----------
    root : path
        The checkout.
    base, head : str, str or None
        Commits.
    names : list of str
        Benchmarks.

    Returns
    -------
    list of dict
        A row for every time of ours in the tables: base, head, and their ratio.
    """
    times: dict[str, list[dict[tuple, float]]] = {"base": [], "head": []}
    with _worktree(root, base) as base_tree, _worktree(root, head) as head_tree:
        for _ in range(_ROUNDS):
            for side, tree in (("base", base_tree), ("head", head_tree)):
                times[side].append(_measure(root, tree, names))
    best = {
        side: {key: min(r[key] for r in rounds if key in r) for key in {k for r in rounds for k in r}}
        for side, rounds in times.items()
    }
    order = dict.fromkeys(key for rounds in times.values() for found in rounds for key in found)
    rows = []
    for key in order:
        before, after = best["base"].get(key), best["head"].get(key)
        rows.append(
            {
                "benchmark": " / ".join(key),
                "base": "-" if before is None else f"{before:.3f}",
                "head": "-" if after is None else f"{after:.3f}",
                "head / base": "-" if None in (before, after) or before == 0 else f"{after / before:.2f}",
            }
        )
    return rows


@contextmanager
def _worktree(root: Path, commit: str | None) -> Iterator[Path]:
    """Give a checkout of a commit, gone when the block ends."""
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


def _measure(root: Path, tree: Path, names: list[str]) -> dict[tuple, float]:
    """Run benchmarks with the package of a tree; what it cannot run yet, or no more, is left out."""
    found = {}
    # Before anything that is installed.
    path = os.pathsep.join(filter(None, [str(tree / "src"), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            file = Path(folder) / f"{name}.json"
            command = [sys.executable, "-m", "benchmarks", name, "--json", str(file)]
            done = subprocess.run(
                command, cwd=root, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
            )
            if done.returncode != 0:
                print(f"{name} does not run with {tree}: {done.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            for row in json.loads(file.read_text()):
                found |= {(name, *key): value for key, value in our_times(row)}
    return found


def our_times(row: dict) -> Iterator[tuple[tuple, float]]:
    """Find the times of ours in a row of a table: columns in seconds or milliseconds."""
    labels = tuple(str(value) for key, value in row.items() if not _is_figure(value))
    for column, value in row.items():
        is_time = column.endswith(("(s)", "(ms)")) and _is_figure(value)
        if is_time and row.get("library", column).startswith("bagwise"):
            yield (*labels, column), float(value)


def _is_figure(value) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
