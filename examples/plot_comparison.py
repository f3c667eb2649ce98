"""
Compare models and write a report
=================================

Which type of model predicts these molecules best, by how much, and is the difference significant? This
tutorial compares six different models on the same folds, with batches held out together. The result is a
table, a figure, a statement about what makes a molecule active, and an HTML report to share.
"""

from example_data import write_molecules

path = write_molecules("molecules.csv", 300, missing=0.0)

# %%
# Models with different assumptions
# ---------------------------------
# Without ``models``, `compare` selects one or two models from every family and tunes them on the training
# bags only, which takes minutes. Here, six models are listed by name. Three of them assume that one active
# shape is enough, one assumes that the share of active shapes matters, and two use statistics of the whole
# molecule.
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bagwise as bw

bags, y = bw.load_bags(path, bag="molecule", label="activity", positive="active")
models = {
    "logistic, or rule": bw.MILogisticRegression(alpha=1.0, n_init=1),
    "logistic, mean rule": bw.MILogisticRegression("mean", alpha=1.0, n_init=1),
    "mixture": bw.MIMixture("gaussian_diag", n_init=2),
    "MI-SVM": bw.MISVC(),
    "bag statistics, SVM": make_pipeline(bw.BagStatistics(), StandardScaler(), SVC()),
    "bag statistics, logistic": make_pipeline(
        bw.BagStatistics(), StandardScaler(), LogisticRegression(C=0.1)
    ),
}
comparison = bw.compare(
    bags, y, models, groups=bags.bag_columns["batch"], repeats=2, random_state=0, verbose=False
)
print(comparison)

# %%
# Read the figure
# ---------------
# Each bar is a 95 % interval for the score of the fitted models on new molecules; small marks are
# splits. Overlapping bars do not mean that two models are equally good, because both are evaluated on the
# same molecules. To compare two models, use the column p.
bars = comparison.plot()
bars.figure_.savefig("comparison.png")

# %%
# The table shows differences from the best model, with a paired test over splits that accounts for
# overlapping training sets.
for row in comparison.differences()[:4]:
    print(f"{row.name:<25} {row.mean:+.3f} ({row.low:+.3f} to {row.high:+.3f}), p = {row.p:.3f}")

# %%
# What makes a molecule active?
# -----------------------------
# If models that assume one active shape predict better than the other models, this is also evidence about
# the cause of activity.
from textwrap import fill

for sentence in (comparison.assumption_.sentence, *comparison.assumption_.evidence):
    print(fill(sentence, 90), end="\n\n")

# %%
# Write a report
# --------------
# The report is a single HTML file that also works offline. It contains scores, data checks, calibration, and
# example molecules with their shapes.
page = comparison.report("comparison.html", bags, y)

# %%
# .. raw:: html
#
#     <iframe class="page-of-its-own" src="comparison.html" title="Report of the comparison"></iframe>
#     <p><a href="comparison.html">Open the report</a></p>
