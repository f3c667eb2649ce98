"""Run the benchmarks, print every table, and write RESULTS.md.

``python -m benchmarks [NAME ...]`` runs all or some of them; all write the page anew, some only their own
sections of it, with ``--write``. With ``--compare BASE [HEAD]`` they are run with the package of two
commits (without HEAD: of a commit and of the working tree), and the times of ours are printed side by side.
"""

import os

# Before numpy is imported: one thread for everybody, so that a ratio is a ratio.
THREADS = "1"
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = THREADS

import argparse  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import pkgutil  # noqa: E402
from pathlib import Path  # noqa: E402

from benchmarks.compare import compare  # noqa: E402
from benchmarks.harness import environment  # noqa: E402

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
# What is not a group of problems. Every other module has a TITLE, a NOTE and run() -> rows of dicts.
TOOLS = {"__main__", "compare", "contest", "harness", "libraries"}


def problems() -> list[str]:
    """The names of all benchmarks: the modules that lie here."""
    return [found.name for found in pkgutil.iter_modules([str(HERE)]) if found.name not in TOOLS]


def main() -> None:
    """Run all or some of the problems; RESULTS.md is written when all were run, or when asked for."""
    known = problems()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"some of {', '.join(known)}; all by default"
    )
    parser.add_argument("--compare", nargs="+", metavar=("BASE", "HEAD"), help="two commits, in turns")
    parser.add_argument("--write", action="store_true", help="write the sections of these into RESULTS.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, and no tables")
    arguments = parser.parse_args()
    names = arguments.names or known
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}.")
    if arguments.compare:
        if len(arguments.compare) > 2:
            parser.error("--compare takes a base and a head; name benchmarks before it.")
        base, head = (*arguments.compare, None)[:2]
        print(f"{base} against {head or 'the working tree'}; {environment(THREADS)}\n", flush=True)
        print(_table(compare(HERE.parent, base, head, names)))
        return
    sections, all_rows = {}, []
    for name in names:
        problem = importlib.import_module(f"benchmarks.{name}")
        rows = problem.run()
        if arguments.json:
            all_rows += rows
            continue
        section = f"{problem.NOTE}\n\n{_table(rows)}\n"
        print(f"## {problem.TITLE}\n\n{section}", flush=True)
        sections[problem.TITLE] = section
    if arguments.json:
        arguments.json.write_text(json.dumps(all_rows, default=str))
    elif names == known or arguments.write:
        about = f"# Benchmarks\n\n`make bench` writes this page. {environment(THREADS)}\n"
        if names != known:
            about, kept = read_page(RESULTS.read_text())
            sections = kept | sections
        RESULTS.write_text(about + "".join(f"\n## {title}\n\n{text}" for title, text in sections.items()))
        print(f"written: {RESULTS}")


def read_page(page: str) -> tuple[str, dict[str, str]]:
    """Give what a page of results says before its sections, and the text of each section by its title."""
    about, *sections = page.split("\n## ")
    return about, dict(section.split("\n\n", maxsplit=1) for section in sections)


def _table(rows: list[dict]) -> str:
    # Imported here: rows for --json come from the package of any commit, which may not have it.
    from bagwise._display.markdown import as_markdown
    from bagwise._display.parts import Table

    return as_markdown(Table("", rows))


if __name__ == "__main__":
    main()
