"""Algorithmic unit tests: whether a model uses a signal that its assumption forbids."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from bagwise.datasets import make_assumption_bags
from bagwise.datasets.assumptions import Kind


class AssumptionScores(NamedTuple):
    """AUC of a model on the training bags and on the test bags of an algorithmic unit test."""

    train_auc: float
    test_auc: float


def assumption_scores(
    model: Any, kind: Kind = "single_concept", *, n_bags: int = 300, random_state: int = 0
) -> AssumptionScores:
    """Fit a clone of a model to the training bags of a unit test, and return its training and test AUC.

    Parameters
    ----------
    model : bag classifier
        A classifier, pipeline or search with `decision_function` or `predict_proba`.
    kind : {"single_concept", "multiple_concepts", "false_frequency"}, default="single_concept"
        The test; see `make_assumption_bags`.
    n_bags : int, default=300
        Number of training bags, and of test bags.
    random_state : int, default=0
        Seed of the bags.

    Returns
    -------
    AssumptionScores
        The fields `train_auc` and `test_auc`.

    Examples
    --------
    >>> from bagwise import SetKernelSVC
    >>> from bagwise.testing import assumption_scores
    >>> scores = assumption_scores(SetKernelSVC(), n_bags=100)
    >>> round(scores.train_auc, 2), round(scores.test_auc, 2)
    (1.0, 0.0)
    """
    seeds = np.random.SeedSequence(random_state).generate_state(2)
    train = make_assumption_bags(kind, n_bags, part="train", random_state=int(seeds[0]))
    test = make_assumption_bags(kind, n_bags, part="test", random_state=int(seeds[1]))
    fitted = clone(model).fit(train.bags, train.y)
    return AssumptionScores(
        *(float(roc_auc_score(data.y, _scores(fitted, data.bags))) for data in (train, test))
    )


def check_assumption(
    model: Any, kind: Kind = "single_concept", *, n_bags: int = 300, random_state: int = 0
) -> AssumptionScores:
    """Run an algorithmic unit test by Raff and Holt, and raise an AssertionError if the model fails it.

    The model fails if its AUC on the test bags is below 0.5. It has then learned the signal that the
    assumption of the test forbids, such as the absence of an instance. Models of the standard assumption
    (one positive instance makes a bag positive) must pass "single_concept". The other two tests are for
    models with two or more concepts: a model with one score per instance cannot solve them.

    Parameters
    ----------
    model : bag classifier
        A classifier, pipeline or search with `decision_function` or `predict_proba`; a clone is fitted.
    kind : {"single_concept", "multiple_concepts", "false_frequency"}, default="single_concept"
        The test; see `make_assumption_bags`.
    n_bags : int, default=300
        Number of training bags, and of test bags.
    random_state : int, default=0
        Seed of the bags.

    Returns
    -------
    AssumptionScores
        The fields `train_auc` and `test_auc`.

    References
    ----------
    E. Raff and J. Holt, "Reproducibility in multiple instance learning: a case for algorithmic unit tests",
    NeurIPS 2023.

    Examples
    --------
    >>> from bagwise import MILogisticRegression
    >>> from bagwise.testing import check_assumption
    >>> scores = check_assumption(MILogisticRegression("or", l1_ratio=0.0, random_state=0))
    >>> scores.test_auc > 0.85
    True
    """
    scores = assumption_scores(model, kind, n_bags=n_bags, random_state=random_state)
    if scores.test_auc < 0.5:
        raise AssertionError(
            f"{type(model).__name__} fails the test {kind!r}: its AUC is {scores.train_auc:.2f} on training "
            f"bags and {scores.test_auc:.2f} on test bags, where the forbidden signal is reversed."
        )
    return scores


def _scores(model: Any, bags: Any) -> np.ndarray:
    """Return the score of ``classes_[1]``, which is the positive class because its label is 1."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(bags))
    return np.asarray(model.predict_proba(bags))[:, 1]
