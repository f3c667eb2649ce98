"""
Larger than memory: bags that stay in their files
=================================================

A Parquet file has a row per instance: here two hundred thousand, so that this page is made soon. The file is
scanned: ids, sizes and labels are known, instances are read in blocks whenever a pass needs them. A model is
fitted from the file and judged, and its predictions are written as they are made.
"""

from example_data import watched_memory, write_large

path = write_large("large.parquet", 20_000)

# %%
# A scan in the place of bags
# ---------------------------
# The same code as for bags in memory: what selects bags, selects from a scan, and nothing is read by it.
from sklearn.metrics import roc_auc_score

import bagwise as bw

scan = bw.scan_bags(path)
learn, judge = scan[:15_000], scan[15_000:]
model = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with watched_memory() as from_file:
    model.fit(learn, learn.y)
print(scan)
print(f"passes over the file: {model.n_passes_}")
print("AUC of other bags:", round(roc_auc_score(judge.y, model.predict_proba(judge)[:, 1]), 3))

# %%
# The same answers
# ----------------
# Held against the same fit in memory: coefficients have the same bits, because sums over blocks are added
# by the same tree wherever blocks lie.
twin = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
with watched_memory() as from_memory:
    bags, y = bw.load_bags(path)
    twin.fit(bags[:15_000], y[:15_000])
print("the same bits:", bool((model.coef_ == twin.coef_).all()))

# %%
# What each took. Reading the file again for every pass takes longer; of the instances a few blocks are held,
# whatever the size of the file.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for (seconds, megabytes), name in ((from_file, "from the file"), (from_memory, "in memory")):
    ax.plot(seconds, megabytes, label=name)
ax.set(xlabel="seconds", ylabel="MB more than before")
ax.legend(frameon=False)
figure.savefig("memory.png")

# %%
# Predictions
# -----------
# With a path they are written block by block, and never all in memory.
bw.predict_frame(model, scan, path="predictions.csv")
with open("predictions.csv") as file:
    print(file.read(150))

# %%
# :doc:`/data` has more on files; :doc:`plot_cluster` shares the passes out.
