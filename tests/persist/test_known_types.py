"""The lists of types that may stand in files of models."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import SGDClassifier
from tests.persist.models import DATA, round_trip

import bagwise
from bagwise import (
    Family,
    Link,
    Rule,
    SingleInstanceClassifier,
)
from bagwise.persist.known_types import OUR_TYPES, SCIKIT_LEARN_TYPES


def test_every_type_of_ours_in_the_list_exists_and_every_estimator_is_in_it():
    for name in OUR_TYPES:
        module, _, cls = name.rpartition(".")
        assert getattr(import_module(module), cls).__module__ == module, name
    public = [getattr(bagwise, name) for name in bagwise.__all__]
    estimators = [cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)]
    names = {f"{cls.__module__}.{cls.__name__}" for cls in estimators if cls not in (Family, Link, Rule)}
    assert names <= OUR_TYPES


def test_every_public_type_of_scikit_learn_in_the_list_exists():
    for name in SCIKIT_LEARN_TYPES:
        module, _, cls = name.rpartition(".")
        assert hasattr(import_module(module), cls), name


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"])
def test_losses_of_gradients_come_back(loss, tmp_path):
    model = SingleInstanceClassifier(SGDClassifier(loss=loss, random_state=0)).fit(DATA.bags, DATA.y)
    np.testing.assert_array_equal(round_trip(model, tmp_path).predict(DATA.bags), model.predict(DATA.bags))
