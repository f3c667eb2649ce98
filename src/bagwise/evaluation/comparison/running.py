"""All cells of a comparison: how long they will take, and their fits, remembered in a checkpoint."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.threads import one_blas_thread
from bagwise.evaluation.comparison.plan import Labelled, Split
from bagwise.evaluation.comparison.portfolio import Entry
from bagwise.models.base.held_out import OUTPUTS, cross_predict
from bagwise.persist.checkpoints.identity import described

_OF_A_CLASS = 12
# A model, by its place, and a split.
Key = tuple[int, int]
# Kernel matrices grow with the square of the instances, all else with their number.
_POWERS = {"kernel machine": 2.0}
# What was chosen inside a fit, in models of ours that choose by themselves.
_CHOSEN = ("alpha_", "degree_")


class Cells:
    """What models said in the splits that have finished.

    Cells go model by model, so that what is finished when somebody stops it are whole models. Whatever the
    number of jobs, a cell is computed by the same function of the same arguments with one thread of BLAS: the
    bits are the same.

    Parameters
    ----------
    entries : sequence of Entry
        The models.
    data : Labelled
        The bags.
    folds : sequence of (train, test)
        The splits.
    place : CheckpointLocation, optional
        Where cells are kept as they finish; those that it knows are not computed again.
    """

    few: np.ndarray

    def __init__(
        self,
        entries: Sequence[Entry],
        data: Labelled,
        folds: Sequence[Split],
        place: CheckpointLocation = NO_CHECKPOINT,
    ):
        self.entries = entries
        self.data = data
        self.folds = folds
        self.place = place
        self.found: dict[Key, dict[str, Any]] = {}
        # The first bags of every class: enough to load code, and to see what a fit costs.
        self.few = np.sort(
            np.concatenate(
                [np.flatnonzero(data.codes == code)[:_OF_A_CLASS] for code in np.unique(data.codes)]
            )
        )
        known = [(key, place.within(_name(key))) for key in self._keys()]
        self.found |= {key: cell.end() for key, cell in known if cell.has_ended}

    def of(self, model: int) -> list[dict[str, Any]] | None:
        """Give all cells of a model; None if one is missing. A cell that failed stands for those after it."""
        keys = [(model, split) for split in range(len(self.folds))]
        known = [self.found.get(key) for key in keys]
        cells = []
        for cell in known:
            if cell is None:
                return None
            cells.append(cell)
            if cell["error"] is not None:
                break
        return cells

    def n_left(self, model: int) -> int:
        """How many splits of a model are to be computed."""
        return sum((model, split) not in self.found for split in range(len(self.folds)))

    def run(self, n_jobs: int | None, begin: Callable[[str], None]) -> None:
        """Compute all that is left.

        Parameters
        ----------
        n_jobs : int or None
            As joblib takes it.
        begin : callable
            Called once before the first cell, and with the name of every cell that has finished.
        """
        left = [key for key in self._keys() if key not in self.found]
        computed: Iterable[tuple[Key, dict[str, Any]]]
        if effective_n_jobs(n_jobs) == 1:
            # One after the other, so that a failure spares the splits that follow.
            computed = (_keyed(key, *self._arguments(key)) for key in left if not self._has_failed(key))
        else:
            shared = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            computed = shared(delayed(_keyed)(key, *self._arguments(key)) for key in left)
        begin("")
        for key, cell in computed:
            raise_if_stopped()
            self.found[key] = cell
            self.place.within(_name(key)).finish(cell)
            model, split = key
            begin(f"{self.entries[model].name}, split {split + 1} of {len(self.folds)}")

    def _keys(self) -> list[Key]:
        return [(model, split) for model in range(len(self.entries)) for split in range(len(self.folds))]

    def _has_failed(self, key: Key) -> bool:
        """Whether a split before has failed: this model has no row of numbers, whatever the others say."""
        model, split = key
        before = [self.found.get((model, k)) for k in range(split)]
        return any(cell is not None and cell["error"] is not None for cell in before)

    def _arguments(self, key: Key) -> tuple[Any, ...]:
        model, split = key
        data = self.data
        return self.entries[model].estimator, data.bags, data.y, data.groups, *self.folds[split], self.few


def _keyed(key: Key, *arguments: Any) -> tuple[Key, dict[str, Any]]:
    return key, run_cell(*arguments)


def _name(key: Key) -> str:
    model, split = key
    return f"model {model + 1}, split {split + 1}"


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


def format_duration(seconds: float) -> str:
    """Say how long something takes.

    Examples
    --------
    >>> from bagwise.evaluation.comparison.running import format_duration
    >>> format_duration(0.4), format_duration(42.0), format_duration(200.0), format_duration(9000.0)
    ('a second', '40 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} seconds" if seconds < 10 else f"{round(seconds, -1):.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


# Models that were fitted in this process: their code is compiled, or loaded, before the clock runs.
_have_run: set[str] = set()


def run_cell(
    estimator: Any,
    bags: Any,
    y: np.ndarray,
    groups: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    few: np.ndarray | None = None,
) -> dict[str, Any]:
    """Fit a clone to the training bags, and let it predict those that were held out.

    Gives plain values, for a checkpoint: the outputs of the held-out bags by the names of methods, as a
    `HeldOut` has them (None where the model has no such method), seconds, choices, warnings, and the error's
    sentence instead where the model fails. `few` are bags to fit first, where a process has not seen the
    model yet.
    """
    cell: dict[str, Any] = {"error": None}
    name = described(estimator)
    warm_up = None if name in _have_run else few
    _have_run.add(name)
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        try:
            held = cross_predict(
                estimator, bags, y, [(train, test)], groups=groups, warm_up=warm_up, keep_models=True
            )
            outputs = {output: values[test] for output, values in held.outputs.items()}
            _check_finite(outputs)
            cell |= {output: outputs.get(output) for output in OUTPUTS}
            cell |= {"seconds": held.seconds[0].tolist(), "choices": choices_of(held.models[0])}
        except Exception as error:  # whatever it is, the other models go on
            raise_if_stopped()
            cell["error"] = sentence_of(error)
    cell["warnings"] = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    return cell


def _check_finite(outputs: Mapping[Any, np.ndarray]) -> None:
    if not np.isfinite(outputs.get("predict_proba", 0.0)).all():
        raise ValueError("the model gave a probability that is no number.")
    if np.isnan(outputs.get("decision_function", 0.0)).any():
        raise ValueError("the model gave a score that is no number.")


def choices_of(fitted: Any) -> dict[str, Any]:
    """Say what a fit has chosen: settings of a search, or of a model that chooses by itself."""
    steps = getattr(fitted, "steps", None)
    if steps:
        return choices_of(steps[-1][1])
    chosen: Mapping[str, Any] = getattr(fitted, "best_params_", {})
    if not chosen and hasattr(fitted, "cv"):
        chosen = {name.rstrip("_"): getattr(fitted, name) for name in _CHOSEN if hasattr(fitted, name)}
    return {name: _plain(value) for name, value in chosen.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else described(value)


def sentence_of(error: BaseException) -> str:
    """Make one sentence of an error; the kind is named where it is not plain that a model refused."""
    told = " ".join(str(error).split())
    if isinstance(error, (ValueError, TypeError, MemoryError)) and told:
        return told
    return f"{type(error).__name__}: {told}" if told else type(error).__name__
