"""
Molecules: which shape makes them active?
=========================================

A chemist has a table with one row for every shape (conformer) of every molecule. Some cells are empty, and a
column contains the activity of the molecules. Cross-validation selects the best model, with batches held out
together. Then the model explains the activity of a molecule by its shapes and their features.
"""

from example_data import write_molecules

path = write_molecules("molecules.csv")

# %%
# Load a table and select a model
# -------------------------------
# ``load_bags`` detects that ``batch`` is constant in every molecule, and does not use it as a feature. Each
# pipeline imputes missing values from the training bags alone. Three model families are compared on the same
# folds; :doc:`plot_comparison` adds intervals and p values.
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, cross_val_score

import bagwise as bw

bags, y = bw.load_bags(path, bag="molecule", label="activity", positive="active")
folds = {"groups": bags.bag_columns["batch"], "cv": GroupKFold(3)}
for model in (bw.MILogisticRegressionCV(cv=3, n_init=1), bw.MIMixture("gaussian_diag", n_init=2), bw.MISVC()):
    pipeline = bw.make_bag_pipeline(bw.OnInstances(SimpleImputer()), model)
    areas = cross_val_score(pipeline, bags, y, scoring="roc_auc", **folds)
    print(f"{type(model).__name__:<23} AUC {areas.mean():.3f}, from {areas.min():.3f} to {areas.max():.3f}")

# %%
# Explain one molecule
# --------------------
# *probability* is the probability that the shape is active, independent of its molecule. *without* is the
# molecule's probability with this shape removed; it does not use shape labels.
best = bw.make_bag_pipeline(bw.OnInstances(SimpleImputer()), bw.MILogisticRegressionCV(cv=3)).fit(bags, y)
explanation = bw.explain_bag(best, bags, "0007")
print(explanation)
explained = explanation.plot()
explained.figure_.savefig("molecule.png")

# %%
# List the key shape of every molecule
# ------------------------------------
# ``key_instances`` returns the most probable shape of every molecule, for the next experiment, as a data
# frame that ``to_csv`` can write to a file. *posterior* takes the label of the molecule into account: it is
# zero in inactive molecules.
bw.key_instances(best, bags, y, k=1).head()
