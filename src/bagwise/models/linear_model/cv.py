"""Choosing the penalty: cross-validated deviance, BIC or AIC along the path."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.threads import blas_threads_for
from bagwise._core.types import ClassWeight, Folds, Scale, Seed
from bagwise.data.blocks import Block, Blocks, ReweightedBlocks, run_together
from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.base.folds import Split, bag_folds
from bagwise.models.linear_model.engine.large_fit import Sample, draw_sample
from bagwise.models.linear_model.logistic import LinearBagClassifier, MILogisticRegression
from bagwise.models.linear_model.path import MILRPath, fit_path
from bagwise.persist.checkpoints import (
    CheckpointLike,
    identity_of,
    opened,
)
from bagwise.rules import Rule
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import record_result

# Paths of folds only compare penalties: this tolerance moves a held-out deviance by far less than its error.
_FOLD_TOL = 1e-4
# Folds with fewer numbers than this are so short that threads would mostly wait for the interpreter's lock.
_WORTH_THREADS = 3_000_000
_WITHOUT_FOLDS = 'Use criterion="bic", which needs no folds.'
# A held-out deviance is above the base rate's if it is by more than this part, which solvers leave open.
_ABOVE = 1e-3
_NAMES = {"deviance": "cross-validated deviance", "bic": "BIC", "aic": "AIC"}


class MILogisticRegressionCV(LinearBagClassifier):
    """`MILogisticRegression` whose LASSO penalty is chosen on the data.

    Along a path of penalties (`milr_path`) the one is taken that has the least

    - "deviance": -2 log-likelihood of held-out bags, averaged over folds that are drawn once; or
    - "bic": -2 log-likelihood + log(sum of bag weights) * number of features in the model; "aic" with 2 for
      the logarithm. The intercept, always in the model, is not counted. A bag of weight two is one that is
      there twice, here as in the likelihood.

    BIC needs one path, cross-validation one for every fold.

    Parameters
    ----------
    rule, l1_ratio, fit_intercept, scale, class_weight, n_init, tol, max_iter, random_state, verbose
        As in `MILogisticRegression`; `l1_ratio` must be positive. `random_state` also draws the folds.
    alphas : int or array, default=20
        The penalties, or how many on a logarithmic grid from the largest to `eps` times the largest.
    eps : float, default=0.01
        The end of that grid; the paper's is 0.001.
    cv : int or splitter, default=10
        Number of stratified folds of bags (fewer if a class has fewer bags), any scikit-learn splitter, or
        a list of (train, test).
    criterion : {"deviance", "bic", "aic"}, default="deviance"
        What is least at the chosen penalty.
    one_se : bool, default=False
        With "deviance": take the strongest penalty within one standard error of the least.
    n_jobs : int or None, default=None
        Folds computed at the same time, by threads, where these are not faster one after the other.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    alphas_ : array of shape (n_alphas,)
        The penalties compared, falling.
    criterion_path_ : array of shape (n_alphas,)
        The criterion at each: mean deviance per bag, BIC or AIC.
    deviances_ : array of shape (n_alphas, n_folds)
        Deviance per held-out bag, if cross-validated: of the path of each fold down from the model without
        features. The fit at `alpha_` searches further (`n_init`): at weak penalties, where the likelihood has
        several optima, it may end in a better one than the paths of the folds did.
    base_deviance_ : float
        If cross-validated: mean deviance of a held-out bag when the share of positive bags among the others
        is all that one knows. Where the curve lies above it the model is overconfident, as `summary` says.
    path_ : MILRPath
        The path on all bags.
    coef_, intercept_, rule_, scaler_, classes_, objective_, objectives_, log_likelihood_, n_iter_, converged_
        As in `MILogisticRegression`, fitted on all bags at `alpha_`.

    Examples
    --------
    >>> from bagwise import MILogisticRegressionCV, make_noisy_or_bags
    >>> data = make_noisy_or_bags(100, n_features=20, random_state=0)
    >>> model = MILogisticRegressionCV(criterion="bic", random_state=0).fit(data.bags, data.y)
    >>> model.alphas_.shape, bool(model.alpha_ < model.path_.alpha_max)
    ((20,), True)
    """

    n_passes_: Any
    path_: MILRPath
    alphas_: np.ndarray
    deviances_: np.ndarray
    criterion_path_: np.ndarray
    base_deviance_: float
    alpha_: float

    _parameter_constraints: dict[str, Any] = {
        **MILogisticRegression._parameter_constraints,
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "cv": ["cv_object"],
        "criterion": [StrOptions({"deviance", "bic", "aic"})],
        "one_se": ["boolean"],
        "n_jobs": [None, Integral],
    }
    for _absent in ("alpha", "warm_start"):
        _parameter_constraints.pop(_absent)

    # As scikit-learn's splitters of groups do: whoever routes groups need not ask for them to come here.
    __metadata_request__fit = {"groups": True}

    # Fits that are equivalent are compared to seven digits, which the default tolerance does not promise.
    _example_parameters = {"alphas": 6, "cv": 3, "n_init": 1, "tol": 1e-11}

    def __init__(
        self,
        rule: str | Rule = "or",
        *,
        alphas: int | ArrayLike = 20,
        eps: float = 0.01,
        l1_ratio: float = 1.0,
        cv: Folds = 10,
        criterion: Literal["deviance", "bic", "aic"] = "deviance",
        one_se: bool = False,
        fit_intercept: bool = True,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        n_init: int = 5,
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.rule = rule
        self.alphas = alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.criterion = criterion
        self.one_se = one_se
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.class_weight = class_weight
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
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
        """Choose the penalty and fit on all bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags, in training and in the held-out deviance.
        groups : array of shape (n_bags,), optional
            The patient, plate or day of every bag: bags of one group are in one fold, for `cv` that is a
            number or a splitter of groups. BIC and AIC have no folds, and do not ask. With scikit-learn's
            metadata routing, groups that are passed to a search or cross-validation come here as well.
        checkpoint : path, optional
            A file that keeps what the fit has found out so far: after a crash the same call goes on from
            there (docs/checkpoints.md). It is removed at the end.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        with opened(checkpoint, lambda: identity_of(self, groups=groups)) as place:
            self._fit(training, sample_weight, groups, place)
        return self

    def _fit(
        self,
        training: Training,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        place: CheckpointLocation,
    ) -> None:
        rng = check_random_state(place.seed(self.random_state))
        folds_seed, search_seed = rng.randint(np.iinfo(np.int32).max, size=2)
        blocks = training.bags.blocks(training.y, training.weight)
        reporter = Reporter(type(self).__name__, self.verbose)
        reporter.watch(blocks)
        reporter.doing("path of all bags")
        sample = draw_sample(blocks.untransformed, np.random.RandomState(0)) if blocks.are_large else None
        # Folds need the curvature along the path: where bags are few, a resumed fit computes the path again.
        is_stored = blocks.are_large or self.criterion != "deviance"
        checkpoint = place.within("path of all bags") if is_stored else NO_CHECKPOINT
        self.path_, warm_models = fit_path(
            self, blocks, alphas=self.alphas, eps=self.eps, sample=sample, checkpoint=checkpoint
        )
        # Penalties beyond the largest are there to look at; the choice is made on the grid.
        inside = self.path_.alphas <= max(self.path_.alpha_max * (1 + 1e-8), self.path_.alphas[-1])
        self.alphas_ = self.path_.alphas[inside] if isinstance(self.alphas, Integral) else self.path_.alphas
        if self.criterion == "deviance":
            splits = bag_folds(
                self.cv,
                training,
                sample_weight,
                seed=int(folds_seed),
                remedy=_WITHOUT_FOLDS,
                groups=groups,
            )
            reporter.doing(f"paths of {len(splits)} folds")
            place.agree_on_folds(splits)
            self.deviances_ = self._held_out_deviances(training, blocks, splits, warm_models, sample, place)
            self.criterion_path_ = self.deviances_.mean(axis=1)
            self.base_deviance_ = float(base_rate_deviances(training, splits).mean())
        else:
            # Less than one bag in all says nothing, and must not reward features.
            each = max(0.0, np.log(training.weight.sum())) if self.criterion == "bic" else 2.0
            chosen = np.isin(self.path_.alphas, self.alphas_)
            deviance = -2.0 * self.path_.log_likelihoods[chosen]
            self.criterion_path_ = deviance + each * self.path_.n_nonzero[chosen]
        del sample
        self.alpha_ = float(self.alphas_[self._choose()])
        at = int(np.argmin(np.abs(self.path_.alphas - self.alpha_)))
        start = self.path_.coefs[at], self.path_.intercepts[at]
        reporter.doing("fit at the alpha chosen")
        problem, results = self._minimise(
            training, self.alpha_, int(search_seed), also_from=start, checkpoint=place
        )
        self._keep(problem, record_result(self, results))
        self.n_passes_ += blocks.n_passes

    def summary(self) -> str:
        """Say what was chosen, how it does on held-out bags, and whether it is overconfident.

        Returns
        -------
        str

        Examples
        --------
        >>> from bagwise import MILogisticRegressionCV, make_noisy_or_bags
        >>> data = make_noisy_or_bags(100, random_state=0)
        >>> model = MILogisticRegressionCV(alphas=5, cv=3, n_init=1, random_state=0).fit(data.bags, data.y)
        >>> print(model.summary().splitlines()[2])
        Features kept:        3 of 3
        """
        check_is_fitted(self)
        at = int(np.argmin(np.abs(self.alphas_ - self.alpha_)))
        kept = int((self.coef_[0] != 0).sum())
        of_grid = f"number {at + 1} of {len(self.alphas_)}, {self.alphas_[-1]:.4g} to {self.alphas_[0]:.4g}"
        lines = [
            f"Multiple-instance logistic regression, penalty chosen by {_NAMES[self.criterion]}",
            f"{'Penalty:':<22}alpha = {self.alpha_:.4g} ({of_grid})",
            f"{'Features kept:':<22}{kept} of {self.coef_.shape[1]}",
        ]
        if self.criterion != "deviance":
            lines.append(
                f"{_NAMES[self.criterion] + ':':<22}{self.criterion_path_[at]:.4f}; no bag was held out"
            )
            return "\n".join(lines)
        here, base = self.criterion_path_[at], self.base_deviance_
        lines += [
            f"{'Held-out log loss:':<22}{here / 2:.4f} a bag, that of the base rate {base / 2:.4f}",
            f"{'Held-out curve:':<22}of paths down from the model without features; the final fit searches "
            "further, and at weak penalties may end elsewhere",
        ]
        if kept and here > base * (1 + _ABOVE):
            lines.append(
                "The model is overconfident: on held-out bags its log loss is above that of the base rate, "
                "which knows no feature. Do not trust its probabilities; let the grid begin at stronger "
                "penalties, or give it more bags."
            )
        return "\n".join(lines)

    def _choose(self) -> int:
        best = int(np.argmin(self.criterion_path_))
        if not (self.one_se and self.criterion == "deviance"):
            return best
        n_folds = self.deviances_.shape[1]
        error = self.deviances_[best].std(ddof=1) / np.sqrt(n_folds)
        return int(np.argmax(self.criterion_path_ <= self.criterion_path_[best] + error))

    def _held_out_deviances(
        self,
        training: Training,
        blocks: Blocks,
        splits: list[Split],
        warm_models: dict[Any, Any],
        sample: Sample | None,
        place: CheckpointLocation,
    ) -> np.ndarray:
        """Deviance per held-out bag: shape (n_alphas, n_folds)."""
        if sample is not None:
            return self._folds_together(blocks, splits, warm_models, sample, place)
        # Folds at the same time share the cores between them; products inside each do not.
        n_jobs = self.n_jobs if blocks.n_values >= _WORTH_THREADS else None
        with blas_threads_for(blocks.n_values if n_jobs in (None, 1) else 0):
            where = {"require": "sharedmem"} if place.is_stored else {"prefer": "threads"}
            columns = Parallel(n_jobs=n_jobs, **where)(
                delayed(place.cell)(f"fold {number + 1}", self._fold, training, *split, warm_models)
                for number, split in enumerate(splits)
            )
        return np.column_stack(columns)

    def _fold(
        self, training: Training, train: np.ndarray, test: np.ndarray, warm_models: dict[Any, Any]
    ) -> np.ndarray:
        bags, y, weight = training
        path = self._fold_path(bags[train].blocks(y[train], weight[train]), warm_models)
        held = bags[test].blocks(y[test], weight[test])
        return -2.0 * held.total(_log_likelihoods, path) / weight[test].sum()

    def _fold_path(
        self,
        blocks: Blocks,
        warm_models: dict[Any, Any],
        sample: Sample | None = None,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ) -> MILRPath:
        """The path of one fold.

        It starts from the model without features like any other; of the path on all bags it takes the
        curvature, which says how far to step and not where to end.
        """
        path, _ = fit_path(
            self,
            blocks,
            alphas=self.alphas_,
            both_ways=False,
            tol=max(self.tol, _FOLD_TOL),
            warm_models=warm_models,
            exactly=False,
            sample=sample,
            checkpoint=checkpoint,
        )
        return path

    def _folds_together(
        self,
        blocks: Blocks,
        splits: list[Split],
        warm_models: dict[Any, Any],
        sample: Sample,
        place: CheckpointLocation,
    ) -> np.ndarray:
        """All folds share passes over all bags: in each of them, the bags held out have no weight."""

        def only(bags: np.ndarray) -> np.ndarray:
            weight = np.zeros(blocks.n_bags)
            # A splitter may give a bag more than once.
            np.add.at(weight, bags, blocks.weight[bags])
            return weight

        def job(number: int, train: np.ndarray, test: np.ndarray) -> Callable[[Blocks], np.ndarray]:
            name = f"fold {number + 1}"

            def run(shared: Blocks) -> np.ndarray:
                fold = ReweightedBlocks(shared, only(train))
                path = self._fold_path(fold, warm_models, sample, place.within(name))
                held = ReweightedBlocks(shared, only(test))
                return -2.0 * held.total(_log_likelihoods, path) / held.weight.sum()

            return lambda shared: place.cell(name, run, shared)

        return np.column_stack(
            run_together(blocks, [job(number, *split) for number, split in enumerate(splits)])
        )


def _log_likelihoods(block: Block, path: MILRPath) -> np.ndarray:
    """Weighted log-likelihood of a block's bags at every alpha of a path."""
    kept = np.flatnonzero(block.weight)
    if len(kept) == 0:
        return np.zeros(len(path.alphas))
    log_odds = path.log_odds(block.X)
    return np.array(
        [block.weight @ path.rule.gradient(column, block.offsets, block.y)[0] for column in log_odds.T]
    )


def base_rate_deviances(training: Training, splits: list[Split]) -> np.ndarray:
    """Deviance per held-out bag of the share of positive bags among those that learn, for every fold."""
    _, y, weight = training
    found = []
    for train, test in splits:
        # Logarithms before the ratio: a class of tiny weight still has a share.
        log_weights = np.log(np.bincount(y[train], weights=weight[train], minlength=2))
        log_p = (log_weights - np.logaddexp(*log_weights))[y[test]]
        found.append(-2.0 * float(weight[test] @ log_p) / float(weight[test].sum()))
    return np.array(found)
