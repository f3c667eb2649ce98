"""`TreeEmbedding`: counts of a bag's instances in the nodes of a decision tree."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.sklearn_private import Interval
from bagwise._core.types import Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import sample_bags
from bagwise.models.base import BagsLike, BagTransformer, encode_labels, validated_fit
from bagwise.models.base.estimators import needs_blocks
from bagwise.models.base.streaming import in_memory
from bagwise.models.embedding.instances import SAMPLE_VALUES
from bagwise.models.trees.flat import Trees
from bagwise.models.trees.growing import OrderedFeatures


class TreeEmbedding(BagTransformer):
    """Embed each bag as a vector of counts: the number of its instances in each node of a decision tree.

    A tree is fitted to all instances with the labels of their bags. Instances are weighted by the inverse
    size of their bag, so that all bags have the same weight. Entry k of the vector of a bag is the number of
    its instances that pass node k, including inner nodes and the root. In combination with a classifier, this
    is two-level classification (TLC): the tree finds regions of the feature space, and the classifier learns
    how the label depends on the number of instances in each region. Any number of classes is supported.

    Parameters
    ----------
    max_depth : int or None, default=None
        Maximum depth of the tree.
    min_weight_leaf : float, default=2.0
        Minimum weight of a leaf; instances have an average weight of 1.
    ccp_alpha : float, default=0.0
        Pruning parameter, as in scikit-learn's `DecisionTreeClassifier`.
    cross_fit : bool or int, default=False
        Whether `fit_transform`, which a pipeline calls on its training bags, transforms every bag with a tree
        that was not fitted to this bag: see Notes. An integer is the number of folds; True means 5 folds.
    random_state : int, RandomState or None, default=None
        Seed of the tree (which chooses randomly among equally good splits), of the folds, and of the sample
        of large data.

    Attributes
    ----------
    trees_ : Trees
        The tree, or one tree per fold.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    The tree is fitted to the labels of the training bags, so its nodes are more informative for these bags
    than for new bags, and a classifier on these vectors overfits. With `cross_fit`, there is one tree per
    fold, fitted to the bags of the other folds, and a vector has one part per tree. `fit_transform` fills the
    part of the tree that was not fitted to the bag, and sets the other parts to zero. `transform` fills all
    parts and divides them by the number of trees. A linear classifier on these vectors therefore fits one
    model per tree, to bags that this tree was not fitted to, and predicts the mean of these models. Nonlinear
    classifiers are less suitable, because the counts of new bags have a different scale.

    The fit costs O(n_features * n_instances * log n_instances) per level. Computing the vectors takes
    O(depth) time per instance, and memory for n_bags * n_nodes values. With many instances, set `max_depth`
    to limit the number of nodes. If the instances have more than 2**23 values in total, in memory or in
    files, the trees are fitted to a sample of whole bags. Features can have any scale, because only the order
    of their values matters. Rounding, and therefore the order of the bags, can decide between equally good
    splits. The published results were computed with different tree software and can differ.

    References
    ----------
    N. Weidmann, E. Frank and B. Pfahringer (2003), A two-level learning method for generalized
    multi-instance problems, ECML, doi:10.1007/978-3-540-39857-8_42.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from bagwise import TreeEmbedding, load_digit_bags, make_bag_pipeline
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = make_bag_pipeline(TreeEmbedding(max_depth=4, random_state=0), LogisticRegression())
    >>> model.fit(data.bags, data.y).predict(data.bags).shape
    (60,)
    """

    trees_: Trees

    _streams = True
    _largest_value = np.inf  # values are only compared
    _parameter_constraints: dict[str, Any] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_weight_leaf": [Interval(Real, 0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "cross_fit": ["boolean", Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_depth: int | None = None,
        *,
        min_weight_leaf: float = 2.0,
        ccp_alpha: float = 0.0,
        cross_fit: bool | int = False,
        random_state: Seed = None,
    ):
        self.max_depth = max_depth
        self.min_weight_leaf = min_weight_leaf
        self.ccp_alpha = ccp_alpha
        self.cross_fit = cross_fit
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags.
        y : array of shape (n_bags,)
            Labels of two or more classes; required.

        Returns
        -------
        self
        """
        self._grow(X, y)
        return self

    @validated_fit
    def fit_transform(self, X: BagsLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit trees and embed the training bags; with `cross_fit`, use trees that were not fitted to them."""
        unseen_by = self._grow(X, y)
        vectors = self._by_blocks(X, self._describe)
        if unseen_by is None:
            return vectors
        roots = self.trees_.roots
        tree = np.searchsorted(roots, np.arange(self.trees_.n_nodes), side="right") - 1
        # Bags that are not in the sample are in no fold; treat them like new bags.
        filled = np.where(unseen_by[:, None] == tree, len(roots) * vectors, 0.0)
        return np.where(unseen_by[:, None] < 0, vectors, filled)

    def _grow(self, X: BagsLike, y: ArrayLike | None) -> np.ndarray | None:
        """Fit ``trees_``; with `cross_fit` return, per bag, the index of the tree not fitted to it."""
        bags = self._read(X, reset=True)
        codes = encode_labels(self, y, X, bags, binary=False)
        del self.classes_  # transformers have no classes
        rng = check_random_state(self.random_state)
        sampled, indices, weight = bags, np.arange(len(bags)), np.ones(len(bags))
        if needs_blocks(bags):
            sample, indices = sample_bags(bags.blocks(codes), SAMPLE_VALUES // bags.n_features, rng)
            sampled, weight = Bags(sample.X, sample.offsets), sample.weight
        sampled, labels = in_memory(sampled), codes[indices]
        if not self.cross_fit:
            self.trees_ = self._tree(sampled, labels, weight, rng)
            return None
        n_folds = 5 if self.cross_fit is True else int(self.cross_fit)
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=rng)
        unseen_by, trees = np.full(len(bags), -1), []
        for fold, (seen, unseen) in enumerate(folds.split(labels, labels)):
            raise_if_stopped()
            unseen_by[indices[unseen]] = fold
            trees.append(self._tree(sampled[seen], labels[seen], weight[seen], rng))
        self.trees_ = Trees.join(trees)
        return unseen_by

    def _tree(self, bags: Bags, y: np.ndarray, weight: np.ndarray, rng: np.random.RandomState) -> Trees:
        each = np.repeat(weight / bags.sizes, bags.sizes)
        tree = DecisionTreeClassifier(
            criterion="entropy",
            max_depth=self.max_depth,
            min_weight_fraction_leaf=min(0.5, self.min_weight_leaf / len(each)),
            ccp_alpha=self.ccp_alpha,
            random_state=rng.randint(2**31 - 1),
        )
        return OrderedFeatures(bags.instances).grow(tree, np.repeat(y, bags.sizes), each)[0]

    def transform(self, X: BagsLike) -> np.ndarray:
        """Return the vector of every bag: shape (n_bags, n_nodes)."""
        return self._by_blocks(X, self._describe)

    def _describe(self, bags: Bags) -> np.ndarray:
        return self.trees_.visits(bags.instances, bags.offsets) / len(self.trees_.roots)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names "node0", "node1", ..., or with `cross_fit` "tree0_node0", ..."""
        check_is_fitted(self)
        roots, names = self.trees_.roots, []
        for i, size in enumerate(np.diff([*roots, self.trees_.n_nodes])):
            prefix = f"tree{i}_" if len(roots) > 1 else ""
            names += [f"{prefix}node{k}" for k in range(size)]
        return np.array(names, dtype=object)
