"""How long a comparison will take, from fits to a few bags."""

from __future__ import annotations

import time

import numpy as np
from joblib import effective_n_jobs

from bagwise.evaluation.comparison.cells import run_cell
from bagwise.evaluation.comparison.running import Cells

# Kernel matrices grow with the square of the instances, all else with their number.
_POWERS = {"kernel machine": 2.0}


def estimate_seconds(cells: Cells, n_jobs: int | None) -> float | None:
    """Fit every model to a few bags, and say how many seconds all cells that are left will take.

    What is counted is a second fit, for which compiled code is there; its time grows with the number of
    instances, of kernel machines with its square. None where nothing is left, or no model can be fitted to
    few bags: then there is nothing to go by.
    """
    data, few = cells.data, cells.few
    sizes = np.asarray(data.bags.sizes, dtype=float)
    learned = np.mean([sizes[train].sum() for train, _ in cells.folds])
    growth = max(1.0, float(learned / sizes[few].sum()))
    total, is_known = 0.0, False
    # Every bag a group of its own costs the same, and can always be cut.
    groups = None if data.groups is None else np.arange(len(data.y))
    for number, entry in enumerate(cells.entries):
        left = cells.n_left(number)
        if not left:
            continue
        for _ in range(2):
            began = time.perf_counter()
            cell = run_cell(entry.estimator, data.bags, data.y, groups, few, few)
            seconds = time.perf_counter() - began
        if cell["error"] is None:
            is_known = True
            total += left * seconds * growth ** _POWERS.get(entry.family, 1.0)
    return total / effective_n_jobs(n_jobs) if is_known else None


def in_words(seconds: float) -> str:
    """Say how long something takes.

    Examples
    --------
    >>> from bagwise.evaluation.comparison.estimate import in_words
    >>> in_words(0.4), in_words(42.0), in_words(200.0), in_words(9000.0)
    ('a second', '40 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} seconds" if seconds < 10 else f"{round(seconds, -1):.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
