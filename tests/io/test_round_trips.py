"""Round trips through files of every format preserve every bit, id, name, column and dtype."""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.same_bags import assert_same

from bagwise import (
    Bags,
    iter_parquet,
    load_bags,
    load_h5,
    load_npy,
    make_noisy_or_bags,
    save_bags,
    save_h5,
    save_npy,
    save_parquet,
    scan_bags,
)
from bagwise.io import files
from bagwise.io import parquet as parquet_module

WRITTEN = [name for name, about in files.FORMATS.items() if about.can_write]
LONG = ("csv", "parquet-long")
SCANNED = ("parquet", "parquet-long", "h5", "npy")

NUMERIC_DTYPES = st.sampled_from(["?", "|i1", "<i2", "<i8", "|u1", "<u8", "<f2", "<f4", "<f8", ">f8", ">i4"])
TIME_DTYPES = st.sampled_from(["<M8[D]", "<M8[ms]", "<M8[ns]", "<m8[s]"])
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)

KEPT_POOLS: list = []


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Store the indexes of folders in a temporary cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAGWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def arrays(draw, n, dtypes):
    shape = draw(st.sampled_from([(n,), (n,), (n, 2)]))
    if draw(st.integers(0, 3)) == 0:
        values = draw(st.lists(TEXT, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        return np.array(values, dtype=np.str_).reshape(shape)
    dtype = np.dtype(draw(dtypes))
    if dtype.kind in "Mm":  # days that every unit can represent, and NaT
        days = draw(hnp.arrays(np.int64, shape, elements=st.integers(-90_000, 90_000)))
        days[draw(hnp.arrays(bool, shape))] = np.iinfo(np.int64).min
        return days.astype("m8[D]" if dtype.kind == "m" else "M8[D]").astype(dtype)
    return draw(hnp.arrays(dtype, shape))


@st.composite
def bags_and_labels(draw, *, empty_bags):
    sizes = draw(st.lists(st.integers(0 if empty_bags else 1, 3), min_size=1, max_size=4))
    n_bags, n_instances = len(sizes), sum(sizes)
    width = draw(st.integers(1, 3))
    names = st.sampled_from(["y", "bag_id", "instances", "features", "x0", "x/1", "ä", "labels", "."])

    def columns(n):
        chosen = draw(st.lists(names, unique=True, max_size=2))
        return {name: arrays(draw, n, NUMERIC_DTYPES | TIME_DTYPES) for name in chosen}

    ids = draw(
        st.none()
        | st.lists(TEXT, min_size=n_bags, max_size=n_bags, unique=True)
        | st.lists(st.integers(-5, 2**40), min_size=n_bags, max_size=n_bags, unique=True)
    )
    bags = Bags(
        draw(hnp.arrays(draw(NUMERIC_DTYPES), (n_instances, width))),
        np.cumsum([0, *sizes]),
        ids=ids,
        feature_names=draw(st.none() | st.lists(names, min_size=width, max_size=width, unique=True)),
        instance_columns=columns(n_instances),
        bag_columns=columns(n_bags),
    )
    return bags, arrays(draw, n_bags, NUMERIC_DTYPES) if draw(st.booleans()) else None


@pytest.mark.parametrize(("save", "load", "name"), [(save_h5, load_h5, "h5"), (save_npy, load_npy, "npy")])
def test_folders_hold_a_file_for_every_bag_as_others_write_them(save, load, name, tmp_path):
    bags = Bags(
        np.arange(6.0).reshape(3, 2), [0, 1, 3], ids=["a", "b"], instance_columns={"place": np.arange(3)}
    )
    folder = save(tmp_path / "bags", bags, [1, 0])
    assert folder == tmp_path / "bags"
    if name == "h5":
        with h5py.File(folder / "b.h5") as file:
            features, values = file["features"][:], file["place"][:]
    else:
        features, values = np.load(folder / "features" / "b.npy"), np.load(folder / "place" / "b.npy")
    np.testing.assert_array_equal(features, bags[1])
    np.testing.assert_array_equal(values, [1, 2])
    assert (folder / "labels.csv").read_text().splitlines() == ["bag_id,y", "a,1", "b,0"]
    assert_same(bags, np.array([1, 0]), *load(folder), format_name=name)


@pytest.mark.parametrize("format_name", WRITTEN)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_round_trip_keeps_everything(format_name, data):
    bags, y = data.draw(bags_and_labels(empty_bags=format_name not in LONG))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("bags" + (files.FORMATS[format_name].suffix or ""))
        written = save_bags(path, bags, y, format=format_name)
        options = {"format": "parquet"} if format_name == "parquet-long" else {}
        other, z = load_bags(written, **options)
        assert_same(bags, y, other, z, format_name=format_name)
        if format_name in SCANNED and bags.n_instances:
            scan = scan_bags(written, **options)
            assert_same(other, z, scan.load(), scan.y)
        assert not list(Path(folder).glob(".*.part"))


@pytest.mark.parametrize("format_name", WRITTEN)
def test_bags_chain_through_all_formats(format_name, tmp_path):
    data = make_noisy_or_bags(20, random_state=0)
    path = save_bags(tmp_path / "a", data.bags, data.y, format=format_name)
    bags, y = load_bags(path, format="parquet" if "parquet" in format_name else format_name)
    assert_same(data.bags, np.asarray(data.y), bags, y)


def test_parquet_is_written_and_read_in_row_groups(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    data = make_noisy_or_bags(50, random_state=0)
    monkeypatch.setattr(parquet_module, "_GROUP_BYTES", 20 * data.bags.n_features * 8)
    path = save_parquet(tmp_path / "groups.parquet", data.bags, data.y)
    footer = pq.ParquetFile(path).metadata
    assert footer.num_row_groups > 5
    leaf = next(
        c
        for c in range(footer.num_columns)
        if footer.row_group(0).column(c).path_in_schema.startswith("instances")
    )
    assert "BYTE_STREAM_SPLIT" in footer.row_group(0).column(leaf).encodings
    assert footer.row_group(0).column(leaf).compression == "ZSTD"
    bags, y = load_bags(path)
    assert_same(data.bags, np.asarray(data.y), bags, y)
    parts = list(iter_parquet(path))
    assert len(parts) == footer.num_row_groups
    assert np.array_equal(Bags.concat([b for b, _ in parts]).instances, data.bags.instances)
    assert np.concatenate([b.ids for b, _ in parts]).tolist() == list(range(50))


def test_parts_are_streamed_from_file_to_file(tmp_path, monkeypatch):
    data = make_noisy_or_bags(30, random_state=0)
    monkeypatch.setattr(parquet_module, "_GROUP_BYTES", 20 * data.bags.n_features * 8)
    first = save_parquet(tmp_path / "a.parquet", data.bags, data.y)
    doubled = ((bags.with_instances(2 * bags.instances), y) for bags, y in iter_parquet(first))
    bags, y = load_bags(save_parquet(tmp_path / "b.parquet", doubled))
    assert np.array_equal(bags.instances, 2 * data.bags.instances) and np.array_equal(y, data.y)


def test_parts_that_differ_are_refused_and_leave_nothing(tmp_path):
    parts = [(Bags(np.zeros((2, 3)), [0, 2]), [1]), (Bags(np.zeros((2, 2)), [0, 2]), [1])]
    with pytest.raises(ValueError, match="dtypes or features of part 1 differ from those of part 0"):
        save_parquet(tmp_path / "a.parquet", parts)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="there are no bags to write"):
        save_parquet(tmp_path / "a.parquet", [])


def test_polars_and_pandas_read_what_is_written(tmp_path):
    import pandas as pd
    import polars as pl

    data = make_noisy_or_bags(20, random_state=0)
    save_parquet(tmp_path / "bags.parquet", data.bags, data.y)
    assert (
        pl.read_parquet(tmp_path / "bags.parquet")["instances"][3].to_numpy().tolist()
        == data.bags[3].tolist()
    )
    save_parquet(tmp_path / "long.parquet", data.bags, data.y, layout="long")
    frame = pd.read_parquet(tmp_path / "long.parquet")
    assert Bags.from_frame(frame, bag="bag_id").n_instances == data.bags.n_instances


def test_reading_parquet_holds_a_row_group_at_a_time(tmp_path, monkeypatch):
    bags = Bags(np.random.default_rng(0).normal(size=(20_000, 20)), np.arange(0, 20_001, 100))
    monkeypatch.setattr(parquet_module, "_GROUP_BYTES", bags.instances.nbytes // 20)
    path = save_parquet(tmp_path / "a.parquet", bags)
    pool = pa.proxy_memory_pool(pa.default_memory_pool())  # starts to count here
    # Arrow's threads can free a buffer after the read has returned, so the pool must stay alive.
    KEPT_POOLS.append(pool)
    usual = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        read, _ = load_bags(path)
    finally:
        pa.set_memory_pool(usual)
    assert pool.max_memory() < read.instances.nbytes / 2


@pytest.mark.parametrize("save", [save_h5, save_npy])
def test_ids_too_long_for_the_name_of_a_file_are_refused_and_leave_nothing(save, tmp_path):
    bags = Bags(np.zeros((2, 1)), [0, 1, 2], ids=["a", "ä" * 100])  # six characters per letter
    with pytest.raises(ValueError, match=r"ids: 'ä+'\.\.\. needs 600 characters in a file name"):
        save(tmp_path / "folder", bags)
    assert not list(tmp_path.iterdir())
