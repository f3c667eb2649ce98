"""What every model has to beat: the most frequent label, and the size of a bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bagwise.evaluation.comparison.portfolio import Entry


def log_sizes(bags: Any) -> np.ndarray:
    """Give the logarithm of the number of instances of every bag, as a column: nothing else is looked at."""
    return np.log(np.asarray(bags.sizes, dtype=float))[:, None]


BASELINES = (
    Entry("most frequent label", "baseline", None, DummyClassifier(strategy="prior")),
    Entry(
        "size of the bag",
        "baseline",
        None,
        make_pipeline(FunctionTransformer(log_sizes), StandardScaler(), LogisticRegression()),
    ),
)
