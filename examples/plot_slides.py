"""
Slides: where is the tumour?
============================

A pathologist has a folder of slides, an ``.h5`` file each with the features and coordinates of its patches,
as CLAM and TRIDENT write them, and a table that says which slides show a tumour. Two slides are of one
patient, so they are held out together. The model is saved; somewhere else it is loaded, and draws where in a
new slide it sees the tumour.
"""

from example_data import write_slides

folder, labels = write_slides("slides")
new, _ = write_slides("new_slides", 4, seed=1)

# %%
# Read the slides, judge a model by patients, fit it and save it.
from sklearn.model_selection import GroupKFold, cross_val_score

import bagwise as bw

bags, y = bw.load_bags(folder, labels=labels, positive="tumor")
model = bw.MILogisticRegression(alpha=3.0, l1_ratio=0.0, n_init=1, random_state=0)
folds = {"groups": bags.bag_columns["patient"], "cv": GroupKFold(3)}
print("AUC of held-out patients:", cross_val_score(model, bags, y, scoring="roc_auc", **folds).round(3))
bw.save(model.fit(bags, y), "tumor.bagwise")

# %%
# In another place: load it, predict new slides, and look at one of them.
model = bw.load("tumor.bagwise")
slides, _ = bw.load_bags(new, like=model)
print(bw.predict_frame(model, slides))
bw.plot_heatmap(model, slides, slides.ids[3]).figure_.savefig("heatmap.png")
