"""Base classes: an experiment consists of independent cells and a report made from their results.

Each paper has a module with a list ``EXPERIMENTS``. An experiment lists its cells and turns their results
into tables and figures. A cell is a module-level function with JSON-compatible arguments; it computes one
repeat, fold, data set or method, or another part that is worth storing separately. The runner distributes
cells over processes and stores every finished cell, so that an interrupted run can be resumed. A stored cell
stays valid until its code changes (`reproduction.code`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._display.parts import Figure, Table

__all__ = [
    "Cell",
    "Experiment",
    "Figure",
    "Report",
    "Settings",
    "Table",
    "mean_and_error",
    "paired_difference",
    "with_error",
]


@dataclass(frozen=True)
class Settings:
    """Settings of a run.

    Attributes
    ----------
    quick : bool
        Whether to run only a short test of less than ten seconds.
    seed : int
        The random seed; cells derive their seeds from it and from their arguments.
    """

    quick: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Cell:
    """A part of an experiment that is computed and stored separately.

    Attributes
    ----------
    key : str
        Name of the cell, unique within the experiment; may contain letters, digits, ``-``, ``_``, ``.`` and
        ``+``.
    run : callable
        A module-level function that returns JSON-compatible values; NumPy scalars and arrays are allowed.
    arguments : mapping
        JSON-compatible keyword arguments of `run`, including the seed.
    """

    key: str
    run: Callable[..., Any]
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """The results of an experiment.

    Attributes
    ----------
    text : str
        Methods and findings in Markdown: the setting, where it differs from the paper, and why.
    tables : list of Table
        Our results with standard errors, next to the results in the paper.
    figures : list of Figure
        Figures, whose short names become part of the file names.
    data : dict of list of dict
        Rows that are too long for a page and are written to CSV files, by the short name of the file.
    """

    text: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    data: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """An experiment that reruns one table or figure from a paper.

    Attributes
    ----------
    name : str
        Name, as in ``python -m reproduction NAME``.
    title : str
        One-line description of the experiment.
    paper : str
        The paper, and the table or figure in it.
    cells : callable
        ``settings -> list of Cell``.
    report : callable
        ``(results, settings) -> Report``, where `results` maps the key of every cell to its result.
    minutes : float
        Approximate duration of a full run on two cores.
    needs_data : tuple of str
        Names of the data sets that the experiment fetches.
    is_partial : bool
        Whether `report` also accepts a subset of the cells, and states the size of the subset.
    needs_files : tuple of str
        Names of files that cannot be downloaded and must be stored in the folder ``$BAGWISE_DATA``.
    """

    name: str
    title: str
    paper: str
    cells: Callable[[Settings], list[Cell]]
    report: Callable[[Mapping[str, Any], Settings], Report]
    minutes: float = 1.0
    needs_data: tuple[str, ...] = ()
    is_partial: bool = False
    needs_files: tuple[str, ...] = ()

    def missing_files(self) -> list[str]:
        """List the files in `needs_files` that do not exist."""
        folder = Path(os.environ.get("BAGWISE_DATA", "."))
        return [str(folder / name) for name in self.needs_files if not (folder / name).exists()]


def mean_and_error(values) -> tuple[float, float]:
    """Return the mean over repeats and its standard error (NaN for a single repeat)."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), math.nan
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def paired_difference(ours, theirs) -> tuple[float, float]:
    """Return the mean difference in accuracy between two models, and its standard error over bags.

    Parameters
    ----------
    ours, theirs : arrays of shape (n_bags,)
        The share of repetitions in which each model classified each bag correctly.
    """
    return mean_and_error(np.asarray(ours) - np.asarray(theirs))


def with_error(values, digits: int = 1, factor: float = 100.0) -> str:
    """Format the mean over repeats and its standard error, by default in percent: "87.6 ± 0.4"."""
    mean, error = mean_and_error(values)
    if math.isnan(error):
        return f"{factor * mean:.{digits}f}"
    return f"{factor * mean:.{digits}f} ± {factor * error:.{digits}f}"
