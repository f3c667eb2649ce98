"""
Slides: where is the tumour?
============================

A pathologist has a folder of slides, an ``.h5`` file each with the features and coordinates of its patches,
as CLAM and TRIDENT write them, and a table that says which slides show a tumour. Nobody has drawn where. Two
slides are of one patient, so they are held out together. The model is saved; somewhere else it is loaded, and
draws where in a new slide it sees the tumour.
"""

from example_data import write_slides

folder, labels = write_slides("slides")
new, _ = write_slides("new_slides", 4, seed=1)

# %%
# Read, judge, save
# -----------------
# Slides are bags and patches instances; other columns of the table, here the patient, come along. A tumour
# is in a slide if it is in *some* patch, which is the or rule, the default. The ridge (``l1_ratio=0``)
# suits features that a network made: many of them say a little.
from sklearn.model_selection import GroupKFold, cross_val_score

import bagwise as bw

bags, y = bw.load_bags(folder, labels=labels, positive="tumor")
model = bw.MILogisticRegression(alpha=3.0, l1_ratio=0.0, n_init=1, random_state=0)
folds = {"groups": bags.bag_columns["patient"], "cv": GroupKFold(3)}
print(bags)
print("AUC of held-out patients:", cross_val_score(model, bags, y, scoring="roc_auc", **folds).round(3))
bw.save(model.fit(bags, y), "tumor.bagwise")

# %%
# In another place
# ----------------
# The file can do no harm to whoever loads it. ``like=model`` reads new slides as those were read that the
# model knows.
model = bw.load("tumor.bagwise")
slides, _ = bw.load_bags(new, like=model)
bw.predict_frame(model, slides)

# %%
# Where it sees the tumour
# ------------------------
# The last slide, patch by patch: the tumour is a round place on the right. Not every patch in it stands
# out, because under the or rule one is enough to explain the slide; what to believe of such a picture says
# :doc:`/explanation/instance_probabilities`.
heat = bw.plot_heatmap(model, slides, slides.ids[3])
heat.figure_.savefig("heatmap.png")
