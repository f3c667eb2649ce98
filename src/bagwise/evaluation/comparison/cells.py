"""One cell of a comparison: a model is fitted to the training bags of a split and predicts the others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.threads import one_blas_thread
from bagwise.evaluation.held_out.predictions import fit_in_groups
from bagwise.persist.checkpoints.identity import described

# What was chosen inside a fit, in models of ours that choose by themselves.
_CHOSEN = ("alpha_", "degree_")
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

    Gives plain values, for a checkpoint: places of predicted labels, probabilities and scores (None where
    there are none), seconds, choices, warnings, and the error's sentence instead where the model fails.
    `few` are bags to fit first, where a process has not seen the model yet.
    """
    found: dict[str, Any] = {"error": None}
    name = described(estimator)
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        try:
            if few is not None and name not in _have_run:
                # Every bag a group of its own can always be cut.
                _fit_and_predict(estimator, bags, y, None if groups is None else np.arange(len(y)), few, few)
                caught.clear()
        except Exception:  # what is wrong will show, or few bags are too few
            raise_if_stopped()
        _have_run.add(name)
        try:
            found |= _fit_and_predict(estimator, bags, y, groups, train, test)
        except Exception as error:  # whatever it is, the other models go on
            raise_if_stopped()
            found["error"] = sentence_of(error)
    found["warnings"] = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    return found


def _fit_and_predict(
    estimator: Any,
    bags: Any,
    y: np.ndarray,
    groups: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
) -> dict[str, Any]:
    some = None if groups is None else groups[train]
    began, busy = time.perf_counter(), time.process_time()
    fitted = fit_in_groups(clone(estimator), bags[train], y[train], some)
    fit_wall, fit_busy = time.perf_counter() - began, time.process_time() - busy
    began, busy = time.perf_counter(), time.process_time()
    said = _predictions(fitted, bags[test], np.unique(y))
    seconds = [fit_wall, time.perf_counter() - began, fit_busy, time.process_time() - busy]
    return said | {"seconds": seconds, "choices": choices_of(fitted)}


def _predictions(fitted: Any, bags: Any, classes: np.ndarray) -> dict[str, Any]:
    said: dict[str, Any] = {"probability": None, "decision": None}
    if hasattr(fitted, "predict_proba"):
        said["probability"] = np.asarray(fitted.predict_proba(bags), dtype=float)
    if hasattr(fitted, "decision_function"):
        said["decision"] = np.asarray(fitted.decision_function(bags), dtype=float)
    said["predicted"] = np.searchsorted(classes, fitted.predict(bags))
    if said["probability"] is not None and not np.isfinite(said["probability"]).all():
        raise ValueError("the model gave a probability that is no number.")
    if said["decision"] is not None and np.isnan(said["decision"]).any():
        raise ValueError("the model gave a score that is no number.")
    return said


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
