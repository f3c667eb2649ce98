"""Describe a bag by the nodes of a tree that its instances pass."""

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
from bagwise.models.base.estimators import lie_large
from bagwise.models.base.streaming import in_memory
from bagwise.models.embedding.instances import SAMPLE_VALUES
from bagwise.models.trees.flat import Trees
from bagwise.models.trees.growing import OrderedFeatures


class TreeEmbedding(BagTransformer):
    """Turn each bag into one vector: how many of its instances pass each node of a decision tree.

    A tree is grown on all instances, each with the label of its bag and a weight of one by the bag's size, so
    that bags weigh the same. Entry k of the vector of a bag is the number of its instances that pass node k,
    inner nodes and the root included. With a classifier after it this is two-level classification (TLC): the
    tree finds regions of the feature space, the classifier learns which of them, and how many instances in
    them, make a label. Any number of classes will do.

    Parameters
    ----------
    max_depth : int or None, default=None
        The most questions from the root to a leaf.
    min_weight_leaf : float, default=2.0
        The least weight of a leaf, where instances weigh one on average.
    ccp_alpha : float, default=0.0
        Pruning, as in scikit-learn's `DecisionTreeClassifier`.
    cross_fit : bool or int, default=False
        Whether `fit_transform`, which a pipeline calls on its training bags, describes every bag by a tree
        that has not seen it: see Notes. A number says how many folds; True is 5.
    random_state : int, RandomState or None, default=None
        Seed of the tree, which chooses among splits that are equally good, of folds and of a sample.

    Attributes
    ----------
    trees_ : Trees
        The tree, or one for every fold.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    The tree knows the labels of the training bags, so that its nodes tell more of these than of new bags, and
    a classifier after it believes them too much. With `cross_fit` there is a tree for every fold, grown on
    the bags of the others, and a vector has a part for each tree. `fit_transform` fills the part of the tree
    that has not seen the bag, and leaves zeros in the others; `transform` fills all, divided by their number.
    A linear classifier after it so learns a model for every tree from the bags that this tree has not seen,
    and predicts the mean of them; classifiers that are not linear meet counts of another size in new bags.

    Growing costs O(n_features * n_instances * log n_instances) a level, vectors O(depth) an instance and
    memory for n_bags * n_nodes numbers: many instances without a limit of `max_depth` make many nodes. Of
    instances with more than 2**23 numbers in all, in memory or in files, trees are grown on a sample of whole
    bags. Features may have any scale, for only the order of their values matters. Rounding, and so the order
    of bags, can choose between splits that are equally good. The published trees are another program's, and
    their figures need not repeat.

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
    def fit(self, X: BagsLike, y: ArrayLike) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags.
        y : array of shape (n_bags,)
            Labels of two or more classes.

        Returns
        -------
        self
        """
        self._grow(X, y)
        return self

    @validated_fit
    def fit_transform(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Grow trees, describe the training bags; with `cross_fit`, by trees that have not seen them."""
        unseen_by = self._grow(X, y)
        vectors = self.transform(X)
        if unseen_by is None:
            return vectors
        roots = self.trees_.roots
        tree = np.searchsorted(roots, np.arange(self.trees_.n_nodes), side="right") - 1
        # Bags that are in no fold, because they are not in the sample, are like new ones.
        filled = np.where(unseen_by[:, None] == tree, len(roots) * vectors, 0.0)
        return np.where(unseen_by[:, None] < 0, vectors, filled)

    def _grow(self, X: BagsLike, y: ArrayLike) -> np.ndarray | None:
        """Set ``trees_``; with `cross_fit` give for every bag the number of the tree that has not seen it."""
        bags = self._read(X, reset=True)
        codes = encode_labels(self, y, X, bags, binary=False)
        del self.classes_  # a transformer has none
        rng = check_random_state(self.random_state)
        known, numbers, weight = bags, np.arange(len(bags)), np.ones(len(bags))
        if lie_large(bags):
            sample, numbers = sample_bags(bags.blocks(codes), SAMPLE_VALUES // bags.n_features, rng)
            known, weight = Bags(sample.X, sample.offsets), sample.weight
        known, labels = in_memory(known), codes[numbers]
        if not self.cross_fit:
            self.trees_ = self._tree(known, labels, weight, rng)
            return None
        n_folds = 5 if self.cross_fit is True else int(self.cross_fit)
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=rng)
        unseen_by, trees = np.full(len(bags), -1), []
        for number, (seen, unseen) in enumerate(folds.split(labels, labels)):
            raise_if_stopped()
            unseen_by[numbers[unseen]] = number
            trees.append(self._tree(known[seen], labels[seen], weight[seen], rng))
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
        """Describe every bag: shape (n_bags, n_nodes)."""
        return self._by_blocks(X, self._describe)

    def _describe(self, bags: Bags) -> np.ndarray:
        return self.trees_.visits(bags.instances, bags.offsets) / len(self.trees_.roots)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names "node0", "node1", ..., or with `cross_fit` "tree0_node0", ..."""
        check_is_fitted(self)
        roots, names = self.trees_.roots, []
        for number, size in enumerate(np.diff([*roots, self.trees_.n_nodes])):
            prefix = f"tree{number}_" if len(roots) > 1 else ""
            names += [f"{prefix}node{k}" for k in range(size)]
        return np.array(names, dtype=object)
