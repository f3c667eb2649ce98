"""`MIMLLogisticRegression`: multinomial logistic regression of instances, fitted to label sets of bags."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_softmax, logsumexp
from sklearn.utils import check_random_state

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.compiled.arrays import readonly
from bagwise._core.sklearn_private import Interval
from bagwise._core.threads import blas_threads_for
from bagwise._core.types import PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import Block, Blocks, Sums
from bagwise.models.base import (
    SCALE_CONSTRAINT,
    BagsLike,
    Training,
    affine_map,
    fit_scaler,
    is_as_probable,
    validated_fit,
)
from bagwise.models.linear_model.engine.design import Scaling, scaled_blocks
from bagwise.models.multilabel.label_matrix import LabelMatrixClassifier
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Or
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, SolverResult, as_totals, record_result
from bagwise.solvers.smooth import minimize_smooth

# The recursion over a bag with k labels has 2^k states: the label sets of its first instances.
_MOST_LABELS = 16


class MIMLLogisticRegression(Recorded, LabelMatrixClassifier):
    """Multinomial logistic regression of instances, fitted to bags with several labels.

    An instance x has one class: a label c = 1, ..., L with probability proportional to
    ``exp(x . beta_c + b_c)``, or the background with probability proportional to 1. The labels of a bag are
    the union of the labels of its instances, without the background. The fit minimizes ::

        - sum_i w_i log P(labels of bag i | x_i1, ..., x_im) + alpha / 2 * sum_c |beta_c|^2

    over bags i with weights w, on the scaled features. With one label, the model is `MILogisticRegression`
    with the rule "or" and a ridge penalty. With bags of one instance, it is multinomial logistic regression.

    Use it for bags with several labels if every instance has at most one label: species in recordings,
    regions in pictures. Because labels compete for instances, it predicts instances better than one model
    per label (`MultiLabelBagClassifier`). Like all noisy-OR models, it is unsuitable if a label requires
    a minimum number of instances. `SoftORLogisticRegression` estimates this number.

    Parameters
    ----------
    background : bool, default=True
        Whether an instance can have no label (the "novel class" of MIML-NC). If False, every bag needs at
        least one label.
    alpha : float, default=1.0
        Strength of the ridge penalty.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before the fit; the penalty acts on the scaled features.
    n_init : int, default=5
        Number of starts: the first from coefficients of zero, the remaining ones random. The best optimum is
        used.
    tol : float, default=1e-6
        Gradient tolerance: the fit has converged if all entries of the gradient, per unit of bag weight, are
        at most this in absolute value.
    max_iter : int, default=200
        Maximum number of iterations per start. Fits with many labels and a weak penalty need more: about 500
        for bags of birdsong with 13 labels (`fetch_hja_birdsong`) and the default `alpha`.
    positive : label or None, default=None
        Label of the positive class, if `y` is 1-D with two classes: see `MILogisticRegression`.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    verbose : int, default=0
        1 shows one live line on a terminal, or one line per start without a terminal; 2 shows one line per
        iteration.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_labels, n_features) and (n_labels,)
        Coefficients of the log-odds of every label against the background, on the original scale of the
        features. If `scale` is a transformer other than scikit-learn's standard, min-max and max-abs scalers,
        they are on the transformed scale.
    scaler_ : transformer or None
        The fitted `scale`.
    classes_ : array of shape (n_labels,)
        The column indices of `y`; for a 1-D `y`, its classes.
    positive_label_ : label
        Label of the positive class, if there are two classes.
    multilabel_ : bool
        Whether `y` was a matrix.
    label_names_ : array of shape (n_labels,)
        Column names of `y` if it was a data frame, otherwise column indices. Not set for a 1-D `y`.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_, log_likelihood_, n_iter_, converged_
        As in `MILogisticRegression`.

    Notes
    -----
    The likelihood of a bag with m instances and k labels, and the posterior classes of its instances, are
    computed by an exact recursion over the subsets of its labels: O(m k 2^k), in the log domain, without
    cancellation. The objective is minimized by L-BFGS; the EM algorithm of the paper maximizes the same
    likelihood in more passes. A bag cannot have more labels than instances: `fit` raises an error with the
    index of such a bag.

    If a 1-D `y` contains more than two classes or missing labels, every bag has at most one label. The
    likelihood is the same. Predictions are then conditional on at most one label, by the same recursion.

    In the paper, the background has a separate coefficient vector. Here it is the reference class, which is
    the same model with a different penalty.

    References
    ----------
    A. T. Pham, R. Raich, X. Z. Fern and J. Perez Arriaga (2015), Multi-instance multi-label learning in the
    presence of novel class instances, ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import MIMLLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> z = rng.integers(3, size=(80, 4))  # classes of instances: the background 0, the labels 1 and 2
    >>> X = rng.normal(size=(80, 4, 2)) + 4.0 * np.eye(3, 2, -1)[z]
    >>> y = (z[:, :, None] == [1, 2]).any(axis=1).astype(int)  # the labels of the bags
    >>> model = MIMLLogisticRegression(random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape, model.predict_proba_instances(X).shape
    ((80, 2), (320, 2))
    >>> predicted = model.predict_instances(X) @ [1, 2]
    >>> bool(np.mean(predicted == z.ravel()) > 0.95)
    True
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    scaler_: Any
    n_passes_: int
    log_likelihood_: float

    _streams = True
    _takes_many_classes = True
    _parameter_constraints: dict[str, Any] = {
        "background": ["boolean"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "scale": SCALE_CONSTRAINT,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "positive": "no_validation",
    }

    _takes_one_label = True
    # Equivalent fits are compared to seven digits, which needs a smaller tolerance than the default. Without
    # a background, because if every bag has a label, the likelihood increases without bound as the
    # background becomes rare.
    _example_parameters = {"background": False, "tol": 1e-9}

    # These checks use bags of one instance with several labels, which this model rejects.
    _expected_failed_checks = {
        f"check_classifiers_multilabel_{check}": "an instance has one label"
        for check in (
            "representation_invariance",
            "output_format_predict",
            "output_format_predict_proba",
            "output_format_decision_function",
        )
    }

    def __init__(
        self,
        *,
        background: bool = True,
        alpha: float = 1.0,
        scale: Scale = "standard",
        n_init: int = 5,
        tol: float = 1e-6,
        max_iter: int = 200,
        positive: PositiveLabel = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.background = background
        self.alpha = alpha
        self.scale = scale
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose

    @validated_fit
    def fit(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: CheckpointLike | None = None,
    ) -> Self:
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags, n_labels) or (n_bags,)
            A matrix contains 1 if a bag has a label and 0 otherwise. A 1-D `y` of two classes has a single
            label, the positive class (see `positive`). A 1-D `y` can also contain one of several labels per
            bag; None or NaN is a bag without a label (background only).
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            A file that stores the progress of the fit: after a crash, the same call resumes from it
            (docs/checkpoints.md). The file is removed when the fit is complete.

        Returns
        -------
        self
        """
        training = self._read_label_matrix(X, y, sample_weight)
        with opened(checkpoint, lambda: identity_of(self)) as location:
            self._fit(training, location)
        return self

    def _fit(self, training: Training, location: CheckpointLocation) -> None:
        bags, labels, weight = training
        refuse_impossible(labels, bags, background=self._with_background)
        blocks = bags.blocks(labels, weight)
        reporter = Reporter(type(self).__name__, self.verbose)
        reporter.watch(blocks)
        self.scaler_ = fit_scaler(self.scale, blocks)
        scaled, scaling = scaled_blocks(blocks, self.scaler_)
        ridge = self.alpha / weight.sum()
        problem = LabelSetProblem(scaled, scaling, background=self._with_background, ridge=ridge)
        control = Control(
            self.tol,
            self.max_iter,
            lambda iteration, value: reporter.iteration(iteration, value * problem.total),
            checkpoint=location,
        )
        results: list[SolverResult] = []
        with blas_threads_for(bags.n_instances * bags.n_features):
            for start in self._starts(training, scaling.n_features, location.seed(self.random_state)):
                result = minimize_smooth(problem.value_and_gradient, start.ravel(), control)
                results.append(as_totals(result, problem.total))
                reporter.start(len(results) - 1, self.n_init, results[-1])
                if control.is_stopped:
                    break
        best = record_result(self, results)
        self.n_passes_ = blocks.n_passes
        theta = best.x.reshape(labels.shape[1], -1)
        self.log_likelihood_ = problem.log_likelihood(theta)
        rows = [scaling.to_original(row) for row in theta]
        self.coef_, self.intercept_ = (np.array(part) for part in zip(*rows, strict=True))

    @property
    def _with_background(self) -> bool:
        # In a fit to two classes, the first class is the background.
        return self.background or not self._has_columns

    def _starts(self, training: Training, n_features: int, random_state: Any) -> list[np.ndarray]:
        """Return the starts: zero coefficients, then random ones, with intercepts from label frequencies."""
        bags, labels, weight = training
        n_labels = labels.shape[1]
        share = np.clip(weight @ labels / weight.sum(), 0.01, 0.99)
        rate = -np.expm1(np.log1p(-share) / bags.sizes.mean())
        rng = check_random_state(random_state)
        starts = np.zeros((self.n_init, n_labels, n_features + 1))
        starts[:, :, -1] = np.log(rate) - np.log(max(0.1, 1.0 - rate.sum()))
        spread = 1.0 / np.sqrt(n_features)
        starts[1:, :, :-1] = rng.normal(scale=spread, size=starts[1:, :, :-1].shape)
        is_convex = bool((bags.sizes == 1).all())
        return list(starts[:1] if is_convex else starts)

    @property
    def _can_use_absence(self) -> bool:
        return self._shows_one  # noisy-OR for each label, unless at most one label is possible

    # ------------------------------------------------------------ predictions

    def _log_classes(self, bags: Bags) -> np.ndarray:
        """Return log probabilities of background and labels: shape (n_instances, n_labels + 1)."""
        X = bags.instances if affine_map(self.scaler_) else self.scaler_.transform(bags.instances)
        return log_classes(X @ self.coef_.T + self.intercept_, background=self._with_background)

    def _log_odds(self, bags: Bags) -> np.ndarray:
        """Return the log-odds of every label against all other classes: (n_instances, n_labels)."""
        return _against_others(self._log_classes(bags))

    def _bag_log_classes(self, bags: Bags) -> np.ndarray:
        """Return log P(no label) and log P(label), given at most one label: (n_bags, n_labels + 1)."""
        log_sets = log_one_label(self._log_classes(bags), bags.offsets)
        if not self._shows_none:  # every training bag had a label
            log_sets[:, 0] = -np.inf
        return log_softmax(log_sets, axis=1)

    def _bag_log_odds(self, bags: Bags) -> np.ndarray:
        """Return the log-odds that a bag has each label: by noisy-OR, or given at most one label."""
        if self._shows_one:
            return _against_others(self._bag_log_classes(bags))
        log_proba = [Or().log_proba(column, bags.offsets) for column in self._log_odds(bags).T]
        return np.column_stack([log_p[:, 1] - log_p[:, 0] for log_p in log_proba])

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the log-odds of every label for every bag: shape (n_bags, n_labels)."""
        return self._as_scores(self._by_blocks(X, self._bag_log_odds))

    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Return the probability of every label for every bag: shape (n_bags, n_labels).

        If the model was fitted to one label per bag, these are the class probabilities. If there were also
        training bags without a label, the probability of no label is 1 minus the sum of a row.
        """
        if self._shows_one:
            return np.exp(self._by_blocks(X, self._bag_log_classes)[:, 1:])
        return self._as_proba(expit(self._by_blocks(X, self._bag_log_odds)))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the labels with a probability of at least 1/2: indicators of shape (n_bags, n_labels).

        If the model was fitted to one label per bag, predict the most probable label: shape (n_bags,). If
        there were also training bags without a label, the prediction can be None.
        """
        if self._shows_one:
            proba = np.exp(self._by_blocks(X, self._bag_log_classes))
            return self._as_one_label(_most_probable(proba), may_be_none=self._shows_none)
        log_odds = self._by_blocks(X, self._bag_log_odds)
        return self._as_labels(is_as_probable(expit(log_odds), expit(-log_odds)))

    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Return the log-odds of every label against all other classes: (n_instances, n_labels)."""
        return self._as_scores(self._by_blocks(X, self._log_odds))

    def predict_proba_instances(self, X: BagsLike) -> np.ndarray:
        """Return the probability of every label for every instance: shape (n_instances, n_labels).

        The probability of the background is 1 minus the sum of a row.
        """
        return self._as_proba(np.exp(self._by_blocks(X, self._log_classes)[:, 1:]))

    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the most probable class: indicators of shape (n_instances, n_labels).

        A row of zeros is the background. If a label and the background are equally probable, the label is
        predicted. If the model was fitted to one label per bag, the result contains labels, shape
        (n_instances,), and None for the background.
        """
        shown = _most_probable(np.exp(self._by_blocks(X, self._log_classes)))
        if self._shows_one:
            return self._as_one_label(shown, may_be_none=self._with_background)
        return self._as_labels(shown)

    def _as_one_label(self, shown: np.ndarray, *, may_be_none: bool) -> np.ndarray:
        labels = self.classes_[shown.argmax(axis=1)]
        if may_be_none:
            labels = labels.astype(object)
            labels[~shown.any(axis=1)] = None
        return labels

    def posterior_instances(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Return the probability of every label for every instance, given the labels of its bag.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags, n_labels) or, after a fit to a 1-D `y`, (n_bags,)
            Labels of the bags.

        Returns
        -------
        array of shape (n_instances, n_labels) or, after a fit to two classes, (n_instances,)
        """
        posterior = self._by_blocks(X, self._posterior, partial(self._encode_label_matrix, y))
        return posterior if self._has_columns else posterior[:, 0]

    def _posterior(self, bags: Bags, labels: np.ndarray) -> np.ndarray:
        refuse_impossible(labels, bags, background=self._with_background)
        return label_estep(self._log_classes(bags), bags.offsets, *as_lists(labels))[1][:, 1:]


def _against_others(log_p: np.ndarray) -> np.ndarray:
    """Return the log-odds of every class except the first against all other classes."""
    others = [logsumexp(np.delete(log_p, c, axis=1), axis=1) for c in range(1, log_p.shape[1])]
    return log_p[:, 1:] - np.column_stack(others)


def _most_probable(proba: np.ndarray) -> np.ndarray:
    """Return indicators of the most probable class, shape (n, n_labels); zeros if it is the first class."""
    best = 1 + proba[:, 1:].argmax(axis=1)
    shown = is_as_probable(proba[np.arange(len(proba)), best], proba[:, 0])
    return shown[:, None] & (best[:, None] == np.arange(1, proba.shape[1]))


class LabelSetProblem:
    """Objective of the fit, per unit of bag weight, for a solver: negative log-likelihood plus ridge penalty.

    The argument `theta` has one row per label: the coefficients, then the intercept.

    Parameters
    ----------
    blocks : Blocks
        The instances; labels are rows of indicators, 1 if a bag has a label.
    scaling : Scaling
        The scaling of the features.
    background : bool
        Whether instances can have no label.
    ridge : float
        Strength of the ridge penalty, per unit of bag weight.
    """

    n_labels: Any
    total: float

    def __init__(self, blocks: Blocks, scaling: Scaling, *, background: bool, ridge: float):
        self.blocks = blocks
        self.scaling = scaling
        self.n_labels = blocks.y.shape[1]
        self.background = background
        self.ridge = ridge
        self.total = float(blocks.weight.sum())

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, in one pass."""
        theta = theta.reshape(self.n_labels, -1)
        coef = theta[:, :-1]
        log_likelihood, gradient = self.blocks.total(_evaluate, theta, self.scaling, self.background)
        gradient = gradient / -self.total
        gradient[:, :-1] += self.ridge * coef
        value = 0.5 * self.ridge * np.square(coef).sum() - log_likelihood / self.total
        return float(value), gradient.ravel()

    def log_likelihood(self, theta: np.ndarray) -> float:
        """Return the weighted log-likelihood of all bags, without the penalty."""
        return float(self.blocks.total(_evaluate, theta, self.scaling, self.background)[0])


def _evaluate(block: Block, theta: np.ndarray, scaling: Scaling, background: bool) -> Sums:
    """Return the log-likelihood and its gradient: per instance, posterior minus prior probabilities."""
    log_p = log_classes(scaling.dot(theta, block.X).T, background=background)
    log_likelihood, posterior = label_estep(log_p, block.offsets, *as_lists(block.y))
    by_instance = block.weight_of_each[:, None] * (posterior - np.exp(log_p))[:, 1:]
    gradient = scaling.pull_back(np.ascontiguousarray(by_instance.T), block.X)
    return Sums((float(block.weight @ log_likelihood), gradient))


def log_classes(log_odds: np.ndarray, *, background: bool) -> np.ndarray:
    """Return log probabilities of background and labels from log-odds of shape (n_instances, n_labels)."""
    reference = np.full((len(log_odds), 1), 0.0 if background else -np.inf)
    return log_softmax(np.hstack([reference, log_odds]), axis=1)


def as_lists(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert an indicator matrix to label lists, with labels from 1; return list starts and entries."""
    bag, label = np.nonzero(labels)
    starts = np.searchsorted(bag, np.arange(len(labels) + 1))
    return starts.astype(np.int64), label.astype(np.int64) + 1


def label_estep(
    log_p: np.ndarray, offsets: np.ndarray, starts: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-likelihood of every bag, and the posterior class probabilities of every instance."""
    from bagwise._core.compiled.label_sets import label_set_estep

    return label_set_estep(*readonly(log_p, offsets, starts, labels))


def log_one_label(log_p: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the log probabilities that a bag has no label or exactly one: shape (n_bags, 1 + n_labels)."""
    n_bags, n_labels = len(offsets) - 1, log_p.shape[1] - 1
    sets = [np.zeros((n_bags, n_labels), dtype=np.int8) for _ in range(1 + n_labels)]
    for label, indicators in enumerate(sets[1:]):
        indicators[:, label] = 1
    return np.column_stack([label_estep(log_p, offsets, *as_lists(each))[0] for each in sets])


def refuse_impossible(labels: np.ndarray, bags: Bags, *, background: bool) -> None:
    """Raise an error for bags whose labels are impossible or too many."""
    count = labels.sum(axis=1, dtype=np.int64)
    for is_impossible, reason in (
        (count > bags.sizes, "each instance has one label, so a bag cannot have more labels than instances"),
        (count > _MOST_LABELS, f"more than {_MOST_LABELS} labels per bag are too expensive; split the bag"),
        ((count == 0) & (not background), "with background=False every bag must have a label"),
    ):
        if is_impossible.any():
            i = int(np.argmax(is_impossible))
            raise ValueError(f"bag {i} has {count[i]} labels and {bags.sizes[i]} instances; {reason}.")
