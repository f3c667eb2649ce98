"""Draw sentences at random, for a review of our English by a reader with fresh eyes.

``python tools/sample_prose.py [SEED]`` prints 60 sentences each from README and docs, docstrings, comments,
messages, and screens and pages. The default seed is the hash of the current commit. Tests are not included.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from check_prose import ROOT, texts

N_SENTENCES = 60
PYTHON = [
    path
    for folder in ("src", "reproduction", "benchmarks", "tools", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
PAGES = ("src/bagwise/cli/", "src/bagwise/report/", "src/bagwise/_display/", "src/bagwise/evaluation/")
_NO_SENTENCE = (":", "---", ".. ", "|", "![", "...", ">>>")  # directives, tables, pictures and doctests
_FOR_TOOLS = ("type: ignore", "noqa")
_CALLS = re.compile(r"^(warn|warn_.*|.*Error|.*Warning|note|refuse.*)$")


def sentences(text: str) -> Iterator[str]:
    """Split a paragraph into sentences of at least four words."""
    if text.startswith(_FOR_TOOLS):
        return
    for sentence in re.split(r"(?<=[.!?:]) +(?=[A-Z`'\"{(])", text):
        if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= 4 and not sentence.startswith(_NO_SENTENCE):
            yield sentence.strip()


def pools() -> dict[str, list[tuple[str, str]]]:
    """Return all sentences by kind, each with its location."""
    result: dict[str, list[tuple[str, str]]] = {
        name: [] for name in ("README and docs", "docstrings", "comments", "messages", "screens and pages")
    }
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if "_build" not in path.parts:
            _add(result["README and docs"], path, texts(path))
    for path in PYTHON:
        name = path.relative_to(ROOT).as_posix()
        kinds = _literals(path)
        for line, text in texts(path):
            kind = next((kind for start, end, kind in kinds if start <= line <= end), "comments")
            if kind == "strings":
                if not name.startswith(PAGES):
                    continue
                kind = "screens and pages"
            _add(result[kind], path, [(line, text)])
    return result


def _literals(path: Path) -> list[tuple[int, int, str]]:
    """Return the lines of docstrings, messages and other string literals."""
    docstrings, messages, strings = [], [], []
    for node in ast.walk(ast.parse(path.read_text())):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.append((value.lineno, value.end_lineno or 0, "docstrings"))
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Call)
            and _CALLS.match(getattr(node.func, "attr", getattr(node.func, "id", "")))
        ):
            messages.append((node.lineno, node.end_lineno or 0, "messages"))
        if isinstance(node, ast.Constant | ast.JoinedStr):
            strings.append((node.lineno, node.end_lineno or 0, "strings"))
    return docstrings + messages + strings


def _add(pool: list[tuple[str, str]], path: Path, paragraphs: Iterable[tuple[int, str]]) -> None:
    for line, text in paragraphs:
        pool += [(f"{path.relative_to(ROOT).as_posix()}:{line}", sentence) for sentence in sentences(text)]


def main(seed: str) -> None:
    """Print the sentences of every kind."""
    draw = random.Random(seed)
    for kind, pool in pools().items():
        print(f"\n# {kind} ({len(pool)} sentences)\n")
        for i, (location, sentence) in enumerate(draw.sample(pool, N_SENTENCES), 1):
            print(f"{i}. {sentence}  [{location}]")


if __name__ == "__main__":
    head = ["git", "rev-parse", "HEAD"]
    main(sys.argv[1] if len(sys.argv) > 1 else subprocess.check_output(head, cwd=ROOT, text=True).strip())
