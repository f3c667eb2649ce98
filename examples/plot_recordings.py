"""
Recordings: who sings when, and how often?
==========================================

A biologist has ten-minute recordings, cut into syllables by a program that measured the pitch, length,
sweep and buzz of each. A sheet says which species were heard in a recording, but not when; and whether a
wren holds a territory there. The species of every syllable is learned from the sheet. Then the territory:
it is not enough that a wren sings, but how many songs does it take?
"""

from example_data import write_recordings

path, sheet = write_recordings("recordings.parquet")

# %%
# Several species a recording
# ---------------------------
# A recording is a bag of syllables, and shows the species that at least one of them has; a syllable may
# also be noise. `MIMLLogisticRegression` learns all species together, so they compete for syllables.
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
# Who sings when
# --------------
# Of syllables no label was ever seen. Here the truth is known, so they can be counted: rows are what a
# syllable of a new recording is, columns what the model takes it for. Robins are near to noise in these
# features, and some are missed.
import numpy as np

said = model.predict_proba_instances(new)
taken_for = np.where(said.max(axis=1) >= 0.5, np.array(species)[said.argmax(axis=1)], "noise")
truth = new.instance_columns["truth"]
pd.crosstab(pd.Series(truth, name="truth"), pd.Series(taken_for, name="model says"))

# %%
# One recording, as a biologist would look at it: a filled dot is as large as the probability, a ring marks
# what it is.
import matplotlib.pyplot as plt

one = int(np.argmax(heard[species][120:].sum(axis=1) == 3))
rows = slice(*new.offsets[one : one + 2])
time = new.instance_columns["time"][rows] / 60
figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
for row, name in enumerate(species):
    ax.scatter(time, np.full(len(time), row), s=160 * said[rows, row], color=f"C{row}")
    sings = time[truth[rows] == name]
    ax.scatter(sings, np.full(len(sings), row), s=230, facecolors="none", edgecolors="0.4")
noise = time[truth[rows] == "noise"]
ax.scatter(noise, np.full(len(noise), 3), s=20, color="0.6", marker="x")
ax.set(yticks=range(4), yticklabels=[*species, "noise"], ylim=(3.5, -0.5), xlabel="minutes")
ax.set_title(f"{new.ids[one]}: dots by the model, rings and crosses are the truth", loc="left")
figure.savefig("song.png")

# %%
# How many songs make a territory?
# --------------------------------
# A second column of the sheet says whether a wren holds a territory. Under the or rule a single song would be
# enough. `diagnose_rule` fits rules of counts beside it, and says which of them the recordings support.
territory = (heard["territory"] == "yes").to_numpy()
found = bw.diagnose_rule(bags, territory, cv=None, random_state=0)
print(found)

# %%
# `SoftORLogisticRegression` learns the rule with its uncertainty, and knows how many songs it expects in
# each recording. Nobody told it what a wren sounds like, nor that there are wrens.
counts = bw.SoftORLogisticRegression(n_init=1, random_state=0).fit(bags, territory)
rule = counts.labeler_.plot()
rule.figure_.savefig("territory.png")

# %%
# The number that is expected beside the number that were sung, one dot a recording, moved a little so that
# none hides another.
expected = counts.predict_count(bags) @ np.arange(bags.sizes.max() + 1)
sung = np.array(
    [(kinds == "wren").sum() for kinds in np.split(bags.instance_columns["truth"], bags.offsets[1:-1])]
)
figure, ax = plt.subplots(figsize=(4.2, 3.8), layout="constrained")
moved = sung + np.random.default_rng(0).uniform(-0.2, 0.2, len(sung))
ax.scatter(moved, expected, s=14, c=np.where(territory, "C1", "C0"))
ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
ax.set(xlabel="songs of wrens, the truth", ylabel="songs expected by the model")
ax.set_title("orange: a territory", loc="left")
plt.show()
