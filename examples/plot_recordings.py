"""
Recordings: which species sings when, and how often?
====================================================

A biologist has ten-minute recordings. A program split them into syllables and measured the pitch, length,
sweep and buzz of each syllable. A sheet records which species were heard in each recording (but not when),
and whether a wren holds a territory there. This tutorial learns the species of every syllable from the sheet.
Then it learns how many songs of a wren indicate a territory, because one song is not enough.
"""

from example_data import write_recordings

path, sheet = write_recordings("recordings.parquet")

# %%
# Several species per recording
# -----------------------------
# A recording is a bag of syllables. It has the label of a species if at least one syllable belongs to this
# species; syllables can also be noise. `MIMLLogisticRegression` fits all species in one model, so that they
# compete for syllables.
import pandas as pd

import bagwise as bw

bags, _ = bw.load_bags(path)
heard = pd.read_csv(sheet, index_col="recording").loc[list(bags.ids)]
species = ["wren", "robin", "owl"]
model = bw.MIMLLogisticRegression(alpha=0.1, n_init=2, random_state=0).fit(bags[:120], heard[species][:120])
new = bags[120:]
right = (model.predict(new) == heard[species][120:].to_numpy()).mean(axis=0)
pd.Series(right, species, name="accuracy, 40 new recordings").to_frame()

# %%
# Species of each syllable
# ------------------------
# The model was fitted without labels of syllables. In this simulation, the true species are available. Rows
# are the true species in new recordings, and columns are the predicted species. Robins are similar to noise
# in these features, and the model misses a few of them.
import numpy as np

proba = model.predict_proba_instances(new)
predicted = np.where(proba.max(axis=1) >= 0.5, np.array(species)[proba.argmax(axis=1)], "noise")
truth = new.instance_columns["truth"]
pd.crosstab(pd.Series(truth, name="truth"), pd.Series(predicted, name="predicted"))

# %%
# The figure shows one recording over time. The size of a dot is the predicted probability; a ring marks the
# true species.
import matplotlib.pyplot as plt

recording = int(np.argmax(heard[species][120:].sum(axis=1) == 3))
rows = slice(*new.offsets[recording : recording + 2])
time = new.instance_columns["time"][rows] / 60
figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
for row, name in enumerate(species):
    ax.scatter(time, np.full(len(time), row), s=160 * proba[rows, row], color=f"C{row}")
    sings = time[truth[rows] == name]
    ax.scatter(sings, np.full(len(sings), row), s=230, facecolors="none", edgecolors="0.4")
noise = time[truth[rows] == "noise"]
ax.scatter(noise, np.full(len(noise), 3), s=20, color="0.6", marker="x")
ax.set(yticks=range(4), yticklabels=[*species, "noise"], ylim=(3.5, -0.5), xlabel="minutes")
ax.set_title(f"{new.ids[recording]}: predictions (dots) and truth (rings, crosses)", loc="left")
figure.savefig("song.png")

# %%
# How many songs indicate a territory?
# ------------------------------------
# Another column of the sheet records whether a wren holds a territory. With the "or" rule, a single song
# would be enough. `diagnose_rule` compares it with count rules, and reports which rules the recordings
# support.
territory = (heard["territory"] == "yes").to_numpy()
diagnosis = bw.diagnose_rule(bags, territory, cv=None, random_state=0)
print(diagnosis)

# %%
# `SoftORLogisticRegression` learns the rule with its uncertainty, and estimates the number of songs in each
# recording. The labels contain no information about individual songs.
counts = bw.SoftORLogisticRegression(n_init=1, random_state=0).fit(bags, territory)
rule = counts.labeler_.plot()
rule.figure_.savefig("territory.png")

# %%
# The figure shows the expected and true number of songs; each dot is a recording. The dots are shifted
# randomly so that they do not overlap.
expected = counts.predict_count(bags) @ np.arange(bags.sizes.max() + 1)
sung = np.array(
    [(kinds == "wren").sum() for kinds in np.split(bags.instance_columns["truth"], bags.offsets[1:-1])]
)
figure, ax = plt.subplots(figsize=(4.2, 3.8), layout="constrained")
moved = sung + np.random.default_rng(0).uniform(-0.2, 0.2, len(sung))
ax.scatter(moved, expected, s=14, c=np.where(territory, "C1", "C0"))
ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
ax.set(xlabel="true number of wren songs", ylabel="expected number of songs")
ax.set_title("orange: territory", loc="left")
plt.show()
