"""Results on a cluster are bit-identical to local results."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import PolynomialFeatures

from bagwise import (
    BagStatistics,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    OnInstances,
    SingleInstanceClassifier,
    SoftORLogisticRegression,
    bag_distances,
    milr_path,
    scan_bags,
    set_kernel,
)
from bagwise.data.blocks import PerBag, ReweightedBlocks, SelectedBlocks, Sums
from bagwise.data.cluster import ClusterBlocks
from bagwise.data.cluster.blocks import _groups_of, _shown_name
from bagwise.data.cluster.cluster import assigned

pytestmark = pytest.mark.slow


def fitted_bytes(model):
    """Return all fitted values as bytes."""
    values = {
        name: np.asarray(value).tobytes()
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, (np.ndarray, float, list))
    }
    assert len(values) > 3
    return values


MODELS = {
    "ridge": MILogisticRegression(random_state=0),
    "lasso": MILogisticRegression(l1_ratio=1.0, alpha=2.0, n_init=1, random_state=0),
    "learned rule": SoftORLogisticRegression(n_init=1, max_iter=20, random_state=0),
    "folds": MILogisticRegressionCV(cv=3, alphas=3, random_state=0),
    "mixture": MIMixture("gaussian_diag", n_init=2, max_iter=8, random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_fit_and_its_predictions(scan, client, model):
    y = scan.y.astype(int)
    local = pickle.loads(pickle.dumps(model)).fit(scan, y)
    remote = pickle.loads(pickle.dumps(model)).fit(scan.on(client), y)
    assert fitted_bytes(local) == fitted_bytes(remote)
    expected = local.predict_proba(scan)
    assert remote.predict_proba(scan.on(client)).tobytes() == expected.tobytes()


def test_transformers_of_instances_go_along(scan, client):
    squares = OnInstances(PolynomialFeatures(2, include_bias=False)).fit(scan.head(20))
    model = MILogisticRegression(n_init=1, random_state=0)
    local = model.fit(squares.transform(scan), scan.y).coef_.tobytes()
    assert model.fit(squares.transform(scan.on(client)), scan.y).coef_.tobytes() == local


def test_a_path_and_folds_of_others(scan, client):
    on = scan.on(client)
    local, remote = milr_path(scan, scan.y, alphas=4), milr_path(on, scan.y, alphas=4)
    assert local.coefs.tobytes() == remote.coefs.tobytes()
    model = MILogisticRegression(n_init=1, random_state=0)
    local, remote = (cross_val_predict(model, X, scan.y, cv=3, method="predict_proba") for X in (scan, on))
    assert local.tobytes() == remote.tobytes()


@pytest.mark.slow
def test_distances_and_kernels_of_bags(scan, client):
    few, scan = scan.head(10), scan[:40]
    on = scan.on(client)
    assert bag_distances(on).tobytes() == bag_distances(scan).tobytes()
    assert bag_distances(few, on[::-1]).tobytes() == bag_distances(few, scan[::-1]).tobytes()
    assert set_kernel(few, on).tobytes() == set_kernel(few, scan).tobytes()
    assert set_kernel(on, few, kernel="linear").tobytes() == set_kernel(scan, few, kernel="linear").tobytes()


def test_ranks(scan, client):
    local, remote = (BagStatistics(scale="rank").fit_transform(X) for X in (scan, scan.on(client)))
    assert local.tobytes() == remote.tobytes()


def test_blocks_are_those_of_the_files_in_any_order(scan, client):
    rng = np.random.default_rng(0)
    for chosen in (np.arange(len(scan)), rng.permutation(len(scan))[:70], np.array([3, 75, 3, 0])):
        y, weight = chosen.astype(np.int8), rng.random(len(chosen))
        local, remote = scan[chosen].blocks(y, weight), scan.on(client)[chosen].blocks(y, weight)
        assert isinstance(remote, ClusterBlocks)
        values = rng.normal(size=len(chosen))
        is_wanted, other_weight = np.arange(len(chosen)) % 3 > 0, np.arange(len(chosen)) / 7
        views = [
            lambda blocks: blocks,
            partial(SelectedBlocks, wanted=is_wanted),
            partial(ReweightedBlocks, weight=other_weight),
        ]
        for view in views:
            a, b = view(local), view(remote)
            mine = values[: a.n_bags]
            sums = [blocks.total(weighted, PerBag(mine), 3) for blocks in (a, b)]
            assert all(x.tobytes() == z.tobytes() for x, z in zip(*sums, strict=True))
            assert a.joined(firsts).tobytes() == b.joined(firsts).tobytes()
        rows = np.arange(0, local.n_instances, 3)
        assert local.take(rows).tobytes() == remote.take(rows).tobytes()
        assert remote.n_passes > 3 and remote.n_workers == min(2, remote.n_blocks)


def weighted(block, values, power):
    X = np.asarray(block.X[:], dtype=float) ** power
    of_each = np.repeat(values, np.diff(block.offsets))
    return Sums((block.weight_of_each @ X, of_each @ X))


def firsts(block):
    return np.asarray(block.X[block.offsets[:-1]])


@pytest.mark.parametrize("kind", ["npz", "npy", "h5", "bags"])
def test_files_of_all_kinds_are_read_by_workers(small_blocks, client, kind, tmp_path):
    from bagwise import load_bags, save_bags, save_npz, save_parquet

    bags, y = _make_bags()
    if kind == "bags":
        path = save_parquet(tmp_path / "bags.parquet", bags, y)
    elif kind == "npz":
        path = tmp_path / "bags.npz"
        np.savez(path, **dict(np.load(save_npz(tmp_path / "packed.npz", bags, y))))
    else:
        path = save_bags(tmp_path / kind, bags, y, format=kind)
    scan = scan_bags(path)
    assert scan.blocks().n_blocks > 3
    local, remote = scan.blocks(), scan.on(client).blocks()
    assert local.joined(firsts).tobytes() == remote.joined(firsts).tobytes()
    assert len(load_bags(path)[0]) == len(scan)


def _make_bags():
    from bagwise import Bags

    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 30, 40)
    return Bags(rng.normal(size=(sizes.sum(), 4)), np.append(0, np.cumsum(sizes))), np.arange(40) % 2


def test_a_group_that_is_sent_is_small_whatever_was_read(scan):
    from bagwise.data.cluster.group import Group

    layout = scan.blocks().layout
    group = Group(layout.part(2, 4), np.dtype(np.float32), None)
    before = pickle.dumps(group)
    blocks = list(group.blocks())
    again = list(group.blocks())
    assert all(mine is its for mine, its in zip(blocks, again, strict=True))  # the group keeps its blocks
    assert len(pickle.dumps(group)) <= len(before) < 20_000
    assert group.__sizeof__() == sum(block.X.nbytes for block in blocks)
    read = list(pickle.loads(before).blocks())
    expected = list(scan.blocks().each(lambda block: block))[2:4]
    for mine, its in zip(read, expected, strict=True):
        assert mine.first == its.first
        np.testing.assert_array_equal(mine.X, its.X)
        np.testing.assert_array_equal(mine.offsets, its.offsets)


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 8, 9, 100])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_groups_are_branches_of_the_one_tree(n_blocks, n_threads):
    from bagwise.data.blocks import add_up

    class Term(str):
        def __add__(self, other):
            return Term(f"[{self!s} {other!s}]")

    leaves = [Term(i) for i in range(n_blocks)]
    groups = [add_up(leaves[slice(*run)]) for run in _groups_of(n_blocks, n_threads)]
    eights = [add_up(groups[i : i + 8]) for i in range(0, len(groups), 8)]
    assert add_up(eights) == add_up(groups) == add_up(leaves)


def test_groups_stay_where_they_are_as_far_as_shares_allow():
    before = assigned([""] * 9, {"a": 1, "b": 2})
    assert before == ["a"] * 3 + ["b"] * 6
    after = assigned(before, {"a": 1, "b": 2, "c": 3})
    assert sorted(after) == ["a"] * 2 + ["b"] * 3 + ["c"] * 4
    assert all(new in (old, "c") for old, new in zip(before, after, strict=True))
    assert set(assigned(before, {"d": 1})) == {"d"}


def test_tasks_are_named_by_what_a_model_asks_for(scan, client):
    from bagwise.data.blocks.views import _transformed

    assert _shown_name(firsts, ()) == "firsts"
    assert _shown_name(_transformed, (firsts, np.sqrt, 3)) == "firsts"


def test_models_and_clients_that_are_not_supported_are_refused(scan, client):
    from sklearn.linear_model import SGDClassifier

    with pytest.raises(ValueError, match=r"without \.on\(client\)"):
        SingleInstanceClassifier(SGDClassifier()).fit(scan.on(client), scan.y)
    with pytest.raises(TypeError, match=r"client has the type str; .* Client\('tcp://host:8786'\)"):
        scan.on("tcp://localhost:1")
