"""The digest of training data: it detects relevant changes, and does not depend on the storage of bags."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor

from bagwise import Bags, Sequences, make_noisy_or_bags, save_parquet, scan_bags
from bagwise.models.base import training_digest
from bagwise.testing import all_estimators, example_of

DATA = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
PREDICTORS = [cls for cls in all_estimators() if hasattr(cls, "predict")]


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("cls", PREDICTORS, ids=lambda cls: cls.__name__)
def test_every_fit_stores_the_digest_of_its_bags(cls):
    model = example_of(cls)
    y = DATA.bags.instances[DATA.bags.offsets[:-1], 0] if is_regressor(model) else DATA.y
    first = model.fit(DATA.bags, y).training_digest_
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert clone(model).fit([np.array(bag) for bag in DATA.bags], y).training_digest_ == first


def test_the_digest_depends_on_labels_sizes_weights_and_instances(tmp_path):
    bags, y, weight = DATA.bags, DATA.y, np.ones(48)
    first = training_digest(bags, y, weight)
    assert training_digest(bags[:], y.copy(), weight) == first
    other_labels, other_weight = y.copy(), weight.copy()
    other_labels[20] = 1 - y[20]
    other_weight[20] = 2.0
    instances = bags.instances.copy()
    instances[100, 2] += 1e-9
    offsets = bags.offsets.copy()
    offsets[20] += 1
    digests = {
        first,
        training_digest(bags, other_labels, weight),
        training_digest(bags, y, other_weight),
        training_digest(bags.with_instances(instances), y, weight),
        training_digest(Bags(bags.instances, offsets), y, weight),
        training_digest(bags.with_instances(bags.instances.astype(np.float32)), y, weight),
        training_digest(bags.with_instances(sp.csr_array(bags.instances)), y, weight),
    }
    assert len(digests) == 7


@pytest.mark.parametrize("large", [False, True])
def test_the_digest_is_the_same_in_memory_and_in_a_file(large, tmp_path, large_from):
    path = save_parquet(tmp_path / "bags.parquet", DATA.bags, DATA.y)
    if large:
        large_from(100)
    scan = scan_bags(path)
    assert scan.fits is not large
    order = np.random.default_rng(0).permutation(48)
    for chosen in (np.arange(48), order[:30]):
        weight = np.ones(len(chosen))
        in_memory = training_digest(DATA.bags[chosen], DATA.y[chosen], weight)
        assert training_digest(scan[chosen], DATA.y[chosen], weight) == in_memory


def test_the_digest_depends_on_symbols_of_sequences():
    first, other = (Bags(Sequences.from_list([[0, 1], [2, last], [1]]), [0, 2, 3]) for last in (0, 1))
    y, weight = np.array([0, 1]), np.ones(2)
    assert training_digest(first, y, weight) != training_digest(other, y, weight)


def test_the_digest_of_large_data_ignores_the_middle():
    """The documentation states this limit: a digest of all data would cost a pass."""
    X, offsets, y, weight = (
        np.zeros((3 * 2**14, 4)),
        np.arange(3 * 2**12 + 1) * 4,
        np.zeros(3 * 2**12),
        np.ones(3 * 2**12),
    )
    digests = [training_digest(Bags(X, offsets), y, weight)]
    for row in (0, 2**13 - 1, len(X) // 2, len(X) - 2**13, len(X) - 1):
        changed = X.copy()
        changed[row, 3] = 1.0
        digests.append(training_digest(Bags(changed, offsets), y, weight))
    assert digests[3] == digests[0] and len(set(digests)) == 5
