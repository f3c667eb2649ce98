"""Blocks of selected bags, and blocks held in memory."""

import numpy as np
import pytest

from bagwise import Sequences
from bagwise.data.blocks import (
    Block,
    MemoryBlocks,
    PerBag,
    PickedRows,
    SelectedBlocks,
    Sums,
    hold,
    run_together,
)
from bagwise.data.blocks.views import ExtendedBlocks, TransformedBlocks

SIZES = np.random.default_rng(0).integers(1, 6, 20)
OFFSETS = np.append(0, np.cumsum(SIZES))


def make_blocks(X=None, **options):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(OFFSETS[-1], 3)) if X is None else X
    return MemoryBlocks(X, OFFSETS, np.arange(20), rng.random(20), **options)


class Scattered(MemoryBlocks):
    """Blocks of bags that are not adjacent."""

    def block(self, index):
        bags = np.arange(index, 20, self.n_blocks)
        rows = np.concatenate([np.arange(OFFSETS[i], OFFSETS[i + 1]) for i in bags])
        offsets = np.append(0, np.cumsum(SIZES[bags]))
        return Block(self.X[rows], offsets, self.y[bags], self.weight[bags], None, indices=bags)


WANTED = {
    "some": np.arange(20) % 3 > 0,
    "neighbours": (np.arange(20) > 4) & (np.arange(20) < 9),
    "all": np.ones(20, dtype=bool),
    "none": np.zeros(20, dtype=bool),
}


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_selected_bags_keep_their_order(most, wanted):
    blocks = make_blocks(most=most)
    more = ExtendedBlocks(blocks, instance_y=np.arange(OFFSETS[-1]), bag_features=np.arange(20)[:, None])
    chosen = SelectedBlocks(more, wanted)
    rows = np.flatnonzero(np.repeat(wanted, SIZES))
    assert chosen.n_bags == wanted.sum() and chosen.n_instances == len(rows)
    parts = list(chosen.each(lambda block: block))
    assert len(parts) == blocks.n_blocks
    assert np.concatenate([part.X[:] for part in parts]).tolist() == blocks.X[rows].tolist()
    assert np.concatenate([part.instance_y for part in parts]).tolist() == rows.tolist()
    for part in parts:
        assert part.n_bags == len(part.y) == len(part.weight) == len(part.bag_features)
        assert part.part_of(chosen.y).tolist() == part.y.tolist() == part.bag_features[:, 0].tolist()
        assert np.diff(part.offsets).tolist() == SIZES[part.y].tolist()
        assert part.X.shape == (part.offsets[-1], 3)
    assert blocks.n_passes == chosen.n_passes == 1


def test_bags_that_are_not_adjacent_keep_their_indices():
    blocks = Scattered(
        np.arange(3.0 * OFFSETS[-1]).reshape(-1, 3), OFFSETS, np.arange(20), np.ones(20), most=15
    )
    chosen = SelectedBlocks(blocks, WANTED["some"])
    for part in chosen.each(lambda block: block):
        assert part.part_of(chosen.y).tolist() == part.y.tolist()
        assert part.X[:].tolist() == blocks.X[np.repeat(np.isin(np.arange(20), part.y), SIZES)].tolist()


def test_selected_rows_are_views_or_copied_when_used():
    blocks = make_blocks()
    (part,) = SelectedBlocks(blocks, WANTED["neighbours"]).each(lambda block: block)
    assert part.X.base is blocks.X
    (part,) = SelectedBlocks(blocks, WANTED["some"]).each(lambda block: block)
    assert isinstance(part.X, PickedRows) and np.shares_memory(part.X.matrix, blocks.X)
    assert (len(part.X), part.X.size) == (part.X.shape[0], part.X[:].size)
    np.testing.assert_array_equal(part.X[2:4], blocks.X[part.X.rows[2:4]])


def sums(block):
    return Sums((block.X[:].sum(axis=0), block.weight.sum()))


def test_runs_on_different_bags_share_passes():
    blocks = make_blocks(most=7)

    def run(wanted):
        return lambda blocks: SelectedBlocks(blocks, wanted).total(sums)

    results = run_together(blocks, [run(WANTED["some"]), run(WANTED["all"])])
    assert blocks.n_passes == 1
    for got, wanted in zip(results, (WANTED["some"], WANTED["all"]), strict=True):
        alone = SelectedBlocks(make_blocks(most=7), wanted).total(sums)
        np.testing.assert_array_equal(got[0], alone[0])
        np.testing.assert_allclose(got[0], blocks.X[np.repeat(wanted, SIZES)].sum(axis=0), rtol=1e-12)


def test_a_selection_of_large_blocks_is_large(large_from):
    large_from(100)
    assert SelectedBlocks(make_blocks(), WANTED["none"]).are_large


@pytest.mark.parametrize("dtype", [None, np.float64])
def test_held_blocks_are_cut_alike_and_read_once(dtype):
    X = np.random.default_rng(0).normal(size=(OFFSETS[-1], 3)).astype(np.float32)
    blocks = make_blocks(X, most=7)
    sources = (blocks, SelectedBlocks(blocks, WANTED["some"]), TransformedBlocks(blocks, np.copy, 3))
    for source in sources:
        before = source.n_passes
        held = hold(source, dtype)
        assert source.n_passes == before + 1
        assert held.X.dtype == (dtype or np.float32)
        for mine, its in zip(held.each(lambda b: b), source.each(lambda b: b), strict=True):
            np.testing.assert_array_equal(mine.X, its.X[:])
            for name in ("offsets", "y", "weight"):
                np.testing.assert_array_equal(getattr(mine, name), getattr(its, name))
    assert hold(blocks).X is blocks.X


def test_sequences_are_selected_and_held():
    drawn = np.random.default_rng(0).integers(0, 3, size=(OFFSETS[-1], 4))
    blocks = make_blocks(Sequences.from_list(drawn), most=7)
    held = hold(SelectedBlocks(blocks, WANTED["some"]))
    expected = drawn[np.repeat(WANTED["some"], SIZES)]
    np.testing.assert_array_equal(np.array(list(held.X)), expected)
    part = blocks.X[3:9]
    assert np.shares_memory(part.symbols, blocks.X.symbols)
    np.testing.assert_array_equal(np.array(list(part)), drawn[3:9])
    assert len(blocks.X[5:5]) == len(blocks.X[5:2]) == 0 and len(blocks.X[::2]) == (len(drawn) + 1) // 2


@pytest.mark.parametrize("kind", [MemoryBlocks, Scattered])
def test_every_block_gets_its_part_of_a_value_per_bag(kind):
    blocks = kind(np.zeros((OFFSETS[-1], 1)), OFFSETS, np.arange(20), np.ones(20), most=15)
    assert blocks.n_blocks > 2

    def differences(block, values):
        return np.abs(values - 10.0 * block.y).sum()

    assert blocks.total(differences, PerBag(10.0 * blocks.y)) == 0
    chosen = SelectedBlocks(SelectedBlocks(blocks, WANTED["some"]), np.arange(WANTED["some"].sum()) % 4 > 0)
    mine, other = PerBag(10.0 * chosen.y), PerBag(10.0 * chosen.y + 1)
    assert chosen.total(differences, mine) == 0
    assert chosen.total(differences, other) == chosen.n_bags
    # The same is true if several runs share passes over the selection.
    jobs = [lambda selection, values=values: selection.total(differences, values) for values in (mine, other)]
    assert run_together(chosen, jobs) == [0, chosen.n_bags]
