import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GroupKFold

from bagwise.data.bags import Bags
from bagwise.datasets import augment_bags, make_noisy_or_bags, make_positive_unlabeled


@pytest.fixture
def labelled():
    return make_noisy_or_bags(300, size=(1, 5), random_state=0)


def draw(labelled, **changed):
    parameters = dict(n_positive=20, n_unlabeled=75, class_prior=0.3, random_state=0)
    return make_positive_unlabeled(labelled.bags, labelled.y, **{**parameters, **changed})


def test_no_bag_is_drawn_twice(labelled):
    index = draw(labelled).index
    assert len(index) == 95 and len(set(index)) == 95


def test_every_drawn_bag_is_the_input_bag_of_its_index_with_its_true_label(labelled):
    data = draw(labelled)
    for bag, i in zip(data.bags, data.index, strict=True):
        np.testing.assert_array_equal(bag, labelled.bags[i])
    np.testing.assert_array_equal(data.y_true, labelled.y[data.index])


def test_labelled_bags_come_first_and_are_positive(labelled):
    data = draw(labelled)
    assert data.y.tolist() == [1] * 20 + [0] * 75
    assert data.y_true[data.y == 1].all()


def test_every_positive_bag_is_as_likely_to_be_labelled():
    full = make_noisy_or_bags(60, random_state=0)
    times = np.zeros(60)
    for seed in range(400):
        data = draw(full, n_positive=5, n_unlabeled=10, random_state=seed)
        times[data.index[:5]] += 1
    share = 5 / full.y.sum()
    # Each positive bag is labeled Binomial(400, share) times.
    assert (np.abs(times[full.y == 1] - 400 * share) < 4.5 * np.sqrt(400 * share * (1 - share))).all()


@pytest.mark.parametrize(("class_prior", "n_hidden"), [(0, 0), (0.3, 23), (0.5, 38), (0.1, 8), (1, 75)])
def test_the_class_prior_is_realised_to_the_nearest_count(labelled, class_prior, n_hidden):
    # 0.3, 0.5 and 0.1 of 75 are 22.5, 37.5 and 7.5; halves are rounded up.
    data = draw(labelled, class_prior=class_prior)
    assert data.y_true[data.y == 0].sum() == n_hidden
    assert data.class_prior == n_hidden / 75


def test_by_algorithm_1_the_number_of_hidden_positives_is_binomial(labelled):
    """Steps 3 to 7: N ~ B(U + T, pi), and the T test bags are drawn from the unlabeled ones."""
    draws = [draw(labelled, binomial=True, random_state=seed) for seed in range(400)]
    counts = np.array([data.y_true[data.y == 0].sum() for data in draws])
    assert abs(counts.mean() - 22.5) < 4 * np.sqrt(75 * 0.3 * 0.7 / 400)
    # The variance of a binomial sample's variance is about 2 variance^2 / n.
    assert abs(counts.var() / (75 * 0.3 * 0.7) - 1) < 4 * np.sqrt(2 / 400)
    assert [data.class_prior for data in draws] == (counts / 75).tolist()
    in_test = np.array([data.y_true[-30:].sum() for data in draws])
    assert abs(in_test.mean() - 9) < 4 * np.sqrt(30 * 0.3 * 0.7 / 400)
    assert abs(in_test.var() / (30 * 0.3 * 0.7) - 1) < 4 * np.sqrt(2 / 400)
    assert all(len(set(data.index)) == 95 for data in draws)


def test_a_binomial_draw_beyond_the_bags_at_hand_says_what_was_drawn(labelled):
    with pytest.raises(ValueError, match=r"n_unlabeled=300 \(of which \d+ were drawn as positive\) and"):
        draw(labelled, binomial=True, n_unlabeled=300, class_prior=0.8)
    with pytest.raises(ValueError, match="binomial must be True or False; got 'yes'"):
        draw(labelled, binomial="yes")


def test_the_unlabeled_bags_are_not_sorted_by_their_hidden_label(labelled):
    hidden = draw(labelled, class_prior=0.5).y_true[20:]
    changes = np.count_nonzero(np.diff(hidden))
    # 75 labels in random order change about 37 times (standard deviation 4.3), sorted labels once.
    assert abs(changes - 37) < 4 * 4.3


def test_every_way_to_write_two_labels_gives_the_same_draw(labelled):
    y = labelled.y
    draws = [
        make_positive_unlabeled(
            labelled.bags, z, n_positive=5, n_unlabeled=9, class_prior=0.4, random_state=3
        )
        for z in (y, 2 * y - 1, y.astype(bool), y.astype(float), y.tolist())
    ]
    assert len({d.index.tobytes() for d in draws}) == 1
    assert draws[0].index.tobytes() != draw(labelled, n_positive=5, n_unlabeled=9).index.tobytes()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_positive": 0}, "n_positive is 0; expected an integer >= 1"),
        ({"n_unlabeled": -3}, "n_unlabeled is -3; expected an integer >= 1"),
        ({"class_prior": 1.1}, "class_prior is 1.1; expected a finite number from 0 to 1"),
        ({"n_positive": 290}, r"need 313 positive bags but y has \d+; use fewer bags"),
        ({"n_unlabeled": 290, "class_prior": 0.1}, r"need 261 negative bags but y has \d+;"),
    ],
)
def test_an_impossible_draw_is_refused_with_the_counts(labelled, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw(labelled, **wrong)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([0, 1], r"y has shape \(2,\); expected one label for each of the 3 bags"),
        ([0, 1, 2], "y has the labels 0, 1, 2; expected 0/1, -1/1 or booleans"),
        ([-1, 0, 1], "y has the labels -1, 0, 1; expected 0/1, -1/1 or booleans"),
        (["a", "b", "b"], "y has the labels 'a', 'b'; .* such as y == 'active'"),
        ([0.0, 1.0, np.nan], "y has the labels .*nan.*; expected 0/1"),
    ],
)
def test_labels_that_do_not_name_a_positive_class_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_positive_unlabeled([np.zeros((1, 1))] * 3, y, n_positive=1, n_unlabeled=1, class_prior=0)


def test_originals_come_first_and_unchanged(labelled):
    data = augment_bags(labelled.bags, labelled.y, n_copies=2, random_state=0)
    n = labelled.bags.n_instances
    assert data.source.tolist() == 3 * list(range(300))
    assert data.bags.instances[:n].tobytes() == labelled.bags.instances.tobytes()
    np.testing.assert_array_equal(data.bags.offsets[:301], labelled.bags.offsets)


def test_copies_have_the_size_label_id_and_columns_of_their_source():
    bags = Bags(
        np.arange(12.0).reshape(6, 2),
        [0, 1, 3, 6],
        ids=["a", "b", "c"],
        instance_columns={"time": np.arange(6)},
    )
    data = augment_bags(bags, ["x", "y", "z"], n_bags=10, random_state=0)
    assert len(data.bags) == 10 and data.source[:3].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.bags.sizes, bags.sizes[data.source])
    np.testing.assert_array_equal(data.y, np.array(["x", "y", "z"])[data.source])
    np.testing.assert_array_equal(data.bags.ids, bags.ids[data.source])
    np.testing.assert_array_equal(
        data.bags.instance_columns["time"], bags[data.source].instance_columns["time"]
    )


def test_the_noise_is_proportional_to_the_largest_absolute_value():
    # The largest absolute values of the features are 4 and 30 in bag 0, and 100 and 0 in bag 1.
    originals = [np.array([[1.0, -30.0], [-4.0, 10.0]]), np.array([[100.0, 0.0]])]
    n_copies, noise = 5000, 0.02
    data = augment_bags(originals, n_copies=n_copies, noise=noise, random_state=0)
    for bag, scales in ((0, [4, 30]), (1, [100, 0])):
        copies = np.stack([data.bags[i] for i in np.flatnonzero(data.source == bag)[1:]])
        shifts = copies - originals[bag]
        n = shifts.shape[0] * shifts.shape[1]
        for k, scale in enumerate(scales):
            sd = noise * scale
            assert abs(shifts[..., k].mean()) <= 4 * sd / np.sqrt(n)
            # The standard deviation of n Gaussians has the standard error sd / sqrt(2 n).
            assert abs(shifts[..., k].std() - sd) <= 4 * sd / np.sqrt(2 * n)


def test_no_noise_makes_exact_copies_and_no_arguments_make_one_copy_each(labelled):
    data = augment_bags(labelled.bags, noise=0)
    assert data.y is None
    for i, source in enumerate(data.source):
        np.testing.assert_array_equal(data.bags[i], labelled.bags[source])
    assert len(data.bags) == 600


def test_originals_to_copy_are_drawn_evenly_for_a_total():
    data = augment_bags([np.ones((1, 1))] * 10, n_bags=10_010, random_state=0)
    times = np.bincount(data.source[10:], minlength=10)
    # Each original is drawn Binomial(10000, 1/10) times.
    assert (np.abs(times - 1000) < 4 * np.sqrt(10_000 * 0.1 * 0.9)).all()


def test_integers_are_shaken_in_float64_and_floats_keep_their_type():
    # In int16, the absolute value of -32768 overflows, so that 5 would be the largest.
    lowest = np.array([[-32768], [5]], dtype=np.int16)
    data, same, single = (
        augment_bags([lowest.astype(dtype)], random_state=0) for dtype in (np.int16, np.float64, np.float32)
    )
    assert data.bags.instances.dtype == np.float64
    assert data.bags.instances.tobytes() == same.bags.instances.tobytes()
    assert single.bags.instances.dtype == np.float32


def test_a_missing_value_stays_alone_and_an_empty_bag_stays_empty():
    data = augment_bags([np.array([[np.nan], [2.0]]), np.empty((0, 1))], random_state=0)
    assert np.isnan(data.bags[2]).ravel().tolist() == [True, False]
    assert data.bags.sizes.tolist() == [2, 0, 2, 0]


def test_source_as_groups_keeps_copies_with_their_original(labelled):
    data = augment_bags(labelled.bags, labelled.y, n_bags=1000, random_state=0)
    for train, test in GroupKFold(4).split(data.bags, data.y, groups=data.source):
        assert not set(data.source[train]) & set(data.source[test])


def test_the_same_seed_gives_the_same_copies_and_another_seed_does_not(labelled):
    first, second, other = (augment_bags(labelled.bags, n_bags=400, random_state=s) for s in (7, 7, 8))
    assert first.bags.instances.tobytes() == second.bags.instances.tobytes()
    assert first.source.tobytes() == second.source.tobytes()
    assert first.bags.instances.tobytes() != other.bags.instances.tobytes()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_copies": -1}, "n_copies is -1; expected an integer >= 0"),
        ({"n_bags": 299}, "n_bags is 299; expected an integer >= 300"),
        ({"n_copies": 1, "n_bags": 400}, "n_copies=1 and n_bags=400 were both passed"),
        ({"noise": -0.1}, "noise is -0.1; expected a finite number >= 0"),
        ({"y": [1, 0]}, r"y has shape \(2,\); expected one label for each of the 300 bags"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(labelled, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        augment_bags(labelled.bags, **wrong)


def test_sparse_bags_and_no_bags_cannot_be_augmented(labelled):
    with pytest.raises(ValueError, match="bags are sparse, but noise would make them dense"):
        augment_bags(Bags(sp.csr_array(np.eye(2)), [0, 2]))
    with pytest.raises(ValueError, match="bags is empty; expected at least one bag"):
        augment_bags(labelled.bags[:0], n_bags=3)
