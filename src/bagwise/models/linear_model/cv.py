"""Choice of the LASSO penalty: cross-validated deviance, BIC or AIC along the path."""

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
from bagwise._core.types import ClassWeight, Folds, PositiveLabel, Scale, Seed
from bagwise.data.blocks import Block, Blocks, ReweightedBlocks, run_together
from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.base.folds import Split, bag_folds
from bagwise.models.linear_model.engine.large_fit import BagSample, draw_sample, worth_sampling
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

# Tolerance of the fold paths, which only compare penalties. Its effect on a held-out deviance is far smaller
# than the standard error.
_FOLD_TOL = 1e-4
# With fewer values than this, folds are so short that threads would mostly wait for the interpreter's lock.
_WORTH_THREADS = 3_000_000
_WITHOUT_FOLDS = 'Use criterion="bic", which needs no folds.'
# A model whose deviance exceeds that of the base rate by more than this fraction is overconfident. Smaller
# differences are within the tolerance of the solvers.
_ABOVE = 1e-3
_NAMES = {"deviance": "cross-validated deviance", "bic": "BIC", "aic": "AIC"}


class MILogisticRegressionCV(LinearBagClassifier):
    """`MILogisticRegression` with a LASSO penalty that is selected from the data.

    The model computes a path of penalties (`milr_path`) and selects the penalty that minimizes one of these
    criteria:

    - "deviance": -2 log-likelihood of held-out bags, averaged over folds that are drawn once.
    - "bic": -2 log-likelihood + log(sum of bag weights) * number of features in the model.
    - "aic": the same with 2 instead of the logarithm.

    The intercept, which is always in the model, is not counted. A bag with weight two counts as two bags, as
    it does in the likelihood. BIC and AIC need a single path; cross-validation needs an additional path for
    every fold.

    Parameters
    ----------
    rule, l1_ratio, fit_intercept, scale, class_weight, n_init, tol, max_iter, random_state, verbose
        As in `MILogisticRegression`; `l1_ratio` must be positive. `random_state` also draws the folds.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, the
        default is to fit both directions and to keep the one with the smaller criterion.
    alphas : int or array, default=20
        The penalties, or the number of penalties on a logarithmic grid that ranges from ``path_.alpha_max``
        to `eps` times this value.
    eps : float, default=0.01
        Ratio of the smallest to the largest penalty of the grid. The paper uses 0.001.
    cv : int or splitter, default=10
        Number of stratified folds of bags (fewer if a class has fewer bags), any scikit-learn splitter, or
        a list of (train, test) pairs.
    criterion : {"deviance", "bic", "aic"}, default="deviance"
        The criterion that is minimized.
    one_se : bool, default=False
        With "deviance": whether to select the strongest penalty whose deviance is within one standard error
        of the smallest one.
    n_jobs : int or None, default=None
        Number of folds to compute in parallel threads. Small data sets always use a single thread, because
        this is faster.

    Attributes
    ----------
    alpha_ : float
        The selected penalty.
    alphas_ : array of shape (n_alphas,)
        The compared penalties, in decreasing order.
    criterion_path_ : array of shape (n_alphas,)
        The criterion for each penalty: mean deviance per bag, BIC or AIC.
    deviances_ : array of shape (n_alphas, n_folds)
        Deviance per held-out bag. Only with ``criterion="deviance"``. Each column belongs to the path of one
        fold, which starts at the model without features. The final fit at `alpha_` uses more starts
        (`n_init`). With weak penalties the likelihood has several optima, so the final fit may reach a better
        one than the fold paths.
    base_deviance_ : float
        Mean deviance per held-out bag of a model that predicts the share of positive training bags for every
        bag. Only with ``criterion="deviance"``. If the deviance of the model is larger, the model is
        overconfident, and `summary` reports this.
    path_ : MILRPath
        The path for all bags.
    coef_, intercept_, rule_, scaler_, classes_, positive_label_, objective_, objectives_,
    log_likelihood_, n_iter_, converged_
        As in `MILogisticRegression`, fitted on all bags with the penalty `alpha_`.

    Notes
    -----
    See docs/explanation/papers.md for the equations of the paper.

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

    # Requested by default, as scikit-learn's group splitters do.
    __metadata_request__fit = {"groups": True}

    # Common tests compare equivalent fits to seven digits; the default tolerance is not precise enough.
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
        positive: PositiveLabel = None,
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
        self.positive = positive
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
        """Select the penalty and fit the model on all bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (one instance per bag)
            The training bags.
        y : array of shape (n_bags,)
            The labels of the bags, of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags, in training and in the held-out deviance.
        groups : array of shape (n_bags,), optional
            Group of every bag, such as its patient, plate or day. Bags of the same group stay in the same
            fold if `cv` is an integer or a group splitter. BIC and AIC do not use groups. With scikit-learn's
            metadata routing, groups that are passed to a search or cross-validation are passed on to this
            method.
        checkpoint : path, optional
            File that stores the progress of the fit. After a crash, the same call continues from this file
            (docs/checkpoints.md). The file is removed at the end.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        with opened(checkpoint, lambda: identity_of(self, groups=groups)) as location:
            self._fit(training, sample_weight, groups, location)
        return self

    def _fit(
        self,
        training: Training,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        location: CheckpointLocation,
    ) -> None:
        rng = check_random_state(location.seed(self.random_state))
        folds_seed, search_seed = rng.randint(np.iinfo(np.int32).max, size=2)
        blocks = training.bags.blocks(training.y, training.weight)
        reporter = Reporter(type(self).__name__, self.verbose)
        reporter.watch(blocks)
        reporter.doing("path of all bags")
        sample = None
        if blocks.are_large and worth_sampling(blocks):
            sample = draw_sample(blocks.untransformed, np.random.RandomState(0))
        # The folds need the curvature along the path, which is not stored for small data: a resumed fit
        # computes the path again.
        is_stored = blocks.are_large or self.criterion != "deviance"
        checkpoint = location.within("path of all bags") if is_stored else NO_CHECKPOINT
        self.path_, warm_models = fit_path(
            self, blocks, alphas=self.alphas, eps=self.eps, sample=sample, checkpoint=checkpoint
        )
        # The path may contain penalties above the largest one of the grid. They are not candidates.
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
            location.agree_on_folds(splits)
            self.deviances_ = self._held_out_deviances(
                training, blocks, splits, warm_models, sample, location
            )
            self.criterion_path_ = self.deviances_.mean(axis=1)
            self.base_deviance_ = float(base_rate_deviances(training, splits).mean())
        else:
            # With a total weight below one, the logarithm is negative and would reward additional features.
            each = max(0.0, np.log(training.weight.sum())) if self.criterion == "bic" else 2.0
            chosen = np.isin(self.path_.alphas, self.alphas_)
            deviance = -2.0 * self.path_.log_likelihoods[chosen]
            self.criterion_path_ = deviance + each * self.path_.n_nonzero[chosen]
        del sample
        self.alpha_ = float(self.alphas_[self._choose()])
        at = int(np.argmin(np.abs(self.path_.alphas - self.alpha_)))
        start = self.path_.coefs[at], self.path_.intercepts[at]
        reporter.doing("fit with the selected alpha")
        problem, results = self._minimise(
            training, self.alpha_, int(search_seed), also_from=start, checkpoint=location
        )
        self._keep(problem, record_result(self, results), self.alpha_)
        self.n_passes_ += blocks.n_passes

    @property
    def _direction_criterion(self) -> str:
        return _NAMES[self.criterion]

    def _direction_loss(self, X: BagsLike, y: ArrayLike, weight: np.ndarray) -> float:
        return float(self.criterion_path_[self._choose()])  # `objective_` depends on the selected penalty

    def summary(self) -> str:
        """Return a text summary of the selected penalty and of the held-out performance.

        The summary contains a warning if the model is overconfident.

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
        of_grid = f"{at + 1} of {len(self.alphas_)} values, {self.alphas_[-1]:.4g} to {self.alphas_[0]:.4g}"
        lines = [
            f"Multiple-instance logistic regression, penalty selected by {_NAMES[self.criterion]}",
            f"{'Penalty:':<22}alpha = {self.alpha_:.4g} (value {of_grid})",
            f"{'Features kept:':<22}{kept} of {self.coef_.shape[1]}",
        ]
        if self.criterion != "deviance":
            lines.append(
                f"{_NAMES[self.criterion] + ':':<22}{self.criterion_path_[at]:.4f} (no held-out bags)"
            )
            return "\n".join(lines)
        deviance, base = self.criterion_path_[at], self.base_deviance_
        lines += [
            f"{'Held-out log loss:':<22}{deviance / 2:.4f} per bag (base rate: {base / 2:.4f})",
            f"{'Held-out curve:':<22}from fold paths that start at the model without features; the final fit "
            "uses more starts and may reach a different optimum if the penalty is weak",
        ]
        if kept and deviance > base * (1 + _ABOVE):
            lines.append(
                "The model is overconfident: its log loss on held-out bags is larger than that of the base "
                "rate, which uses no features. Do not trust its probabilities. Use stronger penalties or "
                "more bags."
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
        sample: BagSample | None,
        location: CheckpointLocation,
    ) -> np.ndarray:
        """Deviance per held-out bag: shape (n_alphas, n_folds)."""
        if blocks.are_large:
            return self._folds_together(blocks, splits, warm_models, sample, location)
        # Concurrent folds share the cores, so the matrix products of a fold use a single thread.
        n_jobs = self.n_jobs if blocks.n_values >= _WORTH_THREADS else None
        with blas_threads_for(blocks.n_values if n_jobs in (None, 1) else 0):
            where = {"require": "sharedmem"} if location.is_stored else {"prefer": "threads"}
            columns = Parallel(n_jobs=n_jobs, **where)(
                delayed(location.cell)(f"fold {index + 1}", self._fold, training, *split, warm_models)
                for index, split in enumerate(splits)
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
        sample: BagSample | None = None,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ) -> MILRPath:
        """Compute the path of one fold.

        The path starts from the model without features, as every path does. It uses the curvature from the
        path of all bags, which affects the length of the steps but not the solutions.
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
        sample: BagSample | None,
        location: CheckpointLocation,
    ) -> np.ndarray:
        """Compute all folds with shared passes over all bags; held-out bags have weight 0 in their fold."""

        def only(bags: np.ndarray) -> np.ndarray:
            weight = np.zeros(blocks.n_bags)
            # A splitter may return a bag more than once.
            np.add.at(weight, bags, blocks.weight[bags])
            return weight

        def job(index: int, train: np.ndarray, test: np.ndarray) -> Callable[[Blocks], np.ndarray]:
            name = f"fold {index + 1}"

            def run(shared: Blocks) -> np.ndarray:
                fold = ReweightedBlocks(shared, only(train))
                path = self._fold_path(fold, warm_models, sample, location.within(name))
                held = ReweightedBlocks(shared, only(test))
                return -2.0 * held.total(_log_likelihoods, path) / held.weight.sum()

            return lambda shared: location.cell(name, run, shared)

        return np.column_stack(
            run_together(blocks, [job(index, *split) for index, split in enumerate(splits)])
        )


def _log_likelihoods(block: Block, path: MILRPath) -> np.ndarray:
    """Return the weighted log-likelihood of a block's bags at every alpha of a path."""
    kept = np.flatnonzero(block.weight)
    if len(kept) == 0:
        return np.zeros(len(path.alphas))
    log_odds = path.log_odds(block.X)
    return np.array(
        [block.weight @ path.rule.gradient(column, block.offsets, block.y)[0] for column in log_odds.T]
    )


def base_rate_deviances(training: Training, splits: list[Split]) -> np.ndarray:
    """Return each fold's held-out deviance per bag of predicting the training share of positive bags."""
    _, y, weight = training
    deviances = []
    for train, test in splits:
        # Taking logarithms before the ratio keeps the share of a class with a tiny weight.
        log_weights = np.log(np.bincount(y[train], weights=weight[train], minlength=2))
        log_p = (log_weights - np.logaddexp(*log_weights))[y[test]]
        deviances.append(-2.0 * float(weight[test] @ log_p) / float(weight[test].sum()))
    return np.array(deviances)
