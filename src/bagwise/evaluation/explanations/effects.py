"""What the features of an instance do to its score: the change if one of them had its usual value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit

from bagwise.data.bags import Bags
from bagwise.models.wrappers.instance_level import said_of_instances, speaker

_MOST_NUMBERS = 2**22  # that are scored at any one time


def usual_values(bags: Bags) -> np.ndarray:
    """Give the median of every feature over all instances, NaN left out; of sparse instances zero."""
    X = bags.instances
    if sp.issparse(X):
        return np.zeros(X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a feature that is missing everywhere has none
        return np.nanmedian(X.astype(np.float64), axis=0)


def feature_effects(model: Any, bags: Bags, row: int, usual: np.ndarray, column: int | None) -> np.ndarray:
    """Give for every feature what an instance's score loses if the feature has its usual value instead.

    The score is the log-odds where the model has probabilities. In a model that is linear in its features
    this is coefficient times difference, and all of them sum to the score's distance from that of an
    instance of usual values.

    Parameters
    ----------
    model : fitted estimator
        With something to say of instances.
    bags : Bags
        That have the instance.
    row : int
        Its place among all instances.
    usual : array of shape (n_features,)
        The usual values.
    column : int or None
        The class, where the model has a score for each.
    """
    X = bags.instances
    x = np.asarray(X[[row]].toarray() if sp.issparse(X) else X[[row]], dtype=np.float64)[0]
    effects = np.zeros(len(x))
    known = ~np.isnan(usual)
    changed = np.flatnonzero(known & (x != usual))
    here = _scores(model, bags, np.array([x]), column)[0]
    step = max(1, _MOST_NUMBERS // len(x))
    for start in range(0, len(changed), step):
        some = changed[start : start + step]
        rows = np.repeat(x[None], len(some), axis=0)
        rows[np.arange(len(some)), some] = usual[some]
        effects[some] = here - _scores(model, bags, rows, column)
    return effects


def _scores(model: Any, bags: Bags, rows: np.ndarray, column: int | None) -> np.ndarray:
    """Score instances, each a bag of its own."""
    matrix = sp.csr_array(rows) if sp.issparse(bags.instances) else rows
    alone = Bags(matrix, np.arange(len(rows) + 1), feature_names=bags.feature_names)
    inside = speaker(model)
    if hasattr(inside, "decision_function_instances"):
        values = np.asarray(inside.decision_function_instances(alone))
    else:
        with np.errstate(divide="ignore"):
            values = logit(said_of_instances(model, alone)[1])
    return values if column is None else values[:, column]
