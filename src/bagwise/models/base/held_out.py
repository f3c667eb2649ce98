"""Held-out predictions: fit a clone of a model to the training bags of every split, predict the other bags.

All held-out predictions come from `cross_predict`: scores and model comparisons (`bagwise.evaluation`),
calibration inside a fit (`calibration`), members of ensembles, comparisons of rules, and the experiments in
``reproduction``. The function is defined here and not in `evaluation`, because models also call it and
imports only go to lower layers. It does not compute scores: `bagwise.evaluation.held_out` computes scores
with intervals.

Cross-validated regularization paths share work between penalties and use separate loops
(`bagwise.models.linear_model.cv`, `bagwise.models.pu.cv`).
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.interrupt import raise_if_stopped
from bagwise.models.base.folds import Split, bag_folds
from bagwise.models.base.labels import Training

# A method of the fitted model, or a function of the fitted model and the bags; one row per bag.
Output = str | Callable[[Any, Any], Any]

# Default outputs of `cross_predict`.
OUTPUTS = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True)
class HeldOut:
    """Predictions for bags by models that were not fitted to these bags.

    All arrays have one entry or row per bag. `cross_predict` returns them in the order of the bags.

    Attributes
    ----------
    codes : array of shape (n_bags,)
        The index of every bag's label in `classes`.
    classes : array
        The labels; the second of two is the positive class.
    fold : array of shape (n_bags,)
        The index of the last split that held the bag out; -1 if no split did.
    outputs : dict
        The predictions of every requested output, as an array. Outputs that the model does not have are
        missing. For "predict": the index of the predicted label in `classes` (-1 if no split held the bag
        out). For other outputs: the values that the model returned (NaN if no split held the bag out).
    seconds : array of shape (n_splits, 4)
        Wall time of the fit and the predictions in every split, then the CPU time of both.
    models : tuple of fitted models
        One model per split, if `keep_models` was set.
    """

    codes: np.ndarray
    classes: np.ndarray
    fold: np.ndarray
    outputs: Mapping[Output, np.ndarray]
    seconds: np.ndarray = field(default_factory=lambda: np.empty((0, 4)))
    models: tuple[Any, ...] = ()

    def with_positive(self, label: Any) -> HeldOut:
        """Return the same predictions with this label as the second of two classes."""
        if len(self.classes) != 2 or self.classes[1] == label:
            return self
        change: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "predict": lambda codes: np.where(codes < 0, codes, 1 - codes),
            "predict_proba": lambda proba: proba[:, ::-1],
            "decision_function": np.negative,
        }
        outputs = {name: change[str(name)](values) for name, values in self.outputs.items()}
        return replace(self, codes=1 - self.codes, classes=self.classes[::-1], outputs=outputs)

    @property
    def n_folds(self) -> int:
        """The number of splits."""
        return int(self.fold.max()) + 1

    @property
    def predicted(self) -> np.ndarray:
        """The index of the predicted label in `classes`."""
        return self.outputs["predict"]

    @property
    def is_right(self) -> np.ndarray:
        """Whether the predicted label is the bag's label."""
        return self.predicted == self.codes

    @property
    def probability(self) -> np.ndarray | None:
        """The probability of the second of two classes; None for more classes, or without `predict_proba`."""
        proba = self.outputs.get("predict_proba")
        return None if proba is None or len(self.classes) != 2 else proba[:, 1]

    @property
    def score(self) -> np.ndarray | None:
        """The score for the second of two classes: the decision function, or the probability.

        Scores of different folds come from different models and cannot be compared.
        """
        scores = self.outputs.get("decision_function")
        return self.probability if scores is None or len(self.classes) != 2 else scores


def cross_predict(
    model: Any,
    bags: Any,
    y: np.ndarray,
    splits: Sequence[Split],
    *,
    outputs: Sequence[Output] = OUTPUTS,
    groups: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    fit: Callable[..., Any] | None = None,
    warm_up: np.ndarray | None = None,
    keep_models: bool = False,
    checkpoint: CheckpointLocation = NO_CHECKPOINT,
    begin: Callable[[str], None] = lambda text: None,
) -> HeldOut:
    """Fit a clone of a model to the training bags of every split, and predict the other bags.

    Parameters
    ----------
    model : estimator
        A clone is fitted for every split.
    bags : Bags or ScannedBags
        The bags.
    y : array of shape (n_bags,)
        The labels, of two or more classes.
    splits : sequence of (train, test)
        Indices of the training bags and of the bags to predict. A single split is one fit. If several splits
        hold out a bag, the result contains the mean of its predictions and the label of the last one.
    outputs : sequence of str or callable
        The outputs to predict: names of methods of the fitted model, or functions ``(model, bags) -> array``
        with one row per bag. Methods that a model does not have are left out. With an empty sequence, the
        models are only fitted.
    groups : array of shape (n_bags,), optional
        Groups that must stay together if the model itself splits its training bags into folds. `splits` must
        already keep them together.
    sample_weight : array of shape (n_bags,), optional
        Weights, passed to the fits.
    fit : callable, optional
        Function that fits the clone and returns it: ``fit(model, bags, y)``, with the keywords `groups`,
        `sample_weight` and `checkpoint` if they are set. By default, `fit_in_groups` calls the clone's `fit`.
    warm_up : array of int, optional
        Indices of a few bags that are fitted and predicted first, so that compiled code is loaded before
        time is measured. Warnings and errors of this fit are ignored, because it can fail on so few bags.
    keep_models : bool
        Whether the result contains the fitted models. Do not use it with a checkpoint, which does not store
        models.
    checkpoint : CheckpointLocation, optional
        Stores the predictions of finished splits. Each fit gets a location inside the checkpoint, if there
        is one.
    begin : callable
        Called with a short text when the warm-up or a split begins.

    Returns
    -------
    HeldOut

    Raises
    ------
    KeyboardInterrupt
        Between splits, if Ctrl-C was pressed inside `bagwise._core.interrupt.interruptible`.

    Examples
    --------
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from bagwise import MILogisticRegression, load_digit_bags
    >>> from bagwise.models.base.held_out import cross_predict
    >>> data = load_digit_bags(60, random_state=0)
    >>> splits = list(StratifiedKFold(3).split(data.y, data.y))
    >>> held = cross_predict(MILogisticRegression(n_init=1), data.bags, data.y, splits)
    >>> held.predicted.shape, held.outputs["predict_proba"].shape, held.n_folds
    ((60,), (60, 2), 3)
    """
    classes, codes = np.unique(y, return_inverse=True)
    fit = fit_in_groups if fit is None else fit
    models = []

    def run(
        train: np.ndarray, test: np.ndarray, groups: np.ndarray | None, location: CheckpointLocation
    ) -> Any:
        """Fit and predict one split; return its outputs and seconds in the form stored in checkpoints."""
        per_bag = {"groups": groups, "sample_weight": sample_weight}
        arguments: dict[str, Any] = {name: of[train] for name, of in per_bag.items() if of is not None}
        if location.is_stored:
            arguments["checkpoint"] = location
        start = _clocks()
        fitted = fit(clone(model), bags[train], y[train], **arguments)
        after_fit = _clocks()
        predictions = _predicted(fitted, bags[test], outputs, classes) if outputs else []
        if keep_models:
            models.append(fitted)
        return predictions, np.concatenate([after_fit - start, _clocks() - after_fit])[[0, 2, 1, 3]]

    if warm_up is not None:
        begin("warming up")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                # Use one group per bag, so that the few bags can always be split into folds.
                run(warm_up, warm_up, None if groups is None else np.arange(len(codes)), NO_CHECKPOINT)
            except Exception:
                raise_if_stopped()
        models.clear()
    parts = []
    for i, (train, test) in enumerate(splits):
        begin(f"fold {i + 1} of {len(splits)}")
        name = f"held-out bags of fold {i + 1}"
        parts.append(checkpoint.cell(name, run, train, test, groups, checkpoint.within(name)))
        raise_if_stopped()
    fold = np.full(len(codes), -1)
    for i, (_, test) in enumerate(splits):
        fold[test] = i
    return HeldOut(
        codes,
        classes,
        fold,
        {
            output: (_last_of_splits if output == "predict" else mean_of_splits)(len(codes), splits, values)
            for output, *values in zip(outputs, *(predictions for predictions, _ in parts), strict=True)
            if values[0] is not None
        },
        np.array([seconds for _, seconds in parts]),
        tuple(models),
    )


def _clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def _predicted(fitted: Any, bags: Any, outputs: Sequence[Output], classes: np.ndarray) -> list[Any]:
    """Return an array for every output; None for methods that the model does not have."""
    predictions: list[Any] = []
    for output in outputs:
        if callable(output):
            predictions.append(np.asarray(output(fitted, bags)))
        elif not hasattr(fitted, output):
            predictions.append(None)
        elif output == "predict":
            predictions.append(np.searchsorted(classes, fitted.predict(bags)))
        else:
            predictions.append(np.asarray(getattr(fitted, output)(bags), dtype=float))
    return predictions


def _last_of_splits(n_bags: int, splits: Sequence[Split], parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the label of every bag from the last split that held it out; -1 if no split did."""
    labels = np.full(n_bags, -1)
    for (_, test), part in zip(splits, parts, strict=True):
        labels[test] = part
    return labels


def mean_of_splits(n_bags: int, splits: Sequence[Split], parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean over the splits that held a bag out, for every bag; NaN if no split did.

    Each part has one row per held-out bag of its split.
    """
    # Start sums at -0.0: adding a zero then keeps the sign of that zero.
    values, times = np.full((n_bags, *parts[0].shape[1:]), -0.0), np.zeros(n_bags)
    for (_, test), part in zip(splits, parts, strict=True):
        values[test] += part
        times[test] += 1
    several = times > 1
    values[several] /= times[several].reshape(-1, *[1] * (values.ndim - 1))
    values[times == 0] = np.nan
    return values


def fit_in_groups(
    model: Any, bags: Any, y: np.ndarray, groups: np.ndarray | None = None, **arguments: Any
) -> Any:
    """Fit a model so that its internal folds keep groups together.

    This applies to models that split their training bags, such as searches, and to pipelines that end in such
    a model.

    Parameters
    ----------
    model : estimator
        The model to fit. If its ``cv`` is an integer, it is replaced by folds that keep groups together.
    bags, y : Bags, array of shape (n_bags,)
        The training data.
    groups : array of shape (n_bags,), optional
        All bags of a group are either in the training or in the held-out bags of a fold.
    **arguments : anything
        Further arguments of ``fit``.
    """
    if groups is not None:
        arguments |= _keeping_together(model, bags, y, groups)
    return model.fit(bags, y, **arguments)


def _keeping_together(model: Any, bags: Any, y: np.ndarray, groups: np.ndarray) -> dict[str, Any]:
    """Return the group arguments of `fit`; if ``cv`` is an integer, set it to folds that respect groups."""
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        arguments = _keeping_together(last, bags, y, groups)
        return {f"{name}__{key}": value for key, value in arguments.items()}
    if "groups" in inspect.signature(model.fit).parameters:
        return {"groups": groups}
    is_one_vs_rest = isinstance(model, OneVsRestClassifier)
    inside = model.estimator if is_one_vs_rest else model  # its models accept folds but not groups
    if not hasattr(inside, "cv"):
        return {}
    n_folds = getattr(inside.cv, "n_splits", inside.cv) if is_one_vs_rest else inside.cv
    if n_folds is not None and not isinstance(n_folds, Integral):
        return (
            {"groups": groups} if hasattr(inside, "refit") else {}
        )  # a search passes groups to its splitter
    training = Training(bags, np.unique(y, return_inverse=True)[1], np.ones(len(y)))
    remedy = "The model needs more bags to choose its parameters by cross-validation."
    folds = bag_folds(n_folds or 5, training, None, seed=0, remedy=remedy, groups=groups)
    inside.set_params(cv=_as_splitter(folds, len(y)) if hasattr(inside, "refit") else folds)
    return {}


def _as_splitter(folds: Sequence[Split], n_bags: int) -> PredefinedSplit:
    """Return folds as a splitter, because model files that contain lists of folds require trust."""
    of_bag = np.full(n_bags, -1)
    for fold, (_, test) in enumerate(folds):
        of_bag[test] = fold
    return PredefinedSplit(of_bag)
