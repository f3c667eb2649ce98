"""Run the benchmarks, print every table, and write RESULTS.md: ``python -m benchmarks [NAME ...]``."""

import os

# Before numpy is imported: one thread for everybody, so that a ratio is a ratio.
THREADS = "1"
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = THREADS

import argparse  # noqa: E402
import importlib  # noqa: E402
from pathlib import Path  # noqa: E402

from benchmarks.harness import environment  # noqa: E402

# One module for each group of problems; each has a TITLE, a NOTE and run() -> rows of dicts.
PROBLEMS = ["containers", "rules"]
RESULTS = Path(__file__).with_name("RESULTS.md")


def as_markdown(rows: list[dict]) -> str:
    """Lay out rows of equal keys as a Markdown table."""
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(str(row[key]) for key in header) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Run all or some of the problems; RESULTS.md is written when all were run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(PROBLEMS)}; all by default")
    names = parser.parse_args().names or PROBLEMS
    unknown = [name for name in names if name not in PROBLEMS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(PROBLEMS)}.")
    sections = []
    for name in names:
        problem = importlib.import_module(f"benchmarks.{name}")
        section = f"## {problem.TITLE}\n\n{problem.NOTE}\n\n{as_markdown(problem.run())}\n"
        print(section, flush=True)
        sections.append(section)
    if names == PROBLEMS:
        about = f"# Benchmarks\n\n`make bench` writes this page. {environment(THREADS)}\n\n"
        RESULTS.write_text(about + "\n".join(sections))
        print(f"written: {RESULTS}")


if __name__ == "__main__":
    main()
