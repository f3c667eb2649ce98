"""Predictions for one bag and for many, against LogisticRegression on the same rows."""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from bagwise import (
    BagEnsembleClassifier,
    Bags,
    CitationKNNClassifier,
    MILogisticRegression,
    MIMixture,
    SetKernelSVC,
    SoftORLogisticRegression,
)
from benchmarks.harness import milliseconds, race

TITLE = "Predictions for one bag"
NOTE = (
    "Models are fitted to 300 bags of ten instances with 50 features, and predict one bag or 1,000 bags; "
    "processor time, the best of seven rounds. The ratio is to scikit-learn's "
    "`LogisticRegression.predict_proba` for the ten rows of the bag. Goals: `MILogisticRegression` at most "
    "2, and the ensemble at most 60 ms for one bag."
)
SIZE = 10


def run() -> list[dict]:
    """Time `predict_proba`, or `predict` if there are no probabilities."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000 * SIZE, 50))
    is_positive = X[:, :3].sum(axis=1) > 3
    bags = Bags(X, np.arange(0, len(X) + 1, SIZE))
    y = np.logical_or.reduceat(is_positive, bags.offsets[:-1])
    plain = LogisticRegression().fit(X, is_positive)
    few, single, rows = slice(300), bags[:1], X[:SIZE]
    models = {
        "MILogisticRegression": MILogisticRegression(n_init=1, random_state=0),
        "SoftORLogisticRegression": SoftORLogisticRegression(n_init=1, random_state=0),
        "MIMixture": MIMixture(n_init=1, random_state=0),
        "SetKernelSVC": SetKernelSVC(),
        "CitationKNNClassifier": CitationKNNClassifier(),
        "BagEnsembleClassifier": BagEnsembleClassifier(random_state=0),
    }
    table = []
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(bags[few], y[few])
        predict = getattr(model, "predict_proba", model.predict)
        ours = {"one": lambda predict=predict: predict(single), "many": lambda predict=predict: predict(bags)}
        peers = {"peer": lambda: plain.predict_proba(rows)}
        times = race(7, processor=True, peers=peers, **ours)
        table.append(
            {
                "model": name,
                "one bag (ms)": milliseconds(times["one"], 3),
                "LogisticRegression (ms)": f"{1e3 * times['peer']:.3f}",
                "ratio": f"{times['one'] / times['peer']:.2f}",
                "1,000 bags (ms)": milliseconds(times["many"]),
            }
        )
    return table
