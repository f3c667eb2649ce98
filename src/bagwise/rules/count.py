"""Count rules, which depend only on the number of positive instances in a bag."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.compiled.arrays import readonly
from bagwise.data.blocks.cutting import cut
from bagwise.data.blocks.sharing import share_out
from bagwise.rules.base import Rule, RuleResult, normalise

_LIKELY = np.log(0.75)
# Probabilities whose logarithms differ by less than this are equal in double precision.
_SAME = 2.0**-53

# Work per block, in cells of about one nanosecond: much longer than starting a thread takes, and much shorter
# than a fit.
_BLOCK_CELLS = 2_000_000


class LabelerTable(NamedTuple):
    """Labeler as a table for kernels: log P(label | n) of bag i is log_weight[first[i, label] + n].

    The table contains n = 0..last[i, label]; the last entry also applies to larger n.
    """

    log_weight: np.ndarray
    first: np.ndarray
    last: np.ndarray


class CountRule(Rule):
    """Base class of count rules: the bag label depends on the number n of positive instances.

    With the log-odds eta_ij of the m_i instances of bag i, independent labels z_ij, and a labeler phi::

        n_i = sum_j z_ij,    P(y_i = 1 | z_i) = phi(n_i, m_i)
        P(y_i = 1) = sum_n phi(n, m_i) P(n_i = n)    (n_i is Poisson-binomial)

    A subclass defines `log_labeler`, and sets `depends_on_size` if phi depends on the size of the bag. A
    subclass with learned parameters is also a `LearnedRule`. The statistics of a learned rule are the
    expected numbers of bags with each count.

    Notes
    -----
    The distribution of n_i and all posteriors are exact. They are computed by forward and backward recursion
    in O(m_i^2), or in O(m_i k) if phi is constant for n >= k. For bags of more than a thousand instances,
    counts with negligible probability are dropped. This changes results only beyond the twentieth digit and
    costs O(m_i log m_i). The memory is O(m_i log m_i). Log-likelihoods are exact for any magnitude: bags with
    a probability below 1e-250 are computed in the log domain. A label can be impossible for all log-odds, for
    example if a threshold exceeds the size of the bag. Then the log-likelihood is -inf, and the posterior is
    the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.rules.count import CountRule
    >>> class Majority(CountRule):
    ...     depends_on_size = True
    ...
    ...     def log_labeler(self, counts, size):
    ...         wins = 2 * counts > size
    ...         return np.where(wins, -np.inf, 0.0), np.where(wins, 0.0, -np.inf)
    >>> np.exp(Majority().log_proba(np.zeros(3), [0, 3])).round(3)
    array([[0.5, 0.5]])
    """

    depends_on_size = False
    # Whether the M step needs every count, even if the labeler currently has equal values for some counts.
    _learns_each_count = False

    def log_labeler(self, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return log P(- | n) and log P(+ | n) for each n in `counts`, for a bag of `size` instances."""
        raise NotImplementedError(f"{type(self).__name__} must define log_labeler.")

    def _largest_count(self, size: int) -> int:
        """Return a count from which the labeler is constant, or `size`."""
        return size

    @property
    def _n_statistics(self) -> int:
        """Number of counts in the statistics of the M step; 0 if the rule has no learned parameters."""
        return 0

    def expected_log_likelihood(self, statistics: np.ndarray) -> float:
        """Compute the expected log-likelihood of the labels given the counts; see `LearnedRule`."""
        both = self.log_labeler(np.arange(self._n_statistics), 0)
        return float(sum(np.vdot(expected, log_p) for expected, log_p in zip(statistics, both, strict=True)))

    # ------------------------------------------------------------------ interface of rules

    def estep(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None
    ) -> RuleResult:
        """Compute the log-likelihood of every bag and the posterior of every instance.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Log-odds of the instances.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.
        weight : ndarray of shape (n_bags,), default=None
            Weights of the bags in the statistics.

        Returns
        -------
        RuleResult
            If the rule has learned parameters, `statistics` contains the expected numbers of negative and of
            positive bags with n positive instances: shape (2, n_counts).
        """
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        posterior, complement = np.empty_like(log_odds), np.empty_like(log_odds)
        outputs = posterior, complement, np.empty(0)
        log_likelihood, statistics = self._fill(log_odds, offsets, y, weight, outputs)
        return RuleResult(log_likelihood, posterior, complement, statistics)

    def gradient(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the log-likelihood and its gradient; see `Rule.gradient`."""
        return self.gradient_and_statistics(log_odds, offsets, y, None)[:2]

    def gradient_and_statistics(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the log-likelihood, its gradient, and the statistics of `estep`, in one pass."""
        log_odds, offsets, y = normalise(log_odds, offsets, y)
        gradient = np.empty_like(log_odds)
        outputs = np.empty(0), np.empty(0), gradient
        log_likelihood, statistics = self._fill(log_odds, offsets, y, weight, outputs)
        return log_likelihood, gradient, statistics

    def _fill(
        self,
        log_odds: np.ndarray,
        offsets: np.ndarray,
        y: np.ndarray,
        weight: ArrayLike | None,
        outputs: tuple[np.ndarray, ...],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill the outputs of `_run`; return log-likelihoods and statistics (empty without learning)."""
        width = self._n_statistics
        row = y if width else None
        labeler = self._labeler(offsets, join=not (width and self._learns_each_count))
        log_likelihood, counts = self._run(
            log_odds, offsets, y, outputs=outputs, shape=(2, width), row=row, each=weight, labeler=labeler
        )
        return log_likelihood, counts if width else np.empty(0)

    def log_proba(self, log_odds: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Compute the log-probability of both labels of every bag; see `Rule.log_proba`."""
        columns = []
        for label in (0, 1):
            y = np.full(len(np.asarray(offsets)) - 1, label, dtype=np.int8)
            columns.append(self._run(*normalise(log_odds, offsets, y))[0])
        log_proba = np.column_stack(columns)
        # For probabilities near 1, the logarithm is more accurate if computed from the other probability.
        likely = log_proba > _LIKELY
        other = log_proba[:, ::-1][likely]
        log_proba[likely] = np.log1p(-np.exp(other))
        return log_proba

    def hessian_product(
        self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike, v: ArrayLike
    ) -> np.ndarray:
        """Compute the second derivative of the log-likelihood times `v`.

        The recursions also compute their derivative in the direction v. The cost is about three times that of
        a gradient.

        Parameters
        ----------
        log_odds, v : ndarray of shape (n_instances,)
            Log-odds of the instances, and the vector v.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,)
            Labels of the bags: 1, 0, or -1 if unknown.

        Returns
        -------
        product : ndarray of shape (n_instances,)
        """
        log_odds, offsets, y, v = normalise(log_odds, offsets, y, v)
        product = np.empty(len(log_odds))
        self._run(log_odds, offsets, y, v, outputs=(np.empty(0), np.empty(0), product))
        return product

    def count_proba(self, log_odds: ArrayLike, offsets: ArrayLike, y: ArrayLike | None = None) -> np.ndarray:
        """Compute the distribution of the number of positive instances in every bag.

        Parameters
        ----------
        log_odds : ndarray of shape (n_instances,)
            Log-odds of the instances.
        offsets : ndarray of shape (n_bags + 1,)
            Offsets of the bags: bag i consists of the instances ``offsets[i]:offsets[i + 1]``.
        y : ndarray of shape (n_bags,), default=None
            Labels of the bags, on which the distribution is conditioned. Without labels, or if y_i is -1, the
            distribution is unconditional. For an impossible label, the row is zero.

        Returns
        -------
        proba : ndarray of shape (n_bags, largest size + 1)
            Row i contains P(n_i = n) for n = 0, 1, ...; entries beyond the size of the bag are zero.
        """
        n_bags = len(np.asarray(offsets)) - 1
        all_labels = self.unknown_labels(n_bags) if y is None else y
        log_odds, offsets, labels = normalise(log_odds, offsets, all_labels)
        width = int(np.diff(offsets).max(initial=0)) + 1
        proba = np.zeros((n_bags, width))
        for is_labelled in (True, False):
            chosen = np.flatnonzero(self.known_labels(labels) == is_labelled)
            if not len(chosen):
                continue
            # For unknown labels, use a labeler that does not depend on the count: the result is the prior.
            labeler = self._labeler(offsets, join=False) if is_labelled else _indifferent(offsets)
            row = np.full(n_bags, -1)
            row[chosen] = chosen
            seen = labels if is_labelled else np.zeros_like(labels)
            proba += self._run(log_odds, offsets, seen, shape=proba.shape, row=row, labeler=labeler)[1]
        return proba

    def _run(
        self,
        log_odds: np.ndarray,
        offsets: np.ndarray,
        y: np.ndarray,
        v: np.ndarray | None = None,
        *,
        outputs: tuple[np.ndarray, ...] | None = None,
        shape: tuple[int, ...] = (2, 0),
        row: np.ndarray | None = None,
        each: ArrayLike | None = None,
        labeler: LabelerTable | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run the kernels over blocks of bags; return log-likelihoods and an array of counts with `shape`.

        `outputs` are arrays for posterior, complement and gradient, with shape (n_instances,), or with length
        0 if they are not needed. With `v`, the last output is the Hessian times v. For every bag i,
        each[i] * P(n | y_i) is added to the row row[i] of the counts.
        """
        labeler = LabelerTable(*readonly(*(self._labeler(offsets) if labeler is None else labeler)))
        (row,) = readonly(np.full(len(y), -1) if row is None else row, dtype=np.int64)
        (each,) = readonly(np.ones(len(y)) if each is None else each, dtype=np.float64)
        outputs = tuple(np.empty(0) for _ in range(3)) if outputs is None else outputs
        sizes = np.diff(offsets)
        cells = sizes * np.minimum(sizes, labeler.last.max(axis=1, initial=1) + 1)
        blocks = cut(np.append(0, np.cumsum(cells)), _BLOCK_CELLS)
        counts = [np.zeros(shape) for _ in blocks]

        def work(index: int) -> np.ndarray:
            block = blocks[index]
            bags = (log_odds, offsets[block.start : block.stop + 1], y[block], v)
            rule = (labeler.log_weight, labeler.first[block], labeler.last[block])
            return run_kernels(bags, rule, (*outputs, counts[index], row[block], each[block]))

        log_likelihoods = share_out(work, range(len(blocks)))
        return np.concatenate([np.empty(0), *log_likelihoods]), sum(counts, np.zeros(shape))

    def _labeler(self, offsets: np.ndarray, *, join: bool = True) -> LabelerTable:
        """Make the labeler table for these bag sizes; `join` merges counts with equal label probability."""
        sizes = np.diff(offsets)
        largest = int(sizes.max(initial=0))
        if self.depends_on_size:
            kinds, kind = np.unique(sizes, return_inverse=True)
        else:
            kinds, kind = np.array([largest]), np.zeros(len(sizes), dtype=np.int64)
        pieces: list[np.ndarray] = []
        first, last = np.empty((len(kinds), 2), dtype=np.int64), np.empty((len(kinds), 2), dtype=np.int64)
        even = np.empty_like(last)
        used = 0
        for k, size in enumerate(kinds.tolist()):
            top = min(size, self._largest_count(size)) if join else size
            both = self.log_labeler(np.arange(top + 1), size)
            for label, values in enumerate(both):
                values = np.asarray(values, dtype=np.float64)
                kept = _changing(values) if join else len(values)
                pieces.append(values[:kept])
                first[k, label], last[k, label] = used, kept - 1
                even[k, label] = np.argmax(values != values[0]) or len(values)
                used += kept
        # If the labeler is constant up to the size of a bag, the label of the bag does not depend on the
        # count. The result for a bag must not depend on larger bags in the same call.
        certain = join & (sizes[:, None] < even[kind])
        return LabelerTable(np.concatenate(pieces), first[kind], np.where(certain, 0, last[kind]))


def run_kernels(bags: tuple[Any, ...], rule: tuple[Any, ...], outputs: tuple[Any, ...]) -> np.ndarray:
    """Compute one block of bags: small bags, then large bags, then bags whose probability underflows."""
    from bagwise._core.compiled.count_leaf import ALIGN, BUDGET, small_bags

    log_odds, offsets, y, v = bags
    work: tuple[Any, ...] = (None, None)
    if v is not None:
        work = np.empty(int(np.diff(offsets).max(initial=0))), np.empty(BUDGET)
    log_likelihood = small_bags(*bags, *rule, *outputs, *work)
    left = np.flatnonzero(np.isnan(log_likelihood))
    if len(left):
        sizes = np.diff(offsets)[left]
        # This is an upper bound on the row length, so all bags that were skipped because of their size are
        # included.
        large = left[(sizes + 1) * (np.minimum(sizes, rule[2][left, y[left]]) + 1 + ALIGN) > BUDGET]
        if len(large):
            from bagwise._core.compiled.count_tree import large_bags

            large_bags(*bags, *rule, large, *outputs, *work, log_likelihood)
            left = left[np.isnan(log_likelihood[left])]
    if len(left):
        from bagwise._core.compiled.count_log import improbable_bags

        (v,) = readonly(np.empty(0) if v is None else v)
        improbable_bags(log_odds, offsets, y, v, *rule, left, *outputs, log_likelihood)
    return log_likelihood


def _changing(values: np.ndarray) -> int:
    """Return the length of `values` without repeated entries at the end."""
    with np.errstate(invalid="ignore"):
        differs = np.flatnonzero(~((np.abs(values - values[-1]) < _SAME) | (values == values[-1])))
    return int(differs[-1]) + 2 if len(differs) else 1


def _indifferent(offsets: np.ndarray) -> LabelerTable:
    """Return a labeler table with label probability 1 for every count, without merging counts."""
    sizes = np.diff(offsets)
    none = np.zeros((len(sizes), 2), dtype=np.int64)
    return LabelerTable(np.zeros(int(sizes.max(initial=0)) + 1), none, np.column_stack([sizes, sizes]))
