"""Run an experiment: compute its cells in parallel, store every finished cell, and write the report."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from bagwise._core.files.atomic import replacing
from bagwise._core.interrupt import interruptible
from bagwise._version import __version__
from reproduction.code import Sources
from reproduction.framework import Cell, Experiment, Report, Settings
from reproduction.markdown import picture_lines, section_lines


@interruptible(at_once=True)
def run_experiment(
    experiment: Experiment,
    settings: Settings,
    *,
    out: Path,
    jobs: int = 1,
    fresh: bool = False,
    stored: bool = False,
    begin: Callable[[str], None] = lambda text: None,
    on_report: Callable[[Report], None] | None = None,
) -> Path:
    """Compute the cells that are not stored yet, and write the page, CSV files and figures.

    Parameters
    ----------
    experiment : Experiment
        The experiment to run.
    settings : Settings
        Whether the run is quick or full, and the seed.
    out : path
        The folder for ``NAME.md``, ``NAME.csv`` (one file per table, and more for long data) and
        ``NAME-*.png`` (``NAME-quick...`` for a quick run). Finished cells are stored in its subfolder
        ``cells/``.
    jobs : int
        Number of processes.
    fresh : bool
        Whether to compute stored cells again.
    stored : bool
        Whether to compute nothing and report the stored cells, if the experiment allows partial reports.
    begin : callable
        Called once with an empty string before the first cell, then with the key of every stored or finished
        cell.
    on_report : callable, optional
        Called with the report before it is written.

    Returns
    -------
    pathlib.Path
        The Markdown page.
    """
    start = time.monotonic()
    out = Path(out)
    cells = experiment.cells(settings)
    _check_keys(cells)
    store = cell_folder(experiment, settings, out)
    store.mkdir(parents=True, exist_ok=True)
    # Read the code before anything runs, so that later edits do not affect these cells.
    code = _code(cells)
    fingerprints = _fingerprints(cells, code)
    results = {} if fresh else _stored(store, fingerprints)
    if stored:
        cells = _finished(experiment, cells, results)
    waiting = [cell for cell in cells if cell.key not in results]
    for key in ["", *(cell.key for cell in cells if cell.key in results)]:
        begin(key)
    # Write each finished cell at once, so that it survives Ctrl-C and crashes.
    for key, result in Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_compute)(cell) for cell in waiting
    ):
        result = {"fingerprint": fingerprints[key], **result}
        _write_text(store / f"{key}.json", json.dumps(result))
        results[key] = result
        begin(key)
    report = experiment.report({cell.key: results[cell.key]["value"] for cell in cells}, settings)
    if on_report is not None:
        on_report(report)
    took = f"{sum(results[cell.key]['seconds'] for cell in cells) / 60:.1f} min processor time"
    if waiting and len(waiting) == len(cells):
        took += f", {(time.monotonic() - start) / 60:.1f} min elapsed"
    if stored:
        took = f"{len(cells)} of {len(fingerprints)} cells, {took}"
    provenance = _provenance(experiment, settings, _short(code), took, jobs, stored)
    return _write_report(experiment, settings, report, out, provenance)


def cell_folder(experiment: Experiment, settings: Settings, out: Path) -> Path:
    """Return the folder that stores the finished cells of a run."""
    suffix = "-quick" if settings.quick else ""
    return Path(out) / "cells" / f"{experiment.name}-seed{settings.seed}{suffix}"


def count_stored(experiment: Experiment, settings: Settings, out: Path) -> int:
    """Count the stored cells of a run, which need not be computed again."""
    cells = experiment.cells(settings)
    return len(_stored(cell_folder(experiment, settings, out), _fingerprints(cells, _code(cells))))


def _finished(experiment: Experiment, cells: list[Cell], results: Mapping[str, Any]) -> list[Cell]:
    finished = [cell for cell in cells if cell.key in results]
    if not experiment.is_partial or not finished:
        why = "it needs all of its cells" if finished else "none of its cells is stored for this code"
        raise ValueError(f"{experiment.name} cannot be reported from the stored cells: {why}.")
    return finished


def _check_keys(cells: list[Cell]) -> None:
    keys = [cell.key for cell in cells]
    wrong = [key for key in keys if not re.fullmatch(r"[\w.+-]+", key)]
    if wrong or len(set(keys)) < len(keys):
        raise ValueError(f"cell keys must be unique and valid file names; got {wrong or sorted(keys)}.")


def _compute(cell: Cell) -> tuple[str, dict[str, Any]]:
    start = time.process_time()
    try:
        value = cell.run(**cell.arguments)
    except Exception as error:
        error.add_note(f"in the cell {cell.key!r}")
        raise
    return cell.key, {"seconds": time.process_time() - start, "value": _plain(value)}


def _code(cells: list[Cell]) -> dict[Callable[..., Any], str]:
    """Return the code key of every cell function."""
    sources = Sources()
    return {run: sources.key(run) for run in {cell.run for cell in cells}}


def _short(code: Mapping[Callable[..., Any], str]) -> str:
    """Make a short key for the code of all cells, which identifies the version of a page."""
    return hashlib.sha256("".join(sorted(code.values())).encode()).hexdigest()[:12]


def _fingerprints(cells: list[Cell], code: Mapping[Callable[..., Any], str]) -> dict[str, str]:
    """Hash everything that a stored result depends on: the cell's function, its arguments and its code."""
    fingerprints = {}
    for cell in cells:
        function = f"{cell.run.__module__}.{cell.run.__qualname__}"
        text = json.dumps([function, _plain(dict(cell.arguments)), code[cell.run]], sort_keys=True)
        fingerprints[cell.key] = hashlib.sha256(text.encode()).hexdigest()
    return fingerprints


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays to JSON types; floats keep all digits."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return value


def _stored(store: Path, fingerprints: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Read the stored results whose fingerprints match."""
    results = {}
    for key, fingerprint in fingerprints.items():
        with suppress(FileNotFoundError, ValueError):
            result = json.loads((store / f"{key}.json").read_text(encoding="utf-8"))
            if result.get("fingerprint") == fingerprint:
                results[key] = result
    return results


def _write_text(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def _write_report(
    experiment: Experiment, settings: Settings, report: Report, out: Path, provenance: str
) -> Path:
    # A quick run never overwrites the page of a full run.
    name = experiment.name + ("-quick" if settings.quick else "")
    lines = [f"# {experiment.name}: {experiment.title}", "", experiment.paper, "", provenance, ""]
    lines += [report.text.strip(), ""]
    for i, table in enumerate(report.tables):
        csv_name = f"{name}.csv" if len(report.tables) == 1 else f"{name}-{i + 1}.csv"
        _write_csv(out / csv_name, table.rows)
        lines += section_lines(table)
    for short, rows in report.data.items():
        _write_csv(out / f"{name}-{short}.csv", rows)
    for figure in report.figures:
        file = f"{name}-{figure.name}.png"
        with replacing(out / file) as part:
            # Omit date and versions, so that equal runs write equal files.
            options: dict[str, Any] = {"dpi": 150, "bbox_inches": "tight", "metadata": {"Software": None}}
            figure.draw().savefig(part, format="png", **options)
        lines += picture_lines(figure, file)
    page = out / f"{name}.md"
    _write_text(page, "\n".join(lines).rstrip() + "\n")
    return page


def _provenance(
    experiment: Experiment, settings: Settings, code: str, took: str, jobs: int, stored: bool
) -> str:
    flags = f" --seed {settings.seed}" + (" --quick" if settings.quick else "") + f" --jobs {jobs}"
    flags += " --stored" if stored else ""
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "scipy", "scikit-learn", "numba"))
    return (
        f"Command: `python -m reproduction {experiment.name}{flags}`. bagwise {__version__}, code {code}, "
        f"Python {platform.python_version()}, {packages}; {took}."
    )


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
