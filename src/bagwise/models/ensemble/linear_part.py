"""Logistic regression on bag statistics: a part of the ensemble that reads the bags once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.interrupt import interruptible
from bagwise.data.bags import Bags
from bagwise.data.blocks import MemoryBlocks, in_doubles
from bagwise.models.base import Training, fit_scaler
from bagwise.models.base.folds import Split
from bagwise.models.embedding import BagStatistics
from bagwise.models.ensemble.members import FittedMember, mean_held_out
from bagwise.models.ensemble.training import OpenTraining
from bagwise.models.ensemble.vectors import without_noise

_STATISTICS = ("min", "max", "mean", "std")
# Values of C, for columns with variance 1 (standardized) or 1/12 (ranked).
_PENALTIES = (0.001, 0.01, 0.1)


@dataclass(frozen=True)
class LinearStatistics:
    """Ridge logistic regression on statistics of every feature, standardized or ranked.

    Attributes
    ----------
    scale : {"standard", "rank"}
        Scaling of the columns.
    """

    scale: str

    def fit(
        self,
        training: Training,
        splits: list[Split],
        seed: int,
        n_jobs: int | None,
        checkpoint: CheckpointLocation,
    ) -> FittedMember:
        """Fit a model for every penalty, on all bags and on the training bags of each fold."""
        bags, y, weight = training
        statistics = BagStatistics(_STATISTICS).set_output(transform="default").fit(bags)
        raw = _raw(statistics, self.scale, bags)
        n = len(raw)
        scaler = fit_scaler(self.scale, MemoryBlocks(raw, np.arange(n + 1), np.zeros(n), weight))
        V = scaler.transform(raw)

        def compute() -> dict[str, np.ndarray]:
            jobs = [(np.arange(n), np.arange(0)), *splits]
            with interruptible(at_once=True):
                results = Parallel(n_jobs=n_jobs, prefer="threads")(
                    delayed(_of_fold)(V, y, weight, train, test) for train, test in jobs
                )
            coef, intercept, _ = results[0]
            held = mean_held_out(n, splits, [scores for _, _, scores in results[1:]])
            return {"held": held, "coef": coef, "intercept": intercept}

        arrays = checkpoint.cell("models", compute)
        coef = arrays["coef"]
        scaling = "standardised" if self.scale == "standard" else "ranked"
        named = ", ".join(_STATISTICS[:-1]) + f" and {_STATISTICS[-1]}"
        return FittedMember(
            [f"logistic regression on {named}, {scaling}, C {C:g}" for C in _PENALTIES],
            np.zeros(len(coef), dtype=bool),
            arrays["held"],
            arrays["intercept"],
            lambda factor, _: LinearPart(self.scale, statistics, scaler, factor @ coef),
        )


def _raw(statistics: BagStatistics, scale: str, bags: Bags) -> np.ndarray:
    vectors = in_doubles(statistics.transform(bags))
    return without_noise(vectors, _STATISTICS) if scale == "rank" else vectors


def _of_fold(
    V: np.ndarray, y: np.ndarray, weight: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients, intercepts and scores of the held-out bags, for every penalty."""
    models = [
        LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(V[train], y[train], weight[train])
        for C in _PENALTIES
    ]
    coef = np.concatenate([model.coef_ for model in models])
    intercept = np.concatenate([model.intercept_ for model in models])
    return coef, intercept, coef @ V[test].T + intercept[:, None]


@dataclass(frozen=True)
class LinearPart:
    """Bag statistics, their scaler, and the summed coefficients of all settings."""

    scale: str
    statistics: BagStatistics
    scaler: Any
    coef: np.ndarray

    def log_odds(self, bags: Bags, training: OpenTraining | None) -> np.ndarray:
        """Return the contribution of the part to the log-odds of bags."""
        return self.scaler.transform(_raw(self.statistics, self.scale, bags)) @ self.coef

    def instance_log_odds(self, bags: Bags, training: OpenTraining | None) -> np.ndarray:
        """Return zeros, because bag statistics do not score instances."""
        return np.zeros(bags.n_instances)
