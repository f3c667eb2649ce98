"""The estimated time of a comparison, from fits to a small sample of the bags."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bagwise.data.bags import Bags, is_scan
from bagwise.evaluation.comparison.plan import Labelled
from bagwise.evaluation.comparison.portfolio import Entry, core_of
from bagwise.evaluation.comparison.running import Cells, Sample, has_run, run_cell

# The sample contains about this share of the training instances, so that fits to it take little time compared
# with the comparison. It contains three bags of each class, one for each inner fold, and at least two
# instances of a bag.
_SHARE = 0.02
_OF_A_CLASS = 3
_OF_A_BAG = 2
# The first fit of a process also compiles and loads code. If it takes longer than this, it is timed again.
_SLOW_START = 1.0
# The time of a fit is proportional to this power of the number of instances. Fits of at most two seconds
# mainly do work that does not depend on the data; fits of twenty seconds or more mainly loop over instances.
_LEAST_POWER, _MOST_POWER = 0.5, 1.0
_SHORT, _LONG = 2.0, 20.0
# These families compute all pairs of instances or bags, so the exponents are twice as large.
_OF_PAIRS = ("kernel machine", "neighbors")


def small_sample(data: Labelled) -> Sample:
    """Return arguments of `run_cell` for a fit to a few small bags, for estimates and to load compiled code.

    The sample contains the smallest bags of each class and, unless the bags are scanned files, only the first
    instances of each bag.
    """
    sizes = np.asarray(data.bags.sizes)
    rows = np.sort(
        np.concatenate(
            [
                rows[np.argsort(sizes[rows], kind="stable")[:_OF_A_CLASS]]
                for rows in (np.flatnonzero(data.codes == code) for code in range(len(data.classes)))
            ]
        )
    )
    bags = data.bags[rows]
    if not is_scan(bags):
        most = max(_OF_A_BAG, round(_SHARE * sizes.sum() / len(rows)))
        kept = np.flatnonzero(np.arange(bags.n_instances) - bags.offsets[bags.bag_index] < most)
        bags = Bags(
            bags.instances[kept],
            np.append(0, np.cumsum(np.minimum(bags.sizes, most))),
            ids=bags.ids,
            feature_names=bags.feature_names,
            instance_columns={name: column[kept] for name, column in bags.instance_columns.items()},
            bag_columns=bags.bag_columns,
        )
    # One group per bag, so that the sample can always be split into folds; the cost is the same.
    every = np.arange(len(rows))
    return bags, data.y[rows], None if data.groups is None else every, every, every


def estimate_seconds(cells: Cells, begin: Callable[[str], None] = lambda text: None) -> list[float | None]:
    """Estimate the seconds per cell for every model with missing cells.

    A model that can estimate its time (`_expected_seconds`) is not fitted. Other models are fitted to a small
    sample, and the time is extrapolated in the number of instances. The estimate can be wrong by a factor of
    three. The value is None if the model cannot be fitted to the sample.

    Parameters
    ----------
    cells : Cells
        The cells of the comparison.
    begin : callable
        Called with a short text at the start of each model that has missing cells.
    """
    data = cells.data
    sizes = np.asarray(data.bags.sizes)
    n_bags = int(np.mean([len(train) for train, _ in cells.folds]))
    n_instances = int(np.mean([sizes[train].sum() for train, _ in cells.folds]))
    growth = max(1.0, n_instances / cells.sample[0].n_instances)
    values = []
    for index, entry in enumerate(cells.entries):
        if not cells.n_left(index):
            continue
        begin(f"estimating the time: {entry.name}")
        seconds = expected_seconds(entry.estimator, data, n_bags, n_instances)
        if seconds is None:
            seconds = _measured(entry, cells.sample, growth)
        values.append(seconds)
    return values


def expected_seconds(estimator: Any, data: Labelled, n_bags: int, n_instances: int) -> float | None:
    """Return the model's own estimate of the seconds of a fit, or None if it has no such estimate."""
    estimate = getattr(core_of(estimator), "_expected_seconds", None)
    if estimate is None:
        return None
    return estimate(n_bags, n_instances, data.bags.n_features, len(data.classes))


def _measured(entry: Entry, sample: Sample, growth: float) -> float | None:
    """Return the extrapolated seconds of a fit; None if the fit to the sample fails."""
    is_first = not has_run(entry.estimator)
    seconds, error = _timed(entry.estimator, sample)
    if is_first and seconds > _SLOW_START:
        seconds, error = _timed(entry.estimator, sample)
    if error is not None:
        return None
    is_long = np.clip(np.log(seconds / _SHORT) / np.log(_LONG / _SHORT), 0.0, 1.0)
    power = _LEAST_POWER + is_long * (_MOST_POWER - _LEAST_POWER)
    return seconds * growth ** (2 * power if entry.family in _OF_PAIRS else power)


def _timed(estimator: Any, sample: Sample) -> tuple[float, str | None]:
    start = time.perf_counter()
    cell = run_cell(estimator, *sample)
    return time.perf_counter() - start, cell["error"]
