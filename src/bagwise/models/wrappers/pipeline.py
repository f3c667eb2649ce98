"""Bag pipelines: transformers of instances, and a pipeline with instance-level predictions."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackError
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval, available_if
from bagwise._core.types import Seed, Transformer
from bagwise.data.bags import Bags, describes_bags
from bagwise.data.scanned import ScannedBags
from bagwise.models.base import BagsLike, BagTransformer, validated_fit
from bagwise.models.base.labels import require_label_per_bag
from bagwise.models.base.streaming import in_files, in_memory, passes


class OnInstances(BagTransformer, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Apply a scikit-learn transformer to the instances of bags.

    The transformer is fitted to the matrix of all training instances. Bags, ids and additional columns do not
    change. Use it in a pipeline before any bag estimator, for scaling, PCA, imputation, or nonlinear features
    such as `RBFSampler` for a linear model.

    Parameters
    ----------
    transformer : transformer
        Any scikit-learn transformer. If the transformer uses labels, every instance has the label of its bag.
    max_passes : int, default=1
        Number of passes of `partial_fit` over bags in files that do not fit in memory. Each pass reads the
        blocks in a random order.
    random_state : int, RandomState or None, default=None
        Seed of the random order.

    Attributes
    ----------
    transformer_ : transformer
        The fitted transformer.

    Notes
    -----
    Bags in memory are transformed to `Bags` with new `instances`, so the result needs additional memory.
    Instances of a scan are transformed when they are read, in every pass, and are not stored.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from bagwise import OnInstances, load_digit_bags
    >>> data = load_digit_bags(20, random_state=0)
    >>> OnInstances(PCA(5)).fit_transform(data.bags).n_features
    5
    """

    transformer_: Any

    _takes_rows = True
    _largest_value = np.inf  # the next step validates the result
    _parameter_constraints: dict[str, Any] = {
        "transformer": "no_validation",
        "max_passes": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, transformer: Transformer, *, max_passes: int = 1, random_state: Seed = None):
        self.transformer = transformer
        self.max_passes = max_passes
        self.random_state = random_state

    @property
    def _accepts_sparse(self) -> bool:
        return get_tags(self.transformer).input_tags.sparse

    @property
    def _accepts_missing(self) -> bool:
        return get_tags(self.transformer).input_tags.allow_nan

    @property
    def _streams(self) -> bool:
        return hasattr(self.transformer, "partial_fit")

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike | None = None) -> Self:
        """Fit the transformer to the instances.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags. A scan requires a transformer with `partial_fit`.
        y : array of shape (n_bags,), optional
            Labels of the bags, for transformers that use labels.

        Returns
        -------
        self
        """
        bags = self._read(X, reset=True)
        if y is not None:
            y = np.asarray(y)
            require_label_per_bag(y, bags)
        with interruptible(at_once=True):
            self.transformer_ = self._fit_blocks(bags, y) if in_files(bags) else self._fit(in_memory(bags), y)
        return self

    def _fit(self, bags: Bags, y: np.ndarray | None) -> Any:
        labels = None if y is None else np.repeat(y, bags.sizes, axis=0)
        try:
            return clone(self.transformer).fit(bags.instances, labels)
        except ArpackError as error:
            raise ValueError(
                f"{type(self.transformer).__name__} cannot be fitted to these instances, because ARPACK "
                f"found no singular vectors ({error}); check whether all values are 0 or equal, or use a "
                "solver other than ARPACK."
            ) from error

    def _fit_blocks(self, bags: Bags, y: np.ndarray | None) -> Any:
        transformer = clone(self.transformer)
        targets = np.zeros(len(bags)) if y is None else y
        for block in passes(self, bags, targets, np.ones(len(bags))):
            labels = None if y is None else np.repeat(block.y, np.diff(block.offsets), axis=0)
            transformer.partial_fit(block.X, labels)
        return transformer

    def transform(self, X: BagsLike) -> Any:
        """Transform every instance.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The bags, or a matrix of instances.

        Returns
        -------
        Bags, or a matrix if `X` is one, or ScannedBags whose instances are transformed as they are read
        """
        bags = self._read(X, whole=False)
        names = None
        if bags.feature_names is not None and hasattr(self.transformer_, "get_feature_names_out"):
            names = self.get_feature_names_out(bags.feature_names)
        if isinstance(bags, ScannedBags):
            return bags.transformed(self._transform, names)
        transformed = self._by_blocks(bags, lambda part: self._transform(part.instances))
        return bags.with_instances(transformed, feature_names=names) if describes_bags(X) else transformed

    def _transform(self, instances: Any) -> Any:
        transformed = self.transformer_.transform(instances)
        return transformed if sp.issparse(transformed) else np.asarray(transformed)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the feature names of the transformer's output."""
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        return self.transformer_.get_feature_names_out(input_features)

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
        """Do nothing: the output is always `Bags`. Present for scikit-learn's output configuration."""
        return self


def _last_step_has(method: str) -> Callable[[Any], bool]:
    """Return a check for `available_if`: whether the last step of a pipeline has this method."""

    def check(pipeline: Any) -> bool:
        try:
            last = pipeline.steps[-1][1]
        except (IndexError, TypeError):
            last = None  # invalid steps: `fit` reports the error
        getattr(last, method)
        return True

    return check


class BagPipeline(Pipeline):
    """Pipeline of scikit-learn with the instance-level methods of its last step.

    `predict_instances`, `predict_proba_instances`, `decision_function_instances`, `posterior_instances`,
    `predict_proba_groups` and `posterior_groups` are available if the last step has them. Parameters, grids
    (``step__parameter``), caching and metadata routing are those of `Pipeline`.

    Parameters
    ----------
    steps : list of (str, estimator)
        Named transformers, followed by the model.
    transform_input, memory, verbose
        As in `sklearn.pipeline.Pipeline`.

    See Also
    --------
    make_bag_pipeline : Create a pipeline with automatic step names.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bagwise import BagPipeline, MILogisticRegression, OnInstances, load_digit_bags
    >>> data = load_digit_bags(40, random_state=0)
    >>> model = BagPipeline([("scale", OnInstances(StandardScaler())),
    ...                      ("model", MILogisticRegression(random_state=0))])
    >>> model.fit(data.bags, data.y).predict_proba_instances(data.bags).shape[1]
    2
    """

    def _before_last(self, X: BagsLike) -> Any:
        return self[:-1].transform(X) if len(self.steps) > 1 else X

    @available_if(_last_step_has("predict_instances"))
    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Transform the bags, and predict the label of every instance with the last step."""
        return self.steps[-1][1].predict_instances(self._before_last(X))

    @available_if(_last_step_has("predict_proba_instances"))
    def predict_proba_instances(self, X: BagsLike) -> np.ndarray:
        """Transform the bags, and predict the class probabilities of every instance with the last step."""
        return self.steps[-1][1].predict_proba_instances(self._before_last(X))

    @available_if(_last_step_has("decision_function_instances"))
    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Transform the bags, and return the last step's score of every instance."""
        return self.steps[-1][1].decision_function_instances(self._before_last(X))

    @available_if(_last_step_has("posterior_instances"))
    def posterior_instances(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Transform the bags, and return the last step's P(instance positive | label of its bag)."""
        return self.steps[-1][1].posterior_instances(self._before_last(X), y)

    @available_if(_last_step_has("predict_proba_groups"))
    def predict_proba_groups(self, X: BagsLike, by: str | ArrayLike) -> np.ndarray:
        """Transform the bags, and return the last step's P(some instance of a group is positive)."""
        return self.steps[-1][1].predict_proba_groups(self._before_last(X), by)

    @available_if(_last_step_has("posterior_groups"))
    def posterior_groups(self, X: BagsLike, y: ArrayLike, by: str | ArrayLike) -> np.ndarray:
        """Transform the bags, and return the last step's P(some instance of a group is positive | label)."""
        return self.steps[-1][1].posterior_groups(self._before_last(X), y, by)


def make_bag_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> BagPipeline:
    """Create a `BagPipeline`; steps are named after their classes, as in `make_pipeline`.

    Parameters
    ----------
    *steps : estimators
        Transformers, followed by the model.
    memory, verbose
        As in `sklearn.pipeline.Pipeline`.

    Returns
    -------
    BagPipeline

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from bagwise import MILogisticRegression, OnInstances, make_bag_pipeline
    >>> list(make_bag_pipeline(OnInstances(PCA(5)), MILogisticRegression()).named_steps)
    ['oninstances', 'milogisticregression']
    """
    return BagPipeline(make_pipeline(*steps).steps, memory=memory, verbose=verbose)
