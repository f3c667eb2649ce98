"""`AttentionMILClassifier`: a small network with gated attention over the instances of a bag."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import check_random_state

from bagwise._core.sklearn_private import Interval
from bagwise._core.types import ClassWeight, PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import Blocks, PerBag, TransformedBlocks
from bagwise.models.attention.gradient import loss_and_gradient, one_torch_thread, require_torch
from bagwise.models.attention.network import Network, draw, layout, read
from bagwise.models.base import (
    CLASS_WEIGHT_CONSTRAINT,
    SCALE_CONSTRAINT,
    BagsLike,
    InstanceScoreClassifier,
    Scaled,
    Training,
    fit_scaler,
    validated_fit,
    varying_features,
)
from bagwise.models.base.folds import held_out_for_stopping
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.solvers.adam import adam
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, record_result


class AttentionMILClassifier(Recorded, Scaled, InstanceScoreClassifier):
    """Attention network: bags are classified by an attention-weighted mean of their instances.

    The layers map an instance x_ij of bag i to a representation h_ij. The score of the bag is ::

        f_i = sum_j a_ij (u'h_ij) + b
        a_ij = softmax over the bag of  w'(tanh(V'h_ij + c) * sigma(U'h_ij + g))

    and P(bag i is positive) = sigma(f_i). The fit minimizes the mean bag loss plus a penalty, ::

        sum_i w_i log(1 + exp(-s_i f_i)) / sum_i w_i + alpha / 2 * (squares of all weights but biases)

    where s_i = 1 or -1 is the label and w_i the weight of a bag. The optimizer is Adam, with random initial
    weights. This is the model of Ilse, Tomczak and Welling, on features instead of images.

    Use it for data sets with many bags whose labels do not follow a simple rule and whose features were
    computed by another network, for example from slide patches. It is also a common baseline in comparisons.
    With few bags, the result depends on the random seed and on which bags are held out. On the 92 bags of
    Musk1 (10-fold cross-validation), the accuracy is 84 %, with a standard deviation of 5 percentage points
    over three repetitions. With ``early_stopping=False``, it is 86 %, with a standard deviation of 1
    percentage point over two repetitions. The default parameters were chosen on these bags, so both values
    are slightly optimistic. To find out which instances are positive, use a model with a rule, such as
    `MILogisticRegression`.

    Parameters
    ----------
    hidden_sizes : tuple of int, default=(64,)
        Number of units in each layer; at least one layer is required.
    attention_size : int, default=32
        Number of units in each of the two attention branches (tanh and gate).
    alpha : float, default=1e-2
        Strength of the L2 penalty.
    learning_rate : float, default=0.003
        Learning rate of Adam: the approximate change of a weight per epoch.
    max_epochs : int, default=500
        Maximum number of epochs. An epoch is one step of Adam with the gradient over all bags.
    early_stopping : bool, default=True
        Whether to hold out bags, stratified by class, and to keep the weights with the lowest held-out loss.
        Otherwise, the fit keeps the weights with the lowest objective.
    validation_fraction : float, default=0.2
        Fraction of the bags to hold out.
    n_iter_no_change : int, default=50
        The fit stops after this many epochs without an improvement in the best loss.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How instances are scaled, based on all training bags; CSR matrices stay sparse. With None, features
        are not scaled; their values should then be of order one.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; they are multiplied by the bag weights.
    positive : label or None, default=None
        Label of the positive class, which is predicted at ties. By default it is the label that sorts last.
        Apart from ties, the two classes are treated alike.
    random_state : int, RandomState or None, default=None
        Seed or random generator used to draw the held-out bags and the initial weights. The same integer
        yields identical results.
    verbose : int, default=0
        1 shows a live progress line on a terminal, or prints one line at the end if the output is not a
        terminal. 2 prints one line per epoch.

    Attributes
    ----------
    network_ : Network
        Weights of the layers and of the attention, as NumPy arrays.
    coef_, intercept_ : array of shape (hidden_sizes[-1],), float
        Coefficients u and intercept b.
    scaler_ : transformer or None
        The fitted scaler.
    classes_ : array of shape (2,)
        Class labels.
    positive_label_ : label
        Label of the positive class.
    objective_, objectives_ : float, array of shape (1,)
        Objective at the selected weights.
    loss_history_ : array
        Objective before the first epoch and after every epoch. The objective can increase temporarily.
    validation_history_ : array
        Mean loss of the held-out bags before the first epoch and after every epoch; empty without
        `early_stopping`.
    best_epoch_ : int
        Epoch that produced the selected weights.
    n_iter_, converged_ : int, bool
        Number of epochs, at least 1, and whether the fit was completed.

    See Also
    --------
    MILogisticRegression : Model with instance probabilities and a rule.

    Notes
    -----
    *Interpretation of attention.* a_ij is the weight of an instance in the mean, not its effect on the label:
    an instance with high attention can lower the score of its bag. Attention sums to one in every bag, so
    instances of negative bags also receive attention. It depends on the other instances of the bag, and it is
    not the probability that an instance is positive. Networks that predict bags equally well, for example
    networks fitted with different random seeds, can attend to different instances. The effect of an instance
    on the label is measured by `decision_function_instances`: the score of a bag that contains only this
    instance. The score of a bag is the attention-weighted mean of these scores. The model is trained on bag
    labels only, so neither attention nor instance scores are calibrated.

    *Cost.* An epoch reads the instances once and takes O(n_instances * (n_features * hidden_sizes[0] + ...))
    time. The fit needs memory for the activations of one block of bags. Bags in files are read block by
    block.

    *Weights.* A bag with weight 2 is equivalent to two copies of the bag, up to rounding errors, because
    every step uses all bags. With `early_stopping`, the held-out bags are chosen by index, so one copy of a
    bag can be held out while another is used for training; `groups` keeps copies together.

    *Differences from the paper.* Every step uses all bags instead of a single bag, and all computations are
    in double precision. There is no dropout. The energies (inputs of the softmax) have no bias, because a
    bias would not change the softmax.

    Only `fit` needs torch: ``pip install 'bagwise[torch]'``. Prediction, saving and loading do not. A CPU is
    sufficient.

    References
    ----------
    M. Ilse, J. Tomczak and M. Welling (2018), Attention-based deep multiple instance learning, ICML,
    arXiv:1802.04712.

    Examples
    --------
    >>> from bagwise import AttentionMILClassifier, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = AttentionMILClassifier(max_epochs=30, random_state=0)
    >>> attention = model.fit(data.bags, data.y).attention_instances(data.bags)  # doctest: +SKIP
    """

    validation_history_: np.ndarray
    loss_history_: np.ndarray
    network_: Network
    coef_: np.ndarray
    intercept_: float
    best_epoch_: int
    scaler_: Any

    _streams = True
    # Flipping the sign of the last coefficients swaps the classes. Attention does not depend on the labels'
    # names.
    _text_labels = "last"
    _parameter_constraints: dict[str, Any] = {
        "hidden_sizes": [tuple, list],
        "attention_size": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "scale": SCALE_CONSTRAINT,
        "class_weight": CLASS_WEIGHT_CONSTRAINT,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "positive": "no_validation",
    }
    # Request `groups` by default, as scikit-learn's group splitters do.
    __metadata_request__fit = {"groups": True}

    # The checks reorder and repeat bags, which would change the held-out bags, so early stopping is off.
    _example_parameters = {
        "hidden_sizes": (8,),
        "attention_size": 4,
        "max_epochs": 60,
        "learning_rate": 0.03,
        "early_stopping": False,
    }

    # Packages that `fit` requires; if they are missing, `all_estimators` does not list the estimator.
    _requires = ("torch",)

    def __init__(
        self,
        hidden_sizes: tuple[int, ...] = (64,),
        attention_size: int = 32,
        *,
        alpha: float = 1e-2,
        learning_rate: float = 0.003,
        max_epochs: int = 500,
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 50,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.hidden_sizes = hidden_sizes
        self.attention_size = attention_size
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scale = scale
        self.class_weight = class_weight
        self.positive = positive
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
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags, or a scan of bags in files.
        y : array of shape (n_bags,)
            Labels of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        groups : array of shape (n_bags,), optional
            Group of every bag, for example its patient, plate or day. With `early_stopping`, the bags of a
            group are either all training bags or all held out.
        checkpoint : path, optional
            File that stores the progress of the fit. After a crash, the same call resumes from it
            (docs/checkpoints.md). The file is deleted when the fit is complete.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        hidden = self._read_hidden_sizes()
        require_torch()
        with opened(checkpoint, lambda: identity_of(self, groups=groups)) as location, one_torch_thread():
            rng = check_random_state(location.seed(self.random_state))
            is_held_out = np.zeros(len(training.y), dtype=bool)
            if self.early_stopping:
                share = self.validation_fraction
                is_held_out = held_out_for_stopping(training.y, share, sample_weight, groups, rng)
            reporter = Reporter(type(self).__name__, self.verbose)
            blocks = self._scaled_blocks(training)
            reporter.watch(blocks)
            parts = layout(blocks.n_features, hidden, self.attention_size)
            objective = _Objective(blocks, training, is_held_out, parts, self.alpha)
            start = draw(parts, rng, objective.log_odds_of_labels)
            control = Control(0.0, self.max_epochs, reporter.iteration, checkpoint=location)
            options: dict[str, Any] = {"learning_rate": self.learning_rate, "patience": self.n_iter_no_change}
            result = adam(objective, start, control, **options)
            reporter.start(0, 1, result)
        record_result(self, [result])
        self.loss_history_ = self.__dict__.pop("objective_history_")  # `objective_history_` never increases
        self.network_, self.coef_, self.intercept_ = read(result.x, parts)
        self.best_epoch_ = result.best
        self.validation_history_ = np.asarray(result.watched if self.early_stopping else ())
        return self

    def _read_hidden_sizes(self) -> list[int]:
        sizes = list(self.hidden_sizes)
        if not sizes or not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
            raise ValueError(
                f"hidden_sizes is {self.hidden_sizes!r}; expected the number of units in every layer, for "
                "example (64,), with at least one layer."
            )
        return [int(size) for size in sizes]

    def _scaled_blocks(self, training: Training) -> Blocks:
        """Fit the scaler and return blocks of scaled bags, which are kept in memory if they are not large."""
        bags, y, weight = training
        blocks = bags.blocks(y, weight)
        self.scaler_ = fit_scaler(self.scale, blocks)
        if blocks.whole is None or blocks.are_large:
            n_features = self._scaled_part(np.zeros((1, blocks.n_features))).shape[1]
            return TransformedBlocks(blocks, self._scaled_part, n_features)
        return Bags(self._scaled_part(blocks.whole), blocks.offsets).blocks(y, weight)

    def _scaled_part(self, X: Any) -> Any:
        """Return scaled instances without the features that are constant in training."""
        X = self._scaled(Bags(X, np.arange(X.shape[0] + 1))).instances
        varies = varying_features(self.scaler_)
        return X if varies is None else X[:, np.flatnonzero(varies)]

    def _described(self, bags: Bags) -> np.ndarray:
        return self.network_.describe(self._scaled_part(bags.instances))

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        return self._described(bags) @ self.coef_ + self.intercept_

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        h = self._described(bags)
        counted = self.network_.attend(h, bags.offsets) * (h @ self.coef_)
        return np.add.reduceat(counted, bags.offsets[:-1]) + self.intercept_

    def _attention(self, bags: Bags) -> np.ndarray:
        return self.network_.attend(self._described(bags), bags.offsets)

    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Return the probabilities of the two classes, in the order of ``classes_``: shape (n_bags, 2)."""
        return self._in_class_order(self._bag_proba(X))

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the more probable label of every bag; ties are positive: shape (n_bags,)."""
        proba = self._bag_proba(X)
        return self._labels_of(proba[:, 1] - proba[:, 0])

    def _bag_proba(self, X: BagsLike) -> np.ndarray:
        scores = self._positive_scores(X)
        return np.column_stack([expit(-scores), expit(scores)])

    def attention_instances(self, X: BagsLike) -> np.ndarray:
        """Return the attention of every instance: its weight in the mean that determines the bag's score.

        Attention is not the probability that an instance is positive. It sums to one in every bag, including
        negative bags, and can be high for instances that are evidence *against* the positive class. The
        effect of an instance on the label is measured by `decision_function_instances`; see the Notes section
        of the class.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_instances,)
            Attention, in the order of the instances in the bags.
        """
        return self._by_blocks(X, self._attention)


class _Objective:
    """Objective, held-out loss and gradient for Adam, computed in one pass over all bags."""

    def __init__(self, blocks: Blocks, training: Training, is_held_out: np.ndarray, parts: Any, alpha: float):
        _, y, weight = training
        self._blocks, self._parts, self._alpha = blocks, parts, alpha
        self._held_out = np.where(is_held_out, weight, 0.0)
        self._learning = np.where(is_held_out, 0.0, weight)
        self._watches = bool(is_held_out.any())
        self._is_penalised = np.repeat([not part.is_bias for part in parts], [part.size for part in parts])
        positive, negative = (float(self._learning[y == label].sum()) for label in (1, 0))
        self.log_odds_of_labels = float(np.log(positive) - np.log(negative))

    def __call__(self, x: np.ndarray) -> tuple[float, float, np.ndarray]:
        loss, held_out_loss, gradient = self._blocks.total(
            loss_and_gradient, PerBag(self._learning), PerBag(self._held_out), x, self._parts
        )
        total = self._learning.sum()
        penalised = np.where(self._is_penalised, x, 0.0)
        value = loss / total + 0.5 * self._alpha * float(penalised @ penalised)
        watched = held_out_loss / self._held_out.sum() if self._watches else value
        return value, watched, gradient / total + self._alpha * penalised
