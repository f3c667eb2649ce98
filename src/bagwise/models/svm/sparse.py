"""sMIL, stMIL and sbMIL: machines for positive bags of which few instances are positive."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import ClassWeight, Kernel, Scale
from bagwise.data.bags import Bags
from bagwise.exceptions import warn_user
from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.svm.base import KERNEL_CONSTRAINTS, BagMachine
from bagwise.models.svm.problem import BagMarginProblem, Gram, Labelling, Machine, hinge
from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import SolverResult


class SparseMISVC(BagMachine):
    """Machines that expect few positive instances in a positive bag: sMIL, stMIL and sbMIL.

    With H(z) = max(0, 1 - z), instances x_t of negative bags and positive bags i of n_i instances, sMIL
    minimises over f in the kernel's space plus an intercept ::

        |f|^2 / 2 + C P/N sum_t H(-f(x_t)) + C sum_i max(0, 2 / n_i - 1 - mean_j f(x_ij))

    for P positive bags and N negative instances: the mean of f over a positive bag has to be what it is if
    one instance is at 1 and all others at -1. stMIL adds ``C P/M sum_ij H(|f(x_ij)|)`` over the M instances
    of positive bags, which have one label or the other. sbMIL ("balanced") ranks the instances of positive
    bags by f of sMIL, calls the highest of them positive, the share `balance` but no fewer than there are
    positive bags, and all others negative, and trains a machine on instances with these labels and the weight
    C.

    Use it where positive bags are large and mostly negative.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the losses.
    method : {"sbmil", "smil", "stmil"}, default="sbmil"
        Which of the three. The threshold of sMIL and stMIL may be of little use, as large bags meet their
        margin with a mean near -1, which can leave f negative nearly everywhere: take their scores as a
        ranking, or ``calibrate=True``, which moves the threshold. (Musk1, 10 folds, once: sMIL calls 58 % of
        the bags right as it is, and 86 % calibrated.) A fit that calls no training bag positive warns.
    balance : float, default=0.5
        The share of positive instances in positive bags that sbMIL expects; choose it by cross-validation.
    kernel, gamma, degree, coef0, scale, class_weight, calibrate, tol, max_iter, cache_size, verbose
        As in `MissSVC`.

    Attributes
    ----------
    witnesses_, support_, support_vectors_, dual_coef_, intercept_, coef_, threshold_, exponent_, kernel_,
    gamma_, scaler_, classes_, n_features_in_, objective_, objective_history_, objectives_, n_iter_,
    converged_
        As in `MissSVC`; of the last machine, where there are two.

    Notes
    -----
    All are duals with another linear term than that of a usual machine, on `solve_dual`; one kernel matrix of
    all instances serves both machines of sbMIL. Cost and memory are those of `MissSVC`, less its rounds. In
    the paper C is divided by the numbers of instances and bags: that is C P here. The weight of the
    unlabelled term of stMIL is our choice.

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
        self.calibrate = calibrate
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.verbose = verbose

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags; every instance counts with the weight of its bag.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight, with_class_weight=False)
        self._fit_two(training)
        is_threshold = self.method == "sbmil" or self.calibrate
        if not is_threshold and (self._bag_scores(training.bags) < 0).all():
            warn_user(
                f"SparseMISVC(method={self.method!r}) calls no training bag positive; its scores rank bags, "
                'but their zero is no threshold. Pass calibrate=True, or use method="sbmil".',
                UserWarning,
            )
        return self

    def _solve(self, training: Training) -> tuple[Training, list[SolverResult]]:
        (bags, y, weight), factor = self._prepare(training)
        kernel, points = self._kernel_of(bags, weight)
        gram = Gram(kernel, points, int((y == 1).sum()), max_bytes=1e6 * self.cache_size)
        n_bags = float(weight[y == 1].sum())
        n_negative, n_unlabelled = ((weight * bags.sizes)[y == label].sum() for label in (0, 1))

        def problem(make: Any, *weights: float, **more: Any) -> Any:
            names = ("instance_weight", "bag_weight", "unlabeled_weight")
            how = {name: w * weight * factor for name, w in zip(names, weights, strict=True)}
            return make(gram, bags.offsets, y, tol=self.tol, **how, **more)

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
    """Margins of the means of bags, less the larger the bag: one positive instance is enough.

    In the place of the bag term of `BagMarginProblem` stands ::

        sum_i b_i max(0, 2 / n_i - 1 - mean_j f(x_ij))

    for bags of n_i instances: the mean that a bag has if one of its instances is at 1 and the others at -1.
    Without unlabelled weights the problem is convex (sMIL), with them it is stMIL.

    Parameters
    ----------
    *args, **how
        As in `BagMarginProblem`.
    """

    margins: np.ndarray

    def __init__(self, *args: Any, **how: Any):
        super().__init__(*args, **how)
        self.margins = 2.0 / self.sizes - 1.0
        self.q[self.blocks[1]] = -self.margins

    def linearize(self, point: Machine) -> Labelling:
        """Label the instances by the sign of f; all instances of a bag stand for it."""
        if not self.of_unlabelled.any():
            return self.start("ties")  # nobody asks for labels
        found = super().linearize(point)
        return Labelling(found.positive, found.negative, np.ones(len(self.unlabelled), dtype=bool))

    def valued(self, machine: Machine) -> Machine:
        """Give a machine of another problem on the same bags with its value in this one."""
        plain = machine.scores - machine.intercept
        return replace(machine, value=self.value(float(machine.x @ plain), machine.scores))

    def _bag_loss(self, inside: np.ndarray) -> float:
        mean = np.add.reduceat(inside, self.first) / self.sizes
        return float(self.of_bag @ np.maximum(0.0, self.margins - mean))


class LabelledProblem(BagMarginProblem):
    """A support vector machine of instances, those of positive bags with given labels, or shares of either.

    Parameters
    ----------
    *args, **how
        As in `BagMarginProblem`; weights of bags are zero.
    positive : array of shape (n_unlabelled,)
        Share of the weight of every instance of a positive bag that counts as a positive example.
    """

    labels: Labelling

    def __init__(self, *args: Any, positive: np.ndarray, **how: Any):
        super().__init__(*args, **how)
        witness = np.ones(len(positive), dtype=bool)
        self.labels = Labelling(positive, 1.0 - positive, witness)

    def linearize(self, point: Machine) -> Labelling:
        """Give the labels, whatever f is."""
        return self.labels

    def _unlabelled_losses(self, inside: np.ndarray) -> np.ndarray:
        return self.labels.positive * hinge(inside) + self.labels.negative * hinge(-inside)


def highest_share(scores: np.ndarray, weight: np.ndarray, target: float, blur: float) -> np.ndarray:
    """Give how much of each score belongs to the highest ones, whose weight is `target` in all.

    Scores within `blur` of their neighbour are equal, and share evenly what is left for them.
    """
    order = np.argsort(-scores, kind="stable")
    group = np.cumsum(np.append(0, -np.diff(scores[order]) > blur))
    total = np.bincount(group, weights=weight[order])
    before = np.cumsum(total) - total
    share = np.clip((target - before) / np.where(total > 0, total, 1.0), 0.0, 1.0)
    found = np.empty(len(scores))
    found[order] = share[group]
    return found
