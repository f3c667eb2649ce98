"""
Many classes, many labels, numbers
==================================

Models of bags tell two classes apart. Three classes are a matter of pairs, several labels of one model each,
and a number of every bag is predicted from statistics of its instances, by any regressor of scikit-learn.
"""

import numpy as np

from bagwise import load_digit_bags

digits = load_digit_bags(150, random_state=0)

# %%
# Three classes by pairs
# ----------------------
# Is the largest digit of a bag a nine, an eight, or less? What speaks for each?
from bagwise import MILogisticRegression, OneVsOneBagClassifier, key_instances

base = MILogisticRegression(alpha=1.0, n_init=1, random_state=0)
largest = np.maximum.reduceat(digits.bags.instance_columns["digit"], digits.bags.offsets[:-1])
y = np.where(largest == 9, "nine", np.where(largest == 8, "eight", "less"))
pairs = OneVsOneBagClassifier(base, both_ways=True).fit(digits.bags[:100], y[:100])
print("three classes, accuracy on new bags:", round(pairs.score(digits.bags[100:], y[100:]), 2))
key_instances(pairs, digits.bags[100:103], k=1).drop(columns="image")

# %%
# Several labels a bag
# --------------------
# Does it show a nine, and does it show a zero? Rows name the label.
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
# Every label lights other images of the same bags. Nines:
from bagwise import plot_bags

shown_bags = digits.bags[100:104]
nines, zeros = several.predict_proba_instances(shown_bags).T
plot_bags(shown_bags, nines, image_shape=(8, 8))

# %%
# and zeros:
plot_bags(shown_bags, zeros, image_shape=(8, 8))

# %%
# A number
# --------
# How much ink is in a bag, from statistics of its images.
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import BagStatistics

ink = np.array([np.asarray(bag).sum() for bag in digits.bags])
regression = make_pipeline(BagStatistics(("mean", "max", "size")), StandardScaler(), RidgeCV())
print("R2 of ink:", cross_val_score(regression, digits.bags, ink, cv=3).round(3))
