"""
Molecules: which shape makes them active?
=========================================

A chemist has a table with a row for every shape (conformer) of every molecule, some cells empty, and a
column that says which molecules are active. Which model is best is found by cross-validation, with batches
held out together; then the shapes behind a molecule's activity are listed, and the features behind these.
"""

from example_data import write_molecules

write_molecules("molecules.csv")

# %%
# Read the table and compare models; what is missing is imputed inside of each.
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, cross_val_score

import bagwise as bw

bags, y = bw.load_bags("molecules.csv", bag="molecule", label="activity", positive="active")
folds = {"groups": bags.bag_columns["batch"], "cv": GroupKFold(3)}
for model in (bw.MILogisticRegressionCV(cv=3, n_init=1), bw.MIMixture("gaussian_diag", n_init=2), bw.MISVC()):
    pipeline = bw.make_bag_pipeline(bw.OnInstances(SimpleImputer()), model)
    areas = cross_val_score(pipeline, bags, y, scoring="roc_auc", **folds)
    print(f"{type(model).__name__:<23} AUC {areas.mean():.3f}, from {areas.min():.3f} to {areas.max():.3f}")

# %%
# The best of them, explained: a molecule, and the leading shapes of all as a file.
best = bw.make_bag_pipeline(bw.OnInstances(SimpleImputer()), bw.MILogisticRegressionCV(cv=3)).fit(bags, y)
found = bw.explain_bag(best, bags, "0007", y=y)
print(found)
found.plot().figure_.savefig("molecule.png")
bw.key_instances(best, bags, y, k=1).to_csv("leading_shapes.csv")
