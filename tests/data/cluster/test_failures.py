"""Workers that die, join, leave or fail: bit-identical results, or a clear error message."""

import os
import signal
import subprocess
import sys
import threading
import time

import cloudpickle
import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer
from tests.data.cluster.machines import distributed, make_bags, make_cluster, write

from bagwise import Bags, MILogisticRegression, OnInstances, scan_bags

pytestmark = pytest.mark.slow

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

MODEL = MILogisticRegression(n_init=1, tol=1e-8, random_state=0)


class OnCall:
    """Instance transformer that runs an action at its n-th call, counted over all workers."""

    def __init__(self, log, n_calls, action):
        self.log, self.n_calls, self.action = str(log), n_calls, action

    def __call__(self, X):
        with open(self.log, "ab") as file:
            file.write(b".")
            file.flush()
            # Appending is atomic, so the file has another size after every call.
            is_now = os.fstat(file.fileno()).st_size == self.n_calls
        if is_now:
            self.action()
        return X


class OnSight:
    """Instance transformer that runs an action if the instances contain a value."""

    def __init__(self, value, action):
        self.value, self.action = value, action

    def __call__(self, X):
        if (self.value == X).any():
            self.action()
        return X


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def divide():
    return 1 / 0


def with_step(scan, function):
    """Return the scan with a function that transforms its instances."""
    step = OnInstances(FunctionTransformer(function)).fit(scan.head(1))
    return step.transform(scan)


def marked(tmp_path, value):
    """Return a scan with a special value in the bag that is larger than a block."""
    bags, y = make_bags()
    X = np.array(bags.instances)
    X[bags.offsets[75] + 50, 1] = value
    return scan_bags(write(tmp_path / "marked.parquet", Bags(X, bags.offsets, ids=bags.ids), y))


@pytest.fixture
def expected(scan):
    return MODEL.fit(scan, scan.y).coef_.tobytes()


def fitted_while(scan, cluster, event, *, call=25, tmp_path):
    """Fit on a cluster, call `event` in the middle of a pass, and return the coefficients as bytes."""
    begun = tmp_path / "begun"
    with distributed.Client(cluster) as client:
        thread = threading.Thread(target=_wait_and_call, args=(begun, call, event))
        thread.start()
        X = with_step(scan.on(client), OnCall(begun, 0, None))
        coef = MODEL.fit(X, scan.y).coef_.tobytes()
        thread.join()
    return coef


def _wait_and_call(log, n_calls, event):
    while not (log.exists() and log.stat().st_size >= n_calls):
        time.sleep(0.01)
    event()


def test_a_worker_that_is_killed_changes_no_bit(scan, expected, tmp_path):
    with make_cluster() as cluster, distributed.Client(cluster) as client:
        before = set(client.scheduler_info()["workers"])
        X = with_step(scan.on(client), OnCall(tmp_path / "calls", 30, die))
        assert MODEL.fit(X, scan.y).coef_.tobytes() == expected
        assert set(client.scheduler_info()["workers"]) != before


def test_an_error_names_the_file_the_row_group_and_the_bags(small_blocks, client, tmp_path):
    scan = marked(tmp_path, 99.0)
    X = with_step(scan.on(client), OnSight(99.0, divide))
    message = r"ZeroDivisionError.*'.*marked\.parquet', row groups \d+ to \d+ \(bag 'bag 75'\)"
    with pytest.raises(RuntimeError, match=message):
        MODEL.fit(X, scan.y)
    scan = marked(tmp_path, np.nan)
    with pytest.raises(ValueError, match=r"NaN: bag 'bag 75'.*marked\.parquet', row group"):
        MODEL.fit(scan.on(client), scan.y)


def test_a_file_that_changes_during_a_fit_is_refused(small_blocks, client, tmp_path):
    bags, y = make_bags()
    path = write(tmp_path / "bags.parquet", bags, y)
    scan = scan_bags(path).on(client)
    blocks = scan.blocks()
    count = blocks.total(lambda block: block.n_bags)
    assert count == len(bags)
    time.sleep(0.01)
    write(path, bags, y)
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        blocks.total(lambda block: block.n_bags)


def test_without_workers_a_sentence(scan):
    refused = pytest.raises(ConnectionError, match="the cluster has no workers")
    with make_cluster(0) as cluster, distributed.Client(cluster) as client, refused:
        MODEL.fit(scan.on(client), scan.y)


@pytest.mark.study
@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("processes", [True, False])
def test_any_number_of_workers_gives_the_same_bits(scan, expected, n_workers, processes):
    threads = 1 if processes else 2
    with (
        make_cluster(n_workers, processes=processes, threads_per_worker=threads) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert MODEL.fit(scan.on(client), scan.y).coef_.tobytes() == expected


@pytest.mark.study
def test_a_worker_lost_for_good(scan, expected, tmp_path):
    with make_cluster() as cluster:

        def lose():
            cluster.sync(next(iter(cluster.workers.values())).kill)

        assert fitted_while(scan, cluster, lose, tmp_path=tmp_path) == expected


@pytest.mark.study
def test_a_worker_added_gets_its_share(scan, expected, tmp_path):
    with make_cluster(1) as cluster:

        def add():
            cluster.scale(2)
            cluster.wait_for_workers(2)

        assert fitted_while(scan, cluster, add, tmp_path=tmp_path) == expected
        with distributed.Client(cluster) as client:
            pids = scan.on(client).blocks().each(lambda block: os.getpid())
            assert len(set(pids)) == 2


@pytest.mark.study
def test_a_slow_worker_holds_nobody_up_for_ever(scan, expected, tmp_path):
    with make_cluster() as cluster, distributed.Client(cluster) as client:
        slow = next(iter(client.run(os.getpid).values()))

        def wait(X):
            if os.getpid() == slow:
                time.sleep(0.05)
            return X

        assert MODEL.fit(with_step(scan.on(client), wait), scan.y).coef_.tobytes() == expected


@pytest.mark.study
def test_a_block_that_ends_every_worker_is_named(small_blocks, tmp_path):
    scan = marked(tmp_path, 99.0)
    with make_cluster() as cluster, distributed.Client(cluster) as client:
        X = with_step(scan.on(client), OnSight(99.0, die))
        message = r"4 workers were killed.*marked\.parquet'.*bag 'bag 75'.*too large for the memory"
        with pytest.raises(RuntimeError, match=message):
            MODEL.fit(X, scan.y)


@pytest.mark.study
def test_a_lost_scheduler_is_reported(scan, tmp_path):
    def start(*arguments):
        return subprocess.Popen([sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]])

    file = tmp_path / "scheduler.json"
    scheduler = start("dask_scheduler", "--scheduler-file", str(file), "--port", "0", "--no-dashboard")
    worker = start("dask_worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard")
    try:
        with distributed.Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(1, timeout=60)
            begun = tmp_path / "begun"
            threading.Thread(target=_wait_and_call, args=(begun, 25, scheduler.kill)).start()
            X = with_step(scan.on(client), OnCall(begun, 0, None))
            message = r"connection to the Dask scheduler at tcp://.* was lost.*checkpoint="
            with pytest.raises(ConnectionError, match=message):
                MODEL.fit(X, scan.y)
    finally:
        scheduler.kill()
        worker.kill()
        worker.wait(), scheduler.wait()


@pytest.mark.study
def test_ctrl_c_ends_the_work_on_the_cluster(scan, tmp_path):
    with make_cluster() as cluster, distributed.Client(cluster) as client:
        begun = tmp_path / "begun"

        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=_wait_and_call, args=(begun, 25, interrupt))
        thread.start()
        X = with_step(scan.on(client), OnCall(begun, 0, None))
        model = MILogisticRegression(n_init=1, tol=1e-14, max_iter=10_000, random_state=0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, scan.y)
        thread.join()
        assert model.coef_.shape == (1, 4) and not model.converged_
        deadline = time.monotonic() + 10
        while any(client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(client.processing().values())
