"""MissSVM: multiple-instance learning as semi-supervised learning."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import ClassWeight, Kernel, PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.svm.base import KERNEL_CONSTRAINTS, BagMachine
from bagwise.models.wrappers.multiclass import OneVsOneBagClassifier
from bagwise.similarity import InstanceKernel, require_memory


class MissSVC(BagMachine):
    """MissSVM: a semi-supervised support vector machine whose unlabeled instances come in positive bags.

    Instances of negative bags are negative. Instances of positive bags are unlabeled, but at least one per
    bag should be positive. With f(x) in the feature space of the kernel plus an intercept,
    H(z) = max(0, 1 - z), t running over instances of negative bags, i over positive bags and j over their
    instances, the fit minimizes ::

        |f|^2 / 2 + C sum_t H(-f(x_t)) + gamma sum_i H(max_j f(x_ij))
                  + delta sum_ij min(H(f(x_ij)), H(-f(x_ij)))

    where gamma is `bag_weight` and delta is `unlabeled_weight`. A bag is positive if max_j f(x_j) >= 0.

    Use it for a few hundred to about ten thousand instances with a nonlinear boundary, when it matters which
    instance makes a bag positive. Features must be comparable, so they are scaled to [0, 1] by default. The
    scores rank bags well, but 0 is not always a good threshold: on Elephant the area under the ROC curve is
    0.92, but the accuracy is 0.77. ``calibrate=True`` shifts the threshold (accuracy 0.85) and adds
    `predict_proba`.

    Parameters
    ----------
    C : float, default=10.0
        Loss weight of a negative instance (the paper's lambda).
    bag_weight : float or None, default=None
        Loss weight of a positive bag (the paper's gamma). By default
        ``C * n_negative_instances / n_positive_bags``. With 0, the fit is a plain semi-supervised SVM that
        ignores the grouping into positive bags.
    unlabeled_weight : float or None, default=None
        Loss weight of an instance in a positive bag (the paper's delta). By default
        ``C * n_negative_instances / n_unlabelled_instances``, so that each of the three sums has the same
        total weight.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        Kernel of instances. A callable ``kernel(X, Y)`` returns the matrix of all pairs of rows. With
        "precomputed", the features of an instance are its kernel values with all training instances (see
        `instance_kernel`), `fit` needs a square matrix, and `scale`, `gamma`, `degree` and `coef0` are
        ignored. For cross-validation, which must select rows and columns, pass `KernelBags`.
    gamma : {"scale", "auto", "median"} or float, default="scale"
        Kernel coefficient on the scaled features, as in `sklearn.svm.SVC`. "median" is 1 divided by the
        median squared distance of instances (of a random sample of 2,000 if there are more).
    degree, coef0 : int, float, default=3, 0.0
        Parameters of the polynomial kernel.
    scale : {"minmax", "standard", "rank"}, transformer or None, default="minmax"
        Scaling of the instances before the fit.
    init : {"ties", "positive", "negative", "random"}, default="ties"
        Labels of the unlabeled instances in the first step. "ties" counts each instance half as positive and
        half as negative; "positive" and "negative" label all instances alike. With these three settings, the
        mean of each bag is its witness. "random" draws the labels and one witness per bag at random.
    n_init : int, default=1
        Number of starts; all but the first are random. The solution with the lowest objective is kept. This
        solution is not necessarily the best model: random starts may reach lower objectives and predict
        worse.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses of negative and positive bags. The default loss weights are already balanced; to
        count bags and instances, they use `sample_weight` but not `class_weight`.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, each
        class is tried as the positive one. The fit is kept for which MI-SVM with the same kernel has the
        smaller objective, with one loss per bag.
    calibrate : bool, default=False
        Whether to shift the threshold to the score at which both classes are equally probable in held-out
        bags, by a logistic regression on their scores. This also adds `predict_proba`. It takes five more
        fits, each to four fifths of the bags. With more than two classes, every pair is calibrated, without
        probabilities.
    tol : float, default=1e-6
        Relative duality gap of every convex step. A start stops when the objective decreases by less than
        this, relative to its value.
    max_iter : int, default=100
        Maximum number of convex steps per start.
    cache_size : float, default=2000
        Maximum size of the kernel matrix in megabytes. A larger matrix is not stored; its rows are computed
        on demand.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random starts.
    verbose : int, default=0
        1 prints every start, 2 every step.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Indices of the training instances with a nonzero coefficient. Bags with zero weight are not counted.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        These instances, scaled. With a precomputed kernel, one column with their column indices in `X`.
    dual_coef_ : array of shape (1, n_support)
        Their coefficients; with more than two classes, one row per SVM in ``pairs_``.
    intercept_ : array of shape (1,)
        The intercept, averaged over the multipliers strictly inside their bounds, where f must be +1 or -1.
        With `calibrate`, `threshold_` is subtracted.
    threshold_, exponent_ : float
        With `calibrate`, the score of the uncalibrated SVM at which P = 1/2, and the slope of the log-odds:
        ``P(+) = sigma(exponent_ * decision_function)``.
    coef_ : array of shape (1, n_features)
        With the linear kernel, the coefficients of the scaled features.
    witnesses_ : array of shape (n_bags,)
        For every positive training bag, the index of its highest-scoring instance within the bag; -1 for
        negative bags. Only with two classes; otherwise see the estimators in ``pairs_.estimators_``.
    pairs_ : OneVsOneBagClassifier
        With more than two classes, two SVMs for each pair; each class of a pair is the positive one in one of
        them.
    kernel_, gamma_ : InstanceKernel, float
        The fitted kernel and its coefficient.
    scaler_ : transformer or None
        The fitted `scale`. With ``scale=None``, a linear kernel and instances far from the origin, it only
        subtracts a point close to the instances, which reduces rounding errors and changes nothing else.
    classes_ : array of shape (n_classes,)
        Class labels.
    positive_label_ : label
        Label of the positive class, if there are two classes.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_ : float, array, array
        The final value of the objective above, its values from f = 0 on, and the final values of all starts.
    n_iter_, converged_ : int, bool
        Number of convex steps of the best start, and whether it converged.

    Notes
    -----
    The solver is the concave-convex procedure. Each step labels the unlabeled instances by the sign of f,
    represents every positive bag by the mean of its highest-scoring instances, and solves the resulting
    weighted SVM, starting from the last solution. It stops when no label and no witness changes. The
    objective never increases. The kernel matrix, O(n_instances^2), is computed once; the row of a mean is the
    mean of the rows. Bag weights have the same effect as repeating the bags.

    More than two classes are handled one-vs-one, with one kernel matrix. The result depends on which class of
    a pair is the positive one, so each pair is fitted both ways.

    On bags of one instance, ``unlabeled_weight=0`` is an ordinary `SVC` with class weights from `bag_weight`.
    With the default weights, as in the paper, the single instance of a positive bag also counts as unlabeled.
    If f is negative for this instance, the losses push f in both directions, and scores differ from those of
    `SVC` by about 1.

    Differences from the paper: at a tie, the subgradient of the minimum is (1/2, 1/2), because the printed
    (1, 1/2) is not a subgradient. Labels follow the sign of f, because the slack variables are not tight
    where their weight is zero. The paper does not specify scaling and start; we use those described above.

    References
    ----------
    Z.-H. Zhou and J.-M. Xu (2007), On the relation between multi-instance learning and semi-supervised
    learning, ICML, doi:10.1145/1273496.1273643.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import MissSVC, load_digit_bags
    >>> data = load_digit_bags(120, random_state=0)
    >>> model = MissSVC(C=1.0).fit(data.bags[:80], data.y[:80])
    >>> model.decision_function_instances(data.bags[80:]).shape == (data.bags[80:].n_instances,)
    True
    >>> model.score(data.bags[80:], data.y[80:]) > 0.7
    True
    """

    support_: Any
    pairs_: OneVsOneBagClassifier
    n_iter_: Any
    converged_: bool

    _takes_many_classes = True
    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "bag_weight": [None, Interval(Real, 0, None, closed="left")],
        "unlabeled_weight": [None, Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"ties", "positive", "negative", "random"})],
        "calibrate": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "positive": "no_validation",
    }

    def __init__(
        self,
        C: float = 10.0,
        *,
        bag_weight: float | None = None,
        unlabeled_weight: float | None = None,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        scale: Scale = "minmax",
        init: Literal["ties", "positive", "negative", "random"] = "ties",
        n_init: int = 1,
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        calibrate: bool = False,
        tol: float = 1e-6,
        max_iter: int = 100,
        cache_size: float = 2000,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.C = C
        self.bag_weight = bag_weight
        self.unlabeled_weight = unlabeled_weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale
        self.init = init
        self.n_init = n_init
        self.class_weight = class_weight
        self.positive = positive
        self.calibrate = calibrate
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.verbose = verbose

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Class labels. With two classes, see the parameter `positive`; more classes are compared in pairs.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight, binary=None, with_class_weight=False)
        if len(self.classes_) > 2:
            self._fit_pairs(training)
        else:
            self._fit_two(training)
        return self

    def _loss_weights(self, bags: Bags, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, float]:
        n_negative, n_unlabelled = np.bincount(y, weights=weight * bags.sizes)
        n_positive_bags = weight[y == 1].sum()
        of_bag, of_unlabelled = self.bag_weight, self.unlabeled_weight
        return (
            self.C,
            self.C * n_negative / n_positive_bags if of_bag is None else of_bag,
            self.C * n_negative / n_unlabelled if of_unlabelled is None else of_unlabelled,
        )

    def _fit_pairs(self, training: Training) -> None:
        """Fit two SVMs for each pair of classes, all on one kernel matrix."""
        bags, codes, weight = self._fit_scaler(training)
        kernel, points = self._kernel_of(bags, weight)
        shared = SharedKernel(kernel, points, max_bytes=1e6 * self.cache_size)
        # The SVMs get instance indices, which the shared kernel looks up.
        index_bags = Bags(np.arange(bags.n_instances, dtype=np.float64)[:, None], bags.offsets)
        machine = clone(self).set_params(kernel=shared, scale=None)
        self.pairs_ = OneVsOneBagClassifier(machine, both_ways=True).fit(
            index_bags, self.classes_[codes], weight
        )

        machines = self.pairs_.estimators_
        support = [m.support_vectors_[:, 0].astype(int) for m in machines]
        self.support_, columns = np.unique(np.concatenate(support), return_inverse=True)
        coef = np.zeros((len(machines), len(self.support_)))
        of_machine = np.repeat(np.arange(len(machines)), [len(s) for s in support])
        coef[of_machine, columns] = np.concatenate([m.dual_coef_[0] for m in machines])
        self._set_machines(points[self.support_], coef, [m.intercept_[0] for m in machines])
        self.n_iter_ = max(m.n_iter_ for m in machines)
        self.converged_ = all(m.converged_ for m in machines)
        for name in ("witnesses_", "objective_", "objective_history_", "objectives_"):
            self.__dict__.pop(name, None)  # set by an earlier fit to two classes


class SharedKernel:
    """Kernel of instance indices: a matrix that is computed once and used by many SVMs.

    Parameters
    ----------
    kernel : InstanceKernel
        The kernel of instances.
    X : array or CSR matrix
        The instances that the indices refer to.
    max_bytes : float
        Maximum size of the stored matrix; with a larger one, pairs are evaluated on demand.
    """

    matrix: np.ndarray | None

    def __init__(self, kernel: InstanceKernel, X: Any, *, max_bytes: float):
        self.kernel = kernel
        self.X = X
        self.matrix = None
        if 8.0 * X.shape[0] ** 2 <= max_bytes:
            require_memory(X.shape[0], X.shape[0], "instances")
            self.matrix = np.empty((X.shape[0], X.shape[0]))
            kernel.fill(X, self.matrix)

    def __call__(self, rows: Any, columns: Any) -> np.ndarray:
        """Return the kernel matrix of two columns of instance indices."""
        rows, columns = rows[:, 0].astype(int), columns[:, 0].astype(int)
        if self.matrix is None:
            return self.kernel(self.X[rows], self.X[columns])
        return self.matrix[np.ix_(rows, columns)]

    def __sklearn_clone__(self) -> Any:
        return self
