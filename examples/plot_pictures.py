"""
Pictures for a paper
====================

Every plot takes ``ax=``, so that several make one figure, and is light or dark as matplotlib's style says.
"""

import matplotlib.pyplot as plt

import bagwise as bw

data = bw.make_noisy_or_bags(
    200, size=(3, 8), coef=[2.0, -2.0, 1.0, 0.0, 0.0], intercept=-3.0, random_state=0
)
names = ["angle", "charge", "area", "weight", "noise"]
bags = bw.Bags(data.bags.instances, data.bags.offsets, feature_names=names)
model = bw.MILogisticRegression(alpha=0.0, n_init=1, random_state=0).fit(bags, data.y)

# %%
# Several in one figure
# ---------------------
# Four panels: the path of penalties, odds ratios, an explanation, and the rule.
figure, panels = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
bw.plot_path(bw.milr_path(bags, data.y), ax=panels[0, 0])
bw.plot_odds_ratios(model.inference(bags, data.y), ax=panels[0, 1])
bw.explain_bag(model, bags, 7).plot(ax=panels[1, 0])
counts = bw.SoftORLogisticRegression(n_init=1, random_state=0).fit(bags, data.y)
counts.labeler_.plot(ax=panels[1, 1])
figure.savefig("panels.pdf")

# %%
# On a dark ground
# ----------------
# Bags of images, for a slide. Pictures of bagwise open no window and leave no state in pyplot: what is drawn
# is what comes back.
digits = bw.load_digit_bags(40, random_state=0)
reader = bw.MILogisticRegression(n_init=1, random_state=0).fit(digits.bags, digits.y)
shown = digits.bags[:4]
with plt.style.context("dark_background"):
    probability = reader.predict_proba_instances(shown)[:, 1]
    dark = bw.plot_bags(shown, probability, image_shape=(8, 8), y=digits.y[:4])
dark.figure_.savefig("digits.png")
