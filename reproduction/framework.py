"""What an experiment is: cells that can be computed one by one, and a report made of their results.

A paper is a module with a list ``EXPERIMENTS``. An experiment lists its cells (a repeat, a fold, a data set,
a method: whatever is worth storing alone), each a module-level function with arguments that JSON can hold,
and turns their results into tables and figures. The runner shares cells out over processes and stores every
finished one, so an interrupted run goes on where it stopped; a stored one counts as long as the code that it
runs is the same (`reproduction.code`).
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
    """How an experiment is run.

    Attributes
    ----------
    quick : bool
        Whether to do just enough to see that everything works: less than ten seconds.
    seed : int
        The seed of all randomness; cells derive theirs from it and from what they compute.
    """

    quick: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Cell:
    """A piece of an experiment that is computed and stored alone.

    Attributes
    ----------
    key : str
        Its name, unique in the experiment, made of letters, digits, ``-``, ``_``, ``.`` and ``+``.
    run : callable
        A module-level function that returns what JSON can hold (numpy numbers and arrays included).
    arguments : mapping
        Keyword arguments of `run`, all of the seed among them; JSON can hold them.
    """

    key: str
    run: Callable[..., Any]
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """What an experiment has found.

    Attributes
    ----------
    text : str
        What was done and what came out, in Markdown: the setting, where it differs from the paper, and why.
    tables : list of Table
        The paper's numbers beside ours, with standard errors.
    figures : list of Figure
        Pictures, whose short names become part of their files'.
    data : dict of list of dict
        What is too long for a page and worth having, as rows of a CSV file: by the short name of the file.
    """

    text: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    data: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper, rerun.

    Attributes
    ----------
    name : str
        As in ``python -m reproduction NAME``.
    title : str
        One line that says what it shows.
    paper : str
        The paper and the place in it.
    cells : callable
        ``settings -> list of Cell``.
    report : callable
        ``(results, settings) -> Report``, where `results` maps the key of every cell to its result.
    minutes : float
        About how long a full run takes on two cores.
    needs_data : tuple of str
        Names of the data sets it fetches; empty if it needs none.
    is_partial : bool
        Whether `report` makes sense of some of the cells as well, and says of how many.
    needs_files : tuple of str
        Names of files that no address serves, and that must lie in the folder ``$BAGWISE_DATA``.
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
        """List the files of `needs_files` that are not there."""
        folder = Path(os.environ.get("BAGWISE_DATA", "."))
        return [str(folder / name) for name in self.needs_files if not (folder / name).exists()]


def mean_and_error(values) -> tuple[float, float]:
    """Mean of repeats and its standard error (NaN for a single one)."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), math.nan
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def paired_difference(ours, theirs) -> tuple[float, float]:
    """Mean difference of two models in how often they call a bag right, and its standard error over bags.

    Parameters
    ----------
    ours, theirs : arrays of shape (n_bags,)
        The share of repetitions in which each model called each bag right.
    """
    return mean_and_error(np.asarray(ours) - np.asarray(theirs))


def with_error(values, digits: int = 1, factor: float = 100.0) -> str:
    """Write the mean of repeats and its standard error, by default in percent: "87.6 ± 0.4"."""
    mean, error = mean_and_error(values)
    if math.isnan(error):
        return f"{factor * mean:.{digits}f}"
    return f"{factor * mean:.{digits}f} ± {factor * error:.{digits}f}"
