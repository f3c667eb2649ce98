"""CCE: an ensemble over numbers of clusters, made of scikit-learn's vote and pipelines."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import VotingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagwise import ClusterEmbedding, load_digit_bags, make_bag_pipeline

SIZES = (5, 10, 20, 30, 40)


@pytest.mark.parametrize("counts", [False, True])
def test_cce_is_the_majority_of_svms_on_clusters(counts):
    data = load_digit_bags(150, random_state=0)
    train, test, y = data.bags[:100], data.bags[100:], data.y[:100]
    members = [
        (f"{k} clusters", make_bag_pipeline(ClusterEmbedding(k, counts=counts, random_state=0), SVC(C=10.0)))
        for k in SIZES
    ]
    cce = VotingClassifier(members).fit(train, y)
    votes = []
    scaler = StandardScaler().fit(train.instances)
    for k in SIZES:
        clusters = KMeans(k, n_init=3, random_state=0).fit(scaler.transform(train.instances))
        vectors = []
        for bags in (train, test):
            n_in = [np.bincount(clusters.predict(scaler.transform(bag)), minlength=k) for bag in bags]
            vectors.append(np.array(n_in if counts else np.array(n_in) > 0, dtype=float))
        votes.append(SVC(C=10.0).fit(vectors[0], y).predict(vectors[1]))
    majority = np.mean(votes, axis=0) > 0.5
    assert 0 < np.ptp(votes, axis=0).sum() < 50  # the members disagree on some bags
    np.testing.assert_array_equal(cce.predict(test) == 1, majority)
    single = [(cce.named_estimators_[name].predict(test) == data.y[100:]).mean() for name, _ in members]
    assert cce.score(test, data.y[100:]) >= np.median(single)
