"""Instance kernels grouped by bag, for SVMs with a precomputed kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.types import Kernel
from bagwise.data.bags import Bags, as_bags
from bagwise.data.bags.parts import as_bag_index, as_offsets
from bagwise.data.blocks import fill_pairs
from bagwise.data.types import BagsLike
from bagwise.similarity.bag_kernels import blocks_of, kernel_of, rows_and_columns
from bagwise.similarity.matrix_memory import require_memory


class KernelBags(Bags):
    """Bags of precomputed kernels, with one row per instance and one column per instance of the column bags.

    The column bags can be the row bags or other bags. ``MissSVC(kernel="precomputed")`` and similar models
    are fitted to the square matrix of the training instances. Predictions use the kernels between new
    instances and training instances. Plain `Bags` with these rows also work. `KernelBags` additionally stores
    which columns belong to which bag, so that scikit-learn's cross-validation can split rows and columns. The
    `shape` is ``(n_bags, n_column_bags)``, and ``kernels[np.ix_(rows, columns)]`` selects row bags and column
    bags.

    Parameters
    ----------
    kernels : array of shape (n_instances, n_column_instances)
        One row of kernels per instance, sorted by bag.
    offsets : array of int, shape (n_bags + 1,)
        Index of the first row of each bag, followed by the number of rows.
    column_offsets : array of int, shape (n_column_bags + 1,), optional
        The same for the columns. By default, the column bags are the row bags, and the matrix is square.
    ids : array of shape (n_bags,), optional
        Ids of the bags.

    See Also
    --------
    instance_kernel : Compute the kernels between all instances.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import KernelBags
    >>> kernels = KernelBags(np.eye(5), [0, 2, 5])  # a bag of two instances, and one of three
    >>> kernels.shape
    (2, 2)
    >>> kernels[np.ix_([1], [0])].instances.shape
    (3, 2)
    """

    __slots__ = ("_column_offsets",)

    def __init__(
        self,
        kernels: np.ndarray,
        offsets: ArrayLike,
        *,
        column_offsets: ArrayLike | None = None,
        ids: Sequence[Any] | np.ndarray | None = None,
    ):
        super().__init__(kernels, offsets, ids=ids)
        n = self.instances.shape[1]
        if column_offsets is None and self.n_instances != n:
            raise ValueError(
                f"kernels has {self.n_instances} rows but {n} columns; pass the offsets of the column bags "
                "as column_offsets."
            )
        self._column_offsets = self.offsets if column_offsets is None else as_offsets(column_offsets, n)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row bags and number of column bags."""
        return len(self), len(self._column_offsets) - 1

    def __getitem__(self, key: Any) -> Any:
        """Select row bags as in `Bags`, or row and column bags with ``np.ix_(rows, columns)``."""
        if not isinstance(key, tuple) or key[1] is Ellipsis:
            return super().__getitem__(key)
        rows, columns = (as_bag_index(np.ravel(index), n) for index, n in zip(key, self.shape, strict=True))
        # Bags of column indices: selecting bags selects the indices of their columns.
        column_bags = Bags(np.arange(self.n_features)[:, None], self._column_offsets)[columns]
        chosen = super().__getitem__(rows)
        return KernelBags(
            chosen.instances[:, column_bags.instances[:, 0]],
            chosen.offsets,
            column_offsets=column_bags.offsets,
            ids=chosen.ids,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self.instances, self.offsets, self._column_offsets, self._ids)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "kernels": self.instances,
            "offsets": self.offsets,
            "column_offsets": self._column_offsets,
            "ids": self._ids,
        }


def _make(kernels: Any, offsets: Any, column_offsets: Any, ids: Any) -> KernelBags:
    return KernelBags(kernels, offsets, column_offsets=column_offsets, ids=ids)


def instance_kernel(
    bags: BagsLike,
    other: BagsLike | None = None,
    *,
    kernel: Kernel = "rbf",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
) -> KernelBags:
    """Compute the kernels of all instances with each other or with other bags, for ``kernel="precomputed"``.

    Precomputing the matrix is useful if several SVMs share it, or if the kernel is slow.

    Parameters
    ----------
    bags, other : Bags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    kernel, gamma, degree, coef0
        Instance kernel, see `InstanceKernel`. For "scale", gamma is computed from `other` if it is passed,
        otherwise from `bags`. If the rows are new bags, pass the training bags as `other`.

    Returns
    -------
    KernelBags

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from bagwise import MissSVC, instance_kernel, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> train, test = data.bags[:40], data.bags[40:]
    >>> model = MissSVC(kernel="precomputed").fit(instance_kernel(train, gamma=0.001), data.y[:40])
    >>> model.predict(instance_kernel(test, train, gamma=0.001)).shape
    (20,)
    >>> cross_val_score(model, instance_kernel(train, gamma=0.001), data.y[:40], cv=3).shape
    (3,)
    """
    rows = as_bags(bags)
    columns = rows if other is None else as_bags(other)
    rows_and_columns(rows, columns)
    # Every instance becomes a separate bag.
    left = blocks_of(Bags(rows.instances, np.arange(rows.n_instances + 1)))
    right = left if other is None else blocks_of(Bags(columns.instances, np.arange(columns.n_instances + 1)))
    k = kernel_of(kernel, gamma, degree, coef0, lambda: right)
    require_memory(rows.n_instances, columns.n_instances, "instances")
    K = np.empty((rows.n_instances, columns.n_instances))
    fill_pairs(K, lambda X, _, Z, __: k(X, Z), left, None if other is None else right)
    return KernelBags(K, rows.offsets, column_offsets=columns.offsets, ids=rows.ids)
