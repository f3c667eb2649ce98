"""
Defects: only complaints are known
==================================

Customers report devices that fail, a bag of measurements of its parts each. Devices of which nobody has
complained are not all sound: some fail unnoticed. There are positive bags and *unlabeled* ones, and no
negative bag is known. How many of the unlabeled are defective, the class prior, is estimated with an
interval. Every score but recall depends on it, so the report has scores at the prior and at both ends of its
interval; what the model is really worth, which is known here, lies among them.
"""

from bagwise import make_mixture_bags, make_positive_unlabeled

full = make_mixture_bags(1500, separation=5.0, random_state=0)
sample = {"n_positive": 120, "n_unlabeled": 300, "class_prior": 0.3, "random_state": 0}
data = make_positive_unlabeled(full.bags, full.y, **sample)

# %%
# Learn from a half, judge by the other
# -------------------------------------
# 60 devices that came back and 150 that did not; the others are kept for judging. Taking those that did not
# come back for sound would teach a model to overlook defects. The report says what may be said without a
# single true negative.
import bagwise as bw

learn, judge = slice(None, None, 2), slice(1, None, 2)
model = bw.PUSetKernelClassifierCV(cv=3, random_state=0).fit(data.bags[learn], data.y[learn])
print(bw.pu_report(model, data.bags[judge], data.y[judge]))

# %%
# Here the truth is known: 30 % of the unlabeled devices are defective.
is_hidden = data.y[judge] == 0
hidden, truth = data.bags[judge][is_hidden], data.y_true[judge][is_hidden]
print(f"truth: prior 0.3, accuracy of unlabeled bags {(model.predict(hidden) == truth).mean():.3f}")

# %%
# Does the prior matter?
# ----------------------
# The same model with one assumed prior after another. From 0.3 on nearly all reported devices are found,
# and the share of unlabeled devices that is called defective follows the assumption: it is an answer of the
# prior, not of the data.
plain = bw.PUSetKernelClassifier(degree=2)
sensitivity = bw.plot_prior_sensitivity(plain, data.bags, data.y, cv=3)
sensitivity.figure_.savefig("prior.png")

# %%
# :doc:`/pu` says what is assumed, and why estimates of the prior are estimates from above.
