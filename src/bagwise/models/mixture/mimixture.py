"""Multi-instance mixture models: a density of instances per class, and a rule for bag labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.interrupt import interruptible, raise_if_stopped
from bagwise._core.sklearn_private import HasMethods, Interval, StrOptions
from bagwise._core.threads import blas_threads_for
from bagwise._core.types import PositiveLabel, Seed
from bagwise._display.bunch import ShownBunch
from bagwise.data.bags import Bags
from bagwise.data.blocks import SelectedBlocks
from bagwise.families import FAMILIES, Family, make_family
from bagwise.families.parts import check_all
from bagwise.families.refusal import columns_named_by
from bagwise.models.base import (
    RULE_CONSTRAINT,
    BagsLike,
    Training,
    WaistClassifier,
    is_positive,
    validated_fit,
)
from bagwise.models.base.calibration import fit_exponent, held_out_scores
from bagwise.models.mixture.bound import bayes_error_bound
from bagwise.models.mixture.build import Constants, Ground, build_model, prepare, read_n_components
from bagwise.models.mixture.model import (
    MixtureParams,
    Start,
    class_log_joint,
    component_log_joint,
    log_odds_of,
    name_components,
)
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Rule, make_rule
from bagwise.solvers.control import Control
from bagwise.solvers.em import EMResult, run_em
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, best_of, record_result

# The search over rules stops after this many consecutive rules that are worse than the best.
_PATIENCE = 2


class MIMixture(Recorded, WaistClassifier):
    """Generative bag model: a density of instances for each class, and a rule for the bag labels.

    An instance is positive with probability pi. Positive instances are drawn from the density p+, negative
    ones from p-; both densities are members of one family, or mixtures of its members. The rule determines
    the label of a bag from the labels of its instances. By default, a bag is positive if any of its instances
    is positive. The fit minimizes ::

        - sum_i w_i log p(X_i, y_i) - log prior(components),
        log p(X_i, y_i) = sum_j log[pi p+(x_ij) + (1 - pi) p-(x_ij)] + log P(y_i | log-odds of bag i)

    over bags i with weights w, by EM. The rule returns the posterior of the label of every instance, and the
    family estimates its parameters from sums weighted by these posteriors.

    Use it in these cases: there are few bags, and a family describes the classes well; values are missing;
    instances are binary, categorical or sequences; you want to draw new bags, or to measure the information
    in the bag labels (`information_cost`). If there are many correlated features and you only need labels, a
    discriminative model such as `MILogisticRegression` is usually more accurate.

    The probabilities are strongly overconfident if features depend on each other in ways that the family does
    not describe. A feature that is redundant given the others is then counted as new evidence, first for the
    instance and again for its bag. On five principal components of public data sets, the model predicts
    probabilities of 0 or 1, a third of which are wrong. The log loss is 2 to 40, compared with 0.7 for
    constant predictions of 1/2. Predicted labels are affected less. With ``calibrate=True`` the log loss is
    about 0.7 or lower. Use `plot_calibration` to check the calibration.

    There is no `class_weight`, because the model also describes the distribution of the bags: the weight of a
    bag is the number of times that it was observed, with all its instances. Class weights would change pi and
    the densities to those of a different population, and with them all probabilities, samples and information
    costs. If errors of one class cost more, change the threshold on `predict_proba`. If the class proportions
    of the sample differ from those of the population, correct this by `sample_weight`.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        Distribution of the instances of a component: a name in `bagwise.families.FAMILIES`, such as
        "gaussian_diag" (independent features), "categorical" or "markov" (on `Sequences`), or an object.
    supervision : {"bags", "negatives", "none"}, default="bags"
        Labels that the fit uses. "bags": all labels (the multi-instance mixture model, MIMM). "negatives":
        only those of negative bags; instances of positive bags are treated as unlabeled (MM). "none": no
        labels; after the fit, components are assigned to classes so that the instances of negative bags are
        most probable (MMU).
    rule : {"or", "mean", "count_table", "count_logistic", "threshold"} or Rule, default="or"
        Rule that determines the label of a bag from the labels of its instances: any rule with latent labels.
        Parameters of the rule that are not specified are learned.
    n_components : int or (int, int), default=1
        Numbers of positive and negative components.
    prior : "default", "per_feature" or object, default="default"
        Prior of the components. Gaussian families use `FraleyRaftery`; for "gaussian_diag" it may have a
        separate scale for each feature ("per_feature"). Discrete families use a pseudo-count (1 by default).
        pi has no prior.
    n_init : int, default=10
        Number of starts. The solution with the lowest objective is kept.
    max_iter : int, default=200
        Maximum number of iterations per start.
    tol : float, default=1e-6
        Convergence tolerance: the fit stops if an iteration lowers the objective by less than this, relative
        to its value.
    calibrate : bool, default=False
        Whether to calibrate probabilities. The log-odds of bags and of instances are multiplied by one
        factor, `exponent_`, which maximizes the likelihood of the labels of held-out bags. Predicted labels
        do not change. Calibration takes five more fits, each to four fifths of the bags.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, each
        class is tried as the positive one, and the fit with the smaller `objective_` is kept; with a
        `supervision` other than "bags", the fit with the larger likelihood of the labels is kept.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    n_jobs : int or None, default=None
        Number of threads that process the starts. For large data (more than 2**23 values) the starts share
        passes over the bags instead, with the number of threads that numba is allowed to use. The result does
        not depend on `n_jobs`.
    verbose : int, default=0
        1 shows a progress line on a terminal, and otherwise prints one line per start. 2 prints one line per
        iteration.

    Attributes
    ----------
    positive_rate_ : float
        The probability pi that an instance is positive. It can reach 0 without the labels of positive bags,
        that is, with a `supervision` other than "bags". All log-odds are then -inf, and all predictions
        are negative.
    positive_components_, negative_components_ : list
        Parameters of the components of each class, with attributes that depend on the family (``.mean``,
        ...). Features that are constant in training have the variance 0, or a category with probability 1.
    positive_weights_, negative_weights_ : array
        Probability of each component within its class.
    params_ : MixtureParams
        All parameters of the mixture, without features that are constant in training.
    exponent_ : float
        Factor of the log-odds: 1, or with `calibrate` the calibrated value, which is far below 1 if the model
        is overconfident.
    family_, rule_, prior_ : Family, Rule, object
        Family, rule and prior, resolved on the training bags.
    classes_ : array of shape (2,), or (1,)
        The class labels. If all bags are positive, a single label.
    positive_label_ : label
        Label of the positive class.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_ : float, array, array
        Objective of the best start, its history over the iterations, and the final objectives of all starts.
    information_cost_history_ : array of shape (1 + iterations,)
        Mean information in the label of a positive training bag, in bits (see `information_cost`), at the
        start and after every iteration. With ``supervision="negatives"`` it is the loss from ignoring these
        labels in each E step (section 7). Not available with "none", because components have no class during
        the fit.
    log_likelihood_ : float
        Weighted log-likelihood of the training bags, with the labels that the fit used.
    n_iter_, converged_ : int, bool
        Number of iterations of the best start, and whether it reached `tol`.
    n_passes_ : int
        Number of passes over the bags, without calibration: at most ``max_iter`` + 5 for each rule that is
        compared, and up to half as many more if Gaussian instances have missing values. Small data are read
        into memory in the first pass, and passes in memory are not counted.

    Notes
    -----
    The objective never increases. An iteration takes one pass over the instances (for full covariances, a few
    products with the instance matrix). With the OR rule, one negative component and no missing values, it
    only reads the positive bags, because the negative bags are summed once. Large data are never copied, and
    may be in files (`scan_bags`). They are read in blocks, in the precision in which they are stored, and all
    starts share every pass.

    The paper does not specify the starts. Here, each start draws its components around random instances; for
    the positive class, these instances are from positive bags. Without negative bags, both classes are drawn
    from the same instances, and then swapped if that makes the labels more probable. With
    ``supervision="bags"`` and bags of one instance, the first M step computes the supervised posterior mode.

    The paper requires at least one positive bag, but no negative bags. All bags may therefore be positive,
    labeled 1 or True. All bags are then predicted positive, with probability 1. Instances still have
    probabilities of two classes, 0 (or False) and 1 (or True), and `decision_function` still returns log-odds
    of bags. In this case only the rule determines which of the two classes is positive: every bag must
    contain a positive instance. If bags are large, each of them may contain instances of both classes, and
    the classes may be swapped.

    References
    ----------
    J. Foulds and P. Smyth (2011), Multi-instance mixture models and semi-supervised learning, SDM.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import MIMixture, make_mixture_bags
    >>> data = make_mixture_bags(100, size=5, separation=4.0, random_state=0)
    >>> model = MIMixture(random_state=0).fit(data.bags, data.y)
    >>> model.positive_components_[0].mean.round(1), round(model.positive_rate_, 2)
    (array([1.5, 1.4]), 0.19)
    >>> cost = model.information_cost(data.bags[data.y == 1])
    >>> round(float(cost.max()), 1)  # the most informative label, in bits
    1.1
    """

    positive_weights_: np.ndarray
    negative_weights_: np.ndarray
    params_: MixtureParams
    rule_: Rule
    positive_rate_: float
    positive_components_: list[Any]
    negative_components_: list[Any]
    family_: Family
    classes_: np.ndarray
    exponent_: float
    information_cost_history_: np.ndarray
    prior_: Any
    log_likelihood_: float
    n_passes_: int

    _constants: Constants | None = None

    _accepts_sparse = False
    _streams = True
    _learns_from_positives_only = True

    _parameter_constraints: dict[str, Any] = {
        "family": [StrOptions(set(FAMILIES)), HasMethods(["log_density", "statistics", "mstep"])],
        "supervision": [StrOptions({"bags", "negatives", "none"})],
        "rule": RULE_CONSTRAINT,
        "n_components": [Interval(Integral, 1, None, closed="left"), tuple],
        "prior": "no_validation",
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "calibrate": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "positive": "no_validation",
    }

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        supervision: Literal["bags", "negatives", "none"] = "bags",
        rule: str | Rule = "or",
        n_components: int | tuple[int, int] = 1,
        prior: Any = "default",
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = 1e-6,
        calibrate: bool = False,
        positive: PositiveLabel = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.family = family
        self.supervision = supervision
        self.rule = rule
        self.n_components = n_components
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.calibrate = calibrate
        self.positive = positive
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _accepts_missing(self) -> bool:
        return make_family(self.family).missing != "refuse"

    @property
    def _accepts_sequences(self) -> bool:
        return make_family(self.family).takes_sequences

    def _read(self, X: BagsLike, *, reset: bool = False, whole: bool = True) -> Bags:
        bags = super()._read(X, reset=reset, whole=whole)
        if whole and not reset:
            with columns_named_by(None if self._constants is None else self._constants.columns):
                check_all(self.family_, self._seen(bags), self.params_.components[0])
        return bags

    def _seen(self, bags: Bags) -> Any:
        """Return the instances without the features that are constant in training."""
        return bags.instances if self._constants is None else self._constants.left_out(bags.instances)

    @validated_fit
    def fit(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: CheckpointLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags. NaN is a missing value if the family supports missing values.
        y : array of shape (n_bags,)
            The labels, of two classes; see the parameter `positive`. All bags may be positive, labeled 1 or
            True: see the notes.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            File that stores the progress of the fit. After a crash, the same call resumes from it
            (docs/checkpoints.md). The file is removed when the fit is complete.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        if len(self.classes_) == 1:
            self._refuse_what_needs_negative_bags()
        with opened(checkpoint, lambda: identity_of(self)) as location:
            self._fit(training, checkpoint=location)
            if self.calibrate:
                raise_if_stopped()
                log_odds = held_out_scores(
                    self, training, self._fit_clone, type(self)._positive_scores, location
                )
                self.exponent_ = fit_exponent(log_odds, training.y, training.weight)
        return self

    def _direction_loss(self, X: BagsLike, y: ArrayLike, weight: np.ndarray) -> float:
        if self.supervision == "bags":
            return self.objective_
        # `objective_` depends on different labels in the two directions: compare the likelihood of all
        # labels.
        labels = partial(self._encode_known, y)
        return -float(self._by_blocks(X, self._log_proba_of, labels) @ weight)

    def _refuse_what_needs_negative_bags(self) -> None:
        if self.supervision != "bags":
            raise ValueError(
                f"supervision={self.supervision!r} needs negative bags, but all bags in y are positive; use "
                "supervision='bags'."
            )
        if self.calibrate:
            raise ValueError(
                "calibrate=True needs bags of both classes, but all bags in y are positive; use "
                "calibrate=False."
            )

    def _fit_clone(
        self,
        model: Self,
        bags: Bags,
        y: np.ndarray,
        sample_weight: np.ndarray,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ) -> Self:
        """Fit a clone of this model to validated bags, without calibration."""
        model.set_params(calibrate=False, verbose=0)
        for name in ("classes_", "positive_label_", "n_features_in_"):
            setattr(model, name, getattr(self, name))
        return model._fit(Training(bags, y, sample_weight), checkpoint=checkpoint)

    def _fit(
        self,
        training: Training,
        start: Start | None = None,
        *,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ) -> Self:
        """Fit validated bags. Labels may be -1 (unknown), and `start` overrides the starts of EM."""
        bags, y, weight = training
        rule = make_rule(self.rule)
        if not rule.has_latent_labels:
            raise ValueError(
                f"rule={self.rule!r} has no latent instance labels, but a mixture needs them; use 'or'."
            )
        used = {
            "bags": y,
            "negatives": np.where(y == 1, -1, 0),
            "none": np.full(len(y), -1),
        }[self.supervision].astype(np.int8)
        family = make_family(self.family)
        n_components = read_n_components(self.n_components)
        reporter = Reporter(type(self).__name__, self.verbose)
        control = Control(self.tol, self.max_iter, reporter.iteration, checkpoint=checkpoint)
        blocks = bags.blocks(used, weight)
        reporter.watch(blocks)
        ground = prepare(family, self.prior, n_components, blocks)
        with blas_threads_for(blocks.n_values):
            results = self._search(ground, rule.alternatives(bags.offsets, y), control, reporter, start)
        record_result(self, results)
        best = best_of(results)
        self.__dict__.pop("information_cost_history_", None)  # of an earlier fit
        if best.watched and used.any():
            self.information_cost_history_ = np.array(best.watched) / (np.log(2) * weight[used != 0].sum())
        self.family_, self.prior_, self._constants = ground.family, ground.prior, ground.constants
        params = best.x
        log_prior = self.family_.log_prior_all(params.components, self.prior_) + params.rule.log_prior()
        self.log_likelihood_ = -best.value - log_prior
        if self.supervision == "none":
            params = name_components(self.family_, params, SelectedBlocks(ground.blocks, y == 0))
        self.n_passes_ = blocks.n_passes
        self._keep(params)
        return self

    def _search(
        self,
        ground: Ground,
        rules: Sequence[Rule],
        control: Control,
        reporter: Reporter,
        start: Start | None,
    ) -> list[EMResult]:
        """Fit with each of several rules, and return the results of the best rule, one for every start.

        The rules are ordered, such as increasing thresholds. The search stops after several consecutive rules
        that are worse than the best.
        """
        rng = check_random_state(control.checkpoint.seed(self.random_state))
        tried: list[list[EMResult]] = []
        values: list[float] = []
        for index, rule in enumerate(rules):
            model, unknown = build_model(ground, rule, start, keeps_cost=self.supervision != "none")
            results = run_em(
                model,
                unknown,
                control.within(f"rule {index + 1}"),
                n_init=self.n_init,
                rng=rng,
                n_jobs=self.n_jobs,
                on_start=reporter.start,
                # If missing values are replaced by expectations, EM converges slowly.
                extrapolate=not ground.is_complete and ground.family.missing == "expect",
            )
            tried.append(results)
            values.append(best_of(results).value)
            if control.is_stopped or np.argmin(values) < len(values) - _PATIENCE:
                break
        return tried[int(np.argmin(values))]

    def _keep(self, params: MixtureParams) -> None:
        """Set the fitted attributes that describe the parameters."""
        p, components = params.n_positive, params.components
        if self._constants is not None:
            varies, values = self._constants.varies, self._constants.values
            components = [self.family_.with_constants(each, varies, values) for each in components]
        self.params_ = params
        self.exponent_ = 1.0
        self.rule_ = params.rule
        self.positive_rate_ = float(np.exp(params.log_rate[1]))
        self.positive_components_ = list(components[:p])
        self.negative_components_ = list(components[p:])
        self.positive_weights_ = np.exp(params.log_weights[:p])
        self.negative_weights_ = np.exp(params.log_weights[p:])

    # ------------------------------------------------------------------ predictions

    def _class_log_joint(self, bags: Bags) -> np.ndarray:
        joint = component_log_joint(self.family_, self._seen(bags), self.params_)
        return class_log_joint(joint, self.params_.n_positive)

    def _log_odds(self, bags: Bags) -> np.ndarray:
        return self.exponent_ * log_odds_of(self._class_log_joint(bags))

    @interruptible(at_once=True)
    def _bag_log_proba(self, bags: Bags) -> np.ndarray:
        log_proba = self.rule_.log_proba(log_odds_of(self._class_log_joint(bags)), bags.offsets)
        if self.exponent_ == 1.0:
            return log_proba
        # The rule is not applied to calibrated instances: their moderate probabilities make large bags
        # positive.
        log_odds = self.exponent_ * (log_proba[:, 1] - log_proba[:, 0])
        return -np.logaddexp(0.0, np.column_stack([log_odds, -log_odds]))

    def score_samples(self, X: BagsLike) -> np.ndarray:
        """Return the log density of the instances of every bag, marginal over all labels.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
            Sum of the log densities of the instances of each bag.
        """
        return self._by_blocks(X, self._log_density)

    def _log_density(self, bags: Bags) -> np.ndarray:
        by_instance = np.logaddexp(*self._class_log_joint(bags))
        return np.add.reduceat(by_instance, bags.offsets[:-1])  # no bag is empty

    # ------------------------------------------------------------------ fits to positive bags only

    @property
    def _two_labels(self) -> np.ndarray:
        if len(self.classes_) == 1:
            return np.array([0, 1]).astype(self.classes_.dtype)
        return super()._two_labels

    def predict_log_proba(self, X: BagsLike) -> np.ndarray:
        """Return the log probability of every class for every bag: shape (n_bags, n_classes)."""
        of_both = super().predict_log_proba(X)
        # If all training bags are positive, every bag is positive with probability 1.
        return of_both if len(self.classes_) == 2 else np.zeros((len(of_both), 1))

    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Return the probability of every class for every bag: shape (n_bags, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the more probable label of every bag; ties are predicted positive: shape (n_bags,)."""
        labels = super().predict(X)
        return labels if len(self.classes_) == 2 else np.full(len(labels), self.classes_[0])

    # ------------------------------------------------------------------ information in labels, and samples

    def information_cost(self, X: BagsLike) -> np.ndarray:
        """Return the bits that are lost if the label of a positive bag is ignored: -log2 P(+ | instances).

        A positive label is most informative for a bag with a low P(+ | instances). It contains almost no
        information for a large bag that is positive almost surely; semi-supervised learning then performs
        equally well (eq. 7.3).

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            Positive bags.

        Returns
        -------
        array of shape (n_bags,)
            Bits per bag.
        """
        return -self._by_blocks(X, self._bag_log_proba)[:, 1] / np.log(2)

    def bayes_error_bound(
        self, size: int | ArrayLike, *, n_samples: int = 100_000, random_state: Seed = None
    ) -> float | np.ndarray:
        """Bound the error rate of the best bag classifier for bags of `size`, if the fitted model is true.

        Parameters
        ----------
        size : int or array
            Number of instances per bag.
        n_samples : int, default=100_000
            Number of instances of each class that are drawn to estimate its error rate.
        random_state : int, RandomState or None, default=None
            Seed of the draw.

        Returns
        -------
        float or array
            The bound for each size: see `bagwise.bayes_error_bound`.
        """
        rng = check_random_state(random_state)
        calls = []
        for label in (False, True):
            z = np.full(n_samples, label)
            drawn = Bags(self._draw_instances(z, rng), np.arange(n_samples + 1))
            calls.append(np.mean(is_positive(self._log_odds(drawn))))
        return bayes_error_bound(
            size,
            positive_rate=self.positive_rate_,
            false_positive_rate=calls[0],
            false_negative_rate=1 - calls[1],
        )

    def sample(self, n_bags: int = 1, sizes: int | ArrayLike = 5, *, random_state: Seed = None) -> Bunch:
        """Draw bags from the fitted model.

        Parameters
        ----------
        n_bags : int, default=1
            Number of bags.
        sizes : int or array of shape (n_bags,), default=5
            Number of instances of every bag.
        random_state : int, RandomState or None, default=None
            Seed of the draw.

        Returns
        -------
        Bunch
            `bags`; `y` (n_bags,) and `instance_y` (n_instances,) with labels from ``classes_`` (0 and 1, or
            False and True, after a fit to positive bags only).
        """
        rng = check_random_state(random_state)
        sizes = np.broadcast_to(np.asarray(sizes, dtype=np.int64), (n_bags,))
        if n_bags < 1 or (sizes < 1).any():
            raise ValueError(
                f"n_bags and sizes must be at least 1; got n_bags={n_bags!r} and sizes={sizes!r}."
            )
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        z = rng.random_sample(offsets[-1]) < self.positive_rate_
        certain = np.where(z, np.inf, -np.inf)
        positive = np.exp(self.rule_.log_proba(certain, offsets)[:, 1])
        y = rng.random_sample(n_bags) < positive
        bags = Bags(self._draw_instances(z, rng), offsets)
        return ShownBunch(
            bags=bags, y=self._two_labels[y.astype(int)], instance_y=self._two_labels[z.astype(int)]
        )

    def _draw_instances(self, z: np.ndarray, rng: np.random.RandomState) -> Any:
        """Draw an instance for each label in `z` (True for positive).

        Instances are drawn component by component and then reordered, which also works for sequences.
        """
        params = self.params_
        weights = np.exp(params.log_weights)
        parts, positions = [], []
        for label, members in zip((True, False), params.classes, strict=True):
            rows = np.flatnonzero(z == label)
            within = weights[members] / weights[members].sum()
            choice = rng.choice(len(within), size=len(rows), p=within)
            for k, component in enumerate(params.components[members]):
                parts.append(self.family_.sample(component, int((choice == k).sum()), rng))
                positions.append(rows[choice == k])
        drawn = Bags.from_list(parts).instances.take(np.argsort(np.concatenate(positions)), axis=0)
        return drawn if self._constants is None else self._constants.filled_in(drawn)

    def _count_parameters(self) -> int:
        rates = 1 + len(self.params_.components) - 2
        return rates + self.family_.count_parameters(self.params_.components)

    def bic(self, X: BagsLike) -> float:
        """Bayesian information criterion of the density of the instances; lower is better.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        float
            The criterion; every instance counts as one observation.
        """
        penalty = np.log(self._read(X, whole=False).n_instances) * self._count_parameters()
        return float(penalty - 2 * self.score_samples(X).sum())

    def aic(self, X: BagsLike) -> float:
        """Akaike's information criterion of the density of the instances; lower is better (see `bic`)."""
        return float(2 * self._count_parameters() - 2 * self.score_samples(X).sum())
