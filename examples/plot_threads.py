"""
Documents: which words give the topic away?
===========================================

Threads of a forum are bags of posts; a thread is about medicine if at least one of its posts is. Posts become
sparse rows of word weights, and the path of a LASSO shows which words are in the model, and by name.
"""

from example_data import make_threads

posts, threads, y = make_threads()

# %%
# From posts to words
# -------------------
# Rows stay sparse all the way. The LASSO leaves most words at zero; how strong it should be is chosen by
# cross-validation over threads.
from sklearn.feature_extraction.text import TfidfVectorizer

import bagwise as bw

words = TfidfVectorizer(min_df=3)
X = words.fit_transform(posts)
bags = bw.Bags.from_groups(
    X, threads, feature_names=words.get_feature_names_out(), instance_columns={"post": posts}
)
model = bw.MILogisticRegressionCV(cv=3, n_init=1, random_state=0).fit(bags, y)
chosen = sorted(zip(model.coef_[0], bags.feature_names, strict=True), reverse=True)[:5]
print([f"{name} {weight:.2f}" for weight, name in chosen])

# %%
# The penalty falls from left to right, and the dashed line is what was chosen. Whatever the penalty, the ten
# words of medicine are in the model, and the other 52 stay on the line at zero.
path = bw.plot_path(model.path_, alpha=model.alpha_)
path.figure_.savefig("path.png")

# %%
# A thread, post by post
# ----------------------
# Which post made it a thread about medicine, and because of which words.
print(bw.explain_bag(model, bags, "thread 004", n_instances=3, n_leading=1))
bw.plot_sequence(model, bags, "thread 004", text="post")
