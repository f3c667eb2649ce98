"""The lists of types that model files can contain."""

from importlib import import_module

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import SGDClassifier
from tests.persist.models import DATA, round_trip

import bagwise
from bagwise import (
    Family,
    Link,
    Rule,
    SingleInstanceClassifier,
    trusted_types,
)
from bagwise.persist import known_types
from bagwise.persist.known_types import OUR_TYPES, SCIKIT_LEARN_TYPES, loaders_of
from bagwise.testing import all_estimators, example_of


def test_listed_types_exist_and_every_estimator_is_listed():
    for module, name in OUR_TYPES.values():
        assert getattr(import_module(module), name).__module__ == module, name
    public = [getattr(bagwise, name) for name in bagwise.__all__]
    estimators = [cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)]
    for cls in estimators:
        if cls not in (Family, Link, Rule):  # base classes, which no model contains
            assert OUR_TYPES[cls.__name__] == (cls.__module__, cls.__name__)


def test_named_tuples_are_listed_as_such():
    tuples = {name for name, (module, cls) in OUR_TYPES.items() if issubclass(_class(module, cls), tuple)}
    assert tuples == known_types._NAMED_TUPLES


def _class(module, name):
    return getattr(import_module(module), name)


def test_no_name_of_code_or_memory_is_known():
    for name in (
        "os.system",
        "builtins.eval",
        "builtins.list",
        "sklearn.metrics.log_loss",
        "sklearn.svm.SVC",
    ):
        module, _, cls = name.rpartition(".")
        assert not loaders_of(module, cls) & {"ConstructorFromReduceNode", "PartialNode", "MethodNode"}
    assert loaders_of("scipy.sparse", "csr_array") == {"SparseMatrixNode"}
    assert not loaders_of("sklearn.tree._tree", "Tree") and not loaders_of("numpy.random", "RandomState")


def test_identifiers_are_unique():
    assert len(set(OUR_TYPES.values())) == len(OUR_TYPES)
    assert sum(len(names.split()) for names in known_types._OURS.values()) == len(OUR_TYPES)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("cls", all_estimators(), ids=lambda cls: cls.__name__)
def test_skops_loads_every_estimator_with_our_trusted_types(cls):
    y = DATA.bags.instances[DATA.bags.offsets[:-1], 0] if issubclass(cls, RegressorMixin) else DATA.y
    model = example_of(cls).fit(DATA.bags, y)
    again = skops.io.loads(skops.io.dumps(model), trusted=trusted_types())
    assert type(again) is cls


def test_every_public_type_of_scikit_learn_in_the_list_exists():
    for name in SCIKIT_LEARN_TYPES:
        module, _, cls = name.rpartition(".")
        assert hasattr(import_module(module), cls), name


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"])
def test_losses_of_gradients_come_back(loss, tmp_path):
    model = SingleInstanceClassifier(SGDClassifier(loss=loss, random_state=0)).fit(DATA.bags, DATA.y)
    np.testing.assert_array_equal(round_trip(model, tmp_path).predict(DATA.bags), model.predict(DATA.bags))
