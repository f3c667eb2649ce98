"""MI-SVM and mi-SVM, the two SVMs of Andrews, Tsochantaridis and Hofmann."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.sklearn_private import Interval
from bagwise._core.types import ClassWeight, Kernel, PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import BagsLike, validated_fit
from bagwise.models.svm.base import KERNEL_CONSTRAINTS, BagMachine


class _TwoClassMachine(BagMachine):
    """Base class of SVMs for two classes whose only loss weight is C."""

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
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
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        scale: Scale = "minmax",
        n_init: int = 1,
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        calibrate: bool = False,
        tol: float = 1e-6,
        max_iter: int = 100,
        cache_size: int = 2000,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale
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
            Labels of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight, with_class_weight=False)
        self._fit_two(training)
        return self


class MISVC(_TwoClassMachine):
    """MI-SVM: a support vector machine in which one witness represents every positive bag.

    With H(z) = max(0, 1 - z), t running over the instances of negative bags and i over the positive bags, the
    fit minimizes ::

        |f|^2 / 2 + C sum_t H(-f(x_t)) + C sum_i H(max_j f(x_ij))

    The other instances of a positive bag do not enter the objective. Use it when positive bags contain many
    irrelevant instances. `MissSVC` also penalizes instances of positive bags near the boundary.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the losses.
    kernel, gamma, degree, coef0, scale, class_weight, positive, calibrate, tol, max_iter, cache_size
        As in `MissSVC`.
    random_state, verbose
        As in `MissSVC`.
    n_init : int, default=1
        Number of starts. The first starts from the means of the bags, the others from random witnesses.

    Attributes
    ----------
    witnesses_, support_, support_vectors_, dual_coef_, intercept_, coef_, threshold_, exponent_, kernel_,
    gamma_, scaler_, classes_, positive_label_, n_features_in_, objective_, objective_history_,
    objectives_, n_iter_, converged_
        As in `MissSVC`.

    Notes
    -----
    The objective is that of `MissSVC` without the unlabeled term and with ``bag_weight=C``, and it is
    minimized in the same way: each step fits a support vector machine to negative instances and witnesses.
    The kernel matrix, O(n_instances^2), is computed once. In the paper, all instances of a negative bag share
    one slack variable; here, as in common implementations, each instance has a separate one.

    References
    ----------
    S. Andrews, I. Tsochantaridis and T. Hofmann (2003), Support vector machines for multiple-instance
    learning, NIPS 15.

    Examples
    --------
    >>> from bagwise import MISVC, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = MISVC().fit(data.bags, data.y)
    >>> bool((model.witnesses_[data.y == 1] >= 0).all())
    True
    """

    def _loss_weights(self, bags: Bags, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, float]:
        return self.C, self.C, 0.0


class InstanceMISVC(_TwoClassMachine):
    """Instance-level support vector machine that estimates instance labels during the fit (mi-SVM).

    With H(z) = max(0, 1 - z), the fit minimizes over f and over labels z_ij = +-1 of the instances of
    positive bags, at least one of which must be +1 in every bag ::

        |f|^2 / 2 + C sum_t H(-f(x_t)) + C sum_ij H(z_ij f(x_ij))

    where t runs over the instances of negative bags. Use it when you need instance labels and positive bags
    contain several positive instances.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the losses.
    kernel, gamma, degree, coef0, scale, class_weight, positive, calibrate, tol, max_iter, cache_size
        As in `MissSVC`.
    random_state, verbose
        As in `MissSVC`.
    n_init : int, default=1
        Number of starts. The first starts with all labels positive, the others with random labels.

    Attributes
    ----------
    witnesses_, support_, support_vectors_, dual_coef_, intercept_, coef_, threshold_, exponent_, kernel_,
    gamma_, scaler_, classes_, positive_label_, n_features_in_, objective_, objective_history_,
    objectives_, n_iter_, converged_
        As in `MissSVC`.

    Notes
    -----
    As in the paper, the fit alternates between labels and SVM. Each instance is labeled by the sign of f; if
    a bag would have no positive instance, its highest-scoring instance is labeled positive. Neither step
    increases the objective. A random start may leave a bag without a positive instance; the first update of
    the labels corrects this. The kernel matrix, O(n_instances^2), is computed once.

    WEKA's class MISVM is this model, not MI-SVM (`MISVC`). ``InstanceMISVC(C=1, kernel="linear",
    scale="minmax")`` has its default parameters, and the accuracies of the column MISVM in Foulds and Smyth
    (2011), table 1.

    References
    ----------
    S. Andrews, I. Tsochantaridis and T. Hofmann (2003), Support vector machines for multiple-instance
    learning, NIPS 15.

    Examples
    --------
    >>> from bagwise import InstanceMISVC, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = InstanceMISVC().fit(data.bags, data.y)
    >>> model.predict_instances(data.bags).shape == (data.bags.n_instances,)
    True
    """

    _one_positive = True
    _first_start = "positive"

    def _loss_weights(self, bags: Bags, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, float]:
        return self.C, 0.0, self.C
