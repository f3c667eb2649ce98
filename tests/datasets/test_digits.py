import numpy as np
import pytest
from sklearn.datasets import load_digits

from bagwise.datasets import load_digit_bags


def count_targets(data):
    return np.add.reduceat(data.instance_y, data.bags.offsets[:-1])


@pytest.mark.parametrize(("n_bags", "at_least"), [(200, 1), (90, 2), (60, 4)])
def test_a_bag_is_positive_exactly_if_it_shows_the_target_often_enough(n_bags, at_least):
    data = load_digit_bags(n_bags, at_least=at_least)
    np.testing.assert_array_equal(data.y, count_targets(data) >= at_least)
    np.testing.assert_array_equal(data.instance_y, data.bags.instance_columns["digit"] == 9)
    assert data.target == 9 and data.at_least == at_least


def test_the_columns_lead_back_to_the_images_of_scikit_learn():
    data, digits = load_digit_bags(50, random_state=3), load_digits()
    image = data.bags.instance_columns["image"]
    np.testing.assert_array_equal(data.bags.instances, digits.data[image] / 16)
    np.testing.assert_array_equal(data.bags.instance_columns["digit"], digits.target[image])
    assert data.bags.feature_names.tolist() == digits.feature_names
    assert data.bags.instances.min() == 0 and data.bags.instances.max() == 1


def test_no_image_is_used_twice():
    image = load_digit_bags(200).bags.instance_columns["image"]
    assert len(np.unique(image)) == len(image)


@pytest.mark.parametrize(("share", "n_positive"), [(0.5, 13), (0.25, 6), (0, 0), (1, 25)])
def test_the_share_of_positive_bags_is_exact_up_to_rounding(share, n_positive):
    # Half of 25 is 12.5, which is rounded up; a quarter is 6.25.
    assert load_digit_bags(25, positive_share=share).y.sum() == n_positive


def test_positive_bags_have_at_least_the_threshold_of_targets():
    data = load_digit_bags(60, at_least=3, size=6)
    n_targets = count_targets(data)
    assert np.bincount(n_targets[data.y == 1]).tolist() == [0, 0, 0, 15, 15]
    assert np.bincount(n_targets[data.y == 0]).tolist() == [10, 10, 10]


def test_bags_just_large_enough_hold_targets_only():
    data = load_digit_bags(10, at_least=3, size=3, positive_share=1)
    assert data.instance_y.all()


def test_neither_bags_nor_instances_are_sorted_by_label():
    data = load_digit_bags(200, size=8)
    # 200 labels in random order change about 100 times (standard deviation 7), sorted labels once.
    assert abs(np.count_nonzero(np.diff(data.y)) - 100) < 4 * 7.1
    # 150 targets over 8 positions: 18.75 are expected at each position, with standard deviation 4.05.
    per_position = data.instance_y.reshape(200, 8).sum(axis=0)
    assert (np.abs(per_position - 18.75) < 4 * 4.05).all()


def test_sizes_follow_a_number_a_range_and_a_list():
    assert set(load_digit_bags(20, size=7).bags.sizes) == {7}
    assert set(load_digit_bags(100, size=(2, 5)).bags.sizes) == {2, 3, 4, 5}
    assert load_digit_bags(3, size=[2, 9, 4]).bags.sizes.tolist() == [2, 9, 4]


def test_the_defaults_have_images_enough_for_every_target():
    for target in range(10):
        data = load_digit_bags(target=target, random_state=target)
        np.testing.assert_array_equal(data.y, count_targets(data) >= 1)


def test_the_default_is_one_fixed_dataset_and_another_seed_another():
    first, second, other = load_digit_bags(40), load_digit_bags(40), load_digit_bags(40, random_state=1)
    assert first.bags.instances.tobytes() == second.bags.instances.tobytes()
    assert first.bags.offsets.tobytes() == second.bags.offsets.tobytes()
    assert first.y.tobytes() == second.y.tobytes()
    assert first.bags.instances.tobytes() != other.bags.instances.tobytes()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_bags": 0}, "n_bags is 0; expected an integer >= 1"),
        ({"target": 10}, "target is 10; expected an integer from 0 to 9"),
        ({"at_least": 0}, "at_least is 0; expected an integer >= 1"),
        ({"positive_share": 2}, "positive_share is 2; expected a finite number from 0 to 1"),
        ({"at_least": 4, "size": 3}, "the smallest size is 3; expected at least 4 images per bag"),
        ({"at_least": 2}, "need 300 images of the digit 9, but only 180 are available, and no image is used"),
        ({"size": 20}, "need 3850 images of other digits, but only 1617 are available, and no image is used"),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_a_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        load_digit_bags(**wrong)
