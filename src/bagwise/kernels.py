"""Kernels: of instances, and of bags as sets; blockwise, and refused before they would fill the memory.

`set_kernel`, `statistic_kernel` and `minimax_kernel` give plain matrices, for ``SVC(kernel="precomputed")``
and anything else that takes a kernel matrix. `InstanceKernel` is what the machines in `bagwise.svm` use.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from bagwise._distances import scaled_distances
from bagwise.bags import Bags, as_bags
from bagwise.blocks import block_rows, cut, cut_rows


@dataclass(frozen=True)
class InstanceKernel:
    """A kernel of instances with its parameters: ``kernel(X, Y)`` is the matrix of all pairs.

    ==========  =======================================
    "linear"    x'y
    "poly"      (gamma x'y + coef0) ** degree
    "rbf"       exp(-gamma |x - y|^2)
    callable    whatever ``name(X, Y)`` returns
    ==========  =======================================

    "precomputed" looks values up: the rows of X hold kernels, the one column of Y says which of them.

    Parameters
    ----------
    name : {"linear", "poly", "rbf", "precomputed"} or callable
        Which kernel.
    gamma, degree, coef0 : float
        Its parameters, as in scikit-learn's `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.kernels import InstanceKernel
    >>> InstanceKernel("poly", gamma=1.0, degree=2)(np.eye(2), np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    name: str | Callable = "rbf"
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    def __call__(self, X, Y) -> np.ndarray:
        """Kernel matrix of the rows of `X` and of `Y` (arrays or CSR): float64, shape (len(X), len(Y))."""
        if callable(self.name):
            return _checked(self.name(X, Y), X.shape[0], Y.shape[0])
        if self.name == "precomputed":
            return X[:, Y[:, 0].astype(np.int64)]
        if self.name == "rbf":
            D = scaled_distances(X, Y, self.gamma)
            np.negative(D, out=D)
            return np.exp(D, out=D)
        K = np.asarray(safe_sparse_dot(X, Y.T, dense_output=True), dtype=np.float64)
        if self.name == "poly":
            K *= self.gamma
            K += self.coef0
            K **= self.degree
        return K

    def diagonal(self, X) -> np.ndarray:
        """Values k(x, x) of the rows of `X`."""
        if callable(self.name):
            return np.array([self(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])
        if self.name == "rbf":
            return np.ones(X.shape[0])
        squares = row_norms(X, squared=True).astype(np.float64)
        return squares if self.name == "linear" else (self.gamma * squares + self.coef0) ** self.degree

    def fill(self, X, out: np.ndarray) -> None:
        """Write the matrix of `X` with itself, exactly symmetric, into ``out[:n, :n]``, block by block."""
        from bagwise._numba.dual import mirror_upper

        n = X.shape[0]
        for rows in cut_rows(n, block_rows(n)):
            # Only what lies right of the diagonal is computed; the rest is its mirror image.
            out[rows, rows.start : n] = self(X[rows], X[rows.start :])
        mirror_upper(out, n)


def _checked(K, n_rows: int, n_columns: int) -> np.ndarray:
    K = np.ascontiguousarray(K, dtype=np.float64)
    if K.shape != (n_rows, n_columns):
        raise ValueError(
            f"kernel(X, Y) must return an array of shape {(n_rows, n_columns)}, a value for every pair of "
            f"rows; it returned {K.shape}."
        )
    if not np.isfinite(K).all():
        raise ValueError("kernel(X, Y) returned values that are not finite.")
    return K


def resolve_gamma(gamma: float | str, X, weight: np.ndarray | None = None) -> float:
    """Turn "scale", 1 / (n_features * variance of all entries), or "auto", 1 / n_features, into a number.

    `weight` says how often each row counts.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = X.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    weight = np.ones(X.shape[0]) if weight is None else weight
    total = weight.sum() * n_features
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float((weight @ X).sum()) / total
        # From differences, because far from the origin a mean of squares less a squared mean cancels.
        if sp.issparse(X):
            of_stored = np.repeat(weight, np.diff(X.indptr))
            variance = of_stored @ (X.data - mean) ** 2 + (total - of_stored.sum()) * mean**2
        else:
            variance = sum(
                float((weight[rows] @ (X[rows] - mean) ** 2).sum())
                for rows in cut_rows(X.shape[0], block_rows(n_features))
            )
    variance = float(variance) / total
    if not np.isfinite(variance):
        raise ValueError(
            'gamma="scale" needs the variance of the instances, which is too large for a number; scale the '
            'features (scale="standard") or give gamma as a number.'
        )
    # All features equal: any width is as good as another.
    return 1.0 / (n_features * variance) if variance > 1e-28 * mean**2 else 1.0


def available_memory() -> float:
    """Bytes of memory in this machine, infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return np.inf


def require_memory(n_rows: int, n_columns: int, what: str, limit: float | None = None) -> float:
    """Compute the bytes of a kernel matrix before it is made; refuse what does not fit.

    Examples
    --------
    >>> from bagwise.kernels import require_memory
    >>> require_memory(1000, 1000, "bags") / 1e6
    8.0
    """
    needed = 8.0 * n_rows * n_columns
    limit = available_memory() if limit is None else limit
    if needed > limit:
        raise MemoryError(
            f"the kernel matrix of {n_rows:,} x {n_columns:,} {what} takes {needed / 1e9:,.1f} GB, but the "
            f"limit is {limit / 1e9:,.1f} GB. Instead, approximate the kernel by features "
            "(OnInstances(Nystroem()) before MILogisticRegression), keep rows in a bounded cache "
            "(MissSVC(cache_size=...)), or compare bags instead of instances (SetKernelSVC, BagStatistics)."
        )
    return needed


# ---------------------------------------------------------------------- kernels of bags


def set_kernel(
    bags,
    other=None,
    *,
    kernel="rbf",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    normalize: str | None = "average",
) -> np.ndarray:
    """Kernel of bags as sets: the sum of the kernel of instances over all pairs, normalised.

    For bags X and Z it is ::

        k(X, Z) = sum_{x in X, z in Z} k(x, z) / (norm(X) norm(Z))

    with norm(X) the number of instances ("average": the inner product of the bags' mean embeddings), or
    the square root of the sum over pairs of X with itself ("feature": every bag has length one), or 1.

    Parameters
    ----------
    bags, other : Bags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    kernel, gamma, degree, coef0
        The kernel of instances, or an `InstanceKernel` that has them all. "scale" looks at `bags`, or at
        `other` if given: the training bags, when new bags are the rows.
    normalize : {"average", "feature", None}
        How large bags are kept from dominating.

    Returns
    -------
    array of shape (n_bags, n_other)

    Notes
    -----
    All pairs of instances are visited, block by block; memory is that of the result and a block.
    With the linear kernel it is a product of bag means.

    References
    ----------
    T. Gärtner, P. A. Flach, A. Kowalczyk and A. J. Smola (2002), Multi-instance kernels, ICML.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from bagwise import load_digit_bags
    >>> from bagwise.kernels import set_kernel
    >>> data = load_digit_bags(60, random_state=0)
    >>> train, test = data.bags[:40], data.bags[40:]
    >>> svc = SVC(kernel="precomputed").fit(set_kernel(train), data.y[:40])
    >>> svc.predict(set_kernel(test, train)).shape
    (20,)
    """
    from bagwise._numba.dual import mirror_upper

    if normalize not in ("average", "feature", None):
        raise ValueError(f"normalize must be 'average', 'feature' or None; got {normalize!r}.")
    rows, columns, k = prepare_kernel(bags, other, kernel, gamma, degree, coef0, lambda b: b.instances)
    require_memory(len(rows), len(columns), "bags")
    K = _sums(k, rows, columns, mirrored=other is None)
    if normalize == "average":
        K /= rows.sizes[:, None]
        K /= columns.sizes[None, :]
    elif normalize == "feature":
        lengths = np.sqrt(K.diagonal() if other is None else _own_sums(k, rows))
        K /= lengths[:, None]
        K /= lengths if other is None else np.sqrt(_own_sums(k, columns))
    if other is None:
        mirror_upper(K, len(K))  # two divisions round differently in two orders
    return K


def statistic_kernel(
    bags,
    other=None,
    *,
    statistic="minimax",
    kernel="poly",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 1.0,
) -> np.ndarray:
    """Kernel of bags through a vector of statistics: ``k(s(X), s(Z))``.

    Parameters
    ----------
    bags, other : Bags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    statistic : {"minimax", "mean"} or transformer
        The vector of a bag: the minimum and maximum of every feature, its mean, or what a transformer of
        bags into vectors gives, such as a fitted `BagStatistics`.
    kernel, gamma, degree, coef0
        The kernel of vectors: see `InstanceKernel`.

    Returns
    -------
    array of shape (n_bags, n_other)

    Examples
    --------
    >>> from bagwise import load_digit_bags
    >>> from bagwise.kernels import statistic_kernel
    >>> statistic_kernel(load_digit_bags(30, random_state=0).bags, kernel="rbf").shape
    (30, 30)
    """
    rows, columns, k = prepare_kernel(
        bags, other, kernel, gamma, degree, coef0, lambda b: bag_statistics(b, statistic)
    )
    require_memory(len(rows), len(columns), "bags")
    K = np.empty((len(rows), len(columns)))
    left = bag_statistics(rows, statistic)
    if other is None:
        k.fill(left, K)
        return K
    right = bag_statistics(columns, statistic)
    for some in cut_rows(len(K), block_rows(K.shape[1])):
        K[some] = k(left[some], right)
    return K


def minimax_kernel(
    bags, other=None, *, degree: float = 1, gamma: float = 1.0, coef0: float = 1.0
) -> np.ndarray:
    """Polynomial kernel of the minimum and maximum of every feature: ``(gamma s(X)'s(Z) + coef0)^degree``.

    Scale the features first: values grow like the 2 * degree-th power of them. On features in [0, 1],
    ``gamma = 1 / (2 * n_features)`` keeps all values within [1, 2 ** degree].

    Parameters
    ----------
    bags, other : Bags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    degree, gamma, coef0 : float
        As in the formula.

    Returns
    -------
    array of shape (n_bags, n_other)

    Examples
    --------
    >>> from bagwise.kernels import minimax_kernel
    >>> minimax_kernel([[[0.0], [1.0]], [[2.0], [3.0]]])  # statistics (0, 1) and (2, 3)
    array([[ 2.,  4.],
           [ 4., 14.]])
    """
    return statistic_kernel(
        bags, other, statistic="minimax", kernel="poly", gamma=gamma, degree=degree, coef0=coef0
    )


def bag_statistics(bags: Bags, statistic) -> np.ndarray:
    """Vector of every bag; see `statistic_kernel`."""
    if hasattr(statistic, "transform"):
        return np.asarray(statistic.transform(bags), dtype=np.float64)
    X, first = bags.instances, bags.offsets[:-1]
    if statistic == "mean":
        return _bag_sums(bags) / bags.sizes[:, None]
    if statistic != "minimax":
        raise ValueError(f"statistic must be 'minimax', 'mean' or a transformer of bags; got {statistic!r}.")
    if sp.issparse(X):
        X = X.toarray()
    # No bag is empty, so reduceat means what it says.
    low, high = (np.asarray(f.reduceat(X, first, axis=0), np.float64) for f in (np.minimum, np.maximum))
    return np.hstack([low, high])


def prepare_kernel(bags, other, kernel, gamma, degree, coef0, vectors):
    """Read the bags of rows and columns and the kernel; `vectors` gives what "scale" looks at, of bags."""
    rows = as_bags(bags)
    columns = rows if other is None else as_bags(other)
    for part in (rows, columns):
        part._refuse_empty_bags()
    # Integers are widened before arithmetic: products of int16 wrap without a warning.
    rows, columns = (
        part.with_instances(part.instances.astype(np.float64, copy=False)) for part in (rows, columns)
    )
    if isinstance(kernel, InstanceKernel):
        return rows, columns, kernel
    if callable(kernel) or kernel in ("linear", "poly", "rbf"):
        number = resolve_gamma(gamma, vectors(columns)) if gamma in ("scale", "auto") else gamma
        return rows, columns, InstanceKernel(kernel, number, degree, coef0)
    raise ValueError(f"kernel must be 'linear', 'poly', 'rbf' or a callable; got {kernel!r}.")


def _bag_sums(bags: Bags) -> np.ndarray:
    membership = sp.csr_matrix((np.ones(bags.n_instances), np.arange(bags.n_instances), bags.offsets))
    return np.asarray(safe_sparse_dot(membership, bags.instances, dense_output=True))


def _sums(k: InstanceKernel, rows: Bags, columns: Bags, *, mirrored: bool) -> np.ndarray:
    """Sum of the instance kernel over all pairs of every two bags."""
    if k.name == "linear":
        return _bag_sums(rows) @ _bag_sums(columns).T
    K = np.zeros((len(rows), len(columns)))
    for bags in cut(rows.offsets, block_rows(columns.n_instances)):
        begin, end = bags.start, bags.stop
        some = rows[begin:end]
        first = columns.offsets[begin] if mirrored else 0
        pairs = k(some.instances, columns.instances[first:])
        starts = columns.offsets[begin if mirrored else 0 : -1] - first
        by_bag = np.add.reduceat(np.add.reduceat(pairs, starts, axis=1), some.offsets[:-1], axis=0)
        # Of a symmetric matrix the part right of the diagonal is enough.
        K[begin:end, begin if mirrored else 0 :] = by_bag
    return K


def _own_sums(k: InstanceKernel, bags: Bags) -> np.ndarray:
    return np.array([k(bag, bag).sum() for bag in bags])
