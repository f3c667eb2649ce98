"""
Count rules: how many faulty parts make a batch fail?
=====================================================

A batch of parts fails if three or more of them are faulty. It is not recorded which parts are faulty.
`diagnose_rule` reports which rule the bags support, and `SoftORLogisticRegression` learns it.
"""

from bagwise import make_count_bags

data = make_count_bags(300, size=(4, 10), labeler=3, coef=[3.0, -2.0], random_state=0)

# %%
# Compare rules
# -------------
# The result is a sentence and a figure. The figure compares four rules, and shows how many batches are
# expected to have n faulty parts.
from sklearn.model_selection import cross_val_score

import bagwise as bw

diagnosis = bw.diagnose_rule(data.bags, data.y, random_state=0)
print(diagnosis)
rules = diagnosis.plot()
rules.figure_.savefig("rules.png")

# %%
# Effect of the rule on predictions
# ---------------------------------
# The same linear model is fitted with three rules. With a wrong rule, its predictions are much worse.
for rule in ("or", bw.Threshold(), "count_logistic"):
    model = bw.MILogisticRegression(rule, alpha=0.1, n_init=1)
    print(rule, cross_val_score(model, data.bags, data.y, cv=3, scoring="roc_auc").mean().round(3))

# %%
# Learn the rule
# --------------
# The figure shows the probability that a batch with n faulty parts fails, with intervals. The intervals are
# wide where data are scarce.
model = bw.SoftORLogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
rule = model.labeler_.plot()
rule.figure_.savefig("rule.png")
