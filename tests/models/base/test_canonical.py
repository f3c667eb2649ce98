"""An order of rows and bags that follows from their values alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import APRClassifier, Bags, MILESClassifier, PrototypeEmbedding
from bagwise.models.base.canonical import in_canonical_order, row_ranks


def draw(rng, n=60, p=4):
    return rng.integers(-2, 3, size=(n, p)) * (rng.random((n, p)) < 0.6) * 0.5


def shuffled(bags, y, rng):
    """The same bags and instances in another order."""
    inside = np.lexsort((rng.random(bags.n_instances), bags.bag_index))
    order = rng.permutation(len(bags))
    return bags.with_instances(bags.instances[inside])[order], y[order]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_ranks_are_the_places_of_sorted_rows(kind, seed):
    X = draw(np.random.default_rng(seed))
    rows = [tuple(row) for row in X.tolist()]
    assert len(set(rows)) < len(rows)
    expected = [sum(other < row for other in rows) for row in rows]
    np.testing.assert_array_equal(row_ranks(kind(X)), expected)


def test_stored_zeros_and_entries_in_disorder_are_the_same_rows():
    X = sp.csr_array((np.array([0.0, 2.0, 1.0, 1.0, 2.0]), [0, 2, 1, 1, 2], [0, 3, 5]), shape=(2, 3))
    np.testing.assert_array_equal(row_ranks(X), [0, 0])
    assert X.nnz == 5  # which stays as it is


def test_an_empty_matrix_has_no_ranks():
    assert row_ranks(np.empty((0, 3))).shape == (0,)
    np.testing.assert_array_equal(row_ranks(np.empty((2, 0))), [0, 0])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_any_order_becomes_the_same(kind):
    rng = np.random.default_rng(0)
    bags = Bags(kind(draw(rng)), np.append(0, np.cumsum(np.tile([1, 2, 3], 10))))
    dense = sp.csr_array(bags.instances).toarray()
    first = in_canonical_order(bags)
    np.testing.assert_array_equal(sp.csr_array(first.bags.instances).toarray(), dense[first.rows])
    np.testing.assert_array_equal(first.bags.sizes, bags.sizes[first.numbers])
    np.testing.assert_array_equal(bags.bag_index[first.rows], np.repeat(first.numbers, first.bags.sizes))
    for _ in range(5):
        again = in_canonical_order(shuffled(bags, np.arange(30), rng)[0])
        np.testing.assert_array_equal(again.bags.offsets, first.bags.offsets)
        assert abs(sp.csr_array(again.bags.instances) - sp.csr_array(first.bags.instances)).max() == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_box_is_the_same_for_every_order(seed):
    """Few different values, so that many instances are as good as each other."""
    rng = np.random.default_rng(seed)
    bags, y = Bags(draw(rng), np.arange(0, 61, 3)), np.arange(20) % 2
    first = APRClassifier(0.5).fit(bags, y)
    for _ in range(5):
        other, labels = shuffled(bags, y, rng)
        again = APRClassifier(0.5).fit(other, labels)
        np.testing.assert_array_equal(again.features_, first.features_)
        np.testing.assert_array_equal([again.lower_, again.upper_], [first.lower_, first.upper_])
        chosen = [other[i][k] for i, k in enumerate(again.chosen_) if k >= 0]
        expected = [bags[i][k] for i, k in enumerate(first.chosen_) if k >= 0]
        np.testing.assert_array_equal(
            sorted(map(tuple, np.reshape(chosen, (10, 4)))), sorted(map(tuple, np.reshape(expected, (10, 4))))
        )


def test_sparse_instances_give_the_prototypes_of_dense_ones():
    rng = np.random.default_rng(3)
    X, offsets, y = draw(rng), np.arange(0, 61, 3), np.arange(20) % 2
    dense, sparse = Bags(X, offsets), Bags(sp.csr_array(X), offsets)
    for how in ("all", "sample"):
        model = PrototypeEmbedding(how, n_prototypes=9, scale=None, random_state=0)
        np.testing.assert_allclose(
            model.fit(sparse).transform(sparse), model.fit(dense).transform(dense), rtol=1e-12, atol=1e-12
        )
    machine = MILESClassifier(scale=None)
    expected = machine.fit(dense, y).decision_function(dense)
    np.testing.assert_allclose(machine.fit(sparse, y).decision_function(sparse), expected, atol=1e-6)
