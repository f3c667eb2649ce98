"""Report names that are not descriptive, and classes that share a name.

``python tools/check_names.py [PATH ...]`` reads the names that Python files define: variables, parameters,
attributes, functions, classes and modules. A name must not match a pattern in `tools/banned_names.txt`, and
two classes in ``src`` must not have the same name. The exit status is 1 if it reports anything.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "reproduction", "benchmarks", "tools", "docs/_ext", "examples", "tests")
BANNED = ROOT / "tools" / "banned_names.txt"


def patterns() -> tuple[list[str], set[str]]:
    """Return the patterns of banned names, and the names that are allowed although they match."""
    lines = [line.split("#")[0].strip() for line in BANNED.read_text().splitlines()]
    allowed = {line[1:].strip() for line in lines if line.startswith("!")}
    return [line for line in lines if line and not line.startswith("!")], allowed


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every name that a module defines, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(
            node,
            ast.FunctionDef
            | ast.AsyncFunctionDef
            | ast.ClassDef
            | ast.ExceptHandler
            | ast.MatchAs
            | ast.MatchStar,
        ):
            if node.name:
                yield node.lineno, node.name
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def main(paths: list[str]) -> int:
    """Print all offenders; return the exit status."""
    banned, allowed = patterns()
    roots = [Path(path).resolve() for path in paths] or [ROOT / folder for folder in FOLDERS]
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("*.py")))]
    offenders, classes = [], defaultdict(list)
    for file in files:
        path = file.relative_to(ROOT).as_posix()
        tree = ast.parse(file.read_text())
        for line, name in [(1, file.stem), *names(tree)]:
            match = next((pattern for pattern in banned if fnmatchcase(name.lower(), pattern)), None)
            if match is not None and name not in allowed:
                offenders.append(f"{path}:{line}: {name} is banned ({match})")
        if path.startswith("src/"):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    classes[node.name].append(f"{path}:{node.lineno}")
    offenders += [f"class {name}: {', '.join(at)}" for name, at in classes.items() if len(at) > 1]
    print(*offenders, f"{len(files)} files, {len(offenders)} names to replace", sep="\n")
    return int(bool(offenders))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
