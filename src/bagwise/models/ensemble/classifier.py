"""`BagEnsembleClassifier`: a few complementary families of models, combined on calibrated log-odds."""

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
from bagwise._core.types import Folds, Seed
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
from bagwise.models.ensemble.vote import Found, Vote, describe_fit, fit_vote
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.solvers.reporting import Reporter


def _predicts_instances(model: Any) -> bool:
    votes = getattr(model, "votes_", None)
    return votes is None or all(vote.predicts_instances for vote in votes)


class BagEnsembleClassifier(ScoreClassifier):
    """A few complementary families of models, each with a small grid, combined on calibrated log-odds.

    For those who want one classifier that is hard to beat, and do not want to choose. Every setting of every
    family is fitted to all training bags, and to all but those of each fold. The scores of the bags that were
    held out say how to turn scores into log-odds (Platt's line) and how far to trust the setting: with L the
    mean log-likelihood of held-out bags, the log-odds of a family are ::

        sum_s w_s (a_s f_s(X) + b_s),    w = softmax(L / 0.02)

    so that settings nearly as good as the best share in the answer. Families then vote, all alike. With m the
    mean of their log-odds and b the log-odds of the positive class among the training bags, the answer is ::

        b + a (m - b)

    where a is what held-out bags ask for: a mean of families that see different things is too cautious, but
    all of them know b. A bag is positive if its probability is 1/2 or more.

    ==============  =================================================================================
    "extremes"      Gaussian machines on minima and maxima of every feature
    "moments"       Gaussian machines on means and spreads of every feature
    "sets"          machines on kernels of sets: means over pairs of instances, Gaussian kernels of
                    their distances, miGraph
    "distances"     Gaussian machines on distances to the training bags (as in MInD)
    "prototypes"    machines on how near a bag comes to instances of training bags (as in MILES)
    "ranks"         Gaussian machines on minima and maxima of the ranks of instances
    "linear"        ridge logistic regression of statistics; streams
    "instances"     ridge logistic regression of instances, under the mean and the or rule; streams
    ==============  =================================================================================

    Parameters
    ----------
    families : "default" or sequence of str, default="default"
        By default the first six. Where matrices of all bags do not fit in half of the memory, of more than
        5,000 bags, or of bags in files, "linear" and "instances" vote in their place; of more than 100,000
        instances "extremes", "moments", "prototypes" and "instances" do. A warning says so.
    cv : int, splitter or iterable of (train, test), default=10
        The folds inside the fit: a number (fewer if a class has fewer bags), or as in
        `MILogisticRegressionCV`.
    n_jobs : int or None, default=None
        Folds fitted at the same time, by threads; the answer is the same.
    random_state : int, RandomState or None, default=None
        Draws the folds, and the 2,000 prototypes of more instances than that.
    verbose : int, default=0
        1 says what the fit will cost, and how far it is.

    Attributes
    ----------
    report_ : str
        The families, their scores on held-out bags, and their weights, in words.
    inner_scores_ : list of dict
        The same in numbers, one for every family (and pair of classes).
    votes_ : list of Vote
        What predictions are made of, one for every pair of classes: (0, 1), (0, 2), ..., (1, 2), ...
    fill_ : array of shape (n_features,)
        What stands in for missing values: the means of the training instances.
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int

    Notes
    -----
    With n bags and N instances, matrices take O(N^2) evaluations, and some 100 settings in 10 folds as many
    small machines, each O(n^2) to O(n^3); memory is some 26 matrices of n^2 numbers, and three copies of the
    instances, of which predictions need two. A fit to 1,000 bags of ten instances with 50 features took 40 s
    on one core and 230 MB, one to 180 bags of Fox 4 s. `expected_cost` tells beforehand. Machines are
    solved by `bagwise.solvers.solve_dual`, with a limit of steps.

    Columns of statistics and of distances are scaled anew in every fold inside, and prototypes are those of
    its training bags; instances are scaled once, by all training bags, without their labels, and features
    that one fold alone has are left out there. The label of a bag that is held out plays no part in the
    machines, lines and weights by which `report_` judges it; but the last factor is chosen by these scores:
    judge the ensemble by folds around it. Another order of bags can draw other folds, and other prototypes
    where there are more than 2,000 instances.

    More than two classes are fitted one against one. With l_ij the log-odds of class i against class j, the
    probability of class i is proportional to ``1 / (1 + sum_j exp(-l_ij))`` (Price and others, 1995).

    How it does on public data, and what the combination was found on: ``make reproduce NAME=ensemble`` in a
    checkout.

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
    report_: str

    _accepts_sparse = False
    _accepts_missing = True
    _streams = True
    _takes_many_classes = True
    _parameter_constraints: dict[str, Any] = {
        "families": [StrOptions({"default"}), list, tuple],
        "cv": ["cv_object"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # As scikit-learn's splitters of groups do: whoever routes groups need not ask for them to come here.
    __metadata_request__fit = {"groups": True}

    _example_parameters = {"families": ["extremes", "instances"], "cv": 2}

    def __init__(
        self,
        families: Literal["default"] | Sequence[str] = "default",
        *,
        cv: Folds = 10,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.families = families
        self.cv = cv
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
        """Fit all families, and let them vote.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags; values may be missing, but for bags in files that are not held in memory.
        y : array of shape (n_bags,)
            Two or more classes.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags: two is a bag that is there twice.
        groups : array of shape (n_bags,), optional
            The patient, plate or day of every bag: bags of one group are in one fold inside the fit.
        checkpoint : path, optional
            A file that keeps what the fit has found out so far: after a crash the same call goes on from
            there (docs/checkpoints.md). It is removed at the end.

        Returns
        -------
        self
        """
        refuse_unknown(self.families)
        bags, codes, weight = self._read_training(X, y, sample_weight, binary=False, drop=False)
        if not in_files(bags):
            bags = in_memory(bags)
        self.fill_ = _means(bags, weight)
        with opened(checkpoint, lambda: identity_of(self, groups=groups)) as place:
            self._fit(self._filled(bags), codes, weight, groups, place)
        return self

    def _fit(
        self,
        bags: Bags,
        codes: np.ndarray,
        weight: np.ndarray,
        groups: ArrayLike | None,
        place: CheckpointLocation,
    ) -> None:
        rng = check_random_state(place.seed(self.random_state))
        reporter = Reporter(type(self).__name__, self.verbose)
        pairs = list(combinations(range(len(self.classes_)), 2))
        found: list[Found] = []
        for low, high in pairs:
            seed, folds_seed = (int(s) for s in rng.randint(np.iinfo(np.int32).max, size=2))
            here = weight * ((codes == low) | (codes == high))
            kept = np.flatnonzero(here)
            training = Training(bags[kept], (codes[kept] == high).astype(np.int8), weight[kept])
            splits = bag_folds(
                self.cv,
                training,
                here,
                seed=folds_seed,
                kinds=(repr(as_python(self.classes_[low])), repr(as_python(self.classes_[high]))),
                remedy="Take another model, such as SetKernelSVC.",
                groups=groups,
            )
            choice = self._chosen(training.bags)
            inside = place.within(f"{low} and {high}")
            inside.agree_on_folds(splits)
            reporter.step(str(self._cost_of(training.bags, len(splits))))
            how: dict[str, Any] = {"seed": seed, "n_jobs": self.n_jobs, "place": inside, "reporter": reporter}
            found.append(fit_vote(training, splits, choice, **how))
        if choice.reason:
            warn_user(f"BagEnsembleClassifier: {choice.reason}.")
        self.votes_ = [each.vote for each in found]
        self.inner_scores_ = [
            {"pair": pair, **score._asdict()}
            for pair, each in zip(pairs, found, strict=True)
            for score in each.families
        ]
        labels = [tuple(as_python(self.classes_[place]) for place in pair) for pair in pairs]
        self.report_ = describe_fit(found, labels, len(splits), choice.reason)

    def _chosen(self, bags: Bags) -> Any:
        return choose(self.families, len(bags), bags.n_instances, is_held=not in_files(bags))

    def _cost_of(self, bags: Bags, n_folds: int) -> Cost:
        return estimate(self._chosen(bags), len(bags), bags.n_instances, bags.n_features, n_folds)

    def expected_cost(self, X: BagsLike) -> str:
        """Say about what a fit to bags of two classes costs, in seconds on one core and in memory."""
        refuse_unknown(self.families)
        bags = type(self)(self.families)._read(X, reset=True)
        return str(self._cost_of(bags, int(self.cv) if isinstance(self.cv, Integral) else 10))

    def _filled(self, bags: Bags) -> Bags:
        """Give bags in doubles, with means in place of missing values; those in files as they are."""
        if in_files(bags):
            return bags
        X = in_doubles(bags.instances)
        missing = np.isnan(X)
        if missing.any():
            X = np.where(missing, self.fill_, X)
        return Bags(X, bags.offsets)

    def _of_classes(self, log_odds: list[np.ndarray]) -> np.ndarray:
        """Give log-odds of two classes, or log probabilities of several."""
        if len(self.classes_) == 2:
            return log_odds[0]
        n_classes = len(self.classes_)
        against = np.full((n_classes, n_classes, len(log_odds[0])), np.inf)
        for (low, high), found in zip(combinations(range(n_classes), 2), log_odds, strict=True):
            against[high, low], against[low, high] = found, -found
        with np.errstate(divide="ignore"):
            log_proba = -np.logaddexp(0.0, logsumexp(-against, axis=1)).T
        return log_proba - logsumexp(log_proba, axis=1, keepdims=True)

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        filled = self._filled(bags)
        return self._of_classes([vote.log_odds(filled) for vote in self.votes_])

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        filled = self._filled(bags)
        return self._of_classes([vote.instance_log_odds(filled) for vote in self.votes_])

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Log-odds that a bag is positive: shape (n_bags,); of several classes, log probabilities.

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
        """Probability of every class, for every bag: shape (n_bags, n_classes)."""
        return _probabilities(self._by_blocks(X, self._bag_scores))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the most probable label of every bag, of two at a tie the second: shape (n_bags,)."""
        return self._more_probable(self.predict_proba(X))

    @available_if(_predicts_instances)
    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Log-odds that a bag of this instance alone would be positive: shape (n_instances,).

        The mean of what the parts say that score instances: of "sets" the machines on means over pairs,
        whose score of a bag is the mean of the scores of its instances; of "instances" the logistic
        regressions. Each score is turned into log-odds by the line that its setting has for bags, settings
        count by their weights, and families equally. So it ranks instances by how much they speak for a bag;
        it is no probability that an instance has a label of its own, which nobody knows.

        Of several classes, log probabilities: shape (n_instances, n_classes).
        """
        return self._by_blocks(X, self._instance_scores)

    @available_if(_predicts_instances)
    def predict_proba_instances(self, X: BagsLike) -> np.ndarray:
        """Probability of every class for a bag of this instance alone: shape (n_instances, n_classes)."""
        return _probabilities(self._by_blocks(X, self._instance_scores))

    @available_if(_predicts_instances)
    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every instance, as of a bag of its own: shape (n_instances,)."""
        return self._more_probable(self.predict_proba_instances(X))


def _probabilities(scores: np.ndarray) -> np.ndarray:
    """Turn log-odds, or log probabilities of several classes, into probabilities."""
    return np.exp(scores) if scores.ndim > 1 else np.column_stack([expit(-scores), expit(scores)])


def _means(bags: Any, weight: np.ndarray) -> np.ndarray:
    """Mean of every feature over the values that are there; zero if none is, and for bags in files."""
    if in_files(bags):
        return np.zeros(bags.n_features)
    X = in_doubles(bags.instances)
    is_there = ~np.isnan(X)
    each = np.repeat(weight, bags.sizes)
    total = each @ is_there
    return each @ np.where(is_there, X, 0.0) / np.where(total > 0, total, 1.0)
