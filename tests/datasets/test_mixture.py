import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal

from bagwise.datasets import make_mixture_bags

# Statistical tests have fixed seeds and allow 4 standard errors: a correct sampler with another
# stream of random numbers would fail one of them with probability 6e-5.


def test_a_bag_is_positive_exactly_if_it_holds_a_positive_instance():
    data = make_mixture_bags(200, size=(1, 6), random_state=0)
    by_hand = [data.instance_y[data.bags.bag_index == i].max() for i in range(200)]
    assert data.y.tolist() == by_hand
    assert set(data.y) == {0, 1}


def test_the_share_of_positive_bags_is_that_of_the_model():
    n_bags, m, pi = 20_000, 5, 0.2
    data = make_mixture_bags(n_bags, size=m, positive_rate=pi, random_state=1)
    expected = 1 - (1 - pi) ** m
    assert abs(data.y.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / n_bags)


def test_the_instances_of_each_class_have_its_mean_and_covariance():
    means = np.array([[5.0, 5.0], [0.0, -1.0]])
    covariances = np.array([[[5.0, 0.0], [0.0, 1.0]], [[2.0, 1.2], [1.2, 3.0]]])
    data = make_mixture_bags(
        4000, size=5, positive_rate=0.5, means=means, covariances=covariances, random_state=2
    )
    for label in (0, 1):
        X = data.bags.instances[data.instance_y == label]
        S = covariances[label]
        assert (np.abs(X.mean(axis=0) - means[label]) < 4 * np.sqrt(np.diag(S) / len(X))).all()
        # The sample covariance of a Gaussian has variance (s_jj s_kk + s_jk^2) / n.
        spread = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / len(X))
        assert (np.abs(np.cov(X.T) - S) < 4 * spread).all()


def test_the_log_odds_are_those_of_bayes_rule():
    S = np.array([[[5.0, 0.3], [0.3, 1.0]], [[2.0, 1.2], [1.2, 3.0]]])
    data = make_mixture_bags(30, positive_rate=0.3, covariances=S, random_state=3)
    X = data.bags.instances
    negative, positive = (multivariate_normal(data.means[k], data.covariances[k]).logpdf(X) for k in (0, 1))
    # Two algorithms for a 2 x 2 problem differ by rounding errors only.
    expected = np.log(0.3 / 0.7) + positive - negative
    np.testing.assert_allclose(data.log_odds, expected, rtol=1e-12, atol=1e-12)


def test_the_instance_labels_are_calibrated_against_the_log_odds():
    data = make_mixture_bags(5000, size=4, positive_rate=0.4, separation=2.0, random_state=4)
    p = expit(data.log_odds)
    for low in np.arange(0, 1, 0.1):
        cell = (p >= low) & (p < low + 0.1)
        assert cell.sum() >= 50
        error = data.instance_y[cell].sum() - p[cell].sum()
        assert abs(error) < 4 * np.sqrt((p[cell] * (1 - p[cell])).sum())


def test_separation_is_the_distance_between_the_means_in_any_dimension():
    for d in (1, 2, 7):
        means = make_mixture_bags(3, n_features=d, separation=3.0, random_state=0).means
        assert means.shape == (2, d)
        assert np.linalg.norm(means[1] - means[0]) == pytest.approx(3.0)


def test_a_number_one_matrix_and_two_matrices_can_say_the_same_covariances():
    five = 5.0 * np.eye(2)
    draws = [make_mixture_bags(5, covariances=c, random_state=0) for c in (5, five, [five, five])]
    for data in draws:
        np.testing.assert_array_equal(data.covariances, [five, five])
        np.testing.assert_array_equal(data.bags.instances, draws[0].bags.instances)


def test_rates_of_0_and_1_give_bags_of_one_label_and_infinite_log_odds():
    none = make_mixture_bags(20, positive_rate=0, random_state=0)
    every = make_mixture_bags(20, positive_rate=1, random_state=0)
    assert not none.y.any() and not none.instance_y.any() and (none.log_odds == -np.inf).all()
    assert every.y.all() and every.instance_y.all() and (every.log_odds == np.inf).all()


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    first, second, other = (make_mixture_bags(20, random_state=s) for s in (7, 7, 8))
    for key in ("y", "instance_y", "log_odds"):
        assert first[key].tobytes() == second[key].tobytes()
    assert first.bags.instances.tobytes() == second.bags.instances.tobytes()
    assert first.bags.offsets.tobytes() == second.bags.offsets.tobytes()
    assert first.bags.instances.tobytes() != other.bags.instances.tobytes()


def test_sizes_follow_a_number_a_range_and_a_list():
    assert set(make_mixture_bags(9, size=4, random_state=0).bags.sizes) == {4}
    assert set(make_mixture_bags(200, size=(2, 5), random_state=0).bags.sizes) == {2, 3, 4, 5}
    # A list of two sizes is not a range.
    assert make_mixture_bags(2, size=[2, 50], random_state=0).bags.sizes.tolist() == [2, 50]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_bags": 0}, "n_bags is 0; expected an integer >= 1"),
        ({"n_bags": 2.5}, "n_bags is 2.5; expected an integer"),
        ({"n_bags": True}, "n_bags is True; expected an integer"),
        ({"size": 0}, "size is 0; expected an integer >= 1"),
        ({"size": "five"}, "size is 'five'; expected an integer"),
        ({"size": (5, 2)}, r"size\[1\] is 2; expected an integer >= 5"),
        ({"size": [3, 8]}, r"size has shape \(2,\).*for each of the 4 bags, or a range"),
        ({"size": [3, 8, 1.5, 2]}, "dtype float64; expected one integer"),
        ({"size": [3, 0, 2, 2]}, r"size\[1\] is 0; expected an integer >= 1"),
        ({"positive_rate": 1.2}, "positive_rate is 1.2; expected a finite number from 0 to 1"),
        ({"positive_rate": np.nan}, "positive_rate is nan; expected a finite number"),
        ({"separation": -1}, "separation is -1; expected a finite number >= 0"),
        ({"n_features": 0}, "n_features is 0; expected an integer >= 1"),
        ({"means": [[0, 0]]}, r"means has shape \(1, 2\); expected shape \(2, n_features\)"),
        ({"means": [[0, np.inf], [0, 0]]}, "means contains NaN or infinity"),
        ({"means": [[0], [0, 0]]}, "means is not a numeric array"),
        ({"means": np.zeros((2, 3)), "n_features": 2}, "n_features is 2, but means has 3 features"),
        ({"covariances": np.eye(3)}, r"covariances has shape \(3, 3\); expected a number, or one"),
        ({"covariances": -1.0}, "covariances for the negative class must be a symmetric positive"),
        ({"covariances": [np.eye(2), [[1, 2], [2, 1]]]}, "covariances for the positive class"),
        ({"covariances": [[1, 0.5], [0, 1]]}, "must be a symmetric positive definite matrix"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_mixture_bags(**{"n_bags": 4, **wrong})
