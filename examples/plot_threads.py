"""
Documents: which words indicate the topic?
==========================================

Forum threads are bags of posts. A thread is about medicine if at least one of its posts is. Posts are
converted to sparse rows of word weights, and a LASSO path shows which words the model selects.
"""

from example_data import make_threads

posts, threads, y = make_threads()

# %%
# Fit a sparse model
# ------------------
# The rows remain sparse in all steps. The LASSO sets the coefficients of most words to zero. Cross-validation
# over threads selects its penalty.
from sklearn.feature_extraction.text import TfidfVectorizer

import bagwise as bw

vectorizer = TfidfVectorizer(min_df=3)
X = vectorizer.fit_transform(posts)
bags = bw.Bags.from_groups(
    X, threads, feature_names=vectorizer.get_feature_names_out(), instance_columns={"post": posts}
)
model = bw.MILogisticRegressionCV(cv=3, n_init=1, random_state=0).fit(bags, y)
chosen = sorted(zip(model.coef_[0], bags.feature_names, strict=True), reverse=True)[:5]
print([f"{name} {weight:.2f}" for weight, name in chosen])

# %%
# The penalty decreases from left to right, and the dashed line marks the selected value. For every
# penalty, the ten words about medicine are in the model, and the coefficients of the other 52 words are zero.
path = bw.plot_path(model.path_, alpha=model.alpha_)
path.figure_.savefig("path.png")

# %%
# Explain a thread
# ----------------
# Which post makes it a thread about medicine, and which words are the reason?
print(bw.explain_bag(model, bags, "thread 004", n_instances=3, n_leading=1))
bw.plot_sequence(model, bags, "thread 004", text="post")
