"""Count the files, functions and stack frames that a bagwise call uses.

``python tools/walks.py`` fits several models to 60 bags. For each fit it prints the number of source files
and functions of bagwise that run, the depth of the stack and the number of Python calls, next to the limits
in CONTRIBUTING.md. The exit status is 1 if a count is above its limit. ``--trace lasso`` prints the deepest
stack of one call, ``--list lasso`` its functions by file.

Only the second run of each call is counted, so imports and compilation are excluded. Frames from other
libraries and from compiled kernels are not counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import bagwise
from bagwise import MILogisticRegression, MIMixture, MissSVC, make_noisy_or_bags

PACKAGE = str(Path(bagwise.__file__).parent)
KERNELS = str(Path(PACKAGE) / "_core" / "compiled")


class Limit(NamedTuple):
    """The maximum numbers of files, functions and frames for a call."""

    files: int
    functions: int
    depth: int


class Walk(NamedTuple):
    """The files, functions and frames of one call."""

    files: set[str]
    functions: set[str]
    n_calls: int
    deepest: list[CodeType]


# The limits in CONTRIBUTING.md, by call.
LIMITS = {
    "lasso": Limit(34, 200, 22),
    "mixture": Limit(34, 190, 18),
    "misssvm": Limit(27, 140, 14),
}


def walks() -> dict[str, Callable[[], Any]]:
    """Return the calls by name: fits on a list of arrays, with default parameters."""
    data = make_noisy_or_bags(60, coef=[2.0, -2.0, 0.0, 0.0], random_state=0)
    X, y = list(data.bags), data.y
    return {
        "lasso": lambda: MILogisticRegression(random_state=0).fit(X, y),
        "ridge": lambda: MILogisticRegression(l1_ratio=0.0, random_state=0).fit(X, y),
        "mixture": lambda: MIMixture(random_state=0).fit(X, y),
        "misssvm": lambda: MissSVC(random_state=0).fit(X, y),
    }


def measure(call: Callable[[], Any]) -> Walk:
    """Run a call twice, and count the files, functions and frames of the second run."""
    call()
    files: set[str] = set()
    functions: set[str] = set()
    stack: list[CodeType] = []
    deepest: list[CodeType] = []
    n_calls = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal n_calls, deepest
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or code.co_filename.startswith(KERNELS):
            return
        if event == "call":
            n_calls += 1
            files.add(code.co_filename)
            functions.add(_where(code))
            stack.append(code)
            if len(stack) > len(deepest):
                deepest = list(stack)
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(files, functions, n_calls, deepest)


def _where(code: CodeType) -> str:
    return f"{Path(code.co_filename).relative_to(PACKAGE)} {code.co_qualname}"


def main() -> None:
    """Print the table, or the details of one call."""
    parser = argparse.ArgumentParser(prog="python tools/walks.py", description=__doc__)
    parser.add_argument("--trace", metavar="NAME", help="print the deepest stack of a call")
    parser.add_argument("--list", metavar="NAME", help="print the functions of a call by file")
    arguments = parser.parse_args()
    calls = walks()
    if name := arguments.trace or arguments.list:
        walk = measure(calls[name])
        print(*(map(_where, walk.deepest) if arguments.trace else sorted(walk.functions)), sep="\n")
        return
    print(f"{'call':<10}{'files':>12}{'functions':>14}{'depth':>10}{'calls':>10}")
    is_above = False
    for name, call in calls.items():
        walk = measure(call)
        counts = Limit(len(walk.files), len(walk.functions), len(walk.deepest))
        limit = LIMITS.get(name)
        shown = (
            [f"{n} / {most}" for n, most in zip(counts, limit, strict=True)] if limit else map(str, counts)
        )
        files, functions, depth = shown
        print(f"{name:<10}{files:>12}{functions:>14}{depth:>10}{walk.n_calls:>10}")
        is_above |= limit is not None and any(n > most for n, most in zip(counts, limit, strict=True))
    sys.exit(int(is_above))


if __name__ == "__main__":
    main()
