"""`DissimilarityEmbedding`: distances from a bag to training bags."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import Kernel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import SCALE_CONSTRAINT, BagsLike, BagTransformer, Scaled, fit_scaler, validated_fit
from bagwise.similarity.distances import METRICS, bag_distances, metric_arguments


class DissimilarityEmbedding(Scaled, BagTransformer):
    """Embed each bag as the vector of its distances to training bags (MInD).

    Any scikit-learn classifier can use the vectors. Start with a `StandardScaler` and a linear classifier,
    which learns which training bags are close to positive and to negative bags. Use the embedding if bags of
    the same class are similar as a whole. It does not predict instances.

    Parameters
    ----------
    metric : {"mean_min", "minimal", "maximal", "ranked", "mmd"} or callable, default="mean_min"
        Distance between bags: see `bag_distances`.
    prototypes : int or None, default=None
        Number of training bags, drawn at random, that are used as prototypes; all by default.
    metric_params : dict or None, default=None
        Further arguments of `bag_distances`, such as ``{"rank": 3}``.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before they are compared.
    random_state : int, RandomState or None, default=None
        Seed of the random prototypes.

    Attributes
    ----------
    prototypes_ : int array of shape (n_prototypes,)
        Sorted indices of the training bags that the columns refer to.
    bags_ : Bags
        These bags, with scaled instances.
    scaler_ : transformer or None
        The fitted `scale`.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    `transform` compares all instances with all prototype instances, O(n_instances * n_prototype_instances *
    n_features), block by block. The paper's distance "meanmin" is squared and is computed in one direction;
    "mean_min" is the mean of both directions.

    References
    ----------
    V. Cheplygina, D. M. J. Tax and M. Loog (2015), Multiple instance learning with bag dissimilarities,
    Pattern Recognition 48, doi:10.1016/j.patcog.2014.07.022.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bagwise import DissimilarityEmbedding, load_digit_bags, make_bag_pipeline
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = make_bag_pipeline(DissimilarityEmbedding(), StandardScaler(), LogisticRegression())
    >>> model.fit(data.bags[:40], data.y[:40]).predict(data.bags[40:]).shape
    (20,)
    """

    scaler_: Any
    prototypes_: np.ndarray
    bags_: Bags

    _parameter_constraints: dict[str, Any] = {
        "metric": [StrOptions(set(METRICS)), callable],
        "prototypes": [Interval(Integral, 1, None, closed="left"), None],
        "metric_params": [dict, None],
        "scale": SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }
    _expected_failed_checks = {
        "bag_order_is_irrelevant": "the columns are in the order of the training bags",
    }

    def __init__(
        self,
        metric: Kernel = "mean_min",
        prototypes: int | None = None,
        *,
        metric_params: dict[str, Any] | None = None,
        scale: Scale = "standard",
        random_state: Seed = None,
    ):
        self.metric = metric
        self.prototypes = prototypes
        self.metric_params = metric_params
        self.scale = scale
        self.random_state = random_state

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike | None = None) -> Self:
        """Store the training bags, or a random sample of `prototypes` bags.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The training bags.
        y : ignored
            Present for compatibility with pipelines.

        Returns
        -------
        self
        """
        metric_arguments(self.metric_params)  # validate early: only `transform` uses them
        bags = self._read(X, reset=True)
        self.scaler_ = fit_scaler(self.scale, bags.blocks())
        drawn = check_random_state(self.random_state).permutation(len(bags))[: self.prototypes]
        self.prototypes_ = np.arange(len(bags)) if self.prototypes is None else np.sort(drawn)
        self.bags_ = self._scaled(bags[self.prototypes_])
        return self

    @validated_fit
    def fit_transform(self, X: BagsLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit, and return the distances of all training bags; each pair is computed once if possible."""
        self.fit(X)
        return self.transform(X) if self.prototypes is not None else self._distances(self.bags_, None)

    def transform(self, X: BagsLike) -> np.ndarray:
        """Return the distances of every bag: shape (n_bags, n_prototypes)."""
        return self._by_blocks(X, self._describe)

    def _describe(self, bags: Bags) -> np.ndarray:
        return self._distances(self._scaled(bags), self.bags_)

    @interruptible(at_once=True)
    def _distances(self, bags: Bags, others: Bags | None) -> np.ndarray:
        return bag_distances(bags, others, metric=self.metric, **metric_arguments(self.metric_params))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names "bag0", "bag1", ..., with the indices of the training bags."""
        check_is_fitted(self)
        return np.array([f"bag{i}" for i in self.prototypes_], dtype=object)
