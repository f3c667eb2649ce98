"""One cell of a comparison: a model is fitted to the training bags of a split and predicts the others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.threads import one_blas_thread
from bagwise.models.base.held_out import OUTPUTS, cross_predict
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
