"""Blocks of bags in files equal those of the same bags in memory, for any row groups."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bagwise import Bags, save_parquet, scan_bags
from bagwise.data.blocks import ExtendedBlocks, FileBlocks, MemoryBlocks, Sums, run_together
from bagwise.data.blocks import files as files_module
from bagwise.data.blocks import layout as layout_module
from bagwise.data.blocks.buffers import Buffers
from bagwise.io.scan import parquet_bags, parquet_long


def make_bags(sizes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), 3)).astype(dtype)
    return Bags(X, np.cumsum([0, *sizes]), ids=[f"bag {i}" for i in range(len(sizes))])


def write(path, bags, *, layout, rows):
    """Write a file with row groups of `rows` rows and empty row groups between them."""
    save_parquet(path, bags, np.arange(len(bags)) % 2, layout=layout)
    table, about = pq.read_table(path), pq.read_metadata(path).metadata[b"bagwise"]
    with pq.ParquetWriter(path, table.schema) as writer:
        for begin in range(0, len(table), rows):
            writer.write_table(table.slice(begin, rows))
            writer.write_table(table.slice(0, 0))
        writer.add_key_value_metadata({"bagwise": about})
    return path


@pytest.fixture
def in_files(monkeypatch, large_from, tmp_path):
    """Return a function that writes bags to a file and scans it in blocks of a few rows."""
    large_from(0)

    def make(bags, *, layout, most=10, rows=7):
        for module in (layout_module, parquet_long, parquet_bags):
            monkeypatch.setattr(module, "block_rows", lambda _: most)
        return scan_bags(write(tmp_path / f"{layout}.parquet", bags, layout=layout, rows=rows))

    return make


@pytest.mark.parametrize("layout", ["long", "bags"])
def test_more_is_carried_along_with_bags_in_files(layout, in_files):
    sizes = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    offsets = np.append(0, np.cumsum(sizes))
    scan = in_files(Bags(np.arange(62.0).reshape(31, 2), offsets), layout=layout)
    order = np.array([5, 0, 3, 7])
    chosen = scan[order]
    each = chosen.load().instances[:, 0]
    more = ExtendedBlocks(chosen.blocks(), instance_y=each, bag_features=order[:, None])
    for block in more.each(lambda block: block._replace(X=block.X.copy())):
        np.testing.assert_array_equal(block.instance_y, block.X[:, 0])
        np.testing.assert_array_equal(sizes[block.bag_features[:, 0]], np.diff(block.offsets))


def weighted_sums(block, power):
    return Sums((block.weight_of_each @ block.X**power, block.n_bags))


SIZES = {
    "one block": [1, 2, 1],
    "many blocks": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7],
    "a bag larger than a block": [2, 25, 1, 3],
    "a bag in three row groups": [5, 14, 9],
    "a last block of one bag": [5, 5, 10, 1],
    "one bag": [4],
}


@pytest.mark.parametrize("layout", ["long", "bags"])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_are_those_of_memory_to_the_last_bit(in_files, layout, sizes, dtype):
    bags = make_bags(sizes, dtype)
    scan = in_files(bags, layout=layout, rows=7 if layout == "long" else 2)
    y, weight = np.arange(len(bags)).astype(np.int8) % 2, np.linspace(1, 2, len(bags))
    blocks = scan.blocks(y, weight)
    memory = MemoryBlocks(bags.instances, bags.offsets, y, weight, most=10)
    assert isinstance(blocks, FileBlocks)
    assert blocks.n_blocks == memory.n_blocks
    for ours, theirs in zip(blocks.each(lambda b: b), memory.each(lambda b: b), strict=True):
        assert ours.X.dtype == dtype
        assert ours.X.flags.c_contiguous and ours.X.flags.aligned and not ours.X.flags.writeable
        assert ours.first == theirs.first
        for mine, its in zip(ours[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(mine, its)
    for _ in range(2):
        sums, n_bags = blocks.total(weighted_sums, 3)
        expected, _ = memory.total(weighted_sums, 3)
        assert sums.tobytes() == expected.tobytes() and n_bags == len(bags)
    assert blocks.n_passes == 3


@pytest.mark.parametrize("layout", ["long", "bags"])
def test_selected_bags_in_any_order_and_more_than_once(in_files, layout):
    bags = make_bags(SIZES["many blocks"])
    scan = in_files(bags, layout=layout)
    for chosen in ([5, 2, 2, 11, 5, 0], [0, 1, 2], [13], np.arange(14)[::-1], np.arange(0, 14, 3)):
        few, blocks = bags[chosen], scan[chosen].blocks(np.asarray(chosen), np.ones(len(chosen)))
        np.testing.assert_array_equal(blocks.offsets, few.offsets)
        seen = np.full_like(few.instances, np.nan)
        for block in blocks.each(lambda b: b):
            np.testing.assert_array_equal(block.y, block.part_of(np.asarray(chosen)))
            seen[block.rows(block.part_of(blocks.offsets[:-1]))] = block.X
        np.testing.assert_array_equal(seen, few.instances)
        rows = np.arange(0, few.n_instances, 4)
        np.testing.assert_array_equal(blocks.take(rows), few.instances[rows])
        sampled = few.blocks().sample(9, np.random.RandomState(0))
        np.testing.assert_array_equal(blocks.sample(9, np.random.RandomState(0)), sampled)


def test_a_fold_reads_only_its_row_groups_and_each_once(in_files, monkeypatch):
    bags = make_bags([4] * 30)
    scan = in_files(bags, layout="long", rows=12)  # three bags per row group
    read = []
    usual = scan._source._batches
    monkeypatch.setattr(
        scan._source, "_batches", lambda units, names: read.extend(units) or usual(units, names)
    )
    blocks = scan[[29, 3, 4, 16, 0]].blocks()
    blocks.total(lambda block: block.n_bags)
    assert read == [0, 1, 5, 9]


def test_runs_share_passes_over_a_file(in_files):
    blocks = in_files(make_bags(SIZES["many blocks"]), layout="long").blocks()
    jobs = [lambda blocks, p=p: blocks.total(weighted_sums, p)[0] for p in (1, 2)]
    first, second = run_together(blocks, jobs)
    assert blocks.n_passes == 1
    np.testing.assert_array_equal(first, blocks.total(weighted_sums, 1)[0])
    np.testing.assert_array_equal(second, blocks.total(weighted_sums, 2)[0])


def test_progress_is_reported_bag_by_bag(in_files):
    blocks = in_files(make_bags(SIZES["many blocks"]), layout="bags").blocks()
    counts = []
    blocks.on_block = counts.append
    blocks.total(lambda block: 0)
    assert sum(counts) == 14 and len(counts) == blocks.n_blocks


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_block_is_raised_and_the_file_is_closed(in_files, monkeypatch, threads):
    from numba import config

    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", threads)
    blocks = in_files(make_bags(SIZES["many blocks"]), layout="long").blocks()
    with pytest.raises(ZeroDivisionError):
        blocks.total(lambda block: 1 / 0)
    assert blocks.total(lambda block: block.n_bags) == 14
    assert next(blocks.each(lambda block: block.first)) == 0  # the other blocks are never requested


@pytest.mark.parametrize("layout", ["long", "bags"])
def test_missing_values_are_refused_by_bag_instance_and_feature(in_files, layout):
    bags = make_bags(SIZES["many blocks"])
    X = bags.instances.copy()
    X[14, 1] = np.nan
    scan = in_files(bags.with_instances(X), layout=layout)
    with pytest.raises(ValueError, match=r"X contains NaN: bag 'bag 5', instance 0, feature 1"):
        scan[[7, 5, 1]].blocks().total(lambda block: 0)
    scan[[7, 1]].blocks().total(lambda block: 0)


def test_whole_numbers_become_doubles(in_files):
    bags = make_bags([3, 20, 4])
    whole = bags.with_instances(np.arange(81, dtype=np.int16).reshape(27, 3))
    for layout in ("long", "bags"):
        scan = in_files(whole, layout=layout)
        parts = list(scan.blocks().each(lambda block: block.X))
        assert {part.dtype for part in parts} == {np.dtype(float)}
        np.testing.assert_array_equal(np.concatenate(parts), whole.instances)
        assert scan.load().instances.dtype == np.int16


def test_buffers_are_reused_only_without_views():
    buffers = Buffers()
    kept = [buffers.empty((4, 2), np.float64) for _ in range(3)]
    for i, array in enumerate(kept):
        array[:] = i
    view = kept.pop()[1:3]
    kept.pop()
    again = buffers.empty((3, 2), np.float32)
    again[:] = 9
    assert len(buffers) == 3
    assert (view == 2).all() and (kept[0] == 0).all()
    larger = buffers.empty((100, 2), np.float64)
    assert larger.flags.c_contiguous and larger.flags.aligned and larger.shape == (100, 2)


def test_memory_holds_a_few_blocks(tmp_path, monkeypatch, large_from):
    large_from(0)
    bags = make_bags([50] * 4000, np.float32)
    table = pa.table(
        {"bag": np.repeat(np.arange(4000), 50), **dict(zip("abc", bags.instances.T, strict=True))}
    )
    pq.write_table(table, tmp_path / "one_group.parquet")
    monkeypatch.setattr(layout_module, "block_rows", lambda _: 1000)
    blocks = scan_bags(tmp_path / "one_group.parquet").blocks()
    assert blocks.n_blocks == 200
    blocks.total(lambda block: block.X.sum(axis=0))
    assert len(blocks._buffers) <= 2 + 2 * files_module._MOST_WORKERS


def test_a_pass_that_its_reader_discards_ends_without_an_error():
    go, done = threading.Event(), threading.Event()

    def items():
        yield 1
        go.wait(10)
        left.close()  # the garbage collector can do this in the same thread
        done.set()
        yield 2

    left = files_module._ahead(items())
    assert next(left) == 1
    go.set()
    assert done.wait(10)
