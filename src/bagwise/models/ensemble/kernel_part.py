"""SVMs on the kernel matrices of a view: a part of the ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.interrupt import raise_if_stopped
from bagwise.data.bags import Bags
from bagwise.models.base import Training
from bagwise.models.base.folds import Split
from bagwise.models.base.streaming import in_files
from bagwise.models.ensemble.machines import PENALTIES, fit_machines
from bagwise.models.ensemble.members import FittedMember
from bagwise.models.ensemble.training import OpenTraining
from bagwise.models.ensemble.views import View


@dataclass(frozen=True)
class KernelPart:
    """SVMs on all matrices of a view; a setting is a combination of matrix and penalty.

    Attributes
    ----------
    view : View
        The fitted view, without values that are computed again from the training bags (`View.compact`).
    coef : array of shape (n_matrices, n_columns)
        Coefficients of the columns of each matrix (`View.with_coef`), usually the dual coefficients of the
        training bags, summed over the settings and weighted by the factor of each setting in the vote.
    instance_coef : array of shape (n_matrices, n_bags)
        The same sums for instance scores; zero for matrices that do not score instances, and without rows if
        no matrix does.
    widths : array of shape (n_matrices,)
        Kernel widths of the matrices, as computed by `View.train_grams`.
    """

    view: View
    coef: np.ndarray
    instance_coef: np.ndarray
    widths: np.ndarray

    def log_odds(self, bags: Bags, training: OpenTraining | None) -> np.ndarray:
        """Return the contribution of the part to the log-odds of bags."""
        total = np.zeros(len(bags))
        for K, coef in zip(self._view(training).cross_grams(bags, self.widths), self.coef, strict=True):
            total += K @ coef
        return total

    def instance_log_odds(self, bags: Bags, training: OpenTraining | None) -> np.ndarray:
        """Return the contribution of the part to the log-odds of instances."""
        if not self.instance_coef.any():
            return np.zeros(bags.n_instances)
        view: Any = self._view(training)
        coefs = self.instance_coef[np.flatnonzero(view.of_instances)]
        return sum(K @ coef for K, coef in zip(view.cross_grams_of_instances(bags), coefs, strict=True))

    def _view(self, training: OpenTraining | None) -> View:
        """Return the view for predictions; it is complete if the training bags are not stored."""
        return self.view if training is None else training.restored(self.view)


@dataclass(frozen=True)
class Kernels:
    """SVMs on the matrices of a view, before the fit."""

    view: View

    def fit(
        self,
        training: Training,
        splits: list[Split],
        seed: int,
        n_jobs: int | None,
        checkpoint: CheckpointLocation,
    ) -> FittedMember:
        """Fit SVMs to all matrices, which are computed one at a time and not stored."""
        bags, y, weight = training
        view = self.view.fit(bags, weight, seed, splits)

        def compute() -> dict[str, np.ndarray]:
            fits, widths = [], []
            for gram in view.train_grams(weight, splits):
                raise_if_stopped()
                fits.append(fit_machines(gram, y, weight, splits, n_jobs))
                widths.append(gram.width)
            names = ("held", "coef", "intercept")
            return {
                "widths": np.array(widths),
                **{name: np.stack([getattr(machines, name) for machines in fits]) for name in names},
            }

        arrays = checkpoint.cell("machines", compute)
        coef, widths = arrays["coef"], arrays["widths"]
        # Predictions do not read the files of the training bags again.
        compact = view if in_files(bags) else view.compact()

        def weighted(factor: np.ndarray) -> np.ndarray:
            return np.einsum("kc,kcn->kn", factor.reshape(coef.shape[:2]), coef)

        def joined(factor: np.ndarray, of_instances: np.ndarray) -> KernelPart:
            instance_coef = weighted(of_instances) if of_instances.any() else np.zeros((0, len(y)))
            stored, bag_coef = compact.with_coef(weighted(factor))
            return KernelPart(stored, bag_coef, instance_coef, widths)

        return FittedMember(
            [f"{name}, C {C:g}" for name in view.names for C in PENALTIES],
            np.repeat(view.of_instances, len(PENALTIES)),
            arrays["held"].reshape(-1, len(y)),
            arrays["intercept"].ravel(),
            joined,
        )
