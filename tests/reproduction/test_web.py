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
def test_the_nearest_pages_have_most_terms_in_common(seed):
    one, two = pages(4 + seed), pages(6)
    sets = [[set(np.flatnonzero(page)) for page in bag] for bag in (one, two)]
    least = min(1 - len(a & b) / 5 for a, b in product(*sets))
    assert uncommon_terms(sp.csr_array(one), sp.csr_array(two)) == pytest.approx(least)
    assert uncommon_terms(sp.csr_array(one), sp.csr_array(one)) == 0.0


def test_the_angle_is_that_of_the_sums_of_pages():
    one, two = pages(4), pages(6)
    a, b = one.sum(axis=0), two.sum(axis=0)
    expected = 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert cosine_distance(sp.csr_array(one), sp.csr_array(two)) == pytest.approx(expected)


def test_terms_weigh_less_the_more_pages_have_them():
    counts = np.array([[3.0, 2.0, 0.0], [1.0, 0.0, 4.0]])
    weighed = terms_weighed(sp.csr_array(counts)).toarray()
    np.testing.assert_allclose(weighed, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # all pages have the first term
    np.testing.assert_allclose(np.linalg.norm(terms_weighed(sp.csr_array(pages(9))).toarray(), axis=1), 1.0)
