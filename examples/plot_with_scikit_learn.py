"""
Use scikit-learn's tools
========================

scikit-learn's tools accept `Bags` in place of a matrix: grid searches with groups, calibration, voting and
learning curves. A tuned model still predicts instances.
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
# Grid search with instance predictions
# -------------------------------------
# This is a grid search over a pipeline, with grouped folds. The best model still predicts which images make a
# bag positive.
pipeline = bw.make_bag_pipeline(
    bw.OnInstances(PCA()), bw.MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0)
)
grid = {"oninstances__transformer__n_components": [10, 20], "milogisticregression__alpha": [1.0, 3.0]}
search = GridSearchCV(pipeline, grid, cv=GroupKFold(3)).fit(train, y_train, groups=g_train)
print("search:", search.best_params_, round(search.score(test, y_test), 3))
bw.key_instances(search, test, k=1).head(3)

# %%
# Calibration and voting
# ----------------------
# Calibrate the probabilities of an SVM, and average two models.
calibrated = CalibratedClassifierCV(bw.MISVC(), cv=3).fit(train, y_train)
print("calibrated:", calibrated.predict_proba(test)[:2].round(2).tolist())
votes = VotingClassifier([("search", search.best_estimator_), ("svm", calibrated)], voting="soft")
print("voting:", round(votes.fit(train, y_train).score(test, y_test), 3))

# %%
# Learning curve
# --------------
# scikit-learn's learning curve shows whether more bags would improve the model.
LearningCurveDisplay.from_estimator(
    search.best_estimator_, train, y_train, cv=3, train_sizes=[0.3, 0.5, 0.75, 1.0], random_state=0
)
