"""
Counts: how many faulty parts does it take?
===========================================

A batch of parts fails if three or more of them are faulty; which parts are faulty is not recorded.
`diagnose_rule` says which rule the bags support, and `SoftORLogisticRegression` learns it.
"""

from bagwise import make_count_bags

data = make_count_bags(300, size=(4, 10), labeler=3, coef=[3.0, -2.0], random_state=0)

# %%
# What the data support
# ---------------------
# In a sentence and a picture: the four rules beside each other, and how many bags are expected to have n
# faulty parts.
from sklearn.model_selection import cross_val_score

import bagwise as bw

found = bw.diagnose_rule(data.bags, data.y, random_state=0)
print(found)
rules = found.plot()
rules.figure_.savefig("rules.png")

# %%
# What the right rule is worth
# ----------------------------
# The same linear model under three rules. With a wrong one it predicts bags much worse than it could.
for rule in ("or", bw.Threshold(), "count_logistic"):
    model = bw.MILogisticRegression(rule, alpha=0.1, n_init=1)
    print(rule, cross_val_score(model, data.bags, data.y, cv=3, scoring="roc_auc").mean().round(3))

# %%
# The rule, learned
# -----------------
# The probability that a batch fails with n faulty parts, each with an interval: wide where there is little
# to learn from.
model = bw.SoftORLogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
rule = model.labeler_.plot()
rule.figure_.savefig("rule.png")
