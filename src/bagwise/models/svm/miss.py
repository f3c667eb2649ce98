"""MissSVM: multiple-instance learning as semi-supervised learning."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import ClassWeight, Kernel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.svm.base import KERNEL_CONSTRAINTS, BagMachine
from bagwise.models.wrappers.multiclass import OneVsOneBagClassifier
from bagwise.similarity import InstanceKernel, require_memory


class MissSVC(BagMachine):
    """A semi-supervised support vector machine whose unlabelled instances come in positive bags.

    Instances of negative bags are negative; those of positive bags are unlabelled, but one of each bag
    should be positive. With f(x) in the kernel's space plus an intercept, H(z) = max(0, 1 - z), t over
    instances of negative bags, i over positive bags and j over their instances, the fit minimises ::

        |f|^2 / 2 + C sum_t H(-f(x_t)) + gamma sum_i H(max_j f(x_ij))
                  + delta sum_ij min(H(f(x_ij)), H(-f(x_ij)))

    where gamma is `bag_weight` and delta `unlabeled_weight`. A bag is positive if max_j f(x_j) >= 0.

    Use it for a few hundred to some ten thousand instances with a curved boundary, when it matters which
    instance makes a bag positive. Features must be comparable, so they are scaled to [0, 1] by default.
    Its scores put bags in a better order than the threshold 0 tells them apart (Elephant: an area under the
    ROC curve of 0.92 with an accuracy of 0.77): ``calibrate=True`` moves the threshold (0.85), and gives
    probabilities.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss of a negative instance; the paper's lambda.
    bag_weight : float or None, default=None
        Weight of the loss of a positive bag, the paper's gamma. By default ``C * n_negative_instances /
        n_positive_bags``. 0 is the plain semi-supervised machine, which knows nothing of positive bags.
    unlabeled_weight : float or None, default=None
        Weight of the loss of an instance of a positive bag, the paper's delta. By default ``C *
        n_negative_instances / n_unlabelled_instances``: each of the three sums has the same total weight.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        The kernel of instances; a callable ``kernel(X, Y)`` returns the matrix of all pairs of rows.
        "precomputed": the rows of a bag are its instances' kernels with all training instances (see
        `instance_kernel`), a square matrix in `fit`; `scale`, `gamma`, `degree` and `coef0` play no part.
        For cross-validation, which has to cut both ways, pass `KernelBags`.
    gamma : {"scale", "auto", "median"} or float, default="scale"
        Kernel coefficient, as in `sklearn.svm.SVC`, on the scaled features; "median" is one by the median
        squared distance of instances (of 2,000 of them if there are more).
    degree, coef0 : int, float, default=3, 0.0
        Parameters of the polynomial kernel.
    scale : {"minmax", "standard", "rank"}, transformer or None, default="minmax"
        How the instances are scaled before the fit.
    init : {"ties", "positive", "negative", "random"}, default="ties"
        Labels of the unlabelled instances in the first step: half of either, or all of one, with the mean
        of a bag as its witness; or drawn at random with a random witness.
    n_init : int, default=1
        Number of starts; those after the first are random. The lowest objective wins, which need not be
        the best machine: far-fetched starts may reach lower objectives and predict worse.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses of negative and positive bags. The default weights are already balanced;
        they count bags and instances by `sample_weight` alone.
    calibrate : bool, default=False
        Whether the threshold is moved to where held-out bags of either class are equally probable, by a
        logistic regression on their scores; then there is `predict_proba`. It takes five more fits, each to
        four fifths of the bags. With more than two classes every pair is calibrated, without probabilities.
    tol : float, default=1e-6
        Relative duality gap of every convex step, and the relative decrease below which steps end.
    max_iter : int, default=100
        The most convex steps of a start.
    cache_size : float, default=2000
        Megabytes for the kernel matrix. A larger one is not stored: its rows are computed on demand.
    random_state : int, RandomState or None, default=None
        Source of the random starts.
    verbose : int, default=0
        1 reports every start, 2 every step.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Numbers of the training instances with a coefficient (of bags with non-zero weight).
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        These instances, scaled; with a precomputed kernel a column of their numbers, as columns of `X`.
    dual_coef_ : array of shape (1, n_support)
        Their coefficients; a row for each machine of ``pairs_`` if there are more than two classes.
    intercept_ : array of shape (1,)
        The intercept: the mean over multipliers inside their bounds, where f is known to be +-1; with
        `calibrate` less the `threshold_`.
    threshold_, exponent_ : float
        With `calibrate`, the score of the machine at which P = 1/2, and the steepness there: ``P(+) =
        sigma(exponent_ * decision_function)``.
    coef_ : array of shape (1, n_features)
        With the linear kernel, the coefficients on the scaled features.
    witnesses_ : array of shape (n_bags,)
        For every positive training bag, the place of its highest instance; -1 for negative bags. (For
        two classes; with more, those of a pair are in ``pairs_.estimators_``.)
    pairs_ : OneVsOneBagClassifier
        With more than two classes, two machines for each pair: either class is the positive one once.
    kernel_, gamma_ : InstanceKernel, float
        The kernel, and its coefficient.
    scaler_ : transformer or None
        The fitted `scale`. With ``scale=None``, a linear kernel and instances far from the origin, it only
        takes a place amid them away, which changes nothing but rounding.
    classes_ : array of shape (n_classes,)
        The labels; of two, ``classes_[1]`` is the positive class.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_ : float, array, array
        The objective above, its course from f = 0, and the ends of all starts.
    n_iter_, converged_ : int, bool
        Convex steps of the best start, and whether it converged.

    Notes
    -----
    The concave-convex procedure: label the unlabelled instances by the sign of f, let the mean of its
    highest instances stand for every positive bag, solve the weighted support vector machine that remains,
    from the last solution, and repeat until no label and no witness changes. The objective never rises.
    The kernel matrix, O(n_instances^2), is computed once; a mean's row is a mean of rows. Weights of bags
    act as repetitions.

    More than two classes are told apart one against one, on one kernel matrix. As it matters which class of
    a pair is the positive one and neither is by nature, each is once.

    On bags of one instance, ``unlabeled_weight=0`` is an ordinary `SVC` with the class weights of
    `bag_weight`. By default it is none, as printed: the one instance of a positive bag counts as unlabelled
    too, so that one which f calls negative (f < 0) is pushed both ways, and scores differ from those of `SVC`
    by about 1.

    Differences from the paper: at a tie the subgradient of the minimum is (1/2, 1/2), not the printed
    (1, 1/2), which is not one; labels follow the sign of f rather than slacks, which are not tight where
    their weight is zero; scaling and start, of which the paper does not speak, are those above.

    References
    ----------
    Z.-H. Zhou and J.-M. Xu (2007), On the relation between multi-instance learning and semi-supervised
    learning, ICML, doi:10.1145/1273496.1273643.

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
        self.calibrate = calibrate
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.verbose = verbose

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Of two classes the one that sorts last is the positive class; more fight in pairs.
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
        """Fit two machines for each pair of classes, all on one kernel matrix."""
        bags, codes, weight = self._fit_scaler(training)
        kernel, points = self._kernel_of(bags, weight)
        shared = SharedKernel(kernel, points, max_bytes=1e6 * self.cache_size)
        # Instances go by their numbers, which the shared kernel looks up.
        numbers = Bags(np.arange(bags.n_instances, dtype=np.float64)[:, None], bags.offsets)
        machine = clone(self).set_params(kernel=shared, scale=None)
        self.pairs_ = OneVsOneBagClassifier(machine, both_ways=True).fit(
            numbers, self.classes_[codes], weight
        )

        machines = self.pairs_.estimators_
        support = [m.support_vectors_[:, 0].astype(int) for m in machines]
        self.support_, places = np.unique(np.concatenate(support), return_inverse=True)
        coef = np.zeros((len(machines), len(self.support_)))
        of_machine = np.repeat(np.arange(len(machines)), [len(s) for s in support])
        coef[of_machine, places] = np.concatenate([m.dual_coef_[0] for m in machines])
        self._set_machines(points[self.support_], coef, [m.intercept_[0] for m in machines])
        self.n_iter_ = max(m.n_iter_ for m in machines)
        self.converged_ = all(m.converged_ for m in machines)
        for name in ("witnesses_", "objective_", "objective_history_", "objectives_"):
            self.__dict__.pop(name, None)  # of an earlier fit to two classes


class SharedKernel:
    """A kernel of instance *numbers*: a matrix that is computed once and looked up by many machines.

    Parameters
    ----------
    kernel : InstanceKernel
        The kernel of instances.
    X : array or CSR matrix
        The instances behind the numbers.
    max_bytes : float
        A larger matrix is not stored; pairs are then evaluated as they are asked for.
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
        """Kernel matrix of two columns of instance numbers."""
        rows, columns = rows[:, 0].astype(int), columns[:, 0].astype(int)
        if self.matrix is None:
            return self.kernel(self.X[rows], self.X[columns])
        return self.matrix[np.ix_(rows, columns)]

    def __sklearn_clone__(self) -> Any:
        return self
