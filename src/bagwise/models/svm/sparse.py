"""sMIL, stMIL and sbMIL: SVMs for positive bags in which few instances are positive."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import ClassWeight, Kernel, PositiveLabel, Scale
from bagwise.data.bags import Bags
from bagwise.exceptions import warn_user
from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.svm.base import KERNEL_CONSTRAINTS, BagMachine
from bagwise.models.svm.problem import BagMarginProblem, InstanceGram, Labelling, Machine, hinge
from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import SolverResult


class SparseMISVC(BagMachine):
    """Support vector machines for positive bags with few positive instances: sMIL, stMIL and sbMIL.

    With H(z) = max(0, 1 - z), instances x_t of negative bags and positive bags i of n_i instances, sMIL
    minimizes over f in the feature space of the kernel plus an intercept ::

        |f|^2 / 2 + C P/N sum_t H(-f(x_t)) + C sum_i max(0, 2 / n_i - 1 - mean_j f(x_ij))

    for P positive bags and N negative instances. The mean of f over a positive bag should be at least the
    mean for one instance with f = 1 and all others with f = -1. stMIL adds ``C P/M sum_ij H(|f(x_ij)|)`` over
    the M instances of positive bags, which keeps them away from the boundary on either side. sbMIL
    ("balanced") ranks the instances of positive bags by the f of sMIL. It labels the highest-ranked instances
    positive: the share `balance`, but at least as many as there are positive bags. It labels all others
    negative, and fits an SVM to these instance labels with the weight C.

    Use it when positive bags are large and most of their instances are negative.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the losses.
    method : {"sbmil", "smil", "stmil"}, default="sbmil"
        The method. The threshold of sMIL and stMIL is often not usable: large bags satisfy their margin with
        a mean near -1, which can leave f negative almost everywhere. Use their scores as a ranking only, or
        set ``calibrate=True``, which shifts the threshold. (On Musk1, in one 10-fold cross-validation, sMIL
        classifies 58 % of the bags correctly without calibration, and 86 % with it.) `fit` issues a warning
        if no training bag is predicted positive.
    balance : float, default=0.5
        The share of positive instances in positive bags that sbMIL assumes; choose it by cross-validation.
    kernel, gamma, degree, coef0, scale, class_weight, positive, calibrate, tol, max_iter, cache_size, verbose
        As in `MissSVC`.

    Attributes
    ----------
    witnesses_, support_, support_vectors_, dual_coef_, intercept_, coef_, threshold_, exponent_, kernel_,
    gamma_, scaler_, classes_, positive_label_, n_features_in_, objective_, objective_history_,
    objectives_, n_iter_, converged_
        As in `MissSVC`; if two SVMs are fitted, they describe the last one.

    Notes
    -----
    All three problems are solved in the dual with `solve_dual`; only the linear term differs from that of an
    ordinary SVM. Both SVMs of sbMIL use the same kernel matrix of all instances. Cost and memory are those of
    `MissSVC`, without its repeated steps. The paper divides C by the numbers of instances and bags: the
    paper's C is C P here. The weight of the unlabeled term of stMIL is our choice.

    References
    ----------
    R. C. Bunescu and R. J. Mooney (2007), Multiple instance learning for sparse positive bags, ICML,
    doi:10.1145/1273496.1273510.

    Examples
    --------
    >>> from bagwise import SparseMISVC, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = SparseMISVC(balance=0.2).fit(data.bags, data.y)
    >>> model.decision_function_instances(data.bags).shape == (data.bags.n_instances,)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "method": [StrOptions({"sbmil", "smil", "stmil"})],
        "balance": [Interval(Real, 0, 1, closed="both")],
        "calibrate": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "positive": "no_validation",
    }

    def __init__(
        self,
        C: float = 10.0,
        *,
        method: Literal["sbmil", "smil", "stmil"] = "sbmil",
        balance: float = 0.5,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        scale: Scale = "minmax",
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        calibrate: bool = False,
        tol: float = 1e-6,
        max_iter: int = 100,
        cache_size: int = 2000,
        verbose: int = 0,
    ):
        self.C = C
        self.method = method
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale
        self.class_weight = class_weight
        self.positive = positive
        self.calibrate = calibrate
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.verbose = verbose

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Labels of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags; every instance has the weight of its bag.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight, with_class_weight=False)
        self._fit_two(training)
        is_threshold = self.method == "sbmil" or self.calibrate
        if not is_threshold and (self._bag_scores(training.bags) < 0).all():
            warn_user(
                f"SparseMISVC(method={self.method!r}) predicts no training bag as positive: its scores rank "
                'bags, but 0 is not a usable threshold. Pass calibrate=True, or use method="sbmil".',
                UserWarning,
            )
        return self

    def _solve(self, training: Training) -> tuple[Training, list[SolverResult]]:
        (bags, y, weight), factor = self._prepare(training)
        kernel, points = self._kernel_of(bags, weight)
        gram = InstanceGram(kernel, points, int((y == 1).sum()), max_bytes=1e6 * self.cache_size)
        n_bags = float(weight[y == 1].sum())
        n_negative, n_unlabelled = ((weight * bags.sizes)[y == label].sum() for label in (0, 1))

        def problem(make: Any, *weights: float, **more: Any) -> Any:
            names = ("instance_weight", "bag_weight", "unlabeled_weight")
            arguments = {name: w * weight * factor for name, w in zip(names, weights, strict=True)}
            return make(gram, bags.offsets, y, tol=self.tol, **arguments, **more)

        reporter = Reporter(type(self).__name__, self.verbose)
        control = Control(self.tol, self.max_iter, reporter.iteration)
        n_machines = 1 if self.method == "smil" else 2
        of_negative = self.C * n_bags / n_negative
        whole = problem(WholeBagProblem, of_negative, self.C, 0.0)
        result = _minimise(whole, whole.zero(), control)
        reporter.start(0, n_machines, result)
        if n_machines == 2 and not control.is_stopped:
            if self.method == "stmil":
                second = problem(WholeBagProblem, of_negative, self.C, self.C * n_bags / n_unlabelled)
                start = second.valued(result.x)
            else:
                machine, each = result.x, np.repeat(weight, bags.sizes)[whole.unlabelled]
                target = max(n_bags, self.balance * n_unlabelled)
                share = highest_share(machine.scores[whole.unlabelled], each, target, machine.blur)
                second = problem(LabelledProblem, self.C, 0.0, self.C, positive=share)
                start = second.zero()
            result = _minimise(second, start, control)
            reporter.start(1, n_machines, result)
        return Training(Bags(points, bags.offsets), y, weight), [result]


def _minimise(problem: BagMarginProblem, start: Machine, control: Control) -> SolverResult:
    return minimize_cccp(problem, problem.linearize(start), start, control)


class WholeBagProblem(BagMarginProblem):
    """Margin losses of bag means; the margin is smaller for larger bags, as one positive instance is enough.

    This loss replaces the bag term of `BagMarginProblem` ::

        sum_i b_i max(0, 2 / n_i - 1 - mean_j f(x_ij))

    for bags of n_i instances. The margin is the mean of a bag with one instance at 1 and all others at -1.
    The problem is convex without unlabeled weights (sMIL); with them it is stMIL.

    Parameters
    ----------
    *args, **kwargs
        As in `BagMarginProblem`.
    """

    margins: np.ndarray

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.margins = 2.0 / self.sizes - 1.0
        self.q[self.blocks[1]] = -self.margins

    def linearize(self, point: Machine) -> Labelling:
        """Label the instances by the sign of f; all instances of a bag are witnesses."""
        if not self.of_unlabelled.any():
            return self.start("ties")  # labels have no weight
        labelling = super().linearize(point)
        return Labelling(labelling.positive, labelling.negative, np.ones(len(self.unlabelled), dtype=bool))

    def valued(self, machine: Machine) -> Machine:
        """Return an SVM of another problem on the same bags, with its objective value in this problem."""
        plain = machine.scores - machine.intercept
        return replace(machine, value=self.value(float(machine.x @ plain), machine.scores))

    def _bag_loss(self, inside: np.ndarray) -> float:
        mean = np.add.reduceat(inside, self.first) / self.sizes
        return float(self.of_bag @ np.maximum(0.0, self.margins - mean))


class LabelledProblem(BagMarginProblem):
    """SVM of instances; those of positive bags have fixed labels, or fixed shares of both labels.

    Parameters
    ----------
    *args, **kwargs
        As in `BagMarginProblem`; the bag weights are zero.
    positive : array of shape (n_unlabelled,)
        Share of every instance's weight, in positive bags, that counts as a positive example.
    """

    labels: Labelling

    def __init__(self, *args: Any, positive: np.ndarray, **kwargs: Any):
        super().__init__(*args, **kwargs)
        witness = np.ones(len(positive), dtype=bool)
        self.labels = Labelling(positive, 1.0 - positive, witness)

    def linearize(self, point: Machine) -> Labelling:
        """Return the fixed labels; they do not depend on f."""
        return self.labels

    def _unlabelled_losses(self, inside: np.ndarray) -> np.ndarray:
        return self.labels.positive * hinge(inside) + self.labels.negative * hinge(-inside)


def highest_share(scores: np.ndarray, weight: np.ndarray, target: float, blur: float) -> np.ndarray:
    """Return the share of every score that belongs to the highest scores, up to the total weight `target`.

    Scores within `blur` of their neighbor are ties, and share the remaining weight evenly.
    """
    order = np.argsort(-scores, kind="stable")
    group = np.cumsum(np.append(0, -np.diff(scores[order]) > blur))
    total = np.bincount(group, weights=weight[order])
    before = np.cumsum(total) - total
    share = np.clip((target - before) / np.where(total > 0, total, 1.0), 0.0, 1.0)
    result = np.empty(len(scores))
    result[order] = share[group]
    return result
