"""All estimators: a feature that is constant in training has no influence."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import RobustScaler, StandardScaler
from tests.studies import marked

from bagwise import (
    Bags,
    BagStatistics,
    MIMixture,
    OnInstances,
    make_noisy_or_bags,
)
from bagwise.testing import all_estimators, example_of

OF_BAGS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
OF_INSTANCES = ("predict_instances", "predict_proba_instances", "decision_function_instances")
# A Unix time in nanoseconds and in microseconds, an identifier, and small values.
CONSTANTS = np.array([1.7e18, 1.7e15, 12345678.9, 3.0, 0.0, -0.1])
OTHERS = np.array([1.8e18, -4.0, 0.5, 3.1, 1e9, 1e-3])
POSITIONS = [0, 0, 1, 2, 3, 4]  # the constants are before these of the four other features
IS_CONSTANT = np.insert(np.zeros(4, dtype=bool), POSITIONS, True)

SCALES = ("standard", "minmax", "rank", None)


def settings():
    """Return all estimators with every value of `scale`, and with their other inputs of constants."""
    estimators = []
    for cls in all_estimators():
        example = example_of(cls)
        if "scale" in inspect.signature(cls).parameters:
            estimators += [clone(example).set_params(scale=scale) for scale in SCALES]
        else:
            estimators.append(example)
    estimators += [MIMixture(family, random_state=0) for family in ("gaussian_diag", "gaussian_tied")]
    return estimators


def make_data(dtype=np.float64):
    data = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
    return Bags(data.bags.instances.astype(dtype), data.bags.offsets), data.y


def with_columns(bags, values, positions=POSITIONS):
    X = np.insert(bags.instances, positions, np.asarray(values, dtype=bags.instances.dtype), axis=1)
    return bags.with_instances(X)


def predictions(model, bags, y):
    values = {name: getattr(model, name)(bags) for name in (*OF_BAGS, *OF_INSTANCES) if hasattr(model, name)}
    if hasattr(model, "posterior_instances"):
        values["posterior_instances"] = model.posterior_instances(bags, y)
    return values


def assert_same(ours, expected, model, tol=1e-7):
    assert ours.keys() == expected.keys()
    for name, values in expected.items():
        mine = ours[name]
        if name.startswith("predict") and "proba" not in name:
            np.testing.assert_array_equal(mine, values, err_msg=name)
        elif name == "transform":
            assert_same_vectors(mine, values, model, tol)
        else:
            np.testing.assert_allclose(mine, values, rtol=tol, atol=tol, err_msg=name)


def assert_same_vectors(mine, values, model, tol):
    """Compare vectors of bags, which may have further columns for constants: the same value in every bag."""
    if isinstance(mine, Bags):
        mine, values = mine.instances, values.instances
    if mine.shape != values.shape:
        assert isinstance(model, BagStatistics | OnInstances) or not np.ptp(mine, axis=0).all()
        mine = mine[:, np.ptp(mine, axis=0) > 0]
    np.testing.assert_allclose(mine, values, rtol=tol, atol=tol)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", marked(settings()))
def test_constant_features_have_no_influence(estimator, dtype):
    bags, y = make_data(dtype)
    expected = predictions(clone(estimator).fit(bags, y), bags, y)
    model = clone(estimator).fit(with_columns(bags, CONSTANTS), y)
    ours = predictions(model, with_columns(bags, CONSTANTS), y)
    assert_same(ours, expected, model)
    if isinstance(model, OnInstances) or (isinstance(model, BagStatistics) and model.scale is None):
        return  # they describe new values
    changed = predictions(model, with_columns(bags, OTHERS), y)
    for name, values in ours.items():
        np.testing.assert_array_equal(changed[name], values, err_msg=name)
    coef = getattr(model, "coef_", np.zeros(0))
    if coef.ndim == 2 and coef.shape[1] == len(IS_CONSTANT):
        assert (coef[:, IS_CONSTANT] == 0).all() and (coef[:, ~IS_CONSTANT] != 0).any()
