"""Kernels of instances by bags, for machines whose kernel is computed beforehand."""

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
    """Bags whose rows are kernels: of their instances, with all instances of some other bags, or of the same.

    ``MissSVC(kernel="precomputed")`` and its like learn from the square matrix of the training instances, and
    predict from the kernels of new instances with them. Plain `Bags` of such rows will do; `KernelBags` also
    know which columns belong to which bag, so that scikit-learn's cross-validation cuts both ways: their
    `shape` is ``(n_bags, n_column_bags)``, and ``kernels[np.ix_(rows, columns)]`` selects bags of both sides.

    Parameters
    ----------
    kernels : array of shape (n_instances, n_column_instances)
        A row of kernels for every instance, bag after bag.
    offsets : array of int, shape (n_bags + 1,)
        Where each bag starts.
    column_offsets : array of int, shape (n_column_bags + 1,), optional
        Where each bag of the columns starts; by default that of the rows, and the matrix is square.
    ids : array of shape (n_bags,), optional
        A name for each bag.

    See Also
    --------
    instance_kernel : computes them.

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
                f"kernels has {self.n_instances} rows but {n} columns; say by column_offsets where the bags "
                "of the columns start."
            )
        self._column_offsets = self.offsets if column_offsets is None else as_offsets(column_offsets, n)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bags of the rows and of the columns."""
        return len(self), len(self._column_offsets) - 1

    def __getitem__(self, key: Any) -> Any:
        """Select bags of the rows as in `Bags`, or by ``np.ix_(rows, columns)`` bags of either side."""
        if not isinstance(key, tuple) or key[1] is Ellipsis:
            return super().__getitem__(key)
        rows, columns = (as_bag_index(np.ravel(index), n) for index, n in zip(key, self.shape, strict=True))
        # The columns are bags like the rows; which instances are theirs, a selection among numbers says.
        numbers = Bags(np.arange(self.n_features)[:, None], self._column_offsets)[columns]
        chosen = super().__getitem__(rows)
        return KernelBags(
            chosen.instances[:, numbers.instances[:, 0]],
            chosen.offsets,
            column_offsets=numbers.offsets,
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
    """Kernels of all instances with each other, or with those of other bags, for ``kernel="precomputed"``.

    Worth its memory where several machines share one matrix, or where the kernel takes long.

    Parameters
    ----------
    bags, other : Bags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    kernel, gamma, degree, coef0
        The kernel of instances: see `InstanceKernel`. "scale" looks at `bags`, or at `other` if given: the
        training bags, when new bags are the rows.

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
    # Every instance is a bag of its own.
    left = blocks_of(Bags(rows.instances, np.arange(rows.n_instances + 1)))
    right = left if other is None else blocks_of(Bags(columns.instances, np.arange(columns.n_instances + 1)))
    k = kernel_of(kernel, gamma, degree, coef0, lambda: right)
    require_memory(rows.n_instances, columns.n_instances, "instances")
    K = np.empty((rows.n_instances, columns.n_instances))
    fill_pairs(K, lambda X, _, Z, __: k(X, Z), left, None if other is None else right)
    return KernelBags(K, rows.offsets, column_offsets=columns.offsets, ids=rows.ids)
