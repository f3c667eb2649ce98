"""
Fit on a Dask cluster
=====================

If one computer is too slow, ``scan.on(client)`` distributes the blocks of a scan to the workers of a Dask
cluster. The cluster in this tutorial is local: a scheduler and two worker processes. The coefficients are
identical to those of a fit without a cluster, bit for bit. A second fit, during which a worker is killed,
returns the same coefficients; it only takes longer.
"""

from example_data import write_large

path = write_large("large.parquet", 9_000)

# %%
# Fit without a cluster
# ---------------------
# This fit is the reference. Scans with fewer than about eight million values are never distributed, because
# a local fit is faster.
import bagwise as bw

scan = bw.scan_bags(path)
alone = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0).fit(scan, scan.y)
print(scan, "- passes:", alone.n_passes_)

# %%
# Fit with a cluster
# ------------------
# ``Client("tcp://host:8786")`` connects to a remote cluster. Its workers must find the file under the same
# path, because they read their blocks from it. The client sends coefficients, and the workers return sums.
from distributed import Client, SubprocessCluster, get_task_stream

cluster = SubprocessCluster(n_workers=2, worker_class="distributed.Worker", worker_kwargs={"nthreads": 1})
client = Client(cluster)
client.wait_for_workers(2)
placed = scan.on(client)
model = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with get_task_stream(client) as undisturbed:
    model.fit(placed, scan.y)
print("identical coefficients:", bool((model.coef_ == alone.coef_).all()))

# %%
# A worker fails
# --------------
# After a hundred tasks, one of the two workers is killed, as in a power failure. The other worker then reads
# its blocks.
import os
import signal
import threading
import time

process_ids = client.run(os.getpid)
began = time.time()


def kill_one():
    while len(client.get_task_stream(start=began)) < 100:
        time.sleep(0.02)
    os.kill(process_ids[min(process_ids)], signal.SIGKILL)


killer = threading.Thread(target=kill_one)
killer.start()
model = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with get_task_stream(client) as disturbed:
    model.fit(placed, scan.y)
killer.join()
client.close()
cluster.close()
print("identical coefficients:", bool((model.coef_ == alone.coef_).all()))

# %%
# Tasks over time
# ---------------
# Each bar is a task: a function of a block, or a sum of results. In the lower panel, the tasks of the first
# worker end when it is killed.
import matplotlib.pyplot as plt

figure, panels = plt.subplots(2, 1, figsize=(8, 3.2), layout="constrained")
for ax, stream, name in zip(panels, (undisturbed, disturbed), ("two workers", "one is killed"), strict=True):
    tasks = [(task["worker"], step) for task in stream.data for step in task["startstops"]]
    first = min(step["start"] for _, step in tasks)
    for row, worker in enumerate(sorted(process_ids)):
        steps = [step for task_worker, step in tasks if task_worker == worker and step["action"] == "compute"]
        strokes = [(step["start"] - first, step["stop"] - step["start"] + 0.01) for step in steps]
        ax.broken_barh(strokes, (row - 0.35, 0.7), color=f"C{row}")
    ax.set(yticks=range(2), yticklabels=["first", "second"], ylim=(1.6, -0.6), xlabel="seconds")
    ax.set_title(name, loc="left")
figure.savefig("workers.png")

# %%
# :doc:`/scaling` describes failures, ways to start workers, and costs. On two cores, with this few instances,
# the cluster is slower than a fit without a cluster.
