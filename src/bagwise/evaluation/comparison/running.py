"""The cells of a comparison (one model in one split): fits and checkpoint."""

from __future__ import annotations

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

# Indices of a model and of a split.
Key = tuple[int, int]
# A few bags with labels, groups, and indices of training and test bags: arguments of `run_cell`.
Sample = tuple[Any, np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]
# Attributes with the settings that bagwise's cross-validated models choose during a fit.
_CHOSEN = ("alpha_", "degree_")


class Cells:
    """Predictions of models in the finished splits.

    Cells are computed model by model, so that an interrupted run contains complete models. Each cell is
    computed by the same function with the same arguments and one BLAS thread. The results are therefore
    bitwise identical for any number of jobs.

    Parameters
    ----------
    entries : sequence of Entry
        The models.
    data : Labeled
        The bags.
    folds : sequence of (train, test)
        The splits.
    sample : tuple
        Arguments of `run_cell` for a fit to a few bags, which loads compiled code (`small_sample`).
    checkpoint : CheckpointLocation, optional
        Checkpoint that stores finished cells. Stored cells are not computed again.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        data: Labelled,
        folds: Sequence[Split],
        sample: Sample,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ):
        self.entries = entries
        self.data = data
        self.folds = folds
        self.sample = sample
        self.checkpoint = checkpoint
        self.finished: dict[Key, dict[str, Any]] = {}
        stored = [(key, checkpoint.within(_name(key))) for key in self._keys()]
        self.finished |= {key: cell.end() for key, cell in stored if cell.has_ended}

    def of(self, model: int) -> list[dict[str, Any]] | None:
        """Return the cells of a model up to the first failed one; None if one is missing."""
        keys = [(model, split) for split in range(len(self.folds))]
        results = [self.finished.get(key) for key in keys]
        cells = []
        for cell in results:
            if cell is None:
                return None
            cells.append(cell)
            if cell["error"] is not None:
                break
        return cells

    def n_left(self, model: int) -> int:
        """Return the number of splits of a model that are not computed yet."""
        return sum((model, split) not in self.finished for split in range(len(self.folds)))

    def run(self, n_jobs: int | None, begin: Callable[[str], None]) -> None:
        """Compute all missing cells.

        Parameters
        ----------
        n_jobs : int or None
            Number of jobs, as in joblib.
        begin : callable
            Called once before the first cell, and with the name of each finished cell.
        """
        left = [key for key in self._keys() if key not in self.finished]
        computed: Iterable[tuple[Key, dict[str, Any]]]
        if effective_n_jobs(n_jobs) == 1:
            # Lazy, so that the remaining splits of a failed model are skipped.
            computed = (_keyed(key, *self._arguments(key)) for key in left if not self._has_failed(key))
        else:
            shared = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            computed = shared(delayed(_keyed)(key, *self._arguments(key)) for key in left)
        begin("")
        for key, cell in computed:
            raise_if_stopped()
            self.finished[key] = cell
            self.checkpoint.within(_name(key)).finish(cell)
            model, split = key
            begin(f"{self.entries[model].name}, split {split + 1} of {len(self.folds)}")

    def _keys(self) -> list[Key]:
        return [(model, split) for model in range(len(self.entries)) for split in range(len(self.folds))]

    def _has_failed(self, key: Key) -> bool:
        """Return whether an earlier split of the model failed. The model then has no scores anyway."""
        model, split = key
        before = [self.finished.get((model, k)) for k in range(split)]
        return any(cell is not None and cell["error"] is not None for cell in before)

    def _arguments(self, key: Key) -> tuple[Any, ...]:
        model, split = key
        data = self.data
        return self.entries[model].estimator, data.bags, data.y, data.groups, *self.folds[split], self.sample


def _keyed(key: Key, *arguments: Any) -> tuple[Key, dict[str, Any]]:
    return key, run_cell(*arguments)


def _name(key: Key) -> str:
    model, split = key
    return f"model {model + 1}, split {split + 1}"


def format_duration(seconds: float) -> str:
    """Format a duration as text.

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


# Models that were already fitted in this process, so their code is compiled or loaded before timing starts.
_have_run: set[str] = set()


def has_run(estimator: Any) -> bool:
    """Return whether a model was fitted in this process before, by `run_cell`."""
    return described(estimator) in _have_run


def run_cell(
    estimator: Any,
    bags: Any,
    y: np.ndarray,
    groups: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    sample: Sample | None = None,
) -> dict[str, Any]:
    """Fit a clone of a model to the training bags and predict the held-out bags.

    The returned dict contains plain values, so that a checkpoint can store it. It contains the outputs for
    the held-out bags by method name, as in `HeldOut` (None if the model has no such method), and the seconds,
    choices and warnings. If the model fails, it contains the error message instead of outputs. If this
    process has not fitted the model before, the model is first fitted to `sample`, because the first fit also
    loads code.
    """
    if sample is not None and not has_run(estimator):
        run_cell(estimator, *sample)
    _have_run.add(described(estimator))
    cell: dict[str, Any] = {"error": None}
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        try:
            held = cross_predict(estimator, bags, y, [(train, test)], groups=groups, keep_models=True)
            outputs = {output: values[test] for output, values in held.outputs.items()}
            _check_finite(outputs)
            cell |= {output: outputs.get(output) for output in OUTPUTS}
            cell |= {"seconds": held.seconds[0].tolist(), "choices": choices_of(held.models[0])}
        except Exception as error:  # after any error, the comparison continues with the other models
            raise_if_stopped()
            cell["error"] = sentence_of(error)
    cell["warnings"] = list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
    return cell


def _check_finite(outputs: Mapping[Any, np.ndarray]) -> None:
    if not np.isfinite(outputs.get("predict_proba", 0.0)).all():
        raise ValueError("the model predicted a probability that is not finite.")
    if np.isnan(outputs.get("decision_function", 0.0)).any():
        raise ValueError("the model predicted a score that is NaN.")


def choices_of(fitted: Any) -> dict[str, Any]:
    """Return the settings that a search or a cross-validated model has chosen."""
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
    """Return an error message on one line, with the exception type unless the model rejected its input."""
    message = " ".join(str(error).split())
    if isinstance(error, (ValueError, TypeError, MemoryError)) and message:
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
