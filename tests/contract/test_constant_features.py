"""All estimators: a feature that is constant in training has no influence."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from tests.studies import marked

from bagwise import (
    Bags,
    BagStatistics,
    MIMixture,
    OnInstances,
    make_noisy_or_bags,
    save_parquet,
    scan_bags,
)
from bagwise.testing import all_estimators, example_of

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
    "predict_instances",
    "predict_proba_instances",
    "decision_function_instances",
)
# A Unix time in nanoseconds and in microseconds, an identifier, and small values.
CONSTANTS = np.array([1.7e18, 1.7e15, 12345678.9, 3.0, 0.0, -0.1])
OTHERS = np.array([1.8e18, -4.0, 0.5, 3.1, 1e9, 1e-3])
POSITIONS = [0, 0, 1, 2, 3, 4]  # the constants are before these of the four other features
IS_CONSTANT = np.insert(np.zeros(4, dtype=bool), POSITIONS, True)
SCALES = ("standard", "minmax", "rank", None)


def settings(scales=SCALES):
    """Return all estimators with each of several scalings, and mixtures of other families."""
    estimators = []
    for cls in all_estimators():
        example = example_of(cls)
        if "scale" in inspect.signature(cls).parameters:
            estimators += [clone(example).set_params(scale=scale) for scale in scales]
        else:
            estimators.append(example)
    return [
        *estimators,
        MIMixture("gaussian_diag", random_state=0),
        MIMixture("gaussian_tied", random_state=0),
    ]


def make_data(dtype=np.float64):
    data = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
    return Bags(data.bags.instances.astype(dtype), data.bags.offsets), data.y


def with_columns(bags, values):
    X = np.insert(bags.instances, POSITIONS, np.asarray(values, dtype=bags.instances.dtype), axis=1)
    return bags.with_instances(X)


def predictions(model, bags, y):
    values = {name: getattr(model, name)(bags) for name in METHODS if hasattr(model, name)}
    if hasattr(model, "posterior_instances"):
        values["posterior_instances"] = model.posterior_instances(bags, y)
    return {name: getattr(value, "instances", value) for name, value in values.items()}


def describes_new_values(model):
    """Return whether the output is documented to contain the values of all features, also of constants."""
    return isinstance(model, OnInstances) or (isinstance(model, BagStatistics) and model.scale is None)


def assert_same(ours, expected, tol=1e-7):
    """Compare predictions; vectors of bags may have columns for the constants, the same in every bag."""
    assert ours.keys() == expected.keys()
    for name, values in expected.items():
        mine = ours[name]
        if name == "transform" and mine.shape != values.shape:
            mine = mine[:, np.ptp(mine, axis=0) > 0]
        if name in ("predict", "predict_instances"):
            np.testing.assert_array_equal(mine, values, err_msg=name)
        else:
            np.testing.assert_allclose(mine, values, rtol=tol, atol=tol, err_msg=name)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", marked(settings()))
def test_constant_features_have_no_influence(estimator, dtype):
    bags, y = make_data(dtype)
    expected = predictions(clone(estimator).fit(bags, y), bags, y)
    model = clone(estimator).fit(with_columns(bags, CONSTANTS), y)
    ours = predictions(model, with_columns(bags, CONSTANTS), y)
    assert_same(ours, expected)
    if not describes_new_values(model):
        changed = predictions(model, with_columns(bags, OTHERS), y)
        for name, values in ours.items():
            np.testing.assert_array_equal(changed[name], values, err_msg=name)
    coef = getattr(model, "coef_", np.zeros(0))
    if coef.ndim == 2 and coef.shape[1] == len(IS_CONSTANT):
        assert (coef[:, IS_CONSTANT] == 0).all() and (coef[:, ~IS_CONSTANT] != 0).any()


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("estimator", marked(each for each in settings() if each._accepts_sparse))
def test_constant_features_of_sparse_instances_have_no_influence(estimator):
    bags, y = make_data()
    X = np.round(bags.instances) * (np.abs(bags.instances) > 0.5)
    n = len(X)

    def sparse(*columns):
        return bags.with_instances(sp.csr_array(np.column_stack([*columns, X])))

    three = sparse(np.zeros(n), np.full(n, 3.0), np.full(n, 1.7e18))
    expected = predictions(clone(estimator).fit(sparse(), y), sparse(), y)
    model = clone(estimator).fit(three, y)
    ours = predictions(model, three, y)
    if describes_new_values(model):
        return
    assert_same(ours, expected)
    changed = predictions(model, sparse(np.ones(n), np.zeros(n), np.arange(n)), y)
    for name, values in ours.items():
        np.testing.assert_array_equal(np.asarray(changed[name]), np.asarray(values), err_msg=name)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("estimator", marked(each for each in settings() if each._streams))
def test_constant_features_in_blocks_have_no_influence(estimator, large_from, tmp_path):
    bags, y = make_data()
    large_from(0, block_bytes=8 * 13 * 4)
    plain, wide = (
        scan_bags(save_parquet(tmp_path / f"{name}.parquet", each, y))
        for name, each in (("plain", bags), ("wide", with_columns(bags, CONSTANTS)))
    )
    expected = predictions(clone(estimator).fit(plain, y), bags, y)
    model = clone(estimator).fit(wide, y)
    ours = predictions(model, with_columns(bags, CONSTANTS), y)
    if describes_new_values(model):
        return
    assert_same(ours, expected, tol=1e-5)
    changed = predictions(model, with_columns(bags, OTHERS), y)
    for name, values in ours.items():
        np.testing.assert_array_equal(changed[name], values, err_msg=name)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("scale", [StandardScaler(), QuantileTransformer(n_quantiles=20)], ids=["std", "q"])
@pytest.mark.parametrize("estimator", marked(each for each in settings(["rank"]) if hasattr(each, "scale")))
def test_constant_features_have_no_influence_after_a_transformer(estimator, scale):
    bags, y = make_data()
    model = clone(estimator).set_params(scale=scale).fit(with_columns(bags, CONSTANTS), y)
    ours = predictions(model, with_columns(bags, CONSTANTS), y)
    changed = predictions(model, with_columns(bags, OTHERS), y)
    for name, values in ours.items():
        np.testing.assert_array_equal(changed[name], values, err_msg=name)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize(
    "estimator",
    marked(each for each in settings() if each._accepts_missing and not describes_new_values(each)),
)
def test_features_with_one_known_value_are_constant(estimator):
    bags, y = make_data()
    expected = predictions(clone(estimator).fit(bags, y), bags, y)
    wide = with_columns(bags, CONSTANTS).instances.copy()
    wide[np.ix_(np.arange(len(wide)) % 3 == 0, IS_CONSTANT)] = np.nan
    wide[:, np.flatnonzero(IS_CONSTANT)[1]] = np.nan  # no known value
    model = clone(estimator).fit(bags.with_instances(wide), y)
    assert_same(predictions(model, bags.with_instances(wide), y), expected)
    assert_same(predictions(model, with_columns(bags, OTHERS), y), expected)
