"""DSDD: the sign of the difference of two densities of instances, learnt directly."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from bagwise._sklearn import Interval
from bagwise.bags import Bags
from bagwise.base import Training, validated_fit
from bagwise.kernels import InstanceKernel, require_memory
from bagwise.pu.instances import GRID_CONSTRAINTS, GridDifferenceClassifier, expand
from bagwise.pu.losses import check_pu_labels
from bagwise.pu.ramp import RampProblem, ramp
from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.result import record_result


class DSDDClassifier(GridDifferenceClassifier):
    """Sign of the difference of two densities of instances, without the densities.

    Positive instances are more frequent in positive bags than in unlabeled ones, and negative instances less.
    The sign of the difference is what best tells instances of the two kinds of bags apart, if either kind
    counts as a half: the fit minimises ::

        alpha / 2 |f|^2 + mean_P(ramp(f)) / 2 + mean_U(ramp(-f)) / 2

    with ramp(z) = max(0, min(1, (1 - z) / 2)), f in the space of a Gaussian kernel plus an intercept, and
    means over the instances of positive and of unlabeled bags. An instance is positive where f > 0, and a bag
    if one of its instances is. The class prior plays no part, nor in predictions: instances are judged as if
    half of them were positive.

    Parameters
    ----------
    gamma : float, "scale", "auto" or a list of numbers, default="scale"
        Width of the Gaussian ``exp(-gamma |x - z|^2)``. Of a list the best is chosen.
    alpha : float or a list of numbers, default=1e-3
        The penalty. Of a list the best is chosen.
    fit_intercept : bool, default=True
        Whether f has an intercept. Without it f is zero far from all training instances.
    max_instances : int, default=2000
        If there are more instances, this many are drawn for training, each kind of bag in its proportion.
    cv : int or splitter, default=5
        Folds of bags for the choice, by the two means above on held-out instances.
    scale : {"standard", "minmax"}, transformer or None, default="minmax"
        How features are scaled.
    tol : float, default=1e-6
        Relative gap of the convex steps, and the gain below which they end.
    max_iter : int, default=50
        The most convex steps.
    random_state : int, RandomState instance or None, default=None
        Draws instances and folds.

    Attributes
    ----------
    gamma_, alpha_ : float
        The values used.
    criterion_ : array of shape (n_gammas, n_alphas) or None
        What was compared: the risk of held-out instances.
    support_vectors_, dual_coef_, intercept_ : arrays of shape (n, n_features), (1, n) and (1,)
        The score: ``sum_t dual_coef_[0, t] k(x, support_vectors_[t]) + intercept_[0]``.
    objective_, objective_history_, n_iter_, converged_
        The objective above, convex steps, and whether `tol` was reached.
    scaler_, classes_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    The ramp is a difference of two hinges, so the fit is a sequence of support vector machines (the
    concave-convex procedure), each started at the last; the kernel matrix of instances is computed once for
    each gamma. It ends in a local minimum. The authors' program penalises the coefficients of basis
    functions, |coef|^2, and has no intercept; here the penalty is the norm of f in the kernel's space, for
    which no second matrix is needed. What either changes is in docs/reproduction/pu-table3.md.

    References
    ----------
    du Plessis, Niu and Sugiyama (2013), Clustering unclustered data: unsupervised binary labeling of two
    datasets having different class balances, TAAI. Bao et al. (2018), Neural Networks 105, section 3.4.

    Examples
    --------
    >>> from bagwise import DSDDClassifier, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=40, n_unlabeled=80, class_prior=0.3, random_state=0
    ... )
    >>> model = DSDDClassifier(gamma=1.0, alpha=0.01).fit(data.bags, data.y)
    >>> model.predict(data.bags).shape
    (120,)
    """

    _parameter_constraints: dict = {
        **GRID_CONSTRAINTS,
        "fit_intercept": ["boolean"],
        "max_instances": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        gamma="scale",
        alpha=1e-3,
        fit_intercept=True,
        max_instances=2000,
        cv=5,
        scale="minmax",
        tol=1e-6,
        max_iter=50,
        random_state=None,
    ):
        self.gamma = gamma
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_instances = max_instances
        self.cv = cv
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @validated_fit
    def fit(self, X, y, sample_weight=None):
        """Learn from positive and unlabeled bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            Positive and unlabeled bags.
        y : array of shape (n_bags,)
            1 or True marks positive bags; 0, -1 or False unlabeled ones.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        check_pu_labels(y, type(self).__name__)
        training = self._fit_scaler(self._read_training(X, y, sample_weight))
        bags = training.bags
        gammas, alphas = self._grid(bags.instances, np.repeat(training.weight, bags.sizes))
        drawn = self._draw(training)
        Z, bag_of = bags.instances[drawn], bags.bag_index[drawn]
        sign, weight = 2.0 * training.y[bag_of] - 1.0, training.weight[bag_of]
        require_memory(len(drawn), len(drawn), "instances")

        def compare(folds):
            matrices = (InstanceKernel("rbf", gamma)(Z, Z) for gamma in gammas)
            return [
                np.mean([self._fold(K, sign, weight, fold, bag_of, alphas) for fold in folds], axis=0)
                for K in matrices
            ]

        self._choose(training, gammas, alphas, compare)
        K = InstanceKernel("rbf", self.gamma_)(Z, Z)
        best = record_result(self, [self._minimise(K, sign, weight, self.alpha_, self.tol)]).x
        used = np.flatnonzero(best.x)
        self.support_vectors_ = Z[used]
        self.dual_coef_ = best.x[None, used]
        self.intercept_ = np.array([best.intercept])
        return self

    def _draw(self, training: Training) -> np.ndarray:
        """Numbers of the instances to learn from: all, or a share of either kind of bag."""
        positive = training.y[training.bags.bag_index] == 1
        n = len(positive)
        if n <= self.max_instances:
            return np.arange(n)
        rng = check_random_state(self.random_state)
        parts = []
        for kind in (np.flatnonzero(positive), np.flatnonzero(~positive)):
            size = max(1, round(self.max_instances * len(kind) / n))
            parts.append(rng.permutation(kind)[:size])
        return np.sort(np.concatenate(parts))

    def _minimise(self, kernel, sign, weight, alpha: float, tol: float):
        problem = RampProblem(kernel, sign, _halves(sign, weight), alpha, self.fit_intercept)
        start = problem.zero()
        return minimize_cccp(problem, problem.linearize(start), start, tol=tol, max_iter=self.max_iter)

    def _fold(self, K, sign, weight, fold, bag_of, alphas) -> list[float]:
        """Risk of the held-out instances, for every alpha."""
        kept, held = (part[bag_of] for part in fold)
        square = K[np.ix_(kept, kept)]
        rectangle = K[np.ix_(held, kept)]
        risks = []
        for alpha in alphas:
            # A choice among a few values is not helped by more digits.
            found = self._minimise(square, sign[kept], weight[kept], alpha, max(self.tol, 1e-2)).x
            loss = ramp(sign[held] * (rectangle @ found.x + found.intercept))
            risks.append(float(_halves(sign[held], weight[held]) @ loss))
        return risks

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        Z = self._scaled(bags).instances
        return expand(Z, self.support_vectors_, self.gamma_, self.dual_coef_[0]) + self.intercept_[0]


def _halves(sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weights that add up to one half for either sign."""
    share = weight.copy()
    for label in (1.0, -1.0):
        share[sign == label] *= 0.5 / max(weight[sign == label].sum(), np.finfo(float).tiny)
    return share
