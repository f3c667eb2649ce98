"""Blocks of bags in memory: results of a pass, order of summation, and runs that share passes."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags
from bagwise.data.blocks import (
    Block,
    ExtendedBlocks,
    MemoryBlocks,
    ReweightedBlocks,
    Sums,
    TransformedBlocks,
    add_up,
    run_together,
)


def make_blocks(most=None, *, n_bags=23, sparse=False, dtype=np.float64):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, n_bags)
    offsets = np.append(0, np.cumsum(sizes))
    X = rng.normal(size=(offsets[-1], 3)).astype(dtype)
    y, weight = rng.integers(0, 2, n_bags).astype(np.int8), rng.random(n_bags)
    return MemoryBlocks(sp.csr_array(X) if sparse else X, offsets, y, weight, most=most)


def weighted_sums(block, power):
    return Sums((block.weight_of_each @ block.X**power, block.n_bags))


@pytest.mark.parametrize("most", [None, 1, 7, 10_000])
@pytest.mark.parametrize("sparse", [False, True])
def test_any_cut_gives_the_same_bags(most, sparse):
    blocks = make_blocks(most, sparse=sparse)
    parts = list(blocks.each(lambda block: block))
    assert len(parts) == blocks.n_blocks
    whole = np.concatenate([b.X.toarray() if sparse else b.X for b in parts])
    np.testing.assert_array_equal(whole, make_blocks().X)
    np.testing.assert_array_equal(np.concatenate([b.y for b in parts]), blocks.y)
    np.testing.assert_array_equal(np.concatenate([b.weight for b in parts]), blocks.weight)
    for block in parts:
        np.testing.assert_array_equal(block.part_of(blocks.weight), block.weight)
        assert block.offsets[0] == 0
        assert block.offsets[-1] == block.X.shape[0]


def test_instances_are_views_in_their_own_precision():
    blocks = make_blocks(7, dtype=np.float32)
    assert all(blocks.each(lambda block: block.X.base is blocks.X and block.X.dtype == np.float32))


@pytest.mark.parametrize("most", [1, 7, 10_000])
def test_totals(most):
    blocks = make_blocks(most)
    sums, n_bags = blocks.total(weighted_sums, 2)
    each = np.repeat(blocks.weight, np.diff(blocks.offsets))
    np.testing.assert_allclose(sums, each @ blocks.X**2, rtol=1e-13)
    assert n_bags == 23
    assert blocks.n_passes == 1


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_the_tree_of_a_sum_depends_on_the_number_of_terms_alone(n):
    class Term(str):
        def __add__(self, other):
            return Term(f"({self}+{other})")

    expected = {
        1: "0",
        2: "(0+1)",
        3: "((0+1)+2)",
        5: "(((0+1)+(2+3))+4)",
        8: "(((0+1)+(2+3))+((4+5)+(6+7)))",
        13: "((((0+1)+(2+3))+((4+5)+(6+7)))+(((8+9)+(10+11))+12))",
    }
    assert add_up(Term(i) for i in range(n)) == expected[n]


def test_threads_do_not_change_a_bit(monkeypatch):
    from numba import config

    alone = make_blocks(2).total(weighted_sums, 1)[0]
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 3)
    assert (make_blocks(2).total(weighted_sums, 1)[0] == alone).all()


@pytest.mark.parametrize("n", [5, 1000])
def test_a_sample_does_not_depend_on_the_cut(n):
    samples = [make_blocks(most).sample(n, np.random.RandomState(3)) for most in (None, 1, 11)]
    assert len(samples[0]) == min(n, make_blocks().n_instances)
    assert len(np.unique(samples[0], axis=0)) == len(samples[0])
    for other in samples[1:]:
        np.testing.assert_array_equal(other, samples[0])


def a_run(n_passes, power):
    return lambda blocks: [blocks.total(weighted_sums, power + i)[0] for i in range(n_passes)]


def test_runs_together_share_passes_and_give_what_they_give_alone():
    together = make_blocks(7)
    results = run_together(together, [a_run(3, 1), a_run(1, 2), a_run(5, 0)])
    assert together.n_passes == 5
    for result, alone in zip(results, [a_run(3, 1), a_run(1, 2), a_run(5, 0)], strict=True):
        np.testing.assert_array_equal(result, alone(make_blocks(7)))


def test_a_run_together_may_ask_for_every_block():
    def run(blocks):
        return np.concatenate(list(blocks.each(lambda block: block.X[:, 0])))

    first, second = run_together(make_blocks(7), [run, run])
    np.testing.assert_array_equal(first, make_blocks().X[:, 0])
    np.testing.assert_array_equal(second, first)


def test_exclusive_parts_of_runs_are_run_in_turn():
    import threading

    where = []

    def run(blocks):
        blocks.total(weighted_sums, 1)
        count = blocks.exclusive(lambda: where.append(threading.current_thread()) or len(where))
        return count, blocks.total(weighted_sums, 2)[1]

    blocks = make_blocks(7)
    results = run_together(blocks, [run, run, a_run(1, 1)])
    assert sorted(count for count, _ in results[:2]) == [1, 2]
    assert all(n_bags == 23 for _, n_bags in results[:2])
    assert set(where) == {threading.current_thread()}
    assert blocks.n_passes == 2

    def fails(blocks):
        blocks.exclusive(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        run_together(make_blocks(7), [fails, a_run(2, 1)])


def test_an_error_of_one_run_is_raised_after_the_others_have_ended():
    ended = []

    def fails(blocks):
        blocks.total(weighted_sums, 1)
        raise ValueError("no such thing")

    def goes_on(blocks):
        a_run(4, 1)(blocks)
        ended.append(True)

    with pytest.raises(ValueError, match="no such thing"):
        run_together(make_blocks(), [fails, goes_on])
    assert ended == [True]


def test_an_error_in_a_pass_comes_out():
    def bad(block):
        raise KeyError("row group 3")

    with pytest.raises(KeyError, match="row group 3"):
        run_together(make_blocks(), [lambda blocks: blocks.total(bad), a_run(2, 1)])


def test_a_transformer_sees_every_block_as_it_is_read():
    blocks = make_blocks(7)
    squares = TransformedBlocks(blocks, lambda X: np.hstack([X, X**2]), 6)
    assert squares.n_features == 6
    sums = squares.total(lambda block: block.X.sum(axis=0))
    np.testing.assert_allclose(sums, np.append(blocks.X.sum(axis=0), (blocks.X**2).sum(axis=0)), rtol=1e-12)
    assert squares.n_passes == blocks.n_passes == 1


@pytest.mark.parametrize("most", [1, 7, 10_000])
def test_more_is_carried_along_with_bags_anywhere(most):
    blocks = make_blocks(most)
    each, by_bag = np.arange(blocks.n_instances), np.arange(23)[:, None]
    more = ExtendedBlocks(blocks, instance_weight=each + 0.5, instance_y=each, bag_features=by_bag)
    reweighted = ReweightedBlocks(TransformedBlocks(more, lambda X: 2 * X, 3), blocks.weight + 1)
    parts = list(reweighted.each(lambda block: block))
    np.testing.assert_array_equal(np.concatenate([b.instance_weight for b in parts]), each + 0.5)
    np.testing.assert_array_equal(np.concatenate([b.instance_y for b in parts]), each)
    np.testing.assert_array_equal(np.concatenate([b.bag_features for b in parts]), by_bag)
    assert more.total(lambda block: block.instance_weight.sum()) == pytest.approx((each + 0.5).sum())
    assert make_blocks(most).block(0).instance_y is None


def test_blocks_of_bags():
    blocks = make_blocks()
    bags = Bags(blocks.X, blocks.offsets)
    assert bags.blocks().total(lambda block: block.weight_of_each @ block.X[:, 0]) == pytest.approx(
        blocks.X[:, 0].sum()
    )
    assert (bags.blocks().y == -1).all()
    assert bags.blocks(blocks.y, blocks.weight).total(lambda block: block.y @ block.weight) == pytest.approx(
        blocks.y @ blocks.weight
    )


def test_a_block_of_bags_that_are_no_neighbours_says_which_they_are():
    offsets = np.array([0, 2, 5, 6, 10])
    values = np.arange(10)
    scattered = Block(
        values[[6, 7, 8, 9, 0, 1]][:, None], np.array([0, 4, 6]), None, None, None, indices=np.array([3, 0])
    )
    np.testing.assert_array_equal(values[scattered.rows(scattered.part_of(offsets[:-1]))], scattered.X[:, 0])
    np.testing.assert_array_equal(scattered.part_of(np.array([10, 11, 12, 13])), [13, 10])
    neighbours = Block(values[2:6, None], np.array([0, 3, 4]), None, None, 1)
    np.testing.assert_array_equal(
        values[neighbours.rows(neighbours.part_of(offsets[:-1]))], neighbours.X[:, 0]
    )
    np.testing.assert_array_equal(neighbours.part_of(np.array([10, 11, 12, 13])), [11, 12])


@pytest.mark.parametrize("sizes", [[2, 1, 3, 1], [1, 1, 1, 5, 2], [1, 1, 1, 1]])
@pytest.mark.parametrize("kind", ["numbers", "text", "sparse"])
@pytest.mark.parametrize("most", [1, 3, 100])
def test_rows_of_bags_and_of_instances_are_joined(sizes, kind, most):
    offsets = np.append(0, np.cumsum(sizes))
    X = np.arange(offsets[-1], dtype=float)[:, None]
    blocks = MemoryBlocks(X, offsets, np.zeros(len(sizes)), np.ones(len(sizes)), most=most)

    def of(values):
        return {"numbers": values, "text": values[:, 0].astype(str), "sparse": sp.csr_array(values)}[kind]

    for function, expected in (
        (lambda block: of(block.X), X),
        (lambda block: of(np.add.reduceat(block.X, block.offsets[:-1])), np.add.reduceat(X, offsets[:-1])),
    ):
        joined = blocks.joined(function)
        np.testing.assert_array_equal(
            joined.toarray() if kind == "sparse" else joined, expected if kind == "sparse" else of(expected)
        )
