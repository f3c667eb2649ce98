"""
Slides: where is the tumour?
============================

A pathologist has a folder of slides: one ``.h5`` file per slide with the features and coordinates of its
patches, as CLAM and TRIDENT write them. A table lists which slides show a tumour, but the tumours are not
annotated. Every patient has two slides, which are held out together. This tutorial fits and saves a model.
Then it loads the model and draws the predicted tumour region of a new slide.
"""

from example_data import write_slides

folder, labels = write_slides("slides")
new, _ = write_slides("new_slides", 4, seed=1)

# %%
# Load, evaluate, save
# --------------------
# Slides are bags, and patches are instances. Other columns of the table, here the patient, become bag
# columns. A slide shows a tumour if *at least one* patch does; this is the default rule, "or". The ridge
# penalty (``l1_ratio=0``) suits features from a neural network, because many of them are weakly informative.
from sklearn.model_selection import GroupKFold, cross_val_score

import bagwise as bw

bags, y = bw.load_bags(folder, labels=labels, positive="tumor")
model = bw.MILogisticRegression(alpha=3.0, l1_ratio=0.0, n_init=1, random_state=0)
folds = {"groups": bags.bag_columns["patient"], "cv": GroupKFold(3)}
print(bags)
print("AUC on held-out patients:", cross_val_score(model, bags, y, scoring="roc_auc", **folds).round(3))
bw.save(model.fit(bags, y), "tumor.bagwise")

# %%
# Load the model and predict
# --------------------------
# The model file is safe to load: loading never executes code. ``like=model`` reads new slides in the same way
# as the training slides.
model = bw.load("tumor.bagwise")
slides, _ = bw.load_bags(new, like=model)
bw.predict_frame(model, slides)

# %%
# Draw a heatmap
# --------------
# The figure shows the last slide, patch by patch. The tumour is a round region on the right. Not all of its
# patches have a high probability, because with the "or" rule one patch is enough to explain the slide. See
# :doc:`/explanation/instance_probabilities` for the interpretation of instance probabilities.
heat = bw.plot_heatmap(model, slides, slides.ids[3])
heat.figure_.savefig("heatmap.png")
