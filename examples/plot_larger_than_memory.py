"""
Larger than memory: bags that stay in their files
=================================================

A Parquet file with a row per instance, a twentieth of two million rows, is scanned: ids, sizes and labels are
known, instances are read in blocks whenever a pass needs them. A model is cross-validated and fitted from the
file, and its predictions are written as they are made.
"""

from example_data import write_large

path = write_large("large.parquet")

# %%
# The same code as for bags in memory, and the same answers.
import resource

from sklearn.model_selection import KFold, cross_val_score

import bagwise as bw

scan = bw.scan_bags(path)
print(scan)
model = bw.MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
print("AUC:", cross_val_score(model, scan, scan.y, cv=KFold(3), scoring="roc_auc").round(3))
model.fit(scan, scan.y)
bw.predict_frame(model, scan, path="predictions.csv")
print(f"passes {model.n_passes_}, peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
