"""
A cluster on one machine
========================

When one machine is too slow, blocks of a scan go to the workers of a Dask cluster, by one word:
``.on(client)``. The cluster here is a scheduler and two workers, processes of this machine. The fit has
the same bits as without; then a worker is killed in the middle of it, and nothing changes but the time.
"""

from example_data import write_large

path = write_large("large.parquet", 9_000)

# %%
# Without a cluster
# -----------------
# What the answer is to be. A scan of less than some eight million numbers would not be sent out at all:
# that would take longer than to fit it here.
import bagwise as bw

scan = bw.scan_bags(path)
alone = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0).fit(scan, scan.y)
print(scan, "- passes:", alone.n_passes_)

# %%
# With one
# --------
# ``Client("tcp://host:8786")`` would go to workers on other machines, which must see the file by the same
# name. Workers get directions and read by themselves; coefficients go out, sums come back.
from distributed import Client, SubprocessCluster, get_task_stream

cluster = SubprocessCluster(n_workers=2, worker_class="distributed.Worker", worker_kwargs={"nthreads": 1})
client = Client(cluster)
client.wait_for_workers(2)
there = scan.on(client)
model = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with get_task_stream(client) as undisturbed:
    model.fit(there, scan.y)
print("the same bits:", bool((model.coef_ == alone.coef_).all()))

# %%
# A worker dies
# -------------
# When a hundred tasks are done, one of the two is killed, as a machine that loses its power would be. Its
# blocks are read by the other.
import os
import signal
import threading
import time

numbers = client.run(os.getpid)
began = time.time()


def kill_one():
    while len(client.get_task_stream(start=began)) < 100:
        time.sleep(0.02)
    os.kill(numbers[min(numbers)], signal.SIGKILL)


killer = threading.Thread(target=kill_one)
killer.start()
model = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with get_task_stream(client) as disturbed:
    model.fit(there, scan.y)
killer.join()
client.close()
cluster.close()
print("the same bits:", bool((model.coef_ == alone.coef_).all()))

# %%
# Who worked when
# ---------------
# A stroke is a task: a function of a block, or a sum of what others found. Below, the line of the first
# worker ends.
import matplotlib.pyplot as plt

figure, panels = plt.subplots(2, 1, figsize=(8, 3.2), layout="constrained")
for ax, stream, name in zip(panels, (undisturbed, disturbed), ("both go on", "one is killed"), strict=True):
    tasks = [(task["worker"], step) for task in stream.data for step in task["startstops"]]
    first = min(step["start"] for _, step in tasks)
    for place, worker in enumerate(sorted(numbers)):
        steps = [step for who, step in tasks if who == worker and step["action"] == "compute"]
        strokes = [(step["start"] - first, step["stop"] - step["start"] + 0.01) for step in steps]
        ax.broken_barh(strokes, (place - 0.35, 0.7), color=f"C{place}")
    ax.set(yticks=range(2), yticklabels=["first", "second"], ylim=(1.6, -0.6), xlabel="seconds")
    ax.set_title(name, loc="left")
figure.savefig("workers.png")

# %%
# :doc:`/scaling` says what fails how, where workers come from, and what it costs: on a machine with two
# cores the cluster is slower than a plain fit of so few instances.
