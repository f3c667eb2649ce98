"""Run the benchmarks, print every table, and write RESULTS.md.

``python -m benchmarks [NAME ...]`` runs the named benchmarks; by default it runs all of them and writes the
page. If names are listed, ``--write`` updates only their sections.

``python -m benchmarks [NAME ...] --compare BASE [HEAD]`` runs the benchmarks with the package from two
commits (without HEAD: from a commit and from the working tree) and prints bagwise's times and memory side by
side. Times are processor times with one BLAS thread, including child processes. The two sides alternate in
five rounds, and the best round is reported. Other libraries are not run, and problems that take minutes are
made smaller. Memory below 10 MB is treated as 10 MB, because process sizes vary by a few MB between identical
runs. The exit status is 1 if a ratio is above its limit, or if a benchmark fails on one side.
"""

import os

# All libraries use one thread, so that times are comparable; this must be set before numpy is imported.
THREADS = "1"
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = THREADS

import argparse  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import pkgutil  # noqa: E402
from pathlib import Path  # noqa: E402

from benchmarks.compare import ROUNDS, compare  # noqa: E402
from benchmarks.harness import Figure, environment  # noqa: E402

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "RESULTS.md"
# Modules that are not benchmarks. Every other module defines TITLE, NOTE and run() -> list of dicts.
TOOLS = {"__main__", "compare", "contest", "harness", "libraries"}


def problems() -> list[str]:
    """Return the names of all benchmarks: the modules in this folder."""
    return [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.name not in TOOLS]


def main() -> None:
    """Run all or the named benchmarks; write RESULTS.md after all benchmarks or with ``--write``."""
    benchmarks = problems()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"any of {', '.join(benchmarks)}; default: all"
    )
    parser.add_argument("--compare", nargs="+", metavar=("BASE", "HEAD"), help="compare two commits")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="rounds of --compare; default: %(default)s"
    )
    for option, most, meaning in (
        ("--limit", 1.25, "largest time ratio"),
        ("--mean", 1.05, "geometric mean of the time ratios"),
        ("--memory", 1.1, "largest memory ratio"),
    ):
        text = f"limit of --compare for the {meaning} (head / base); default: %(default)s"
        parser.add_argument(option, type=float, default=most, metavar="RATIO", help=text)
    parser.add_argument("--write", action="store_true", help="update these sections in RESULTS.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rows to a file; print no tables")
    arguments = parser.parse_args()
    names = arguments.names or benchmarks
    unknown = [name for name in names if name not in benchmarks]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; expected any of {', '.join(benchmarks)}.")
    if arguments.compare:
        if len(arguments.compare) > 2:
            parser.error("--compare takes one or two commits; put the names of benchmarks before it.")
        base, head = (*arguments.compare, None)[:2]
        print(f"{base} compared with {head or 'the working tree'}; {environment(THREADS)}\n", flush=True)
        comparison = compare(FOLDER.parent, base, head, names, arguments.rounds)
        lines, is_fine = comparison.summary(arguments.limit, arguments.mean, arguments.memory)
        print("\n".join([table(comparison.rows), "", *lines]))
        raise SystemExit(0 if is_fine else 1)
    sections, all_rows = {}, []
    for name in names:
        problem = importlib.import_module(f"benchmarks.{name}")
        rows = problem.run()
        if arguments.json:
            all_rows += [{column: as_json(value) for column, value in row.items()} for row in rows]
            continue
        section = f"{problem.NOTE}\n\n{table(rows)}\n"
        print(f"## {problem.TITLE}\n\n{section}", flush=True)
        sections[problem.TITLE] = section
    if arguments.json:
        arguments.json.write_text(json.dumps(all_rows))
    elif names == benchmarks or arguments.write:
        about = (
            f"# Benchmarks\n\n`make bench` writes this page. {environment(THREADS)} Seconds are medians over "
            "rounds. Libraries that run in the same process alternate.\n"
        )
        if names != benchmarks:
            about, kept = read_page(RESULTS.read_text())
            sections = kept | sections
        RESULTS.write_text(about + "".join(f"\n## {title}\n\n{text}" for title, text in sections.items()))
        print(f"written: {RESULTS}")


def read_page(page: str) -> tuple[str, dict[str, str]]:
    """Return the text before the sections of a results page, and the text of each section by its title."""
    about, *sections = page.split("\n## ")
    return about, dict(section.split("\n\n", maxsplit=1) for section in sections)


def table(rows: list[dict]) -> str:
    """Format rows as a Markdown table; missing values become empty cells."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns), *([row.get(column, "") for column in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def as_json(value: object) -> object:
    """Return a `Figure` with its kind and exact value, and any other value as text."""
    if isinstance(value, Figure):
        return {"text": str(value), "kind": value.kind, "value": value.value}
    return str(value)


if __name__ == "__main__":
    main()
