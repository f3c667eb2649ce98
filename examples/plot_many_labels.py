"""
Several classes, several labels, regression
===========================================

Most bag models are binary. For several classes, fit one model per pair of classes; for several labels, one
model per label. For a continuous target, use any scikit-learn regressor on statistics of the instances.
"""

import numpy as np

from bagwise import load_digit_bags

digits = load_digit_bags(150, random_state=0)

# %%
# Several classes
# ---------------
# Is the largest digit of a bag a nine, an eight, or less? Which images support each class?
from bagwise import MILogisticRegression, OneVsOneBagClassifier, key_instances

base = MILogisticRegression(alpha=1.0, n_init=1, random_state=0)
largest = np.maximum.reduceat(digits.bags.instance_columns["digit"], digits.bags.offsets[:-1])
y = np.where(largest == 9, "nine", np.where(largest == 8, "eight", "less"))
pairs = OneVsOneBagClassifier(base, both_ways=True).fit(digits.bags[:100], y[:100])
print("three classes, accuracy on new bags:", round(pairs.score(digits.bags[100:], y[100:]), 2))
key_instances(pairs, digits.bags[100:103], k=1).drop(columns="image")

# %%
# Several labels per bag
# ----------------------
# Does a bag show a nine? Does it show a zero? The column ``label`` contains the label of each row.
import pandas as pd

from bagwise import MultiLabelBagClassifier

shown = pd.DataFrame(
    {
        name: [
            digit in bag for bag in np.split(digits.bags.instance_columns["digit"], digits.bags.offsets[1:-1])
        ]
        for name, digit in {"nine": 9, "zero": 0}.items()
    }
).astype(int)
several = MultiLabelBagClassifier(base).fit(digits.bags[:100], shown[:100])
key_instances(several, digits.bags[100:102], k=1).drop(columns="image")

# %%
# Each label highlights different images in the same bags. For "nine":
from bagwise import plot_bags

shown_bags = digits.bags[100:104]
nines, zeros = several.predict_proba_instances(shown_bags).T
plot_bags(shown_bags, nines, image_shape=(8, 8))

# %%
# For "zero":
plot_bags(shown_bags, zeros, image_shape=(8, 8))

# %%
# Regression
# ----------
# Predict the total ink of a bag from statistics of its images.
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import BagStatistics

ink = np.array([np.asarray(bag).sum() for bag in digits.bags])
regression = make_pipeline(BagStatistics(("mean", "max", "size")), StandardScaler(), RidgeCV())
print("R2 of ink:", cross_val_score(regression, digits.bags, ink, cv=3).round(3))
