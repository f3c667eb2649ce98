"""Distances between index pages, computed from their terms."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from reproduction.web import cosine_distance, terms_weighed, uncommon_terms

RNG = np.random.default_rng(0)


def pages(n):
    """Return n linked pages with five of thirty terms each."""
    counts = np.zeros((n, 30))
    for row in counts:
        row[RNG.choice(30, size=5, replace=False)] = RNG.integers(1, 9, size=5)
    return counts


@pytest.mark.parametrize("seed", range(3))
def test_nearest_pages_share_the_most_terms(seed):
    first, second = pages(4 + seed), pages(6)
    sets = [[set(np.flatnonzero(page)) for page in bag] for bag in (first, second)]
    least = min(1 - len(a & b) / 5 for a, b in product(*sets))
    assert uncommon_terms(sp.csr_array(first), sp.csr_array(second)) == pytest.approx(least)
    assert uncommon_terms(sp.csr_array(first), sp.csr_array(first)) == 0.0


def test_cosine_distance_is_that_of_the_sums_of_pages():
    bag, other = pages(4), pages(6)
    a, b = bag.sum(axis=0), other.sum(axis=0)
    expected = 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert cosine_distance(sp.csr_array(bag), sp.csr_array(other)) == pytest.approx(expected)


def test_frequent_terms_have_smaller_weights():
    counts = np.array([[3.0, 2.0, 0.0], [1.0, 0.0, 4.0]])
    weighed = terms_weighed(sp.csr_array(counts)).toarray()
    np.testing.assert_allclose(weighed, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # all pages have the first term
    np.testing.assert_allclose(np.linalg.norm(terms_weighed(sp.csr_array(pages(9))).toarray(), axis=1), 1.0)
