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
from bagwise.models.ensemble.machines import PENALTIES, fit_machines
from bagwise.models.ensemble.members import FittedMember
from bagwise.models.ensemble.views import View


@dataclass(frozen=True)
class KernelPart:
    """SVMs on all matrices of a view; a setting is a combination of matrix and penalty.

    Attributes
    ----------
    view : View
        The fitted view.
    coef : array of shape (n_matrices, n_bags)
        Dual coefficients, summed over the settings and weighted by the factor of each setting in the vote.
    instance_coef : array of shape (n_matrices, n_bags)
        The same sums for instance scores; zero for matrices that do not score instances.
    widths : array of shape (n_matrices,)
        Kernel widths of the matrices, as computed by `View.train_grams`.
    """

    view: View
    coef: np.ndarray
    instance_coef: np.ndarray
    widths: np.ndarray

    def log_odds(self, bags: Bags) -> np.ndarray:
        """Return the contribution of the part to the log-odds of bags."""
        total = np.zeros(len(bags))
        for K, coef in zip(self.view.cross_grams(bags, self.widths), self.coef, strict=True):
            total += K @ coef
        return total

    def instance_log_odds(self, bags: Bags) -> np.ndarray:
        """Return the contribution of the part to the log-odds of instances."""
        view: Any = self.view
        if not self.instance_coef.any():
            return np.zeros(bags.n_instances)
        coefs = self.instance_coef[np.flatnonzero(view.of_instances)]
        return sum(K @ coef for K, coef in zip(view.cross_grams_of_instances(bags), coefs, strict=True))


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
        coef, widths, kept = arrays["coef"], arrays["widths"], view.without_folds()

        def weighted(factor: np.ndarray) -> np.ndarray:
            return np.einsum("kc,kcn->kn", factor.reshape(coef.shape[:2]), coef)

        return FittedMember(
            [f"{name}, C {C:g}" for name in view.names for C in PENALTIES],
            np.repeat(view.of_instances, len(PENALTIES)),
            arrays["held"].reshape(-1, len(y)),
            arrays["intercept"].ravel(),
            lambda factor, of_instances: KernelPart(kept, weighted(factor), weighted(of_instances), widths),
        )
