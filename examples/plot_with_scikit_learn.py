"""
With scikit-learn: everything goes on working
=============================================

`Bags` go where a matrix goes: searches with groups, calibration, votes, learning curves. What comes out of a
search still speaks of instances, and features are judged by permuting them between bags.
"""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, LearningCurveDisplay, train_test_split

import bagwise as bw

data = bw.load_digit_bags(160, random_state=0)
groups = np.arange(160) // 4
train, test, y_train, y_test, g_train, _ = train_test_split(data.bags, data.y, groups, random_state=0)

# %%
# A search that speaks of instances
# ---------------------------------
# Over a pipeline, with folds by groups. The best model still says which images made a bag positive.
pipeline = bw.make_bag_pipeline(
    bw.OnInstances(PCA()), bw.MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0)
)
grid = {"oninstances__transformer__n_components": [10, 20], "milogisticregression__alpha": [1.0, 3.0]}
search = GridSearchCV(pipeline, grid, cv=GroupKFold(3)).fit(train, y_train, groups=g_train)
print("search:", search.best_params_, round(search.score(test, y_test), 3))
bw.key_instances(search, test, k=1).head(3)

# %%
# Calibration and votes
# ---------------------
# Probabilities of a machine that has none, and the vote of two models.
calibrated = CalibratedClassifierCV(bw.MISVC(), cv=3).fit(train, y_train)
print("calibrated:", calibrated.predict_proba(test)[:2].round(2).tolist())
votes = VotingClassifier([("search", search.best_estimator_), ("machine", calibrated)], voting="soft")
print("votes:", round(votes.fit(train, y_train).score(test, y_test), 3))

# %%
# What would more bags be worth?
# ------------------------------
# Scikit-learn's own picture of a learning curve.
LearningCurveDisplay.from_estimator(
    search.best_estimator_, train, y_train, cv=3, train_sizes=[0.3, 0.5, 0.75, 1.0], random_state=0
)
