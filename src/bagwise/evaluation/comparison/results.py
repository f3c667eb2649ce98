"""`ModelResult`: the results of one model in a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ModelResult:
    """Scores and predictions of a model in a comparison, for held-out bags.

    The splits are in the order of `Comparison.folds_`. A repeat is one partition of all bags into folds.

    Attributes
    ----------
    name : str
        Name of the model.
    family : str
        Model family, such as "linear model". Baselines have the family "baseline".
    assumes : str or None
        What a bag label depends on according to the model: "one instance", "a share", "a count" or "the whole
        bag"; None if this is not known.
    estimator : estimator
        The unfitted estimator. ``estimator.fit(X, y)`` repeats the fit, including the choice of settings.
    scores : dict
        For each score name, an array with one score per split, as in scikit-learn's `cross_validate`. NaN if
        the model lacks the required output (such as probabilities), or if the bags have only one class.
    mean : dict
        For each score name, the score of all held-out bags. Accuracy and log loss are means over bags, the
        AUC is a mean over pairs of bags within folds, and other scores are means over splits.
    interval : dict
        For each score name, a 95 % interval (low, high): see `compare`.
    fit_seconds, predict_seconds : array of shape (n_splits,)
        Wall-clock time; NaN if a split failed.
    fit_processor_seconds, predict_processor_seconds : array of shape (n_splits,)
        Processor time of all threads together.
    predictions : array of shape (n_repeats, n_bags)
        Predicted label of each bag by the model that was fitted without the bag; None if there is no such
        model.
    oof : array of shape (n_repeats, n_bags) or (n_repeats, n_bags, n_classes), or None
        Out-of-fold probability of ``classes_[1]``, or of all classes if there are more than two; the score if
        the model has no probabilities. NaN for bags that no fold holds out; None if the model has neither
        probabilities nor scores.
    oof_kind : {"probability", "score"} or None
        Whether `oof` contains probabilities or scores. Scores of different splits come from different models
        and are not comparable.
    choices : list of dict
        For each split, the settings that were chosen using its training bags.
    error : str or None
        Why the model failed, as a sentence; its scores are then NaN. None if it did not fail.
    warnings : tuple of str
        Distinct warnings of the fits.
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
        """Whether the model is a baseline."""
        return self.family == "baseline"

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {value:.3f}" for name, value in self.mean.items())
        return f"ModelResult({self.name!r}: {self.error or means})"
