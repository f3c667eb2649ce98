"""What every model has to beat: the most frequent label, and the size of a bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler


def log_sizes(bags: Any) -> np.ndarray:
    """Give the logarithm of the number of instances of every bag, as a column: nothing else is looked at."""
    return np.log(np.asarray(bags.sizes, dtype=float))[:, None]


def majority() -> Any:
    """Make a model that always says the most frequent label, and its share as a probability."""
    return DummyClassifier(strategy="prior")


def size_alone() -> Any:
    """Make logistic regression of the logarithm of a bag's size."""
    return make_pipeline(FunctionTransformer(log_sizes), StandardScaler(), LogisticRegression())
