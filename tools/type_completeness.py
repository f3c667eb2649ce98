"""Measure how complete the public types are with pyright: ``python tools/type_completeness.py VENV``.

`VENV` is a virtual environment with pyright and scikit-learn-stubs. In this check, pyright does not infer
types from library code. Without the stubs, every class that inherits from a scikit-learn class is treated as
unknown, regardless of its annotations. The same holds for every function that takes or returns such a class.
The script prints the completeness with and without the stubs, and checks the value with the stubs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
LEAST = 0.95


def completeness(venv: Path, *extra_paths: Path) -> tuple[float, list[str]]:
    """Return pyright's share of public symbols with a known type, and the names of the other symbols."""
    paths = os.pathsep.join(map(str, (SOURCE, *extra_paths)))
    run = subprocess.run(
        [
            venv / "bin/pyright",
            *("--pythonpath", sys.executable, "--outputjson", "--ignoreexternal", "--verifytypes", "bagwise"),
        ],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
    )
    report = json.loads(run.stdout)["typeCompleteness"]
    unknown = [
        symbol["name"]
        for symbol in report["symbols"]
        if symbol["isExported"] and (symbol["isTypeAmbiguous"] or not symbol["isTypeKnown"])
    ]
    return report["completenessScore"], unknown


def main(venv: Path) -> int:
    """Print both shares, and return the exit status: 1 if the share with stubs is too small."""
    (packages,) = venv.glob("lib/python*/site-packages")
    alone, _ = completeness(venv)
    share, unknown = completeness(venv, packages)
    print(f"public symbols with a known type: {share:.1%} (without the stubs of scikit-learn: {alone:.1%})")
    if share < LEAST:
        print("unknown:", *unknown, sep="\n  ")
    return int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
