"""
A comparison, and a page to send
================================

Before anybody spends a month on a model: which kind of model suits these molecules, by how much, and is the
difference more than luck? Six models of different kinds learn from the same folds, batches are kept
together, and what comes out is a table, a picture, a sentence on what makes a molecule active, and a page
for the others.
"""

from example_data import write_molecules

path = write_molecules("molecules.csv", 300, missing=0.0)

# %%
# Models that assume different things
# -----------------------------------
# Without ``models`` one or two of every family are taken, with their settings chosen inside the training
# bags; that takes minutes. Here are six by name, of which one believes that a single shape decides, one
# that their share does, and two look at the molecule as a whole.
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
# How to read it
# --------------
# The bar is an interval of 95 % for the score of these fitted models on many more molecules; small marks are
# splits. Two bars that overlap do not mean that two models are equally good, because both were judged by the
# same molecules: that is what the column p is for.
bars = comparison.plot()
bars.figure_.savefig("comparison.png")

# %%
# Differences to the best, split by split, by a test that knows that training sets overlap.
for found in comparison.differences()[:4]:
    print(f"{found.name:<25} {found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f}), p = {found.p:.3f}")

# %%
# What makes a molecule active?
# -----------------------------
# If models that look at one instance predict better than those that look at a share or at everything, that
# says something of molecules and not only of models.
from textwrap import fill

for sentence in (comparison.assumption_.sentence, *comparison.assumption_.evidence):
    print(fill(sentence, 90), end="\n\n")

# %%
# A page
# ------
# One file that needs nothing else, also without a network: scores, what could be wrong with the data,
# calibration, and molecules opened to their shapes.
page = comparison.report("comparison.html", bags, y)

# %%
# .. raw:: html
#
#     <iframe class="page-of-its-own" src="comparison.html" title="The page of the comparison"></iframe>
#     <p><a href="comparison.html">The page by itself</a></p>
