"""
Data larger than memory
=======================

A Parquet file contains one row per instance, here only two hundred thousand rows to keep this tutorial fast.
A scan loads the ids, sizes and labels of the bags. Every pass over the data then reads the instances in
blocks. This tutorial fits and evaluates a model from the file, and writes predictions block by block.
"""

from example_data import watched_memory, write_large

path = write_large("large.parquet", 20_000)

# %%
# Use a scan instead of bags
# --------------------------
# The code is the same as for bags in memory. Indexing works as for `Bags`, and does not read instances.
from sklearn.metrics import roc_auc_score

import bagwise as bw

scan = bw.scan_bags(path)
learn, judge = scan[:15_000], scan[15_000:]
model = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with watched_memory() as from_file:
    model.fit(learn, learn.y)
print(scan)
print(f"passes over the file: {model.n_passes_}")
print("AUC on held-out bags:", round(roc_auc_score(judge.y, model.predict_proba(judge)[:, 1]), 3))

# %%
# Compare with a fit in memory
# ----------------------------
# The same fit in memory returns identical coefficients, because sums over blocks are always added in the same
# order.
twin = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with watched_memory() as from_memory:
    bags, y = bw.load_bags(path)
    twin.fit(bags[:15_000], y[:15_000])
print("identical coefficients:", bool((model.coef_ == twin.coef_).all()))

# %%
# The figure shows the time and memory of both fits. The fit from the file takes longer, because every pass
# reads the file again. It holds only a few blocks of instances in memory, regardless of the file size.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for (seconds, megabytes), name in ((from_file, "from the file"), (from_memory, "in memory")):
    ax.plot(seconds, megabytes, label=name)
ax.set(xlabel="seconds", ylabel="additional memory (MB)")
ax.legend(frameon=False)
figure.savefig("memory.png")

# %%
# Write predictions to a file
# ---------------------------
# With ``path``, predictions are written block by block, so that they are never all in memory.
bw.predict_frame(model, scan, path="predictions.csv")
with open("predictions.csv") as file:
    print(file.read(150))

# %%
# See :doc:`/data` for more about files, and :doc:`plot_cluster` for passes on several computers.
