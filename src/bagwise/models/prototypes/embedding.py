"""Embedding of bags by the distances of their nearest instances to prototypes."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import Block
from bagwise.models.base import (
    SCALE_CONSTRAINT,
    BagsLike,
    BagTransformer,
    Scaled,
    encode_labels,
    validated_fit,
)
from bagwise.models.base.scaling import fit_scaler
from bagwise.models.prototypes.choosing import (
    COUNT_CONSTRAINT,
    INSTANCE_KINDS,
    choose_instances,
    choose_targets,
)
from bagwise.models.prototypes.diverse_density import DiverseDensity

if TYPE_CHECKING:
    from bagwise.models.prototypes.points import Prototypes


class PrototypeEmbedding(Scaled, BagTransformer):
    """Embed each bag as a vector of its nearest distances or largest similarities to prototypes.

    With prototypes t_k, a width s, and d(x, t) the distance of scaled features, entry k for bag i is ::

        output="similarity":  max_j exp(-d(x_ij, t_k)^2 / s^2)
        output="distance":    min_j d(x_ij, t_k)

    Diverse-density prototypes have separate scales per feature instead of s, and are computed for every class
    against the others. Any scikit-learn classifier can use the vectors. A 1-norm SVM on similarities to all
    instances is MILES; `MILESClassifier` implements this and also returns the contributions of instances. An
    SVM on distances to diverse-density optima is DD-SVM.

    Use it when a few kinds of instances are decisive. Similarities to all instances result in many features,
    so the following estimator must select or shrink them.

    Parameters
    ----------
    prototypes : {"all", "sample", "kmeans", "density"} or DiverseDensity, default="all"
        "all" uses all distinct instances, "sample" a random sample of them, "kmeans" k-means centers, and
        "density" the ``local_optima_`` of diverse density. For other settings of diverse density, pass a
        `DiverseDensity` or `EMDD`.
    n_prototypes : int, default=100
        Maximum number of prototypes for "sample" and "kmeans"; number of starts for "density".
    width : float or None, default=None
        The width s, on the scale of ``scaler_``. None is the median distance from a bag to a prototype that
        is not an instance of the bag.
    output : {"similarity", "distance"}, default="similarity"
        Value computed from the nearest instance.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        Scaling of the instances before the distances are computed.
    random_state : int, RandomState or None, default=None
        Seed or generator of samples, clusters and starts.

    Attributes
    ----------
    prototypes_ : Prototypes
        The prototypes, with ``points``, ``gamma`` = 1 / s^2, and ``scales`` or None.
    scaler_ : transformer or None
        The fitted `scale`.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    Computing the vectors costs O(n_instances * n_prototypes * n_features), in blocks. In a fit with "all",
    this cost grows with the square of the number of instances. Diverse density costs up to 200 iterations of
    two passes for each start and class. Samples and k-means centers can be computed from files; from data
    with more than 2**23 values, they use a random sample of this size. These prototypes can depend on the
    order of the bags. With "all", the order of bags only changes the order of the columns, and only for
    sparse instances.

    References
    ----------
    Y. Chen, J. Bi and J. Z. Wang (2006), MILES: multiple-instance learning via embedded instance selection,
    IEEE Transactions on Pattern Analysis and Machine Intelligence 28.

    Y. Chen and J. Z. Wang (2004), Image categorization by learning and reasoning with regions, Journal of
    Machine Learning Research 5: DD-SVM. The selection of the optima is our choice (see `DiverseDensity`).

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from bagwise import PrototypeEmbedding, make_bag_pipeline, make_mixture_bags
    >>> data = make_mixture_bags(40, separation=4.0, random_state=0)
    >>> targets = PrototypeEmbedding("density", n_prototypes=5, output="distance", random_state=0)
    >>> dd_svm = make_bag_pipeline(targets, SVC()).fit(data.bags, data.y)
    >>> bool(dd_svm.score(data.bags, data.y) > 0.9)
    True
    """

    scaler_: Any
    prototypes_: Prototypes

    _parameter_constraints: dict[str, Any] = {
        "prototypes": [StrOptions({*INSTANCE_KINDS, "density"}), DiverseDensity],
        "n_prototypes": COUNT_CONSTRAINT,
        "width": [Interval(Real, 0, None, closed="neither"), None],
        "output": [StrOptions({"similarity", "distance"})],
        "scale": SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prototypes: Literal["all", "sample", "kmeans", "density"] | DiverseDensity = "all",
        *,
        n_prototypes: int = 100,
        width: float | None = None,
        output: Literal["similarity", "distance"] = "similarity",
        scale: Scale = "standard",
        random_state: Seed = None,
    ):
        self.prototypes = prototypes
        self.n_prototypes = n_prototypes
        self.width = width
        self.output = output
        self.scale = scale
        self.random_state = random_state

    @property
    def _by_density(self) -> bool:
        return isinstance(self.prototypes, DiverseDensity) or self.prototypes == "density"

    @property
    def _accepts_sparse(self) -> bool:
        return not self._by_density

    @property
    def _streams(self) -> bool:
        return isinstance(self.prototypes, str) and self.prototypes in ("sample", "kmeans")

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike | None = None) -> Self:
        """Choose the prototypes.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags. Scans are accepted for "sample" and "kmeans".
        y : array of shape (n_bags,), optional
            Labels, with any number of classes. Only diverse density needs them.

        Returns
        -------
        self
        """
        bags = self._read(X, reset=True)
        blocks = bags.blocks()
        self.scaler_ = fit_scaler(self.scale, blocks)
        if self._by_density:
            codes = encode_labels(self, y, X, bags, binary=False)
            n_classes = len(self.classes_)
            del self.classes_  # transformers have no classes
            self.prototypes_ = choose_targets(self, self._scaled(bags), codes, n_classes)
            return self
        prototypes = choose_instances(self, bags)
        if self.width is None:
            squares = blocks.joined(self._least, prototypes)
            self.prototypes_ = prototypes.with_width(None, squares, np.ones(len(bags)))
        else:
            self.prototypes_ = prototypes.with_width(self.width, np.empty((0, 0)), np.empty(0))
        return self

    def _least(self, block: Block, prototypes: Any) -> np.ndarray:
        return prototypes.least(self._scaled(Bags(block.X, block.offsets)))

    def transform(self, X: BagsLike) -> np.ndarray:
        """Return the vector of every bag: shape (n_bags, n_prototypes)."""
        return self._by_blocks(X, self._describe)

    def _describe(self, bags: Bags) -> np.ndarray:
        least = self.prototypes_.least(self._scaled(bags))
        if self.output == "similarity":
            return np.exp(-least)
        return np.sqrt(least if self.prototypes_.scales is not None else least / self.prototypes_.gamma)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names "prototype0", "prototype1", ..."""
        check_is_fitted(self)
        return np.array([f"prototype{k}" for k in range(len(self.prototypes_))], dtype=object)
