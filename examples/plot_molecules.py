"""
Molecules: which shape makes them active?
=========================================

A chemist has a table with a row for every shape (conformer) of every molecule, some cells empty, and a
column that says which molecules are active. Which model is best is found by cross-validation, with batches
held out together; then the shapes behind a molecule's activity are listed, and the features behind these.
"""

from example_data import write_molecules

path = write_molecules("molecules.csv")

# %%
# From a table to a choice
# ------------------------
# ``load_bags`` finds out by itself that ``batch`` is constant in every molecule and so is no feature. What
# is missing is imputed inside of each model, from training bags alone. Three families are held against each
# other on the same folds; :doc:`plot_comparison` does this with intervals and p values.
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
# One molecule, explained
# -----------------------
# *Probability* speaks of a shape whatever molecule it is in; *without* is what the molecule's probability
# would be if it did not have this shape, which needs no belief in labels of shapes.
best = bw.make_bag_pipeline(bw.OnInstances(SimpleImputer()), bw.MILogisticRegressionCV(cv=3)).fit(bags, y)
found = bw.explain_bag(best, bags, "0007")
print(found)
explained = found.plot()
explained.figure_.savefig("molecule.png")

# %%
# All molecules
# -------------
# The leading shape of every molecule, for the next experiment; ``to_csv`` would write the frame to a file.
# *Posterior* takes the molecule's own label into account: it is zero in molecules that are not active.
bw.key_instances(best, bags, y, k=1).head()
