"""
Positive and unlabeled: no negative bag is known
================================================

Some bags are known to be positive, of the others nothing is known. How many of these are positive, the class
prior, is estimated with an interval. Every score but recall depends on it, so the report has scores at the
prior and at both ends of its interval; what the model is really worth, which is known here, lies among them.
"""

from bagwise import make_mixture_bags, make_positive_unlabeled

full = make_mixture_bags(1500, separation=5.0, random_state=0)
sample = {"n_positive": 120, "n_unlabeled": 300, "class_prior": 0.3, "random_state": 0}
data = make_positive_unlabeled(full.bags, full.y, **sample)

# %%
# Learn from a half, judge by the other.
import bagwise as bw

learn, judge = slice(None, None, 2), slice(1, None, 2)
model = bw.PUSetKernelClassifierCV(cv=3, random_state=0).fit(data.bags[learn], data.y[learn])
print(bw.pu_report(model, data.bags[judge], data.y[judge]))
is_hidden = data.y[judge] == 0
hidden, truth = data.bags[judge][is_hidden], data.y_true[judge][is_hidden]
print(f"truth: prior 0.3, accuracy of unlabeled bags {(model.predict(hidden) == truth).mean():.3f}")
plain = bw.PUSetKernelClassifier(degree=2)
bw.plot_prior_sensitivity(plain, data.bags, data.y, cv=3).figure_.savefig("prior.png")
