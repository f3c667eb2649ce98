"""
Defects: learn from positive and unlabeled bags
===============================================

Customers report devices that fail. Each device is a bag of measurements, one per part. Devices without a
complaint are not all intact: some fail unnoticed. The data therefore contain positive bags and *unlabeled*
bags, but no negative bags. The class prior, the share of defective devices among the unlabeled ones, is
estimated with an interval. All scores except recall depend on the prior, so the report shows scores for the
estimate and for both ends of its interval. In this simulation, the true scores are available; they are within
this range.
"""

from bagwise import make_mixture_bags, make_positive_unlabeled

full = make_mixture_bags(1500, separation=5.0, random_state=0)
sample = {"n_positive": 120, "n_unlabeled": 300, "class_prior": 0.3, "random_state": 0}
data = make_positive_unlabeled(full.bags, full.y, **sample)

# %%
# Fit on one half, evaluate on the other
# --------------------------------------
# The model is fitted to 60 reported and 150 unreported devices; the others are held out. A model that treats
# unreported devices as intact would learn to overlook defects. The report contains the scores that can be
# estimated without negative bags. Some intact devices look defective, so the data only provide an upper
# bound on the share of hidden defects. The fit issues a warning about this, and the report repeats it.
import warnings

import bagwise as bw

warnings.simplefilter("ignore", bw.ClassPriorWarning)
learn, judge = slice(None, None, 2), slice(1, None, 2)
model = bw.PUSetKernelClassifierCV(cv=3, random_state=0).fit(data.bags[learn], data.y[learn])
print(bw.pu_report(model, data.bags[judge], data.y[judge]))

# %%
# In this simulation, the truth is available: 30 % of the unlabeled devices are defective.
is_hidden = data.y[judge] == 0
hidden, truth = data.bags[judge][is_hidden], data.y_true[judge][is_hidden]
print(f"truth: prior 0.3, accuracy on unlabeled bags {(model.predict(hidden) == truth).mean():.3f}")

# %%
# Sensitivity to the prior
# ------------------------
# The same model is fitted with different assumed priors. For priors of 0.3 or more, the model detects nearly
# all reported devices. The share of unlabeled devices that it classifies as defective follows the assumed
# prior: this share is a result of the assumption, not of the data.
plain = bw.PUSetKernelClassifier(degree=2)
sensitivity = bw.plot_prior_sensitivity(plain, data.bags, data.y, cv=3)
sensitivity.figure_.savefig("prior.png")

# %%
# :doc:`/pu` describes the assumptions, and why estimates of the prior are upper bounds.
