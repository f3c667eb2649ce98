import numpy as np
import pytest
from scipy.special import expit

from bagwise.datasets import make_count_bags, make_noisy_or_bags

# Statistical tests have fixed seeds and allow 4 standard errors: a correct sampler with another
# stream of random numbers would fail one of them with probability 6e-5.


def test_the_defaults_are_the_setting_of_table_one():
    default = make_noisy_or_bags(random_state=0)
    spelt_out = make_noisy_or_bags(100, size=3, coef=(1, -1, 0), intercept=-2, random_state=0)
    assert len(default.bags) == 100 and set(default.bags.sizes) == {3}
    assert default.coef.tolist() == [1, -1, 0] and default.intercept == -2
    assert default.bags.instances.tobytes() == spelt_out.bags.instances.tobytes()
    assert default.y.tobytes() == spelt_out.y.tobytes()


def test_a_bag_is_positive_exactly_if_any_instance_is():
    data = make_noisy_or_bags(200, size=(1, 6), random_state=0)
    by_hand = [data.instance_y[data.bags.bag_index == i].max() for i in range(200)]
    assert data.y.tolist() == by_hand
    assert set(data.y) == {0, 1}


def test_the_log_odds_are_linear_in_the_features():
    data = make_noisy_or_bags(50, coef=[2.0, 0.5], intercept=-1, random_state=0)
    by_hand = [-1 + 2.0 * x[0] + 0.5 * x[1] for x in data.bags.instances]
    # Sums of three terms: only the order of summation can differ.
    np.testing.assert_allclose(data.log_odds, by_hand, rtol=1e-13, atol=1e-13)


def test_the_share_of_positive_bags_is_that_of_the_noisy_or():
    n_bags, m = 20_000, 3
    data = make_noisy_or_bags(n_bags, size=m, random_state=1)
    # Instances are independent, so P(-) = (1 - E sigma)^m. The log-odds have the distribution N(-2, 2).
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    rate = weights @ expit(-2 + np.sqrt(2) * nodes) / weights.sum()
    expected = 1 - (1 - rate) ** m
    assert abs(data.y.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / n_bags)


def test_the_instance_labels_are_calibrated_against_the_log_odds():
    data = make_noisy_or_bags(5000, size=4, intercept=-1.0, random_state=2)
    p = expit(data.log_odds)
    for low in np.arange(0, 1, 0.1):
        cell = (p >= low) & (p < low + 0.1)
        assert cell.sum() >= 50
        error = data.instance_y[cell].sum() - p[cell].sum()
        assert abs(error) < 4 * np.sqrt((p[cell] * (1 - p[cell])).sum())


def test_the_features_are_independent_standard_normal():
    X = make_noisy_or_bags(5000, size=4, n_features=4, random_state=3).bags.instances
    n = len(X)
    assert (np.abs(X.mean(axis=0)) < 4 / np.sqrt(n)).all()
    # Variance of an entry of the sample covariance: 2/n on the diagonal, 1/n off it.
    assert (np.abs(np.cov(X.T) - np.eye(4)) < 4 * np.sqrt((1 + np.eye(4)) / n)).all()


def test_informative_features_come_first_with_weights_of_alternating_sign():
    data = make_noisy_or_bags(3, n_features=6, n_informative=3, random_state=0)
    assert data.coef.tolist() == [1, -1, 1, 0, 0, 0]


def test_the_noisy_or_is_the_count_model_with_threshold_one():
    shared = dict(size=(2, 5), intercept=-1.5, random_state=4)
    noisy_or = make_noisy_or_bags(60, **shared)
    count = make_count_bags(60, labeler=1, **shared)
    assert noisy_or.y.tobytes() == count.y.tobytes()
    assert noisy_or.bags.instances.tobytes() == count.bags.instances.tobytes()


def test_counts_are_the_positive_instances_of_each_bag():
    data = make_count_bags(50, random_state=0)
    by_hand = [data.instance_y[data.bags.bag_index == i].sum() for i in range(50)]
    assert data.counts.tolist() == by_hand


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_threshold_labels_by_the_count_and_by_nothing_else(k):
    data = make_count_bags(500, labeler=k, random_state=k)
    np.testing.assert_array_equal(data.y, data.counts >= k)
    np.testing.assert_array_equal(data.label_proba, data.counts >= k)
    assert set(data.y) == {0, 1}


def test_a_table_gives_every_count_its_frequency_of_positive_bags():
    table = np.array([0.05, 0.3, 0.5, 0.9, 1.0])
    data = make_count_bags(20_000, size=4, labeler=table, intercept=0.0, random_state=5)
    np.testing.assert_array_equal(data.label_proba, table[data.counts])
    for n, p in enumerate(table):
        labels = data.y[data.counts == n]
        assert len(labels) >= 50
        assert abs(labels.mean() - p) <= 4 * np.sqrt(p * (1 - p) / len(labels))


def test_a_function_receives_counts_and_sizes():
    data = make_count_bags(100, labeler=lambda n, m: n / m, random_state=0)
    np.testing.assert_array_equal(data.label_proba, data.counts / data.bags.sizes)
    constant = make_count_bags(100, labeler=lambda n, m: 0.5, random_state=0)
    assert constant.label_proba.tolist() == [0.5] * 100


@pytest.mark.parametrize("make", [make_noisy_or_bags, make_count_bags])
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(make):
    first, second, other = (make(40, size=(2, 6), random_state=s) for s in (7, 7, 8))
    for key in ("y", "instance_y", "log_odds", "coef"):
        assert first[key].tobytes() == second[key].tobytes()
    assert first.bags.instances.tobytes() == second.bags.instances.tobytes()
    assert first.bags.offsets.tobytes() == second.bags.offsets.tobytes()
    assert first.bags.instances.tobytes() != other.bags.instances.tobytes()


@pytest.mark.parametrize("make", [make_noisy_or_bags, make_count_bags])
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_bags": -1}, "n_bags is -1; expected an integer >= 1"),
        ({"coef": [[1, 2]]}, r"coef has shape \(1, 2\); expected one weight per feature"),
        ({"coef": []}, r"coef has shape \(0,\); expected one weight per feature"),
        ({"coef": ["a"]}, "coef is not a numeric array; expected one weight per feature"),
        ({"coef": [1, 2], "n_features": 3}, "n_features is 3, but coef has 2 features"),
        ({"intercept": np.inf}, "intercept is inf; expected a finite number"),
        ({"n_informative": 4}, "n_informative is 4; expected an integer from 0 to 3"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(make, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(**{"n_bags": 4, **wrong})


@pytest.mark.parametrize(
    ("labeler", "sentence"),
    [
        (0, "labeler is 0; expected an integer >= 1"),
        (1.5, "labeler is 1.5; expected an integer >= 1"),
        ("or", "labeler is 'or'; expected an integer"),
        ([0, 1], "labeler has 2 entries, but the largest bag has 3 instances; .* 4 in total"),
        ([[0, 1]], r"labeler has shape \(1, 2\); expected one probability for every count"),
        ([0, 0.5, 1, 1.5], r"labeler contains values outside \[0, 1\]"),
        (lambda n, m: n, r"labeler returned values outside \[0, 1\]"),
        (lambda n, m: np.full(n.size, np.nan), r"labeler returned values outside \[0, 1\]"),
        (lambda n, m: [0.5], r"labeler returned an array of shape \(1,\); .* each of the 20 bags"),
    ],
)
def test_a_wrong_labeler_is_refused_with_a_sentence(labeler, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_count_bags(20, size=3, labeler=labeler, intercept=1.0, random_state=0)
