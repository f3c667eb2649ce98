"""What a comparison knows of one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ModelResult:
    """A model of a comparison: its scores on bags that it was not fitted to.

    Splits are those of `Comparison.folds_`, in their order; a repeat is one cut of all bags into folds.

    Attributes
    ----------
    name : str
        What it is called.
    family : str
        The kind of model, such as "linear model"; "baseline" for those that nobody would use.
    assumes : str or None
        What it takes a bag's label to depend on: "one instance", "a share", "a count" or "the whole bag";
        None where that is not known.
    estimator : estimator
        Not fitted: ``estimator.fit(X, y)`` makes the model anew, with all choices.
    scores : dict
        Of every scoring, an array with a score of every split: what scikit-learn's `cross_validate` gives.
        NaN where a model does not say what the score needs (a probability), or bags do not (one class).
    mean : dict
        Of every scoring, the score of all bags held out: accuracy and log loss weigh bags alike, the AUC
        pairs of bags inside folds; other scores, splits.
    interval : dict
        Of every scoring, a 95 % interval (low, high): see `compare`.
    fit_seconds, predict_seconds : array of shape (n_splits,)
        By the clock on the wall; NaN where a split failed.
    fit_processor_seconds, predict_processor_seconds : array of shape (n_splits,)
        The time of the processor, of all threads together.
    predictions : array of shape (n_repeats, n_bags)
        The label that was predicted for every bag by a model fitted without it; None where there is none.
    oof : array of shape (n_repeats, n_bags) or (n_repeats, n_bags, n_classes), or None
        The probability of ``classes_[1]`` out of fold (with more classes: of all of them), or the score where
        there is no probability. NaN where there is none; None if the model has neither.
    oof_kind : {"probability", "score"} or None
        Which of them it is. Scores of different splits are of different models, and not to be compared.
    choices : list of dict
        For every split, the settings that were chosen inside its training bags.
    error : str or None
        Why it failed, in a sentence, where it did; its scores are then NaN.
    warnings : tuple of str
        What its fits warned of, each once.
    """

    name: str
    family: str
    assumes: str | None
    estimator: Any
    scores: Mapping[str, np.ndarray]
    mean: Mapping[str, float]
    interval: Mapping[str, Interval]
    fit_seconds: np.ndarray
    predict_seconds: np.ndarray
    fit_processor_seconds: np.ndarray
    predict_processor_seconds: np.ndarray
    predictions: np.ndarray
    oof: np.ndarray | None
    oof_kind: str | None
    choices: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_baseline(self) -> bool:
        """Whether it is there to be beaten."""
        return self.family == "baseline"

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {value:.3f}" for name, value in self.mean.items())
        return f"ModelResult({self.name!r}: {self.error or said})"
