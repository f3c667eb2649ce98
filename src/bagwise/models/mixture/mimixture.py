"""Multi-instance mixture models: classes that make instances, and a rule that labels their bags."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.interrupt import interruptible, raise_if_stopped
from bagwise._core.sklearn_private import HasMethods, Interval, StrOptions
from bagwise._core.types import Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import SelectedBlocks
from bagwise.families import FAMILIES, Family, make_family
from bagwise.families.parts import check_all
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
from bagwise.models.mixture.build import Ground, build_model, prepare, read_n_components
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

# Rules in a row that may be worse than the best before the search for a better one ends.
_PATIENCE = 2


class MIMixture(Recorded, WaistClassifier):
    """A generative model of bags: each class makes instances, and a rule makes the bag's label of theirs.

    An instance is positive with probability pi and then drawn from the density p+, else from p-; both
    are (mixtures of) members of one family. The rule labels the bag, by default positive if any of its
    instances is. The fit minimises ::

        - sum_i w_i log p(X_i, y_i) - log prior(components),
        log p(X_i, y_i) = sum_j log[pi p+(x_ij) + (1 - pi) p-(x_ij)] + log P(y_i | log-odds of bag i)

    over bags i with weights w, by EM: the rule gives the posterior of every instance's label, and the
    family its parameters from sums weighted by these posteriors.

    Use it where bags are few and classes have a shape that a family describes; where values are missing;
    where instances are binary, categories or sequences; to draw new bags; or to learn what the bag labels
    are worth (`information_cost`). Where features are many and correlated and only the label matters,
    a discriminative model such as `MILogisticRegression` is usually more accurate.

    Its probabilities are badly overconfident where features depend on each other in ways that the family does
    not describe: every feature that repeats what others said is counted as new evidence, for the instance
    and again for its bag. Five principal components of public bags give probabilities of 0 or 1 of which a
    third are wrong, and a log loss of 2 to 40 where a coin has 0.7. Labels that are predicted suffer less.
    ``calibrate=True`` brings the log loss to about a coin's or below; `plot_calibration` shows what it is.

    There is no `class_weight`. Here bags are not only judged but described: the weight of a bag says how
    often it, and every instance in it, was there. Weights of classes would move pi and the densities to those
    of another population, and every probability, sample and cost of information with them. If errors of one
    class cost more, move the threshold on `predict_proba`; if the classes were sampled in other shares than
    those of the population, say so by `sample_weight`.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        How a component makes instances: a name in `bagwise.families.FAMILIES`, such as "gaussian_diag"
        (independent features), "categorical" or "markov" (on `Sequences`), or an object.
    supervision : {"bags", "negatives", "none"}, default="bags"
        Which labels are used. "bags": all of them, the multi-instance mixture model (MIMM). "negatives":
        only those of negative bags, so that instances of positive bags count as unlabelled (MM).
        "none": no labels while fitting; afterwards components are given to classes such that the
        instances of negative bags are most probable (MMU).
    rule : {"or", "mean", "count_table", "count_logistic", "threshold"} or Rule, default="or"
        How instance labels make the label of a bag; any rule with latent labels. What it leaves open is
        learned.
    n_components : int or (int, int), default=1
        Components of the positive and of the negative class.
    prior : "default", "per_feature" or object, default="default"
        Prior of the components. Gaussian families: `FraleyRaftery`, for "gaussian_diag" also with a
        scale for each feature. Discrete families: a pseudo-count (1 by default). pi has no prior.
    n_init : int, default=10
        Number of starts; the best end is kept.
    max_iter : int, default=200
        The most iterations of a start.
    tol : float, default=1e-6
        Converged when an iteration lowers the objective by less than this share of it.
    calibrate : bool, default=False
        Whether probabilities are calibrated: the log-odds of bags and of instances are multiplied by one
        `exponent_`, which makes the labels of held-out bags most probable. Predictions stay what they are. It
        takes five more fits, each to four fifths of the bags.
    random_state : int, RandomState or None, default=None
        Source of the starts.
    n_jobs : int or None, default=None
        Threads that share the starts; where bags are large (more than 2**23 numbers), starts share passes
        over them instead, with as many threads as numba may use. The result does not depend on it.
    verbose : int, default=0
        1 shows one live line on a terminal, a line per start elsewhere; 2 a line per iteration.

    Attributes
    ----------
    positive_rate_ : float
        The probability pi that an instance is positive.
    positive_components_, negative_components_ : list
        Parameters of the components of each class, as the family names them (``.mean``, ...).
    positive_weights_, negative_weights_ : array
        Probability of each component within its class.
    params_ : MixtureParams
        All of these together.
    exponent_ : float
        What log-odds are multiplied by: 1, or with `calibrate` the one found; far below 1 where the model is
        overconfident.
    family_, rule_, prior_ : Family, Rule, object
        As used, resolved on the training bags.
    classes_ : array of shape (2,), or (1,)
        The labels; ``classes_[1]`` is the positive class. One label where all bags were positive.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_ : float, array, array
        The least objective, its course, and the ends of all starts.
    information_cost_history_ : array of shape (1 + iterations,)
        Bits that the label of a positive training bag is worth on average (see `information_cost`),
        at the start and after every iteration. With ``supervision="negatives"`` it is what each E step loses
        by ignoring these labels (section 7). Not with "none", where components have no class while fitting.
    log_likelihood_ : float
        The weighted log-likelihood of the training bags, with the labels that were used.
    n_iter_, converged_ : int, bool
        Iterations of the best start, and whether it reached `tol`.
    n_passes_ : int
        How often the bags were read where they lie, without what `calibrate` takes: at most ``max_iter`` + 5
        times for each rule that is compared. Few bags are read into memory first, and what is done there does
        not count.

    Notes
    -----
    The objective never rises. An iteration costs a pass over the instances (for full covariances a few
    products with the instance matrix); under the or-rule, with one negative component and nothing
    missing, over those of positive bags only, since those of negative bags are summed up once. Large bags are
    never copied, and may lie in files (`scan_bags`): they are read in blocks, in the precision in which they
    lie, and all starts share every read.

    The paper is silent on starts; here a start draws its components around random instances (of positive
    bags for the positive class); without negative bags both classes are drawn alike, and exchanged if that
    makes the labels more probable. With ``supervision="bags"`` and bags of one instance the first M step is
    the supervised posterior mode.

    The paper asks for one positive bag, not for a negative one, and so may all bags be positive, marked 1 or
    True. Bags are then all predicted positive, with certainty; instances still have probabilities of two
    classes, 0 (or False) and 1 (or True), and `decision_function` still gives log-odds of bags. Which class
    is the positive one only the rule tells, by what every bag has; where that is not the case, as with large
    bags, the likelihood may have it the other way round.

    References
    ----------
    J. Foulds and P. Smyth (2011), Multi-instance mixture models and semi-supervised learning, SDM.

    Examples
    --------
    >>> from bagwise import MIMixture, make_mixture_bags
    >>> data = make_mixture_bags(100, size=5, separation=4.0, random_state=0)
    >>> model = MIMixture(random_state=0).fit(data.bags, data.y)
    >>> model.positive_components_[0].mean.round(1), round(model.positive_rate_, 2)
    (array([1.5, 1.4]), 0.19)
    >>> cost = model.information_cost(data.bags[data.y == 1])
    >>> round(float(cost.max()), 1)  # the most telling label, in bits
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
            check_all(self.family_, bags.instances, self.params_.components[0])
        return bags

    @validated_fit
    def fit(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: CheckpointLike | None = None,
    ) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags; NaN is a missing value where the family knows what to do with it.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class. Or positive bags alone, all marked 1
            or True: see the notes.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            A file that keeps what the fit has found out so far: after a crash the same call goes on from
            there (docs/checkpoints.md). It is removed at the end.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        if len(self.classes_) == 1:
            self._refuse_what_needs_negative_bags()
        with opened(checkpoint, lambda: identity_of(self)) as place:
            self._fit(training, checkpoint=place)
            if self.calibrate:
                raise_if_stopped()
                log_odds = held_out_scores(
                    self, training, self._fit_clone, type(self).decision_function, place
                )
                self.exponent_ = fit_exponent(log_odds, training.y, training.weight)
        return self

    def _refuse_what_needs_negative_bags(self) -> None:
        if self.supervision != "bags":
            raise ValueError(
                f"supervision={self.supervision!r} looks at the labels of negative bags alone, and all bags "
                "are positive; use supervision='bags'."
            )
        if self.calibrate:
            raise ValueError(
                "calibrate=True holds probabilities against labels of both classes, and all bags are "
                "positive; use calibrate=False."
            )

    def _fit_clone(
        self,
        model: Self,
        bags: Bags,
        y: np.ndarray,
        sample_weight: np.ndarray,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ) -> Self:
        """Fit a clone of this model to bags that are read, without calibration."""
        model.set_params(calibrate=False, verbose=0)
        for name in ("classes_", "n_features_in_"):
            setattr(model, name, getattr(self, name))
        return model._fit(Training(bags, y, sample_weight), checkpoint=checkpoint)

    def _fit(
        self,
        training: Training,
        start: Start | None = None,
        *,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ) -> Self:
        """Fit bags that are read; labels may be -1, unknown, and `start` says where EM begins."""
        bags, y, weight = training
        rule = make_rule(self.rule)
        if not rule.has_latent_labels:
            raise ValueError(
                f"rule={self.rule!r} has no latent instance labels, which a mixture needs; use 'or'."
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
        results = self._search(ground, rule.alternatives(bags.offsets, y), control, reporter, start)
        record_result(self, results)
        best = best_of(results)
        self.__dict__.pop("information_cost_history_", None)  # of an earlier fit
        if best.watched and used.any():
            self.information_cost_history_ = np.array(best.watched) / (np.log(2) * weight[used != 0].sum())
        self.family_, self.prior_ = ground.family, ground.prior
        params = best.x
        log_prior = self.family_.log_prior_all(params.components, self.prior_) + params.rule.log_prior()
        self.log_likelihood_ = -best.value - log_prior
        if self.supervision == "none":
            params = name_components(self.family_, params, SelectedBlocks(blocks, y == 0))
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
        """Fit under one rule after the other, and return the results of the best, one for every start.

        Rules are alternatives in order, such as thresholds: when some in a row have been worse than the best,
        so are the rest.
        """
        rng = check_random_state(control.checkpoint.seed(self.random_state))
        tried: list[list[EMResult]] = []
        values: list[float] = []
        for number, rule in enumerate(rules):
            model, unknown = build_model(ground, rule, start, keeps_cost=self.supervision != "none")
            results = run_em(
                model,
                unknown,
                control.within(f"rule {number + 1}"),
                n_init=self.n_init,
                rng=rng,
                n_jobs=self.n_jobs,
                on_start=reporter.start,
            )
            tried.append(results)
            values.append(best_of(results).value)
            if control.is_stopped or np.argmin(values) < len(values) - _PATIENCE:
                break
        return tried[int(np.argmin(values))]

    def _keep(self, params: MixtureParams) -> None:
        """Set the fitted attributes that describe the parameters."""
        p = params.n_positive
        self.params_ = params
        self.exponent_ = 1.0
        self.rule_ = params.rule
        self.positive_rate_ = float(np.exp(params.log_rate[1]))
        self.positive_components_ = list(params.components[:p])
        self.negative_components_ = list(params.components[p:])
        self.positive_weights_ = np.exp(params.log_weights[:p])
        self.negative_weights_ = np.exp(params.log_weights[p:])

    # ------------------------------------------------------------------ predictions

    def _class_log_joint(self, bags: Bags) -> np.ndarray:
        joint = component_log_joint(self.family_, bags.instances, self.params_)
        return class_log_joint(joint, self.params_.n_positive)

    def _log_odds(self, bags: Bags) -> np.ndarray:
        return self.exponent_ * log_odds_of(self._class_log_joint(bags))

    @interruptible(at_once=True)
    def _bag_log_proba(self, bags: Bags) -> np.ndarray:
        log_proba = self.rule_.log_proba(log_odds_of(self._class_log_joint(bags)), bags.offsets)
        if self.exponent_ == 1.0:
            return log_proba
        # Not the rule of calibrated instances: half-hearted ones would make every large bag positive.
        log_odds = self.exponent_ * (log_proba[:, 1] - log_proba[:, 0])
        return -np.logaddexp(0.0, np.column_stack([log_odds, -log_odds]))

    def score_samples(self, X: BagsLike) -> np.ndarray:
        """Log density of the instances of every bag, whatever their labels and the bag's.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return self._by_blocks(X, self._log_density)

    def _log_density(self, bags: Bags) -> np.ndarray:
        by_instance = np.logaddexp(*self._class_log_joint(bags))
        return np.add.reduceat(by_instance, bags.offsets[:-1])  # no bag is empty

    # ------------------------------------------------------------------ one class, of positive bags

    @property
    def _two_labels(self) -> np.ndarray:
        return self.classes_ if len(self.classes_) == 2 else np.array([0, 1]).astype(self.classes_.dtype)

    def predict_log_proba(self, X: BagsLike) -> np.ndarray:
        """Log probability of every class, for every bag: shape (n_bags, n_classes)."""
        of_both = super().predict_log_proba(X)
        # Where all bags are positive, they are so for certain.
        return of_both if len(self.classes_) == 2 else np.zeros((len(of_both), 1))

    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Probability of every class, for every bag: shape (n_bags, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the more probable label of every bag, the positive one at a tie: shape (n_bags,)."""
        labels = super().predict(X)
        return labels if len(self.classes_) == 2 else np.full(len(labels), self.classes_[0])

    # ------------------------------------------------------------------ what labels are worth, and samples

    def information_cost(self, X: BagsLike) -> np.ndarray:
        """Bits that are lost if the label of a positive bag is ignored: -log2 P(+ | instances).

        A positive label says most about a bag that looks negative, and next to nothing about a large bag
        that is positive almost surely: then semi-supervised learning does as well (eq. 7.3).

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            Positive bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return -super().predict_log_proba(X)[:, 1] / np.log(2)

    def bayes_error_bound(
        self, size: int | ArrayLike, *, n_samples: int = 100_000, random_state: Seed = None
    ) -> float | np.ndarray:
        """Bound the error of the best classifier of bags of `size` instances, if the fitted model is true.

        Parameters
        ----------
        size : int or array
            Instances per bag.
        n_samples : int, default=100_000
            Instances of each class that are drawn to estimate its error rate.
        random_state : int, RandomState or None, default=None
            Source of the draw.

        Returns
        -------
        float or array
            See `bagwise.bayes_error_bound`.
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
            Instances of every bag.
        random_state : int, RandomState or None, default=None
            Source of the draw.

        Returns
        -------
        Bunch
            `bags`; `y` (n_bags,) and `instance_y` (n_instances,), in terms of ``classes_`` (0 and 1, or False
            and True, after a fit to positive bags alone).
        """
        rng = check_random_state(random_state)
        sizes = np.broadcast_to(np.asarray(sizes, dtype=np.int64), (n_bags,))
        if n_bags < 1 or (sizes < 1).any():
            raise ValueError(f"sample needs bags of at least one instance; got n_bags={n_bags!r}, {sizes!r}.")
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        z = rng.random_sample(offsets[-1]) < self.positive_rate_
        certain = np.where(z, np.inf, -np.inf)
        positive = np.exp(self.rule_.log_proba(certain, offsets)[:, 1])
        y = rng.random_sample(n_bags) < positive
        bags = Bags(self._draw_instances(z, rng), offsets)
        return Bunch(bags=bags, y=self._two_labels[y.astype(int)], instance_y=self._two_labels[z.astype(int)])

    def _draw_instances(self, z: np.ndarray, rng: np.random.RandomState) -> Any:
        """Draw an instance for each label in `z` (True for positive).

        Component by component, then back into order, so that the instances need not be vectors.
        """
        params = self.params_
        weights = np.exp(params.log_weights)
        parts, places = [], []
        for label, members in zip((True, False), params.classes, strict=True):
            rows = np.flatnonzero(z == label)
            within = weights[members] / weights[members].sum()
            choice = rng.choice(len(within), size=len(rows), p=within)
            for k, component in enumerate(params.components[members]):
                parts.append(self.family_.sample(component, int((choice == k).sum()), rng))
                places.append(rows[choice == k])
        return Bags.from_list(parts).instances.take(np.argsort(np.concatenate(places)), axis=0)

    def _count_parameters(self) -> int:
        rates = 1 + len(self.params_.components) - 2
        return rates + self.family_.count_parameters(self.params_.components)

    def bic(self, X: BagsLike) -> float:
        """Bayesian information criterion of the instances' density, lower is better.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        float
            Every instance counts as an observation.
        """
        penalty = np.log(self._read(X, whole=False).n_instances) * self._count_parameters()
        return float(penalty - 2 * self.score_samples(X).sum())

    def aic(self, X: BagsLike) -> float:
        """Akaike's information criterion of the instances' density, lower is better: see `bic`."""
        return float(2 * self._count_parameters() - 2 * self.score_samples(X).sum())
