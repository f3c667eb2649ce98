"""PU-SKC with degree and penalty chosen by cross-validation of the PU risk."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.types import PositiveLabel
from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.pu.base import BASIS_CONSTRAINTS, pu_folds
from bagwise.models.pu.features import split_features
from bagwise.models.pu.losses import check_pu_labels, risk_of_scores
from bagwise.models.pu.prior import check_degrees
from bagwise.models.pu.risk import minimize_risk
from bagwise.models.pu.set_kernel import LOSS_CONSTRAINTS, SetKernelScore
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.solvers.reporting import Reporter


class PUSetKernelClassifierCV(SetKernelScore):
    """`PUSetKernelClassifier` with degree and penalty chosen by the PU risk of held-out bags.

    For every degree and every alpha, the zero-one PU risk (`bagwise.pu_risk`) is averaged over folds that are
    stratified by label. The setting with the lowest average is chosen. Ties are resolved in favor of the
    lowest degree, then the strongest penalty. Accuracy against the labels would favor a model that classifies
    every unlabeled bag as negative.

    Parameters
    ----------
    kernel, loss, centers, n_centers, scale, tol
        As in `PUSetKernelClassifier`.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.
    degrees : sequence of int, default=(1, 2, 3)
        Degrees to compare. A callable kernel has no degree.
    alphas : sequence of float, default=(1.0, 1e-3, 1e-6)
        Penalties to compare.
    class_prior : float or None, default=None
        Share of positive bags among the unlabeled bags. By default, the prior is estimated once from all bags
        with the defaults of `ClassPriorEstimator`, because risks are only comparable for the same prior.
    cv : int or splitter, default=5
        Number of folds (fewer if there are fewer positive bags), a scikit-learn splitter, or a list of
        splits. Keep copies of a bag in one fold; otherwise, copies of training bags are held out, and the
        choice overfits.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of folds and centers.
    verbose : int, default=0
        1 reports every fold and the result of the fit on all bags, 2 also reports the iterations of that fit.

    Attributes
    ----------
    degree_, alpha_ : int, float
        The chosen degree and penalty.
    risks_ : array of shape (n_degrees, n_alphas, n_folds)
        Zero-one PU risk in every fold.
    class_prior_, prior_estimate_, basis_, coef_, intercept_, scaler_, classes_, positive_label_
        As in `PUSetKernelClassifier`, fitted on all bags.
    objective_, n_iter_, converged_
        As in `PUSetKernelClassifier`, fitted on all bags.

    Notes
    -----
    Kernel matrices are computed once per degree and split into folds. Every solution is used as the start for
    the next penalty. Features are scaled by the range of all training bags, which does not use the labels.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance learning from positive and
    unlabeled bags, Neural Networks 105, section 5.2.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import PUSetKernelClassifierCV, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=40, n_unlabeled=160, class_prior=0.3, random_state=0
    ... )
    >>> model = PUSetKernelClassifierCV(class_prior=0.3, random_state=0).fit(data.bags, data.y)
    >>> model.risks_.shape, model.degree_ in (1, 2, 3)
    ((3, 3, 5), True)
    """

    risks_: np.ndarray
    degree_: int
    alpha_: float

    _parameter_constraints: dict[str, Any] = {
        **BASIS_CONSTRAINTS,
        **LOSS_CONSTRAINTS,
        "degrees": ["array-like"],
        "alphas": ["array-like"],
        "cv": ["cv_object"],
        "positive": "no_validation",
    }
    # Request `groups` by default, as scikit-learn's group splitters do.
    __metadata_request__fit = {"groups": True}

    _example_parameters = {"degrees": (1, 2), "alphas": (1e-2, 1e-3), "cv": 3}

    def __init__(
        self,
        kernel: Any = "minimax",
        *,
        degrees: Any = (1, 2, 3),
        alphas: Any = (1.0, 1e-3, 1e-6),
        loss: Any = "double_hinge",
        class_prior: Any = None,
        cv: Any = 5,
        centers: Any = "all",
        n_centers: Any = 500,
        scale: Any = "minmax",
        tol: Any = 1e-8,
        positive: PositiveLabel = None,
        random_state: Any = None,
        verbose: Any = 0,
    ):
        self.kernel = kernel
        self.degrees = degrees
        self.alphas = alphas
        self.loss = loss
        self.class_prior = class_prior
        self.cv = cv
        self.centers = centers
        self.n_centers = n_centers
        self.scale = scale
        self.tol = tol
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose

    @validated_fit
    def fit(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        checkpoint: CheckpointLike | None = None,
    ) -> Self:
        """Choose degree and penalty by cross-validation and fit on all bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            Positive and unlabeled bags.
        y : array of shape (n_bags,)
            Labels: 1 or True for positive bags; 0, -1 or False for unlabeled ones.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags, which are also used in the risk.
        groups : array of shape (n_bags,), optional
            Group of every bag, for example its patient, plate or day. If `cv` is an integer or a group
            splitter, the bags of a group stay in one fold, even when the class prior is estimated. With
            scikit-learn's metadata routing, a search or cross-validation passes its groups to this method.
        checkpoint : path, optional
            File that stores the progress of the fit. After a crash, the same call resumes from it
            (docs/checkpoints.md). The file is removed when the fit is complete.

        Returns
        -------
        self
        """
        check_pu_labels(y, type(self).__name__)
        training = self._fit_scaler(self._read_training(X, y, sample_weight))
        with opened(checkpoint, lambda: identity_of(self, groups=groups)) as location:
            self._fit(training, sample_weight, groups, location)
        return self

    def _fit(
        self, training: Training, sample_weight: Any, groups: Any, checkpoint: CheckpointLocation
    ) -> None:
        degrees, alphas = self._grid()
        random_state = checkpoint.seed(self.random_state)
        chosen = self._choose_centers(training, random_state)
        bases = [self._make_basis(training, chosen, degree) for degree in degrees]
        matrices = [basis(training.bags) for basis in bases]
        splits = pu_folds(self.cv, training, sample_weight, random_state, "PUSetKernelClassifier", groups)
        checkpoint.agree_on_folds(splits)
        # Explicit splits and groups keep copies of a bag together, so the class prior needs the same folds.
        fixed_splits = None if isinstance(self.cv, Integral) and groups is None else splits
        self._settle_prior(training, dict(zip(degrees, matrices, strict=True)), fixed_splits)
        self.risks_ = np.empty((len(degrees), len(alphas), len(splits)))
        reporter = Reporter(type(self).__name__, self.verbose)
        for row, (degree, matrix) in enumerate(zip(degrees, matrices, strict=True)):
            for fold, split in enumerate(splits):
                name = f"degree {degree}, fold {fold + 1}"
                risks = checkpoint.cell(name, self._fold, matrix, training, chosen, alphas, *split)
                self.risks_[row, :, fold] = risks
                reporter.fold(fold, len(splits), f"degree {degree}", risks, n_settings=len(degrees))
        # Ties go to the first entry; degrees are ascending and penalties are descending.
        best = np.unravel_index(np.argmin(self.risks_.mean(axis=2).round(12)), self.risks_.shape[:2])
        self.degree_, self.alpha_ = int(degrees[best[0]]), float(alphas[best[1]])
        features = split_features(matrices[best[0]], training.y, training.weight)
        self._minimise(bases[best[0]], features, self.alpha_)

    def _grid(self) -> tuple[list[int], np.ndarray]:
        degrees = check_degrees(self.degrees, "degrees")
        alphas = np.sort(np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)))[::-1]
        if not len(alphas) or not (alphas > 0).all():
            raise ValueError(f"alphas must be one or more values > 0; got {self.alphas!r}.")
        return (degrees[:1] if callable(self.kernel) else degrees), alphas

    def _fold(
        self, matrix: Any, training: Any, chosen: Any, alphas: Any, train: Any, test: Any
    ) -> list[float]:
        """Return the risk of the held-out bags of one fold for every alpha."""
        # Use only centers from the training bags of the fold.
        columns = slice(None) if chosen is None else np.isin(chosen, train)
        features = split_features(matrix[train][:, columns], training.y[train], training.weight[train])
        held = matrix[test][:, columns]
        risks, start = [], None
        for alpha in alphas:
            result = minimize_risk(
                features, self.loss, prior=self.class_prior_, alpha=alpha, tol=self.tol, start=start
            )
            raise_if_stopped()
            start = result.x
            scores = held @ start.coef + start.intercept
            risks.append(
                risk_of_scores(training.y[test], scores, training.weight[test], self.class_prior_, "zero_one")
            )
        return risks
