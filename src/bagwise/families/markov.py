"""Components that generate sequences of symbols."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise.data.sequences import Sequences
from bagwise.families.base import Family
from bagwise.families.discrete import Largest, from_log_simplex, log_simplex, read_pseudo_count


class MarkovParams(NamedTuple):
    """Probabilities of the first symbol (n_symbols,), and of the next symbol, with a row per symbol."""

    initial: np.ndarray
    transition: np.ndarray


class MarkovPrior(NamedTuple):
    """Pseudo-count and size of the alphabet."""

    pseudo_count: float
    n_symbols: int


class Markov(Family):
    """First-order Markov chain over `Sequences`: each symbol depends on the previous symbol.

    ::

        log p(x) = log theta_I(x_1) + sum_l log theta_T(x_l | x_l-1)

    The pseudo-count a > 0 is the `prior` of the mixture, 1 by default. It represents Dirichlet priors. The
    posterior mode for weights w with sum n and an alphabet of S symbols is ::

        theta_I(s) = (sum of w where x_1 = s, + a) / (n + S a)
        theta_T(t | s) = (sum of w n_st(x) + a) / (sum over t of the same)

    where n_st(x) is the number of steps from s to t. The distribution is conditional on the lengths of the
    sequences.

    The cost of every method is O(total length). In section 4 of the paper, the Kronecker delta should be
    [s_1 = s_2], and the left-hand side of the update of theta_T of the negative class is missing.

    Parameters
    ----------
    sample_length : int, default=10
        Length of the sequences that `sample` draws.

    Examples
    --------
    >>> from bagwise import Bags, MIMixture, Sequences
    >>> flat = [[0, 0, 0, 1, 1], [0, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [1, 1, 0, 0, 0]]
    >>> bags = Bags(Sequences.from_list(flat), [0, 1, 2, 4, 5])
    >>> model = MIMixture("markov", random_state=0).fit(bags, [0, 0, 1, 0])
    >>> model.posterior_instances(bags, [0, 0, 1, 0]).round(2)
    array([0.  , 0.  , 0.02, 1.  , 0.  ])
    """

    takes_sequences = True

    def __init__(self, sample_length: int = 10):
        self.sample_length = sample_length

    def start_statistics(self, X: Any, weight: np.ndarray) -> Largest:
        """Return the size of the alphabet."""
        return Largest(np.array(X.n_symbols))

    def start(self, sums: Any, n_components: int, prior: Any) -> MarkovPrior:
        """Return the pseudo-count and the size of the alphabet."""
        return MarkovPrior(read_pseudo_count(prior), int(sums.value))

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Compute the log probability of every sequence, given its length."""
        return _score(X, np.log(params.initial), np.log(params.transition))

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Compute the difference of two log probabilities in one pass."""
        return _score(X, *(np.log(p) - np.log(q) for p, q in zip(positive, negative, strict=True)))

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Compute weighted counts of first symbols (row 0) and of steps: (n_symbols + 1, n_symbols)."""
        size = prior.n_symbols
        present, following, owner = _steps(X)
        first = np.bincount(X.symbols[X.offsets[:-1]], weight, size)
        steps = np.bincount(present * size + following, weight[owner], size * size)
        return np.vstack([first, steps.reshape(size, size)])

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Compute the weighted sum of log probabilities, which is linear in `sums`."""
        return float(np.sum(sums * np.log(np.vstack(params))))

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> MarkovParams:
        """Return the mode of the posterior."""
        # Sums computed as differences can be slightly negative because of rounding.
        counts = np.maximum(sums, 0.0) + prior.pseudo_count
        counts /= counts.sum(axis=1, keepdims=True)
        return MarkovParams(counts[0], counts[1:])

    def log_prior(self, params: Any, prior: Any) -> float:
        """Compute the pseudo-count times the sum of all log probabilities."""
        return float(prior.pseudo_count * np.log(np.vstack(params)).sum())

    def sufficient(self, X: Any) -> np.ndarray:
        """Return indicators of the first symbol, except symbol 0, and counts of all steps."""
        size = X.n_symbols
        present, following, owner = _steps(X)
        first = np.eye(size)[X.symbols[X.offsets[:-1]]]
        cells = (owner * size + present) * size + following
        steps = np.bincount(cells, minlength=len(X) * size * size).reshape(len(X), -1)
        return np.hstack([first[:, 1:], steps])

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> Sequences:
        """Draw `n` sequences of length `sample_length`."""
        edges = np.cumsum(np.vstack(params), axis=1)
        edges[:, -1] = 1.0  # rounding can make a sum slightly smaller
        drawn = np.empty((n, self.sample_length), dtype=np.int64)
        row = np.zeros(n, dtype=np.int64)  # row 0 is for first symbols, row s + 1 for symbols after s
        for position in range(self.sample_length):
            drawn[:, position] = (rng.random_sample(n)[:, None] >= edges[row]).sum(axis=1)
            row = drawn[:, position] + 1
        offsets = np.arange(n + 1) * self.sample_length
        return Sequences(drawn.ravel(), offsets, n_symbols=len(params.initial))

    def example(self, n: int, rng: np.random.Generator) -> Sequences:
        """Draw sequences of length one to five with three symbols."""
        return Sequences.from_list([rng.integers(0, 3, size=rng.integers(1, 6)) for _ in range(n)])

    def pack(self, params: Any) -> np.ndarray:
        """Convert probabilities to log-ratios to the first symbol, row by row."""
        return log_simplex(np.vstack(params)).ravel()

    def unpack(self, vector: np.ndarray, params: Any) -> MarkovParams:
        """Convert log-ratios to probabilities."""
        size = len(params.initial)
        table = from_log_simplex(vector.reshape(size + 1, size - 1))
        return MarkovParams(table[0], table[1:])


def _steps(X: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the current symbol, the next symbol and the index of the sequence for every step."""
    inside = np.ones(max(len(X.symbols) - 1, 0), dtype=bool)
    inside[X.offsets[1:-1] - 1] = False
    owner = np.repeat(np.arange(len(X)), X.lengths - 1)
    return X.symbols[:-1][inside], X.symbols[1:][inside], owner


def _score(X: Sequences, by_first: np.ndarray, by_step: np.ndarray) -> np.ndarray:
    present, following, owner = _steps(X)
    steps = np.bincount(owner, by_step[present, following], minlength=len(X))
    return by_first[X.symbols[X.offsets[:-1]]] + steps
