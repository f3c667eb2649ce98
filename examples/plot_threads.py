"""
Threads of posts: which words give the topic away?
==================================================

Threads of a forum are bags of posts; a thread is about medicine if at least one of its posts is. Posts become
sparse rows of word weights, and the path of a LASSO shows which words come in first, and by name.
"""

from example_data import make_threads

posts, threads, y = make_threads()

# %%
# From posts to bags, a penalty by cross-validation, the words in the model, and a thread explained.
from sklearn.feature_extraction.text import TfidfVectorizer

import bagwise as bw

words = TfidfVectorizer(min_df=3)
X = words.fit_transform(posts)
bags = bw.Bags.from_groups(X, threads, feature_names=words.get_feature_names_out())
model = bw.MILogisticRegressionCV(cv=3, n_init=1, random_state=0).fit(bags, y)
chosen = sorted(zip(model.coef_[0], bags.feature_names, strict=True), reverse=True)[:5]
print([f"{name} {weight:.2f}" for weight, name in chosen])
print(bw.explain_bag(model, bags, "thread 004", n_instances=3, n_leading=1))
bw.plot_path(model.path_, alpha=model.alpha_).figure_.savefig("path.png")
