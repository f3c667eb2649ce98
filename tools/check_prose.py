"""Report words and phrases to avoid in texts, each with a replacement.

``python tools/check_prose.py [PATH ...]`` reads comments, docstrings and string literals of Python files,
including f-strings, and the prose of Markdown files. Without arguments, it reads the whole project. The exit
status is 1 if it reports anything. Code blocks, text in backticks, and string literals without a space are
ignored. `tools/prose_exceptions.txt` lists accepted quotations and terms.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "reproduction", "benchmarks", "tools", "docs", "examples", "tests")
EXCEPTIONS = ROOT / "tools" / "prose_exceptions.txt"

# Patterns (case-insensitive), each with its replacement.
PHRASES = {
    r"\bgives?\b": "return, show, have, lead to",
    r"\bnumbers? of (a|an|the|this|each|every|its|one|that) "
    r"(bag|instance|row|column|feature|class|fold|label)\b": "index of, indices of",
    r"(?<!random )(?<!version )(?<!line )(?<!whole )(?<!page )\bnumbers\b(?! of\b)": (
        "values, indices, counts"
    ),
    r"\b(is|are) (no|(?-i:none))\b(?! longer| more| less| fewer)(?<!there is no)(?<!there are no)"
    r"(?<!there is none)(?<!there are none)": "is not a, is not",
    r"\btoo large for a number\b": "overflows",
    r"\b(digits|bits) of a number\b": "floating-point precision",
    r"\b(so|that) many\b": "this many, n, at most n",
    r"(?<!in )(?<!take )(?<!takes )(?<!first )\bplaces?\b(?<!decimal places)": (
        "location, index, position, checkpoint, backend"
    ),
    r"\b(lie|lies|lay|lying)\b": "are stored, are in, are between",
    r"\bstands?\b(?! for\b| out\b)": "is in, are in, is",
    r"\b(say|says|said|saying|tell|tells|told|telling|speak|speaks|spoke|spoken)\b": (
        "report, predict, print, show, state, describe, specify"
    ),
    r"\b(whoever|nobody|somebody)\b": "the caller, no other module, users",
    r"\banew\b": "again",
    r"\bbeside\b": "next to, with, in addition to",
    r"\boftener\b": "more often",
    r"\blest\b": "so that ... not",
    r"\bat hand\b": "available",
    r"\bwherever\b": "in any location, whenever",
    r"\bmodels of bags\b": "bag models",
    r"\bkernels of (sets|bags)\b": "set kernels, bag kernels",
    r"\bfiles of models\b": "model files",
    r"\brules of counts\b": "count rules",
    r"\bmachines of libsvm\b": "libsvm's SVMs",
    r"\b(gaussian|linear|such|these|those|of|two|both) machines\b"
    r"|(?<!vector )\bmachines (are|that|with)\b"
    r"|(?<!vector )\bmachines? (for|per) (a|all|each|every) (bag|class|label|pair)\b": "SVMs",
    r"\bends? of (a|the) (solver|search|run of a solver)\b": "optimum, solution",
    r"\b(of|on) (its|their|his|one's|your) own\b": "separate",
    r"\bby (itself|themselves)\b": "automatically, alone",
    r"\b(do|does|did) no harm\b|\bharmless to whoever\b": "is safe to load: loading never executes code",
    r"\bnext to nothing\b|\bsome thousand\b|\bhard to beat\b|\bneither here nor there\b": (
        "a measured value with its unit"
    ),
    r"\bnought\b|\baught\b|\bthereof\b|\bhereby\b|\bthereby\b|\bwhereof\b|\bwherein\b": "plain words",
    r"(^|[.:;] )(of|from|to) (a|an|the|all|many|several|some|both|its|his|these|those) [^.,:;]*, ": (
        "subject, verb, object: no fronted objects"
    ),
}
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in PHRASES.items()]

_FENCE = re.compile(r"^\s*(```|~~~|:::)")
_CODE = re.compile(r"``[^`]+``|`[^`]+`|https?://\S+|\]\([^)]*\)")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs, comments and literals of a file, each with its line."""
    source = path.read_text()
    yield from _markdown(source) if path.suffix == ".md" else _python(source)


def _markdown(source: str) -> Iterator[tuple[int, str]]:
    is_code, start, paragraph = False, 1, list[str]()
    for i, line in enumerate([*source.splitlines(), ""], 1):
        if _FENCE.match(line):
            is_code = not is_code
            line = ""
        if is_code or not line.strip() or line.lstrip().startswith(("|", "#", "- ", "* ", ">")):
            if paragraph:
                yield start, " ".join(paragraph)
            paragraph, start = [], i
        if not is_code and line.strip():
            paragraph.append(line.strip())


def _python(source: str) -> Iterator[tuple[int, str]]:
    comment, start, last = list[str](), 0, -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text, continues = token.string.lstrip("#: "), token.line.lstrip().startswith("#")
            is_rule = not text.strip("-=% ")  # the lines around a heading in a tutorial
            if comment and (token.start[0] != last + 1 or not continues or is_rule):
                yield start, " ".join(comment)
                comment = []
            start = start if comment else token.start[0]
            last = token.start[0] if continues else -1
            comment += [] if is_rule else [text]
    if comment:
        yield start, " ".join(comment)
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield from _without_examples(node.lineno, text)


def _without_examples(line: int, text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a literal without its doctests."""
    paragraph, start = list[str](), line
    for i, part in enumerate([*text.splitlines(), ""]):
        is_code = part.lstrip().startswith((">>>", "...", "``"))
        if not part.strip("-= ") or is_code:
            if paragraph and not paragraph[0].startswith(">>>"):
                yield start, " ".join(paragraph)
            paragraph, start = ([part.strip()] if is_code else []), line + i + 1
        else:
            if not paragraph:
                start = line + i
            paragraph.append(part.strip())
    if paragraph and not paragraph[0].startswith(">>>"):
        yield start, " ".join(paragraph)


def offenders(path: Path, exceptions: list[str]) -> Iterator[str]:
    """Yield a line of output for every phrase of a file that should be replaced."""
    name = path.relative_to(ROOT).as_posix()
    for line, text in texts(path):
        prose = _CODE.sub("``", text)
        for exception in exceptions:
            prose = prose.replace(exception, "")
        for pattern, instead in _PATTERNS:
            for match in pattern.finditer(prose):
                around = prose[max(0, match.start() - 30) : match.end() + 30]
                yield f"{name}:{line}: {match.group().strip()!r}: write {instead}  ({around.strip()!r})"


def main(paths: list[str]) -> int:
    """Print all offenders; return the exit status."""
    roots = [Path(path).resolve() for path in paths] or [ROOT / folder for folder in FOLDERS] + sorted(
        ROOT.glob("*.md")
    )
    files = [
        file
        for root in roots
        for file in ([root] if root.is_file() else sorted(root.rglob("*")))
        if file.suffix in (".py", ".md") and file.name != "check_prose.py" and "_build" not in file.parts
    ]
    exceptions = [line for line in EXCEPTIONS.read_text().splitlines() if line and line[0] != "#"]
    phrases = [line for file in files for line in offenders(file, exceptions)]
    print(*phrases, f"{len(files)} files, {len(phrases)} phrases to replace", sep="\n")
    return int(bool(phrases))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
