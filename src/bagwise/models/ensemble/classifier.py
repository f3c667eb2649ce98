"""`BagEnsembleClassifier`: complementary model families, combined by averaging their log-odds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp
from sklearn.utils import check_random_state

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.sklearn_private import StrOptions, available_if
from bagwise._core.types import Folds, PositiveLabel, Seed
from bagwise._display.notebook import ShownText
from bagwise.data.bags import Bags
from bagwise.data.bags.parts import as_python
from bagwise.data.blocks import in_doubles
from bagwise.exceptions import warn_user
from bagwise.models.base import (
    BagsLike,
    ScoreClassifier,
    Training,
    validated_fit,
)
from bagwise.models.base.folds import bag_folds
from bagwise.models.base.streaming import in_files, in_memory
from bagwise.models.ensemble.families import Cost, choose, estimate, refuse_unknown
from bagwise.models.ensemble.training import TrainingBags, filled
from bagwise.models.ensemble.vote import FittedVote, Vote, describe_fit, fit_vote
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.solvers.reporting import Reporter


def _predicts_instances(model: Any) -> bool:
    votes = getattr(model, "votes_", None)
    return votes is None or all(vote.predicts_instances for vote in votes)


class BagEnsembleClassifier(ScoreClassifier):
    """Ensemble of complementary model families, combined by averaging their calibrated log-odds.

    A strong default if you do not want to choose a model. Every setting of every family is fitted to all
    training bags, and to the training bags of each inner fold. The scores of the held-out bags determine how
    scores are converted to log-odds (Platt scaling) and how much weight each setting gets. With L the mean
    held-out log-likelihood of each setting, the log-odds of a family are ::

        sum_s w_s (a_s f_s(X) + b_s),    w = softmax(L / 0.02)

    where f_s is the score of setting s, and a_s and b_s are its calibration coefficients. Settings that are
    nearly as good as the best contribute as well. All families have the same weight. With m the mean of their
    log-odds and b the log-odds of the positive class among the training bags, the ensemble predicts the
    log-odds ::

        b + a (m - b)

    The factor a is fitted to the held-out bags. It is needed because the mean is too cautious if the families
    use different evidence. It does not multiply b, because all families include b already. A bag is
    predicted positive if its probability is at least 1/2.

    ==============  =================================================================================
    "extremes"      RBF SVMs on the minimum and maximum of every feature
    "moments"       RBF SVMs on the mean and standard deviation of every feature
    "sets"          SVMs on set kernels: the mean kernel over instance pairs, RBF kernels of the
                    bag distances that it defines, and miGraph
    "distances"     RBF SVMs on distances to the training bags (as in MInD)
    "prototypes"    SVMs on similarities to instances of the training bags (as in MILES)
    "ranks"         RBF SVMs on the minimum and maximum of the instance ranks of every feature
    "linear"        ridge logistic regression on bag statistics; reads the data in blocks
    "instances"     ridge logistic regression on instances, with the mean and noisy-OR rules; reads
                    the data in blocks
    "witnesses"     MI-SVMs: one instance represents a positive bag
    "trees"         gradient-boosted trees on instances, with the noisy-OR rule
    ==============  =================================================================================

    Parameters
    ----------
    families : "default" or sequence of str, default="default"
        Families to fit; by default the first six. The default changes to "linear" and "instances" if the
        kernel matrices would take more than half of the memory, if there are more than 5,000 bags, or if the
        bags are read from files. With more than 100,000 instances, it changes to "extremes", "moments",
        "prototypes" and "instances". A warning reports the change.
    assumption : "standard" or None, default=None
        With "standard", only models that respect the standard assumption vote: one positive instance makes a
        bag positive, and adding an instance to a bag never lowers its score (`can_use_absence`). By default
        these are the logistic regressions of "instances" with the noisy-OR rule, "witnesses" (up to 8,000
        instances) and "trees" (up to 100,000). This setting requires two classes. With None, the ensemble can
        learn that bags without a certain kind of instances are positive.
    cv : int, splitter or iterable of (train, test), default=10
        The inner folds: the number of folds (fewer if a class has fewer bags), a splitter, or a list of
        splits, as in `MILogisticRegressionCV`.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel threads. The result does not depend on `n_jobs`.
    positive : label or None, default=None
        Label of the positive class if there are two classes; it is predicted at ties. By default it is the
        label that sorts last. The family "instances" contains a model that is not symmetric in the classes.
        If the labels are text, this model is fitted with each class as the positive one.
    random_state : int, RandomState or None, default=None
        Seed for the folds, and for the sample of 2,000 prototypes that is drawn if there are more instances.
    verbose : int, default=0
        1 reports the expected cost of the fit and its progress.

    Attributes
    ----------
    report_ : str
        Text that describes the families, their scores on held-out bags, and the settings with the largest
        weight.
    inner_scores_ : list of dict
        The scores in `report_` as dictionaries, one for every family (and pair of classes).
    votes_ : list of Vote
        The fitted two-class ensembles, one for every pair of classes: (0, 1), (0, 2), ..., (1, 2), ...
    fill_ : array of shape (n_features,)
        Values that replace missing values: the means of the training instances.
    classes_ : array of shape (n_classes,)
        The class labels.
    positive_label_ : label
        Label of the positive class, if there are two classes.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    With n bags and N instances, the kernel matrices require O(N^2) kernel evaluations. About 100 settings are
    fitted in 10 folds, which makes about 1,000 small SVMs, each O(n^2) to O(n^3). The fit needs about 26
    matrices of n^2 values and three copies of the instances. A fitted model, and its file, contain the
    training bags once, in their original precision. Predictions scale and rank them again, which needs memory
    for five copies in double precision. A fit to 1,000 bags of ten instances with 50 features took 40 s on
    one core and 230 MB, and a fit to the 180 bags of Fox took 4 s. `expected_cost` estimates the cost before
    the fit. The SVMs are solved by `bagwise.solvers.solve_dual`, with a step limit.

    In every inner fold, the columns of statistics and distances are scaled using only the training bags of
    the fold, and prototypes are taken from these bags. Instances are scaled once, using all training bags but
    not their labels. Features that are constant on the training bags of any fold are dropped. The label of a
    held-out bag does not affect the SVMs, calibration lines and weights that `report_` evaluates on it.
    However, the factor a is fitted to these scores, so evaluate the ensemble by an outer cross-validation. If
    the order of the bags changes, the folds may change. With more than 2,000 instances the prototypes may
    change as well.

    With more than two classes, one ensemble is fitted to each pair of classes (one-vs-one). With l_ij the
    log-odds of class i against class j, the probability of class i is proportional to
    ``1 / (1 + sum_j exp(-l_ij))`` (Price et al., 1995).

    In a source checkout, ``make reproduce NAME=ensemble`` reproduces the results on public data. The report
    also lists the data sets on which the ensemble was developed.

    References
    ----------
    J. C. Platt (1999), Probabilistic outputs for support vector machines, in Advances in large margin
    classifiers.

    D. Price, S. Knerr, L. Personnaz and G. Dreyfus (1995), Pairwise neural network classifiers with
    probabilistic outputs, NIPS 7.

    Examples
    --------
    >>> from bagwise import BagEnsembleClassifier, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = BagEnsembleClassifier(cv=3, random_state=0).fit(data.bags[:40], data.y[:40])
    >>> model.predict_proba(data.bags[40:]).shape
    (20, 2)
    """

    fill_: np.ndarray
    votes_: list[Vote]
    inner_scores_: list[dict[str, Any]]

    # Models of older versions do not have this parameter.
    assumption: Literal["standard"] | None = None

    # Instance values rank instances, but they are not probabilities of instance labels.
    _only_ranks_instances = True
    _accepts_sparse = False
    _accepts_missing = True
    _streams = True
    _parameter_constraints: dict[str, Any] = {
        "families": [StrOptions({"default"}), list, tuple],
        "assumption": [StrOptions({"standard"}), None],
        "cv": ["cv_object"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "positive": "no_validation",
    }

    # Request `groups` by default, as scikit-learn's group splitters do.
    __metadata_request__fit = {"groups": True}

    _example_parameters = {"families": ["extremes", "instances"], "cv": 2}

    def __init__(
        self,
        families: Literal["default"] | Sequence[str] = "default",
        *,
        assumption: Literal["standard"] | None = None,
        cv: Folds = 10,
        n_jobs: int | None = None,
        positive: PositiveLabel = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.families = families
        self.assumption = assumption
        self.cv = cv
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _takes_many_classes(self) -> bool:  # type: ignore[override]
        return self.assumption is None

    @property
    def _can_use_absence(self) -> bool:
        return self.assumption is None

    @property
    def _text_labels(self) -> Literal["compare", "last"]:  # type: ignore[override]
        # Without an assumption, models that depend on the positive class are fitted with each class as
        # positive.
        return "last" if self.assumption is None else "compare"

    def _direction_loss(self, X: BagsLike, y: ArrayLike, weight: np.ndarray) -> float:
        return float(np.mean([score["log_loss"] for score in self.inner_scores_]))

    @property
    def _direction_criterion(self) -> str:
        return "held-out log loss"

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
        """Fit all families and combine them.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags. Values may be missing, except for bags in files that do not fit into memory.
        y : array of shape (n_bags,)
            The labels, of two or more classes.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags. A weight of two is equivalent to repeating the bag.
        groups : array of shape (n_bags,), optional
            Group of every bag, for example its patient, plate or day. The inner folds keep the bags of a
            group together.
        checkpoint : path, optional
            File that stores the progress of the fit. After a crash, the same call resumes from it
            (docs/checkpoints.md). The file is removed when the fit is complete.

        Returns
        -------
        self
        """
        refuse_unknown(self.families, self.assumption)
        binary = None if self.assumption is None else True
        bags, codes, weight = self._read_training(X, y, sample_weight, binary=binary, drop=False)
        if not in_files(bags):
            bags = in_memory(bags)
        self.fill_ = _means(bags, weight)
        with opened(checkpoint, lambda: identity_of(self, groups=groups)) as location:
            self._fit(bags, codes, weight, groups, location)
        return self

    def _fit(
        self,
        bags: Bags,
        codes: np.ndarray,
        weight: np.ndarray,
        groups: ArrayLike | None,
        checkpoint: CheckpointLocation,
    ) -> None:
        # A copy, because the caller may change the instances.
        stored = None if in_files(bags) else Bags(np.array(bags.instances), bags.offsets)
        bags = self._filled(bags)
        rng = check_random_state(checkpoint.seed(self.random_state))
        names = self._two_labels  # all labels if there are more than two
        pairs = list(combinations(range(len(names)), 2))
        reporter = Reporter(type(self).__name__, self.verbose, n_rounds=len(pairs))
        results: list[FittedVote] = []
        for low, high in pairs:
            seed, folds_seed = (int(s) for s in rng.randint(np.iinfo(np.int32).max, size=2))
            pair_weight = weight * ((codes == low) | (codes == high))
            kept = np.flatnonzero(pair_weight)
            training = Training(bags[kept], (codes[kept] == high).astype(np.int8), weight[kept])
            splits = bag_folds(
                self.cv,
                training,
                pair_weight,
                seed=folds_seed,
                kinds=(repr(as_python(names[low])), repr(as_python(names[high]))),
                remedy="Use another model, such as SetKernelSVC.",
                groups=groups,
            )
            choice = self._chosen(training.bags)
            inside = checkpoint.within(f"{low} and {high}")
            inside.agree_on_folds(splits)
            reporter.step(str(self._cost_of(training.bags, len(splits))))
            options: dict[str, Any] = {
                "seed": seed,
                "n_jobs": self.n_jobs,
                "checkpoint": inside,
                "reporter": reporter,
                "stored": None if stored is None else TrainingBags(stored, self.fill_, kept, training.weight),
            }
            results.append(fit_vote(training, splits, choice, **options))
        if choice.reason:
            warn_user(f"BagEnsembleClassifier: {choice.reason}.")
        self.votes_ = [each.vote for each in results]
        self.inner_scores_ = [
            {"pair": pair, **score._asdict()}
            for pair, each in zip(pairs, results, strict=True)
            for score in each.families
        ]
        labels = [tuple(as_python(names[code]) for code in pair) for pair in pairs]
        self.report_ = describe_fit(results, labels, len(splits), choice)

    @property
    def report_(self) -> str:
        """Text that describes the families, their scores on held-out bags, and their weights."""
        # Models and their files store a plain str.
        try:
            return ShownText(self.__dict__["report_"])
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no report_ before it is fitted.") from None

    @report_.setter
    def report_(self, text: str) -> None:
        self.__dict__["report_"] = text

    def _chosen(self, bags: Bags) -> Any:
        size = len(bags), bags.n_instances
        choice = choose(self.families, *size, is_held=not in_files(bags), assumption=self.assumption)
        is_text = self.positive is None and getattr(self, "classes_", np.zeros(0)).dtype.kind not in "biuf"
        return choice._replace(both_directions=is_text)

    def _cost_of(self, bags: Bags, n_folds: int) -> Cost:
        return estimate(self._chosen(bags), len(bags), bags.n_instances, bags.n_features, n_folds)

    def _expected_seconds(self, n_bags: int, n_instances: int, n_features: int, n_classes: int) -> float:
        """Estimate the seconds that a fit to bags in memory takes; `compare` calls this before any fit."""
        n_folds = int(self.cv) if isinstance(self.cv, Integral) else 10
        choice = choose(self.families, n_bags, n_instances, is_held=True, assumption=self.assumption)
        share = 2 / n_classes  # of the bags for each of the pairs of classes
        pair = round(share * n_bags), round(share * n_instances)
        return n_classes * (n_classes - 1) / 2 * estimate(choice, *pair, n_features, n_folds).seconds

    def expected_cost(self, X: BagsLike) -> str:
        """Estimate the cost of a fit to bags of two classes, in time on one core and in memory."""
        refuse_unknown(self.families, self.assumption)
        bags = type(self)(self.families)._read(X, reset=True)
        return str(self._cost_of(bags, int(self.cv) if isinstance(self.cv, Integral) else 10))

    def _filled(self, bags: Bags) -> Bags:
        """Return bags in float64, with missing values replaced by means; bags in files are unchanged."""
        return bags if in_files(bags) else filled(bags, self.fill_)

    def _of_classes(self, log_odds: list[np.ndarray]) -> np.ndarray:
        """Return the log-odds for two classes, or log probabilities for more than two."""
        if len(self.classes_) == 2:
            return log_odds[0]
        n_classes = len(self.classes_)
        against = np.full((n_classes, n_classes, len(log_odds[0])), np.inf)
        for (low, high), values in zip(combinations(range(n_classes), 2), log_odds, strict=True):
            against[high, low], against[low, high] = values, -values
        with np.errstate(divide="ignore"):
            log_proba = -np.logaddexp(0.0, logsumexp(-against, axis=1)).T
        return log_proba - logsumexp(log_proba, axis=1, keepdims=True)

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        complete = self._filled(bags)
        return self._of_classes([vote.log_odds(complete) for vote in self.votes_])

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        complete = self._filled(bags)
        return self._of_classes([vote.instance_log_odds(complete) for vote in self.votes_])

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the log-odds that each bag is positive, or log probabilities for more than two classes.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags; values may be missing.

        Returns
        -------
        array of shape (n_bags,) or (n_bags, n_classes)
        """
        return super().decision_function(X)

    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Return the probability of every class for every bag: shape (n_bags, n_classes)."""
        return self._in_class_order(_probabilities(self._positive_scores(X)))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the most probable label of every bag: shape (n_bags,).

        If both of two classes have probability 1/2, the second class is predicted.
        """
        return self._more_probable(_probabilities(self._positive_scores(X)))

    @available_if(_predicts_instances)
    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Return the log-odds that a bag with only this instance is positive: shape (n_instances,).

        The result is a weighted mean over the settings that score instances. In "sets", these are the SVMs
        with mean kernels, where the score of a bag is the mean of its instance scores. In "instances", these
        are all logistic regressions. Each score is converted to log-odds with the calibration line fitted to
        the bag scores of its setting. Settings have the same relative weights as for bags, and all families
        have the same weight. The result ranks instances by their evidence for a positive bag. It is not the
        log-odds of an instance label, because the training data contain no instance labels.

        With more than two classes, return log probabilities of shape (n_instances, n_classes).
        """
        return self._signed(self._by_blocks(X, self._instance_scores))

    @available_if(_predicts_instances)
    def predict_proba_instances(self, X: BagsLike) -> np.ndarray:
        """Return the class probabilities of a bag with only this instance: shape (n_instances, n_classes)."""
        return self._in_class_order(_probabilities(self._by_blocks(X, self._instance_scores)))

    @available_if(_predicts_instances)
    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the label of a bag with only this instance: shape (n_instances,)."""
        return self._more_probable(_probabilities(self._by_blocks(X, self._instance_scores)))


def _probabilities(scores: np.ndarray) -> np.ndarray:
    """Convert log-odds, or log probabilities of several classes, to probabilities."""
    return np.exp(scores) if scores.ndim > 1 else np.column_stack([expit(-scores), expit(scores)])


def _means(bags: Any, weight: np.ndarray) -> np.ndarray:
    """Return the mean of each feature's observed values; zero if there are none, and for bags in files."""
    if in_files(bags):
        return np.zeros(bags.n_features)
    X = in_doubles(bags.instances)
    is_observed = ~np.isnan(X)
    each = np.repeat(weight, bags.sizes)
    total = each @ is_observed
    mean = each @ np.where(is_observed, X, 0.0) / np.where(total > 0, total, 1.0)
    # Rounding errors can make the mean of equal values differ from these values. Without observed values, the
    # limits are NaN.
    return np.fmax(np.fmin(mean, np.fmax.reduce(X, axis=0)), np.fmin.reduce(X, axis=0))
