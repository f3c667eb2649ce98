"""What every estimator shares: labels, weights, scaling, the base classes."""

import numpy as np
import pytest

from bagwise import Bags
from bagwise.base import bag_weights

BAGS = Bags(np.arange(10.0)[:, None], [0, 2, 5, 10], ids=["a", "b", "c"])


def test_weights_are_ones_by_default_and_a_copy_otherwise():
    np.testing.assert_array_equal(bag_weights(BAGS), np.ones(3))
    given = np.array([1.0, 2.0, 0.0])
    weight = bag_weights(BAGS, given)
    weight *= 2
    np.testing.assert_array_equal(given, [1.0, 2.0, 0.0])
    assert bag_weights(BAGS, [1, 2, 3]).dtype == np.float64


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(10), "has 10 values, one per instance, but there are 3 bags; weights are per bag"),
        (np.ones(4), r"has the shape \(4,\), but there are 3 bags"),
        (2.0, r"has the shape \(\), but there are 3 bags"),
        (np.ones((3, 1)), r"has the shape \(3, 1\), but there are 3 bags"),
        ([1.0, -2.0, 1.0], "is -2 for bag 'b'; weights are zero or positive"),
        ([0.0, 0.0, 0.0], "is zero for every bag"),
        ([1.0, np.nan, 1.0], "sample_weight contains NaN"),
    ],
)
def test_bad_weights_are_refused_by_one_sentence(weight, message):
    with pytest.raises(ValueError, match=message):
        bag_weights(BAGS, weight)
