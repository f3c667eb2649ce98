"""LSDD and DSDD with width and penalty chosen by cross-validation, each by its own criterion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bagwise._core.types import Folds, PositiveLabel, Scale, Seed
from bagwise.models.base import SCALE_CONSTRAINT, Training
from bagwise.models.pu.base import pu_folds
from bagwise.models.pu.dsdd import RAMP_CONSTRAINTS, DSDDScore
from bagwise.models.pu.instances import DifferenceClassifier, resolve_width
from bagwise.models.pu.lsdd import CENTER_CONSTRAINTS, LSDDScore

GRID_CONSTRAINTS: dict[str, Any] = {
    "positive": "no_validation",
    "gammas": ["array-like", None],
    "alphas": ["array-like"],
    "cv": ["cv_object"],
    "scale": SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}

# Widths to compare by default, as multiples of "scale".
_MULTIPLES = (0.1, 1.0, 10.0)


class ChosenDifference(DifferenceClassifier):
    """Base class of difference classifiers that choose width and penalty by cross-validation."""

    gammas_: np.ndarray
    alphas_: np.ndarray
    criterion_: np.ndarray

    def _choose(self, training: Training, sample_weight: Any, parts: Any) -> tuple[float, float]:
        self.gammas_, self.alphas_ = self._grid(training)
        plain = type(self).__name__.removesuffix("CV")
        splits = pu_folds(self.cv, training, sample_weight, self.random_state, plain)
        indices = np.arange(len(training.y))
        folds = [tuple(np.isin(indices, part) for part in split) for split in splits]
        self.criterion_ = self._criterion(parts, self.gammas_.tolist(), self.alphas_.tolist(), folds)
        # Ties go to the first entry; penalties are descending.
        best = np.unravel_index(np.argmin(self.criterion_), self.criterion_.shape)
        return float(self.gammas_[best[0]]), float(self.alphas_[best[1]])

    def _grid(self, training: Training) -> tuple[np.ndarray, np.ndarray]:
        """Return the widths in the order of `gammas`, and the penalties in descending order."""
        try:
            if self.gammas is None:
                gammas = resolve_width("scale", training) * np.array(_MULTIPLES)
            else:
                gammas = np.array([_width(gamma, training) for gamma in self.gammas])
            alphas = np.sort(np.array([float(alpha) for alpha in self.alphas]))[::-1]
            is_possible = bool(len(gammas) and len(alphas) and min(*gammas, *alphas) > 0)
        except (TypeError, ValueError):
            is_possible = False
        if not is_possible:
            raise ValueError(
                "gammas must be values > 0, 'scale' or 'auto', and alphas must be one or more values > 0; "
                f"got gammas={self.gammas!r} and alphas={self.alphas!r}."
            )
        return gammas, alphas


def _width(gamma: Any, training: Training) -> float:
    return resolve_width(gamma if gamma in ("scale", "auto") else float(gamma), training)


class LSDDClassifierCV(ChosenDifference, LSDDScore):
    """`LSDDClassifier` with width and penalty chosen by the LSDD criterion on held-out bags.

    For every gamma and every alpha, the criterion of LSDD, ``coef'H coef - 2 coef'h``, is averaged over folds
    that are stratified by label. The coefficients are computed from the training bags, and h from the
    held-out bags. The setting with the lowest average is chosen. Ties are resolved in favor of the first
    gamma, then the strongest penalty.

    Parameters
    ----------
    gammas : sequence of float, "scale" or "auto", or None, default=None
        Widths to compare; by default a tenth of "scale", "scale", and ten times "scale".
    alphas : sequence of float, default=(1.0, 1e-3, 1e-6)
        Penalties to compare.
    n_centers, scale
        As in `LSDDClassifier`.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.
    cv : int, splitter or splits, default=5
        Number of folds (fewer if there are fewer positive bags), a scikit-learn splitter, or a list of
        (train, test). Keep copies of a bag in one fold; otherwise, copies of training bags are held out, and
        the choice overfits.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of centers and folds.

    Attributes
    ----------
    gamma_, alpha_ : float
        The chosen width and penalty.
    gammas_, alphas_ : arrays
        The compared widths, in the order of `gammas`, and the compared penalties in descending order.
    criterion_ : array of shape (n_gammas, n_alphas)
        Criterion of the held-out bags, on a signed logarithmic scale (see Notes): the logarithm of its
        absolute value, shifted to be positive, with the sign of the criterion. The lowest entry is the best.
    centers_, coef_, scaler_, classes_, positive_label_, n_features_in_
        As in `LSDDClassifier`, fitted on all bags.

    Notes
    -----
    The cost is O(n_instances n_centers) per gamma, plus an eigendecomposition of H that is reused for all
    alphas and folds. There are no iterations. `LSDDClassifier` omits a factor of the paper's H,
    (pi / (2 gamma)) ** (n_features / 2). A comparison of gammas needs this factor, so the criterion includes
    it, in logarithms. In many dimensions, the narrowest Gaussian with a useful fit is then chosen.

    References
    ----------
    Sugiyama et al. (2012), Density-difference estimation, NIPS 25. Bao et al. (2018), Neural Networks 105,
    section 3.4.

    Examples
    --------
    >>> from bagwise import LSDDClassifierCV, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=60, n_unlabeled=200, class_prior=0.3, random_state=0
    ... )
    >>> model = LSDDClassifierCV(gammas=[1.0, 10.0], alphas=[1.0, 1e-3], random_state=0)
    >>> model = model.fit(data.bags, data.y)
    >>> model.gamma_, model.criterion_.shape
    (10.0, (2, 2))
    """

    _parameter_constraints: dict[str, Any] = {**GRID_CONSTRAINTS, **CENTER_CONSTRAINTS}
    _example_parameters = {"alphas": (1.0, 1e-3), "cv": 3}

    def __init__(
        self,
        *,
        gammas: Sequence[float | str] | None = None,
        alphas: Sequence[float] = (1.0, 1e-3, 1e-6),
        n_centers: int = 300,
        cv: Folds = 5,
        scale: Scale = "minmax",
        positive: PositiveLabel = None,
        random_state: Seed = None,
    ):
        self.gammas = gammas
        self.alphas = alphas
        self.n_centers = n_centers
        self.cv = cv
        self.scale = scale
        self.positive = positive
        self.random_state = random_state


class DSDDClassifierCV(ChosenDifference, DSDDScore):
    """`DSDDClassifier` with width and penalty chosen by the risk of held-out instances.

    For every gamma and every alpha, the loss of DSDD over the instances of held-out bags, ::

        mean_P(ramp(f)) / 2 + mean_U(ramp(-f)) / 2

    is averaged over folds that are stratified by label. The setting with the lowest average is chosen. Ties
    are resolved in favor of the first gamma, then the strongest penalty.

    Parameters
    ----------
    gammas, alphas, cv
        As in `LSDDClassifierCV`.
    fit_intercept, max_instances, scale, tol, max_iter
        As in `DSDDClassifier`.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of instances and folds.
    verbose : int, default=0
        1 reports every fold and the result of the fit, 2 also reports the convex steps of the fit on all
        bags.

    Attributes
    ----------
    gamma_, alpha_ : float
        The chosen width and penalty.
    gammas_, alphas_ : arrays
        The compared widths, in the order of `gammas`, and the compared penalties in descending order.
    criterion_ : array of shape (n_gammas, n_alphas)
        Risk of the held-out instances.
    support_vectors_, dual_coef_, intercept_, scaler_, classes_, positive_label_, n_features_in_
        As in `DSDDClassifier`, fitted on all bags.
    objective_, objective_history_, n_iter_, converged_
        As in `DSDDClassifier`, for the fit on all bags.

    Notes
    -----
    The kernel matrix of instances, O(max_instances^2), is computed once per gamma and split into folds. The
    ``len(gammas) * len(alphas) * cv`` fits in the folds have a precision of two digits, which is sufficient
    to compare settings.

    References
    ----------
    du Plessis, Niu and Sugiyama (2013), Clustering unclustered data: unsupervised binary labeling of two
    datasets having different class balances, TAAI. Bao et al. (2018), Neural Networks 105, section 3.4.

    Examples
    --------
    >>> from bagwise import DSDDClassifierCV, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=40, n_unlabeled=80, class_prior=0.3, random_state=0
    ... )
    >>> model = DSDDClassifierCV(gammas=[1.0, 10.0], alphas=[0.1, 0.01], random_state=0)
    >>> model = model.fit(data.bags, data.y)
    >>> model.criterion_.shape, model.alpha_ in (0.1, 0.01)
    ((2, 2), True)
    """

    _parameter_constraints: dict[str, Any] = {**GRID_CONSTRAINTS, **RAMP_CONSTRAINTS}
    # Folds are solved to two digits, so the choice between settings with a smaller difference is arbitrary.
    _example_parameters = {"gammas": ("scale", 50.0), "alphas": (0.1, 1e-3), "cv": 3}

    def __init__(
        self,
        *,
        gammas: Sequence[float | str] | None = None,
        alphas: Sequence[float] = (1.0, 1e-3, 1e-6),
        fit_intercept: bool = True,
        max_instances: int = 2000,
        cv: Folds = 5,
        scale: Scale = "minmax",
        tol: float = 1e-6,
        max_iter: int = 50,
        positive: PositiveLabel = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.gammas = gammas
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_instances = max_instances
        self.cv = cv
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose
