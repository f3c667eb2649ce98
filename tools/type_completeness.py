"""Say how much of the public types pyright knows: ``python tools/type_completeness.py VENV``.

`VENV` has pyright and scikit-learn-stubs. pyright reads no library's code here: without types of scikit-learn
every class that inherits from one of its classes counts as unknown, whatever it says itself, and so does
whoever takes or gives one. Hence two figures; that with the types of scikit-learn is ours to answer for.
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
    """Give pyright's share of public symbols with a known type, and the names of the others."""
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
    found = json.loads(run.stdout)["typeCompleteness"]
    unknown = [
        symbol["name"]
        for symbol in found["symbols"]
        if symbol["isExported"] and (symbol["isTypeAmbiguous"] or not symbol["isTypeKnown"])
    ]
    return found["completenessScore"], unknown


def main(venv: Path) -> int:
    """Print the figures; 1 if too little is known."""
    (packages,) = venv.glob("lib/python*/site-packages")
    alone, _ = completeness(venv)
    share, unknown = completeness(venv, packages)
    print(f"public symbols with a known type: {share:.1%} (without types of scikit-learn {alone:.1%})")
    if share < LEAST:
        print("unknown:", *unknown, sep="\n  ")
    return int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
