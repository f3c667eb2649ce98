"""
Figures for a paper
===================

Every plot function takes ``ax=``, so that you can combine several plots in one figure. The plots follow
matplotlib's style, light or dark.
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
# Several plots in one figure
# ---------------------------
# The four panels show a regularization path, odds ratios, an explanation, and a count rule.
figure, panels = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
bw.plot_path(bw.milr_path(bags, data.y), ax=panels[0, 0])
bw.plot_odds_ratios(model.inference(bags, data.y), ax=panels[0, 1])
bw.explain_bag(model, bags, 7).plot(ax=panels[1, 0])
counts = bw.SoftORLogisticRegression(n_init=1, random_state=0).fit(bags, data.y)
counts.labeler_.plot(ax=panels[1, 1])
figure.savefig("panels.pdf")

# %%
# Dark background
# ---------------
# The figure shows bags of images in colors for a presentation. Plot functions do not open windows or
# leave state in pyplot; they return the figure.
digits = bw.load_digit_bags(40, random_state=0)
reader = bw.MILogisticRegression(n_init=1, random_state=0).fit(digits.bags, digits.y)
shown = digits.bags[:4]
with plt.style.context("dark_background"):
    probability = reader.predict_proba_instances(shown)[:, 1]
    dark = bw.plot_bags(shown, probability, image_shape=(8, 8), y=digits.y[:4])
dark.figure_.savefig("digits.png")
